<?php
/**
 * Changes of terms and menus, and the affected tags.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Each method handles one action of WordPress.
 */
class Myriad_Cache_Term_Changes {

	/**
	 * Terms before they change: slug, name and parent.
	 *
	 * @var array<int, WP_Term>
	 */
	private static $terms_before = array();

	/**
	 * Number of posts of terms before they are counted again, by term and taxonomy.
	 *
	 * @var array<int, int>
	 */
	private static $counts_before = array();

	/**
	 * Registers the actions.
	 */
	public static function start() {
		Myriad_Cache_Hooks::add( 'set_object_terms', array( __CLASS__, 'terms_of_post' ), 10, 6 );
		Myriad_Cache_Hooks::add( 'deleted_term_relationships', array( __CLASS__, 'terms_lost' ), 10, 3 );
		Myriad_Cache_Hooks::add( 'created_term', array( __CLASS__, 'term_created' ), 10, 3 );
		Myriad_Cache_Hooks::add( 'edited_term', array( __CLASS__, 'term_edited' ), 10, 3 );
		Myriad_Cache_Hooks::add( 'delete_term', array( __CLASS__, 'term_deleted' ), 10, 5 );
		Myriad_Cache_Hooks::add( 'edited_term_taxonomy', array( __CLASS__, 'term_counted' ), 10, 2 );
		Myriad_Cache_Hooks::add( array( 'added_term_meta', 'updated_term_meta', 'deleted_term_meta' ), array( __CLASS__, 'term_meta' ), 10, 3 );
		Myriad_Cache_Hooks::add( array( 'wp_update_nav_menu', 'wp_update_nav_menu_item', 'wp_delete_nav_menu' ), array( __CLASS__, 'menu' ) );
	}

	/**
	 * Handles the terms that were set for a post.
	 *
	 * @param int    $object_id Post.
	 * @param array  $terms     Terms, as specified.
	 * @param int[]  $now       Terms and taxonomies after the change.
	 * @param string $taxonomy  Taxonomy.
	 * @param bool   $append    True if the terms were added to the existing terms.
	 * @param int[]  $before    Terms and taxonomies before the change.
	 */
	public static function terms_of_post( $object_id, $terms, $now, $taxonomy, $append, $before ) {
		if ( ! $append ) {
			self::terms_lost( $object_id, array_diff( $before, $now ), $taxonomy );
		}
		self::terms_lost( $object_id, array_diff( $now, $before ), $taxonomy );
	}

	/**
	 * Handles terms that a post got or lost.
	 *
	 * @param int    $object_id Post.
	 * @param int[]  $ids       Terms and taxonomies.
	 * @param string $taxonomy  Taxonomy.
	 */
	public static function terms_lost( $object_id, $ids, $taxonomy ) {
		$ids = array_map( 'intval', (array) $ids );
		if ( ! $ids ) {
			return;
		}
		$terms = array();
		foreach ( $ids as $id ) {
			$term = get_term_by( 'term_taxonomy_id', $id, $taxonomy );
			if ( $term ) {
				$terms[] = $term->term_id;
			}
		}
		if ( 'nav_menu' === $taxonomy ) {
			array_map( array( __CLASS__, 'menu' ), $terms );
			return;
		}
		$known    = get_taxonomy( $taxonomy );
		$types    = $known ? (array) $known->object_type : array();
		$is_other = (bool) array_intersect( array( 'user', 'term' ), $types );
		$post     = array_diff( $types, array( 'user', 'term' ) ) ? get_post( $object_id ) : null;
		$is_post  = $post && in_array( $post->post_type, $types, true ) && Myriad_Cache_Post_Changes::is_shown( $post->post_status ) && ! in_array( $post->post_type, Myriad_Cache_Tags::INNER_TYPES, true );
		if ( ! $is_post && ! $is_other ) {
			return;
		}
		if ( $is_other ) {
			self::terms_of_other( $object_id, $taxonomy );
		}
		if ( $is_post ) {
			Myriad_Cache_Queue::add_post( $post->ID );
			Myriad_Cache_Queue::add( 'l' . $post->post_type . '.by-terms', 'lany.by-terms' );
		}
		Myriad_Cache_Queue::add( Myriad_Cache_Selections::tag_of_posts( $taxonomy ) );
		foreach ( $terms as $term_id ) {
			Myriad_Cache_Queue::add( 'lt' . $term_id, 'lt' . $term_id . '.x', 'lt' . $term_id . '-any' );
			foreach ( get_ancestors( $term_id, $taxonomy, 'taxonomy' ) as $above ) {
				Myriad_Cache_Queue::add( 'lt' . $above, 'lt' . $above . '.x', 'lt' . $above . '-any' );
			}
		}
	}

