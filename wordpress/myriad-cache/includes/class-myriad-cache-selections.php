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
	 * Arguments of queries that select posts by terms, besides the names of taxonomies.
	 */
	const ARGUMENTS = array( 'tax_query', 'taxonomy', 'cat', 'category__in', 'category__not_in', 'category__and', 'tag', 'tag_id', 'tag__in', 'tag__not_in', 'tag__and', 'tag_slug__in', 'tag_slug__and' );

	/**
	 * Filters with which plugins change the SQL of queries, as keys.
	 */
	const SQL_FILTERS = array(
		'posts_search'            => true,
		'posts_where'             => true,
		'posts_join'              => true,
		'posts_where_paged'       => true,
		'posts_join_paged'        => true,
		'posts_groupby'           => true,
		'posts_orderby'           => true,
		'posts_search_orderby'    => true,
		'posts_distinct'          => true,
		'posts_fields'            => true,
		'posts_clauses'           => true,
		'posts_where_request'     => true,
		'posts_join_request'      => true,
		'posts_groupby_request'   => true,
		'posts_orderby_request'   => true,
		'posts_distinct_request'  => true,
		'posts_fields_request'    => true,
		'posts_clauses_request'   => true,
		'get_meta_sql'            => true,
	);

	/**
	 * Columns of `Myriad_Cache_Lists::COLUMNS` in SQL.
	 */
	const COLUMNS = '/\b(?:post_(?:title|name|content|excerpt|modified|parent|password|mime_type)|menu_order|comment_count|comment_status|ping_status)\b/';

	/**
	 * Taxonomies of WordPress whose terms do not appear on pages as terms of their posts.
	 */
	const INNER_TAXONOMIES = array( 'nav_menu', 'wp_theme', 'wp_template_part_area', 'wp_pattern_category' );

	/**
	 * True if the SQL of queries is observed.
	 *
	 * @var bool
	 */
	private static $is_observing = false;

	/**
	 * Terms that were found, by site, taxonomy, field and value; false for a term that does not exist.
	 *
	 * @var array<string, WP_Term|false>
	 */
	private static $found = array();

	/**
	 * Observes the SQL of queries, if a plugin has filters that change it. Without such a filter, the SQL depends on the arguments only, which
	 * `Myriad_Cache_Lists` reads.
	 */
	public static function start() {
		global $wp_filter;
		if ( ! self::$is_observing && ( isset( $wp_filter['posts_request'] ) || array_intersect_key( self::SQL_FILTERS, $wp_filter ) ) ) {
			self::$is_observing = true;
			Myriad_Cache_Hooks::add( 'posts_request', array( __CLASS__, 'note_sql' ), PHP_INT_MAX, 2 );
		}
	}

	/**
	 * Returns the selection of terms with which a query runs. WordPress determines it again after the filters that have changed the arguments
	 * of the query, which is now.
	 *
	 * @param WP_Query $query Query that is about to run.
	 * @return WP_Tax_Query|null Null if the query selects no terms.
	 */
	public static function tax_query( $query ) {
		if ( ! self::may_select_terms( $query->query_vars ) ) {
			return null;
		}
		$copy = clone $query;
		$copy->parse_tax_query( $copy->query_vars );
		return $copy->tax_query;
	}

	/**
	 * Returns whether the arguments of a query may select terms.
	 *
	 * @param array $arguments Arguments.
	 * @return bool
	 */
	private static function may_select_terms( $arguments ) {
		global $wp_filter, $wp_taxonomies;
		foreach ( self::ARGUMENTS as $name ) {
			if ( ! empty( $arguments[ $name ] ) ) {
				return true;
			}
		}
		foreach ( $wp_taxonomies as $taxonomy ) {
			if ( $taxonomy->query_var && ! empty( $arguments[ $taxonomy->query_var ] ) ) {
				return true;
			}
		}
		return isset( $wp_filter['parse_tax_query'] );
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
		$field = isset( $clause['field'] ) ? (string) $clause['field'] : 'term_id';
		foreach ( isset( $clause['terms'] ) ? (array) $clause['terms'] : array() as $term ) {
			if ( ! is_scalar( $term ) ) {
				continue;
			}
			$key = get_current_blog_id() . ' ' . $taxonomy . ' ' . $field . ' ' . $term;
			if ( ! isset( self::$found[ $key ] ) ) {
				self::$found[ $key ] = get_term_by( $field, $term, $taxonomy );
			}
			$terms[] = self::$found[ $key ];
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
		$any      = '' === $taxonomy ? array() : array( self::tag_of_posts( $taxonomy ) );
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
	public static function tag_of_posts( $taxonomy ) {
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
		global $wp_filter;
		// The filter may have been removed since.
		if ( $query instanceof WP_Query && ( array_intersect_key( self::SQL_FILTERS, $wp_filter ) || count( $wp_filter['posts_request']->callbacks ) > 1 ) ) {
			$fields = self::fields_of_sql( (string) $sql, $query );
			foreach ( $fields ? Myriad_Cache_Lists::tags_of_fields( $query, $fields ) : array() as $tag ) {
				Myriad_Cache_Tags::add( $tag );
			}
		}
		return $sql;
	}

	/**
	 * Returns the fields of posts in the tables and conditions of SQL.
	 *
	 * @param string   $sql   SQL.
	 * @param WP_Query $query Query.
	 * @return string[] Names as in tags.
	 */
	private static function fields_of_sql( $sql, $query ) {
		global $wpdb;
		// The columns before do not select posts.
		$from  = substr( $sql, (int) strpos( $sql, 'FROM ' ) );
		$found = array();
		preg_match_all( self::COLUMNS, $from, $found );
		$fields = array_values( array_intersect_key( Myriad_Cache_Lists::COLUMNS, array_flip( $found[0] ) ) );
		foreach ( array( 'meta', 'terms' ) as $kind ) {
			$table = 'meta' === $kind ? $wpdb->postmeta : $wpdb->term_relationships;
			if ( false !== strpos( $from, $table ) && self::uses( $table, $from ) > self::own_uses( $table, $kind, $query ) ) {
				$fields[] = $kind;
			}
		}
		return $fields;
	}

	/**
	 * Returns how often SQL names a table as the source of rows.
	 *
	 * @param string $table Name of the table.
	 * @param string $sql   SQL.
	 * @return int
	 */
	private static function uses( $table, $sql ) {
		return (int) preg_match_all( '/(?:\bFROM|\bJOIN|,)[\s(]+`?' . preg_quote( $table, '/' ) . '\b/i', $sql );
	}

	/**
	 * Returns how often the SQL that WordPress generates from the arguments of a query names a table as the source of rows.
	 *
	 * @param string   $table Name of the table.
	 * @param string   $kind  `meta` or `terms`.
	 * @param WP_Query $query Query.
	 * @return int
	 */
	private static function own_uses( $table, $kind, $query ) {
		global $wpdb, $wp_filter;
		$selection = 'meta' === $kind ? $query->meta_query : $query->tax_query;
		if ( empty( $selection->queries ) ) {
			return 0;
		}
		// Filters of plugins that add to this SQL must not be counted.
		$filters = isset( $wp_filter['get_meta_sql'] ) ? $wp_filter['get_meta_sql'] : null;
		unset( $wp_filter['get_meta_sql'] );
		$parts = Myriad_Cache_Reads::unnoted(
			static function () use ( $wpdb, $kind, $selection ) {
				$copy = clone $selection;
				return 'meta' === $kind ? $copy->get_sql( 'post', $wpdb->posts, 'ID' ) : $copy->get_sql( $wpdb->posts, 'ID' );
			}
		);
		if ( $filters ) {
			$wp_filter['get_meta_sql'] = $filters; // phpcs:ignore WordPress.WP.GlobalVariablesOverride -- it is restored.
		}
		return is_array( $parts ) ? self::uses( $table, implode( ' ', $parts ) ) : 0;
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
	 * Tags the page with the posts that have terms of any taxonomy: a persistent object cache has answered `get_objects_in_term()`, and its
	 * key does not name the terms.
	 */
	public static function note_cached_objects_in_terms() {
		foreach ( array_diff( get_taxonomies(), self::INNER_TAXONOMIES ) as $taxonomy ) {
			Myriad_Cache_Tags::add( self::tag_of_posts( $taxonomy ) );
		}
	}

	/**
	 * Returns the tags of objects whose terms are read, or have changed: posts, users, or terms.
	 *
	 * @param int[]    $ids        Objects.
	 * @param string[] $taxonomies Taxonomies of the terms.
	 * @return string[]
	 */
	public static function tags_of_objects( $ids, $taxonomies ) {
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
