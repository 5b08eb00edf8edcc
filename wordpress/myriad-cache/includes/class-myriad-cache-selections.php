<?php
/**
 * Terms and SQL by which queries select posts.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Finds what the result of a query depends on besides the lists of `Myriad_Cache_Lists`.
 *
 * A list without the posts of term 5 has the tag `lt5-any`: a post that gets or loses the term enters or leaves the list. A list that depends on
 * which posts have any term of a taxonomy has `txTAX.by-posts`.
 */
class Myriad_Cache_Selections {

	/**
	 * Maximum length of SQL that is searched for tables and columns.
	 */
	const MOST_SQL = 10000;

	/**
	 * Taxonomies of WordPress whose terms do not appear on pages as terms of their posts.
	 */
	const INNER_TAXONOMIES = array( 'nav_menu', 'wp_theme', 'wp_template_part_area', 'wp_pattern_category' );

	/**
	 * Returns the selection of terms with which a query runs. WordPress determines it again after the filters that have changed the arguments
	 * of the query, which is now.
	 *
	 * @param WP_Query $query Query that is about to run.
	 * @return WP_Tax_Query
	 */
	public static function of_terms( $query ) {
		$copy = clone $query;
		$copy->parse_tax_query( $copy->query_vars );
		return $copy->tax_query;
	}

	/**
	 * Returns the terms of a clause.
	 *
	 * @param array  $clause   Clause with the keys `terms` and `field`.
	 * @param string $taxonomy Taxonomy.
	 * @return array<int, WP_Term|false> False for each term that does not exist.
	 */
	public static function terms( $clause, $taxonomy ) {
		$terms = array();
		foreach ( isset( $clause['terms'] ) ? (array) $clause['terms'] : array() as $term ) {
			$terms[] = get_term_by( isset( $clause['field'] ) ? $clause['field'] : 'term_id', $term, $taxonomy );
		}
		return $terms;
	}

	/**
	 * Returns whether posts may match only one of several clauses.
	 *
	 * @param mixed $clauses Clauses, or the relation between them.
	 * @return bool
	 */
	private static function has_alternatives( $clauses ) {
		if ( ! is_array( $clauses ) ) {
			return false;
		}
		if ( isset( $clauses['relation'] ) && 'OR' === strtoupper( (string) $clauses['relation'] ) ) {
			return true;
		}
		return in_array( true, array_map( array( __CLASS__, 'has_alternatives' ), array_values( $clauses ) ), true );
	}

	/**
	 * Returns the tags of terms that the list of a term does not cover: excluded terms, terms that do not exist, any term of a taxonomy.
	 *
	 * @param WP_Tax_Query $selection Selection.
	 * @return array{0: string[], 1: bool} Tags, and true if posts without the other terms may be in the list.
	 */
	public static function tags( $selection ) {
		$tags = self::tags_of_clauses( $selection->queries );
		return array( array_unique( $tags ), $tags && self::has_alternatives( $selection->queries ) );
	}

	/**
	 * Returns the tags of clauses; see tags().
	 *
	 * @param mixed $clauses Clauses, or the relation between them.
	 * @return string[]
	 */
	private static function tags_of_clauses( $clauses ) {
		$tags = array();
		foreach ( is_array( $clauses ) ? $clauses : array() as $clause ) {
			if ( ! is_array( $clause ) ) {
				continue;
			}
			$is_clause = array_key_exists( 'taxonomy', $clause ) && array_key_exists( 'terms', $clause );
			$tags      = array_merge( $tags, $is_clause ? self::tags_of_clause( $clause ) : self::tags_of_clauses( $clause ) );
		}
		return $tags;
	}

