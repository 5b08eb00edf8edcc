<?php
/**
 * Lists of posts, and the tags of their pages.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Lists that a query asks for, and lists that a post belongs to.
 *
 * A list is named by what selects its posts: `lpost` all posts, `lt5` those of term 5, `la1` those of author 1, `ld2026-01` those of
 * a month. Where a list is in the usual order, its third page is `lpost.3`, its feed `lpost.f`, all of them are `lpost.x`, and those that
 * say how many pages there are `lpost.n`: a post that goes from the third page leaves the first two as they are. A list in another
 * order is `lpost`. Lists of a term, an author or a date that are not of posts alone are `lt5-any`.
 */
class Myriad_Cache_Lists {

	/**
	 * Beyond this many pages all of a list are purged.
	 */
	const MOST_PAGES = 100;

	/**
	 * Tags of the lists that a query asks for.
	 *
	 * @param WP_Query $query Query that is about to run.
	 * @return string[]
	 */
	public static function of_query( $query ) {
		foreach ( array( 'post__in', 'post_name__in' ) as $name ) {
			if ( $query->get( $name ) ) {
				return self::of_posts( (array) $query->get( $name ) );
			}
		}
		// The list of posts has a page of its own: `pagename` leads to it.
		if ( ( $query->is_singular() && ! $query->is_posts_page ) || $query->is_comment_feed() ) {
			return array();
		}
		$types = array_filter( (array) $query->get( 'post_type' ) );
		$types = $types ? $types : array( 'post' );
		if ( array_intersect( $types, Myriad_Cache_Tags::INNER_TYPES ) ) {
			return array();
		}
		$lists = self::selected( $query, $types );
		if ( array( 'post' ) !== $types || $query->is_tax() ) {
			foreach ( $lists as $number => $list ) {
				$lists[ $number ] = preg_match( '/^l[tad][0-9]/', $list ) ? $list . '-any' : $list;
			}
		}
		$pages = self::pages( $query, $types );
		$tags  = array();
		foreach ( $lists as $list ) {
			if ( '' === $pages ) {
				$tags[] = $list;
			} else {
				$tags[] = $list . '.' . $pages;
				$tags[] = $list . '.x';
			}
		}
		return $tags;
	}

	/**
	 * Tags of posts that are asked for by number.
	 *
	 * @param array $ids Numbers; names count as nothing.
	 * @return string[]
	 */
	private static function of_posts( $ids ) {
		$tags = array();
		foreach ( array_filter( array_map( 'absint', $ids ) ) as $id ) {
			$tags[] = 'p' . $id;
		}
		return $tags;
	}

	/**
	 * Names of the lists.
	 *
	 * @param WP_Query $query Query.
	 * @param string[] $types Post types.
	 * @return string[]
	 */
	private static function selected( $query, $types ) {
		$lists = array();
		if ( isset( $query->tax_query->queried_terms ) ) {
			foreach ( $query->tax_query->queried_terms as $taxonomy => $asked ) {
				foreach ( isset( $asked['terms'] ) ? (array) $asked['terms'] : array() as $term ) {
					$found = get_term_by( isset( $asked['field'] ) ? $asked['field'] : 'term_id', $term, $taxonomy );
					if ( $found ) {
						$lists[] = 'lt' . $found->term_id;
					}
				}
			}
		}
		if ( $lists ) {
			return $lists;
		}
		$author = $query->get( 'author_name' ) ? get_user_by( 'slug', sanitize_title_for_query( $query->get( 'author_name' ) ) ) : false;
		if ( $author ) {
			return array( 'la' . $author->ID );
		}
		if ( is_numeric( $query->get( 'author' ) ) && (int) $query->get( 'author' ) > 0 ) {
			return array( 'la' . (int) $query->get( 'author' ) );
		}
		$date = self::date( $query );
		if ( '' !== $date ) {
			return array( 'ld' . $date );
		}
		foreach ( $types as $type ) {
			$lists[] = 'l' . $type;
		}
		return $lists;
	}

