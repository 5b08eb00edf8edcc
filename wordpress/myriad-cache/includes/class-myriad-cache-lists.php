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
 * Finds the lists that a query reads, and the lists that a post belongs to.
 *
 * A list is named after the selection of its posts: `lpost` for all posts, `lt5` for term 5, `la1` for author 1,
 * `ld2026-01` for a month. If a list is in the default order, its third page is `lpost.3`, its feed `lpost.f`, all of
 * its pages `lpost.x`, and the pages that show the number of pages `lpost.n`: if a post is removed from the third page,
 * the first two pages remain valid. A list in another order has no suffix (`lpost`). Lists of a term, an author or a
 * date that contain other types than posts are `lt5-any`.
 *
 * A list that depends on other fields of posts has an additional tag for each of them: `lpost.by-title`,
 * `lt5.by-modified`, `lpost.by-meta-price`; `by-meta` is any field of `wp_postmeta`, `by-any` any column or field.
 */
class Myriad_Cache_Lists {

	/**
	 * Maximum number of pages of a list that are purged individually; a larger range purges all pages of the list.
	 */
	const MOST_PAGES = 100;

	/**
	 * Columns of posts by which queries select and sort, and their names in tags. Type, status, date and author have
	 * separate lists.
	 */
	const COLUMNS = array(
		'post_title'     => 'title',
		'post_name'      => 'name',
		'post_content'   => 'content',
		'post_excerpt'   => 'excerpt',
		'post_modified'  => 'modified',
		'post_parent'    => 'parent',
		'post_password'  => 'password',
		'post_mime_type' => 'mime',
		'menu_order'     => 'menu_order',
		'comment_count'  => 'comment_count',
		'comment_status' => 'comment_status',
		'ping_status'    => 'ping_status',
	);

	/**
	 * Orders that depend on no additional field, as keys.
	 */
	const PLAIN_ORDERS = array(
		''                => true,
		'none'            => true,
		'rand'            => true,
		'id'              => true,
		'date'            => true,
		'post_date'       => true,
		'author'          => true,
		'type'            => true,
		'post__in'        => true,
		'post_name__in'   => true,
		'post_parent__in' => true,
		'relevance'       => true,
	);

	/**
	 * Orders of WooCommerce, and the fields of `wp_postmeta` on which they depend.
	 */
	const SHOP_ORDERS = array(
		'popularity' => 'meta-total_sales',
		'rating'     => 'meta-_wc_average_rating',
		'price'      => 'meta-_price',
		'price-desc' => 'meta-_price',
	);

	/**
	 * Fields of terms by argument or order of a query. Counts, new terms and deleted terms change the tag of the list itself.
	 */
	const TERM_FIELDS = array(
		'name'              => 'name',
		'name__like'        => 'name',
		'search'            => 'name',
		'slug'              => 'slug',
		'description'       => 'description',
		'description__like' => 'description',
		'parent'            => 'parent',
		'child_of'          => 'parent',
		'childless'         => 'parent',
		'count'             => '',
		'none'              => '',
		'term_id'           => '',
		'id'                => '',
		'include'           => '',
		'meta_value'        => '',
		'meta_value_num'    => '',
	);

	/**
	 * Arguments of queries that select posts by a field.
	 */
	const SELECTORS = array(
		'title'               => 'title',
		'name'                => 'name',
		'pagename'            => 'name',
		'post_parent'         => 'parent',
		'post_parent__in'     => 'parent',
		'post_parent__not_in' => 'parent',
		'post_mime_type'      => 'mime',
		'post_password'       => 'password',
		'has_password'        => 'password',
		'menu_order'          => 'menu_order',
		'comment_count'       => 'comment_count',
		'comment_status'      => 'comment_status',
		'ping_status'         => 'ping_status',
	);

	/**
	 * Fields in orders that were parsed, by order.
	 *
	 * @var array<string, string[]>
	 */
	private static $orders = array();