	/**
	 * Returns the tags of a clause.
	 *
	 * @param array $clause Clause with the keys `taxonomy`, `terms`, `field` and `operator`.
	 * @return string[]
	 */
	private static function tags_of_clause( $clause ) {
		$taxonomy = (string) $clause['taxonomy'];
		$operator = isset( $clause['operator'] ) ? strtoupper( (string) $clause['operator'] ) : 'IN';
		$any      = '' === $taxonomy ? array() : array( self::posts_of( $taxonomy ) );
		$terms    = self::terms( $clause, $taxonomy );
		if ( ! $terms || ! in_array( $operator, array( 'IN', 'NOT IN', 'AND' ), true ) ) {
			return $any;
		}
		$tags = in_array( false, $terms, true ) ? $any : array();
		foreach ( 'NOT IN' === $operator ? array_filter( $terms ) : array() as $term ) {
			$tags[] = 'lt' . $term->term_id . '-any';
		}
		return $tags;
	}

	/**
	 * Returns the tag for the posts that have terms of a taxonomy.
	 *
	 * @param string $taxonomy Taxonomy.
	 * @return string
	 */
	public static function posts_of( $taxonomy ) {
		return 'tx' . $taxonomy . '.by-posts';
	}

	/**
	 * Tags the page with fields of posts that filters of plugins have added to the SQL of a query: columns, fields of `wp_postmeta`, terms.
	 *
	 * @param string   $sql   SQL.
	 * @param WP_Query $query Query.
	 * @return string
	 */
	public static function note_sql( $sql, $query ) {
		global $wpdb;
		if ( ! $query instanceof WP_Query ) {
			return $sql;
		}
		// WordPress separates clauses by spaces, or by tabs in older versions.
		$parts  = preg_split( '/\sFROM\s/i', (string) $sql, 2 );
		$from   = (string) substr( (string) end( $parts ), 0, self::MOST_SQL );
		$fields = array();
		$found  = array();
		if ( preg_match_all( '/\b(' . implode( '|', array_keys( Myriad_Cache_Lists::COLUMNS ) ) . ')\b/', $from, $found ) ) {
			$fields = array_values( array_intersect_key( Myriad_Cache_Lists::COLUMNS, array_flip( $found[1] ) ) );
		}
		if ( false !== strpos( $from, $wpdb->postmeta ) && empty( $query->meta_query->queries ) ) {
			$fields[] = 'meta';
		}
		if ( false !== strpos( $from, $wpdb->term_relationships ) && empty( $query->tax_query->queries ) ) {
			$fields[] = 'terms';
		}
		if ( $fields ) {
			foreach ( Myriad_Cache_Lists::with_fields( $query, $fields ) as $tag ) {
				Myriad_Cache_Tags::add( $tag );
			}
		}
		return $sql;
	}

	/**
	 * Tags the page with the posts of terms that `get_objects_in_term()` selects.
	 *
	 * @param string $sql SQL of WordPress.
	 */
	public static function note_objects_in_terms( $sql ) {
		global $wpdb;
		$start = "SELECT tr.object_id FROM {$wpdb->term_relationships} AS tr ";
		$found = array();
		if ( 0 === strpos( $sql, $start ) && preg_match( '/ AND tt\.term_id IN \(([0-9\', ]+)\) ORDER BY/', $sql, $found ) ) {
			foreach ( preg_split( '/[^0-9]+/', $found[1], -1, PREG_SPLIT_NO_EMPTY ) as $term_id ) {
				Myriad_Cache_Tags::add( 'lt' . (int) $term_id . '-any' );
			}
		}
	}

	/**
	 * Returns the tags of objects whose terms are read, or have changed: posts, users, or terms.
	 *
	 * @param int[]    $ids        Objects.
	 * @param string[] $taxonomies Taxonomies of the terms.
	 * @return string[]
	 */
	public static function objects( $ids, $taxonomies ) {
		$kinds = array();
		foreach ( array_diff( $taxonomies, self::INNER_TAXONOMIES ) as $name ) {
			$taxonomy = get_taxonomy( $name );
			foreach ( $taxonomy ? (array) $taxonomy->object_type : array() as $type ) {
				$kinds[ 'user' === $type ? 'u' : ( 'term' === $type ? 't' : 'p' ) ] = true;
			}
		}
		$tags = array();
		foreach ( array_keys( $kinds ) as $kind ) {
			foreach ( array_filter( array_map( 'intval', $ids ) ) as $id ) {
				$tags[] = $kind . $id;
			}
		}
		return $tags;
	}
}