	/**
	 * The day, month or year that a query asks for.
	 *
	 * @param WP_Query $query Query.
	 * @return string `2026`, `2026-01`, `2026-01-31`, or nothing.
	 */
	private static function date( $query ) {
		$date = array( (int) $query->get( 'year' ), (int) $query->get( 'monthnum' ), (int) $query->get( 'day' ) );
		if ( preg_match( '/^([0-9]{4})([0-9]{2})?([0-9]{2})?$/', (string) $query->get( 'm' ), $match ) ) {
			$date = array( (int) $match[1], isset( $match[2] ) ? (int) $match[2] : 0, isset( $match[3] ) ? (int) $match[3] : 0 );
		}
		if ( ! $date[0] ) {
			return '';
		}
		$text = sprintf( '%04d', $date[0] );
		if ( $date[1] ) {
			$text .= sprintf( '-%02d', $date[1] );
			if ( $date[2] ) {
				$text .= sprintf( '-%02d', $date[2] );
			}
		}
		return $text;
	}

	/**
	 * Which page of the usual order a query asks for.
	 *
	 * @param WP_Query $query Query.
	 * @param string[] $types Post types.
	 * @return string Its number, `f` for a feed, or nothing for another order.
	 */
	private static function pages( $query, $types ) {
		$is_usual = $query->is_main_query() && array( 'post' ) === $types && ! $query->is_tax() && ! $query->is_search() && '' === (string) $query->get( 'offset' )
			&& in_array( strtolower( (string) $query->get( 'orderby' ) ), array( '', 'date', 'post_date' ), true )
			&& in_array( strtoupper( (string) $query->get( 'order' ) ), array( '', 'DESC' ), true )
			&& ! $query->get( 'meta_query' ) && ! $query->get( 'meta_key' ) && ! $query->get( 'date_query' ) && ! $query->get( 'w' )
			&& ! get_option( 'sticky_posts' );
		if ( ! $is_usual ) {
			return '';
		}
		if ( $query->is_feed() ) {
			return $query->get( 'paged' ) > 1 ? '' : 'f';
		}
		$count = (int) $query->get( 'posts_per_page' );
		if ( 0 !== $count && (int) get_option( 'posts_per_page' ) !== $count ) {
			return '';
		}
		return (string) max( 1, (int) $query->get( 'paged' ) );
	}

	/**
	 * Tags of the pages of lists that a post comes into or goes out of.
	 *
	 * @param int   $post_id  Post.
	 * @param array $known    What is known of it: its `type`, and lists of its `terms`, `authors`, `dates`, before and after.
	 * @return string[]
	 */
	public static function of_change( $post_id, $known ) {
		$lists = array( 'l' . $known['type'] => array() );
		foreach ( self::with_ancestors( $known['terms'] ) as $term_id => $taxonomy ) {
			$lists[ 'lt' . $term_id ] = array( 'term' => array( $term_id, $taxonomy ) );
		}
		foreach ( array_unique( $known['authors'] ) as $author ) {
			$lists[ 'la' . $author ] = array( 'author' => $author );
		}
		foreach ( $known['dates'] as $date ) {
			foreach ( array( 4, 7, 10 ) as $length ) {
				$lists[ 'ld' . substr( $date, 0, $length ) ] = array( 'date' => substr( $date, 0, $length ) );
			}
		}
		$tags = array( 'lany' );
		foreach ( $lists as $list => $bounds ) {
			$tags[] = $bounds ? $list . '-any' : $list;
			if ( 'post' === $known['type'] ) {
				$tags[] = $list;
				$tags   = array_merge( $tags, self::pages_behind( $list, $bounds, $post_id, $known ) );
			}
		}
		return $tags;
	}

	/**
	 * Terms and those above them, whose lists have the posts of those below.
	 *
	 * @param int[] $term_ids Terms.
	 * @return array<int, string> Their taxonomies, by number.
	 */
	private static function with_ancestors( $term_ids ) {
		$all = array();
		foreach ( array_unique( $term_ids ) as $term_id ) {
			$term = get_term( $term_id );
			// A term that is gone: its taxonomy does not matter, since nothing is counted of it.
			$taxonomy        = $term instanceof WP_Term ? $term->taxonomy : '';
			$all[ $term_id ] = $taxonomy;
			foreach ( $taxonomy ? get_ancestors( $term_id, $taxonomy, 'taxonomy' ) : array() as $above ) {
				$all[ $above ] = $taxonomy;
			}
		}
		return $all;
	}