	/**
	 * Handles terms that a user or a term got or lost. Plugins for languages assign languages to terms.
	 *
	 * @param int    $object_id Object.
	 * @param string $taxonomy  Taxonomy of the terms.
	 */
	private static function terms_of_other( $object_id, $taxonomy ) {
		foreach ( Myriad_Cache_Selections::tags_of_objects( array( $object_id ), array( $taxonomy ) ) as $tag ) {
			Myriad_Cache_Queue::add( $tag );
			$term = 't' === $tag[0] ? get_term( (int) $object_id ) : null;
			if ( $term instanceof WP_Term ) {
				Myriad_Cache_Queue::add( 'tx' . $term->taxonomy );
			} elseif ( 'u' === $tag[0] ) {
				Myriad_Cache_Queue::add( 'lu' );
			}
		}
	}

	/**
	 * Handles a new term.
	 *
	 * @param int    $term_id  Term.
	 * @param int    $tt_id    Term and taxonomy.
	 * @param string $taxonomy Taxonomy.
	 */
	public static function term_created( $term_id, $tt_id, $taxonomy ) {
		// Plugins also list terms that have no archive page, for example in a form.
		Myriad_Cache_Queue::add( 'tx' . $taxonomy );
		if ( is_taxonomy_viewable( $taxonomy ) ) {
			Myriad_Cache_Queue::add_url( get_term_link( (int) $term_id, $taxonomy ) );
		}
	}

	/**
	 * Records a term before it changes.
	 *
	 * @param int    $term_id  Term.
	 * @param string $taxonomy Taxonomy.
	 */
	public static function term_before( $term_id, $taxonomy ) {
		$term = get_term( $term_id, $taxonomy );
		if ( $term instanceof WP_Term ) {
			self::$terms_before[ $term_id ] = clone $term;
		}
	}

	/**
	 * Handles a changed term.
	 *
	 * @param int    $term_id  Term.
	 * @param int    $tt_id    Term and taxonomy.
	 * @param string $taxonomy Taxonomy.
	 */
	public static function term_edited( $term_id, $tt_id, $taxonomy ) {
		$after  = get_term( $term_id, $taxonomy );
		$before = isset( self::$terms_before[ $term_id ] ) ? self::$terms_before[ $term_id ] : null;
		if ( ! $before || ! $after instanceof WP_Term || $before->name !== $after->name || $before->description !== $after->description || $before->parent !== $after->parent ) {
			Myriad_Cache_Queue::add( 't' . $term_id );
		}
		if ( 'nav_menu' === $taxonomy ) {
			self::menu( $term_id );
		}
		foreach ( array( 'name', 'slug', 'description', 'parent' ) as $field ) {
			if ( $before && $after instanceof WP_Term && $before->$field !== $after->$field ) {
				Myriad_Cache_Queue::add( 'tx' . $taxonomy . '.by-' . $field, 'tx' . $taxonomy . '.by-any' );
			}
		}
		if ( ! $after instanceof WP_Term || ( $before && $before->slug === $after->slug && $before->parent === $after->parent ) ) {
			return;
		}
		Myriad_Cache_Queue::add( 'ts' . $term_id, 'smtaxonomies' . $taxonomy );
		Myriad_Cache_Queue::add_url( get_term_link( $after ) );
		// Its posts were added to or removed from the lists of its ancestors; the links of its descendants contain it.
		foreach ( array( $before, $after ) as $term ) {
			foreach ( $term && $term->parent ? array_merge( array( $term->parent ), get_ancestors( $term->parent, $taxonomy, 'taxonomy' ) ) : array() as $above ) {
				Myriad_Cache_Queue::add( 'lt' . $above, 'lt' . $above . '.x', 'lt' . $above . '-any' );
			}
		}
		$below = get_term_children( $term_id, $taxonomy );
		foreach ( is_array( $below ) ? $below : array() as $child ) {
			Myriad_Cache_Queue::add( 't' . $child, 'ts' . $child );
		}
	}