	/**
	 * Returns the tags of the lists that a query reads.
	 *
	 * @param WP_Query $query Query that is about to run.
	 * @return string[]
	 */
	public static function of_query( $query ) {
		$vars = $query->query_vars;
		foreach ( array( 'post__in', 'post_name__in' ) as $name ) {
			if ( ! empty( $vars[ $name ] ) ) {
				return self::of_posts( (array) $vars[ $name ] );
			}
		}
		// The page for posts is a list, although `pagename` selects it.
		if ( ( $query->is_singular() && ! $query->is_posts_page ) || $query->is_comment_feed() ) {
			return array();
		}
		$types = self::types( $query );
		if ( array_intersect( $types, Myriad_Cache_Tags::INNER_TYPES ) ) {
			return array();
		}
		$selection = Myriad_Cache_Selections::tax_query( $query );
		$lists     = $selection ? self::lists_of_terms( $selection ) : array();
		list( $tags, $has_others ) = $selection ? Myriad_Cache_Selections::tags( $selection ) : array( array(), false );
		if ( ! $lists || $has_others ) {
			$lists = array_merge( $lists, self::without_terms( $query, $types ) );
		}
		$has_types = array( 'post' ) !== $types || $query->is_tax();
		$pages     = self::pages( $query, $types );
		$fields    = self::fields( $query );
		foreach ( $lists as $list ) {
			if ( $has_types && isset( $list[2] ) && ctype_digit( $list[2] ) && false !== strpos( 'tad', $list[1] ) ) {
				$list .= '-any';
			}
			foreach ( $fields as $field ) {
				$tags[] = $list . '.by-' . $field;
			}
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
	 * Returns the types of posts that a query selects.
	 *
	 * @param WP_Query $query Query.
	 * @return string[]
	 */
	private static function types( $query ) {
		$type = isset( $query->query_vars['post_type'] ) ? $query->query_vars['post_type'] : '';
		if ( is_string( $type ) ) {
			return array( '' === $type ? 'post' : $type );
		}
		$types = array_filter( (array) $type );
		return $types ? $types : array( 'post' );
	}

	/**
	 * Returns the tags of the lists of types that a query reads, with fields that are not in its arguments.
	 *
	 * @param WP_Query $query  Query.
	 * @param string[] $fields Fields, by their names in tags.
	 * @return string[]
	 */
	public static function tags_of_fields( $query, $fields ) {
		$types = self::types( $query );
		if ( $query->is_singular() || array_intersect( $types, Myriad_Cache_Tags::INNER_TYPES ) ) {
			return array();
		}
		$tags   = array();
		$fields = array_diff( $fields, self::fields( $query ) );
		foreach ( $types as $type ) {
			foreach ( $fields as $field ) {
				$tags[] = 'l' . $type . '.by-' . $field;
			}
		}
		return $tags;
	}

	/**
	 * Returns the fields by which a query selects and sorts posts.
	 *
	 * @param WP_Query $query Query that is about to run.
	 * @return string[] Names as in tags.
	 */
	private static function fields( $query ) {
		$fields = array();
		foreach ( self::SELECTORS as $argument => $field ) {
			$value = isset( $query->query_vars[ $argument ] ) ? $query->query_vars[ $argument ] : '';
			if ( '' !== $value && array() !== $value ) {
				$fields[] = $field;
			}
		}
		if ( isset( $query->query_vars['s'] ) && '' !== (string) $query->query_vars['s'] ) {
			array_push( $fields, 'title', 'excerpt', 'content' );
		}
		$dates = isset( $query->query_vars['date_query'] ) ? $query->query_vars['date_query'] : '';
		if ( $dates && false !== strpos( (string) wp_json_encode( $dates ), 'post_modified' ) ) {
			$fields[] = 'modified';
		}
		$meta  = self::meta_fields( $query->query_vars );
		$order = isset( $query->query_vars['orderby'] ) ? $query->query_vars['orderby'] : '';
		if ( ! $fields && ! $meta && is_string( $order ) && isset( self::PLAIN_ORDERS[ strtolower( $order ) ] ) ) {
			return array();
		}
		return array_unique( array_merge( $fields, array_values( $meta ), self::order_fields( $order, $meta ) ) );
	}

	/**
	 * Returns the fields by which a list is sorted.
	 *
	 * @param string|array $orderby Order, as in the query.
	 * @param array        $meta    Fields of `wp_postmeta` in the query, which its order may refer to.
	 * @return string[] Names as in tags; `any` for an unknown order.
	 */
	private static function order_fields( $orderby, $meta ) {
		if ( $meta || ! is_string( $orderby ) ) {
			return self::fields_in_order( $orderby, $meta );
		}
		if ( ! isset( self::$orders[ $orderby ] ) ) {
			self::$orders[ $orderby ] = self::fields_in_order( $orderby, $meta );
		}
		return self::$orders[ $orderby ];
	}

	/**
	 * Returns the fields of `wp_postmeta` in the arguments of a query.
	 *
	 * @param array $arguments Arguments: `meta_key`, `meta_query` and so on.
	 * @return array Names as in tags; those of named clauses by their name.
	 */
	public static function meta_fields( $arguments ) {
		$is_asked = ! empty( $arguments['meta_query'] ) || ! empty( $arguments['meta_key'] ) || ( isset( $arguments['meta_value'] ) && '' !== $arguments['meta_value'] );
		if ( ! $is_asked ) {
			return array();
		}
		$parsed = new WP_Meta_Query();
		$parsed->parse_query_vars( $arguments );
		return self::keys_of( $parsed->queries );
	}

	/**
	 * Returns the keys of `wp_postmeta` in the arguments of a query.
	 *
	 * @param array $arguments Arguments: `meta_key`, `meta_query` and so on.
	 * @return string[] Keys, except very long ones.
	 */
	public static function meta_keys( $arguments ) {
		$keys = array();
		foreach ( self::meta_fields( $arguments ) as $field ) {
			if ( 0 === strpos( $field, 'meta-' ) ) {
				$keys[] = substr( $field, 5 );
			}
		}
		return $keys;
	}

	/**
	 * Returns the fields in clauses of a meta query.
	 *
	 * @param mixed $clauses Clauses, or the relation between them.
	 * @return array Names as in tags; those of named clauses by their name.
	 */
	private static function keys_of( $clauses ) {
		$found = array();
		foreach ( is_array( $clauses ) ? $clauses : array() as $name => $clause ) {
			if ( ! is_array( $clause ) ) {
				continue;
			}
			if ( ! array_key_exists( 'key', $clause ) && ! array_key_exists( 'value', $clause ) ) {
				$found = array_merge( $found, self::keys_of( $clause ) );
				continue;
			}
			$is_plain = ! isset( $clause['compare_key'] ) || in_array( strtoupper( (string) $clause['compare_key'] ), array( '=', 'EXISTS', 'IN' ), true );
			$keys     = $is_plain && ! empty( $clause['key'] ) ? (array) $clause['key'] : array( '' );
			foreach ( $keys as $key ) {
				$field = '' === (string) $key ? 'meta' : 'meta-' . Myriad_Cache_Tags::field( (string) $key );
				if ( is_string( $name ) && 1 === count( $keys ) ) {
					$found[ $name ] = $field;
				} else {
					$found[] = $field;
				}
			}
		}
		return $found;
	}

	/**
	 * Returns the fields in an order; see order_fields().
	 *
	 * @param string|array $orderby Order, as in the query.
	 * @param array        $meta    Fields of `wp_postmeta` in the query.
	 * @return string[]
	 */
	private static function fields_in_order( $orderby, $meta ) {
		if ( false === $orderby ) {
			return array();
		}
		$orders = is_array( $orderby ) ? array_keys( $orderby ) : preg_split( '/[\s,]+/', (string) $orderby );
		$fields = array();
		$names  = $meta ? array_change_key_case( $meta ) : array();
		foreach ( $orders as $order ) {
			$order = strtolower( (string) $order );
			if ( isset( self::PLAIN_ORDERS[ $order ] ) || 0 === strpos( $order, 'rand(' ) || ctype_digit( $order ) ) {
				continue;
			}
			$plain = (string) preg_replace( '/^(?:\w+\.)?post_(?!_|parent__|name__)/', '', $order );
			if ( isset( self::PLAIN_ORDERS[ $plain ] ) ) {
				continue;
			}
			if ( 0 === strpos( $order, 'meta_value' ) || isset( $names[ $order ] ) ) {
				$fields = array_merge( $fields, $meta ? array_values( $meta ) : array( 'meta' ) );
			} elseif ( isset( self::SHOP_ORDERS[ $order ] ) ) {
				$fields[] = self::SHOP_ORDERS[ $order ];
			} else {
				$fields[] = in_array( $plain, self::COLUMNS, true ) ? $plain : 'any';
			}
		}
		return $fields;
	}

	/**
	 * Returns the fields by which `get_pages()` selects and sorts.
	 *
	 * @param array $args Arguments of the list.
	 * @return string[] Names as in tags.
	 */
	public static function fields_of_pages( $args ) {
		$order = isset( $args['sort_column'] ) ? $args['sort_column'] : 'post_title';
		$meta  = self::meta_fields( $args );
		return $meta ? array_unique( array_merge( array_values( $meta ), self::order_fields( $order, array() ) ) ) : self::order_fields( $order, array() );
	}

	/**
	 * Returns the fields by which a query selects terms, and sorts them if it is limited to a number.
	 *
	 * @param array $args Arguments of the query.
	 * @return string[] Names as in tags.
	 */
	public static function fields_of_terms( $args ) {
		$fields = self::meta_fields( $args );
		foreach ( array( 'name__like', 'search', 'description__like', 'parent', 'child_of', 'childless' ) as $argument ) {
			if ( ! empty( $args[ $argument ] ) || ( 'parent' === $argument && isset( $args['parent'] ) && '' !== $args['parent'] ) ) {
				$fields[] = self::TERM_FIELDS[ $argument ];
			}
		}
		if ( ! empty( $args['number'] ) ) {
			$order    = isset( $args['orderby'] ) ? strtolower( (string) $args['orderby'] ) : 'name';
			$fields[] = isset( self::TERM_FIELDS[ $order ] ) ? self::TERM_FIELDS[ $order ] : 'any';
		}
		return array_unique( array_values( array_diff( $fields, array( '' ) ) ) );
	}

	/**
	 * Returns the tags of posts that a query selects by number.
	 *
	 * @param array $ids Numbers; names are ignored.
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
	 * Returns the names of the lists of the terms that a query selects.
	 *
	 * @param WP_Tax_Query $selection Selection.
	 * @return string[]
	 */
	private static function lists_of_terms( $selection ) {
		$lists = array();
		foreach ( $selection->queried_terms as $taxonomy => $clause ) {
			foreach ( array_filter( Myriad_Cache_Selections::terms( $clause, $taxonomy ) ) as $term ) {
				$lists[] = 'lt' . $term->term_id;
			}
		}
		return $lists;
	}

	/**
	 * Returns the names of the lists if terms select none: those of an author, a date, or a type.
	 *
	 * @param WP_Query $query Query.
	 * @param string[] $types Post types.
	 * @return string[]
	 */
	private static function without_terms( $query, $types ) {
		$vars   = $query->query_vars;
		$author = ! empty( $vars['author_name'] ) ? get_user_by( 'slug', sanitize_title_for_query( $vars['author_name'] ) ) : false;
		if ( $author ) {
			return array( 'la' . $author->ID );
		}
		if ( ! empty( $vars['author'] ) && is_numeric( $vars['author'] ) && (int) $vars['author'] > 0 ) {
			return array( 'la' . (int) $vars['author'] );
		}
		$date = self::date( $query );
		if ( '' !== $date ) {
			return array( 'ld' . $date );
		}
		$lists = array();
		foreach ( $types as $type ) {
			$lists[] = 'l' . $type;
		}
		return $lists;
	}

	/**
	 * Returns the day, month or year that a query selects.
	 *
	 * @param WP_Query $query Query.
	 * @return string `2026`, `2026-01`, `2026-01-31`, or an empty string.
	 */
	private static function date( $query ) {
		if ( empty( $query->query_vars['year'] ) && empty( $query->query_vars['m'] ) ) {
			return '';
		}
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
	 * Returns the page of a list in the default order that a query reads.
	 *
	 * @param WP_Query $query Query.
	 * @param string[] $types Post types.
	 * @return string Number, `f` for a feed, or an empty string for another order.
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
	 * Returns the lists that a post belongs to.
	 *
	 * @param array $known Data of the post: its `type`, and lists of its `terms`, `authors`, `dates`, before and after
	 *                     the change.
	 * @return array<string, array> Selection of the posts of each list, by name.
	 */
	private static function of_post( $known ) {
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
		return $lists;
	}

	/**
	 * Returns the tags of the pages of lists that a post is added to or removed from.
	 *
	 * @param int   $post_id Post.
	 * @param array $known   Data of the post: see of_post().
	 * @return string[]
	 */
	public static function of_change( $post_id, $known ) {
		$tags = array( 'lany' );
		foreach ( self::of_post( $known ) as $list => $bounds ) {
			$tags[] = $bounds ? $list . '-any' : $list;
			if ( 'post' === $known['type'] ) {
				$tags[] = $list;
				$tags   = array_merge( $tags, self::pages_behind( $list, $bounds, $post_id, $known ) );
			}
		}
		return $tags;
	}

	/**
	 * Returns the tags of lists that contain a post and depend on its fields.
	 *
	 * @param string[] $fields Changed fields, by their names in tags.
	 * @param array    $known  Data of the post: see of_post().
	 * @return string[]
	 */
	public static function of_fields( $fields, $known ) {
		$lists = array( 'lany' );
		foreach ( self::of_post( $known ) as $list => $bounds ) {
			$lists[] = $list;
			if ( $bounds ) {
				$lists[] = $list . '-any';
			}
		}
		$tags = array();
		foreach ( array_unique( array_merge( $fields, array( 'any' ) ) ) as $field ) {
			foreach ( $lists as $list ) {
				$tags[] = $list . '.by-' . $field;
			}
		}
		return $tags;
	}

	/**
	 * Returns terms and their ancestors, whose lists contain the posts of descendants.
	 *
	 * @param int[] $term_ids Terms.
	 * @return array<int, string> Taxonomies, by number of the term.
	 */
	private static function with_ancestors( $term_ids ) {
		$all = array();
		foreach ( array_unique( $term_ids ) as $term_id ) {
			$term = get_term( $term_id );
			// The taxonomy of a deleted term is not needed, because its posts are not counted.
			$taxonomy        = $term instanceof WP_Term ? $term->taxonomy : '';
			$all[ $term_id ] = $taxonomy;
			foreach ( $taxonomy ? get_ancestors( $term_id, $taxonomy, 'taxonomy' ) : array() as $above ) {
				$all[ $above ] = $taxonomy;
			}
		}
		return $all;
	}

	/**
	 * Returns the tags of the pages of a list from the page of a post on, and of pages that show the number of pages if
	 * it changes.
	 *
	 * @param string $name    Name of the list.
	 * @param array  $bounds  Selection of its posts.
	 * @param int    $post_id Post.
	 * @param array  $known   Data of the post: see of_post().
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
		// Number of pages including the post.
		$last = intdiv( $others, $size ) + 1;
		if ( $last - $first >= self::MOST_PAGES ) {
			return array( $name . '.x' );
		}
		$tags = array();
		if ( 0 === $others % $size ) {
			// The last page appears or disappears: the page before it gets or loses the link to it.
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
	 * Returns the number of posts of a list, without one post, that are newer than a date.
	 *
	 * @param array  $bounds  Selection of its posts.
	 * @param int    $post_id Post that is not counted.
	 * @param string $newer   Date; empty for all posts.
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
		// phpcs:ignore WordPress.DB -- the parts were prepared above, and the data has just changed.
		return (int) $wpdb->get_var( "SELECT COUNT(DISTINCT p.ID) FROM {$wpdb->posts} p{$join} WHERE {$where}" );
	}

	/**
	 * Returns the posts immediately before and after a date.
	 *
	 * @param int    $post_id Post that is not counted.
	 * @param string $type    Post type.
	 * @param string $date    Date.
	 * @return int[]
	 */
	public static function neighbours( $post_id, $type, $date ) {
		global $wpdb;
		$found = array();
		foreach ( array( '<= %s ORDER BY post_date DESC', '>= %s ORDER BY post_date ASC' ) as $side ) {
			// phpcs:ignore WordPress.DB -- the side is one of two constants, and the data has just changed.
			$found[] = (int) $wpdb->get_var( $wpdb->prepare( "SELECT ID FROM {$wpdb->posts} WHERE post_type = %s AND post_status = 'publish' AND ID <> %d AND post_date {$side} LIMIT 1", $type, $post_id, $date ) );
		}
		return array_filter( $found );
	}
}