	/**
	 * Pages of a list from the one on that a post is on, or was on; all of them where their number has changed.
	 *
	 * @param string $name    Name of the list.
	 * @param array  $bounds  What selects its posts.
	 * @param int    $post_id Post.
	 * @param array  $known   What is known of it.
	 * @return string[]
	 */
	private static function pages_behind( $name, $bounds, $post_id, $known ) {
		if ( isset( $bounds['term'] ) && ! in_array( $bounds['term'][1], array( 'category', 'post_tag' ), true ) ) {
			return array( $name . '.x' );
		}
		$newest = max( $known['dates'] );
		$newer  = self::count( $bounds, $post_id, $newest );
		$others = self::count( $bounds, $post_id, '' );
		$size   = max( 1, (int) get_option( 'posts_per_page' ) );
		$first  = intdiv( $newer, $size ) + 1;
		// Without the post there are so many pages, and with it so many.
		$last = intdiv( $others, $size ) + 1;
		if ( $last - $first >= self::MOST_PAGES ) {
			return array( $name . '.x' );
		}
		$tags = array();
		if ( 0 === $others % $size ) {
			// The last page comes or goes: the one before it leads there, or no longer does.
			$tags[] = $name . '.n';
			$first  = max( 1, min( $first, $last - 1 ) );
		}
		for ( $page = $first; $page <= $last; $page++ ) {
			$tags[] = $name . '.' . $page;
		}
		if ( $newer < max( 1, (int) get_option( 'posts_per_rss' ) ) ) {
			$tags[] = $name . '.f';
		}
		return $tags;
	}

	/**
	 * How many posts of a list there are beside one, and newer than a date.
	 *
	 * @param array  $bounds  What selects its posts.
	 * @param int    $post_id Post that does not count.
	 * @param string $newer   Date; nothing for all.
	 * @return int
	 */
	private static function count( $bounds, $post_id, $newer ) {
		global $wpdb;
		$join  = '';
		$where = $wpdb->prepare( "p.post_type = 'post' AND p.post_status = 'publish' AND p.ID <> %d", $post_id );
		if ( isset( $bounds['term'] ) ) {
			list( $term_id, $taxonomy ) = $bounds['term'];

			$terms  = get_term_children( $term_id, $taxonomy );
			$terms  = array_map( 'intval', array_merge( array( $term_id ), is_array( $terms ) ? $terms : array() ) );
			$join   = " INNER JOIN {$wpdb->term_relationships} r ON r.object_id = p.ID INNER JOIN {$wpdb->term_taxonomy} t ON t.term_taxonomy_id = r.term_taxonomy_id";
			$where .= $wpdb->prepare( ' AND t.taxonomy = %s', $taxonomy ) . ' AND t.term_id IN (' . implode( ',', $terms ) . ')';
		}
		if ( isset( $bounds['author'] ) ) {
			$where .= $wpdb->prepare( ' AND p.post_author = %d', $bounds['author'] );
		}
		if ( isset( $bounds['date'] ) ) {
			$where .= $wpdb->prepare( ' AND p.post_date LIKE %s', $wpdb->esc_like( $bounds['date'] ) . '%' );
		}
		if ( '' !== $newer ) {
			$where .= $wpdb->prepare( ' AND p.post_date > %s', $newer );
		}
		// phpcs:ignore WordPress.DB -- the parts were prepared above, and what is counted has just changed.
		return (int) $wpdb->get_var( "SELECT COUNT(DISTINCT p.ID) FROM {$wpdb->posts} p{$join} WHERE {$where}" );
	}

	/**
	 * Posts before and after a date.
	 *
	 * @param int    $post_id Post that does not count.
	 * @param string $type    Post type.
	 * @param string $date    Date.
	 * @return int[]
	 */
	public static function neighbours( $post_id, $type, $date ) {
		global $wpdb;
		$found = array();
		foreach ( array( '<= %s ORDER BY post_date DESC', '>= %s ORDER BY post_date ASC' ) as $side ) {
			// phpcs:ignore WordPress.DB -- the side is one of two texts, and what is looked for has just changed.
			$found[] = (int) $wpdb->get_var( $wpdb->prepare( "SELECT ID FROM {$wpdb->posts} WHERE post_type = %s AND post_status = 'publish' AND ID <> %d AND post_date {$side} LIMIT 1", $type, $post_id, $date ) );
		}
		return array_filter( $found );
	}
}