	/**
	 * Handles a deleted term.
	 *
	 * @param int     $term_id    Term.
	 * @param int     $tt_id      Term and taxonomy.
	 * @param string  $taxonomy   Taxonomy.
	 * @param WP_Term $term       State before the change.
	 * @param int[]   $object_ids Posts that had the term.
	 */
	public static function term_deleted( $term_id, $tt_id, $taxonomy, $term, $object_ids ) {
		Myriad_Cache_Queue::add( 't' . $term_id, 'ts' . $term_id, 'lt' . $term_id, 'lt' . $term_id . '.x', 'lt' . $term_id . '-any', 'tx' . $taxonomy, 'smtaxonomies' . $taxonomy );
		foreach ( (array) $object_ids as $post_id ) {
			Myriad_Cache_Queue::add_post( (int) $post_id );
		}
	}

	/**
	 * Records the number of posts of a term before they are counted again.
	 *
	 * @param int           $tt_id    Term and taxonomy.
	 * @param string|object $taxonomy Taxonomy; before WordPress 6.1 an object.
	 */
	public static function term_count_before( $tt_id, $taxonomy ) {
		$term = get_term_by( 'term_taxonomy_id', (int) $tt_id, is_object( $taxonomy ) ? $taxonomy->name : $taxonomy );
		if ( $term ) {
			self::$counts_before[ (int) $tt_id ] = (int) $term->count;
		}
	}

	/**
	 * Handles a changed number of posts of a term.
	 *
	 * @param int           $tt_id    Term and taxonomy.
	 * @param string|object $taxonomy Taxonomy; before WordPress 6.1 an object.
	 */
	public static function term_counted( $tt_id, $taxonomy ) {
		global $wpdb;
		$taxonomy = is_object( $taxonomy ) ? $taxonomy->name : $taxonomy;
		$before   = isset( self::$counts_before[ (int) $tt_id ] ) ? self::$counts_before[ (int) $tt_id ] : -1;
		// phpcs:ignore WordPress.DB -- WordPress deletes the cached term only after this action.
		$after = (int) $wpdb->get_var( $wpdb->prepare( "SELECT count FROM {$wpdb->term_taxonomy} WHERE term_taxonomy_id = %d", (int) $tt_id ) );
		if ( $after === $before ) {
			return;
		}
		$is_first_or_last = 0 === $before || 0 === $after || -1 === $before;
		if ( ! is_taxonomy_viewable( $taxonomy ) ) {
			// Such counts change with each order and each stock status, and are not shown. Lists omit terms without posts.
			if ( $is_first_or_last ) {
				Myriad_Cache_Queue::add( 'tx' . $taxonomy );
			}
			return;
		}
		Myriad_Cache_Queue::add( 'tx' . $taxonomy );
		// Sitemaps contain the terms that have posts, and the index contains the sitemaps that have terms.
		if ( $is_first_or_last ) {
			Myriad_Cache_Queue::add( 'smtaxonomies' . $taxonomy );
			$with_posts = wp_count_terms(
				array(
					'taxonomy'   => $taxonomy,
					'hide_empty' => true,
				)
			);
			if ( ! is_numeric( $with_posts ) || (int) $with_posts % 2000 <= 1 ) {
				Myriad_Cache_Queue::add( 'smindex' );
			}
		}
	}

	/**
	 * Handles a changed field of a term.
	 *
	 * @param int|int[] $meta_id Field.
	 * @param int       $term_id Term.
	 * @param string    $name    Name of the field.
	 */
	public static function term_meta( $meta_id, $term_id, $name ) {
		$term = get_term( (int) $term_id );
		Myriad_Cache_Queue::add( 't' . (int) $term_id );
		if ( $term instanceof WP_Term ) {
			$list = 'tx' . $term->taxonomy . '.by-meta';
			Myriad_Cache_Queue::add( $list, $list . '-' . Myriad_Cache_Tags::field( $name ) );
		}
	}

	/**
	 * Handles a changed menu, or one of its items.
	 *
	 * @param int $menu_id Menu.
	 */
	public static function menu( $menu_id ) {
		Myriad_Cache_Queue::add( 'm' . (int) $menu_id );
	}
}
