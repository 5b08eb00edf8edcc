<?php
/**
 * Objects that are read while a page is generated.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Tags the page with the posts, users, terms and comments that themes and plugins read by any function.
 *
 * WordPress has filters for fields, users, terms and comments, but none for posts. Posts that are in the memory of the
 * object cache when the page is complete count as read. SQL of plugins and themes tags the page with the objects in its
 * tables.
 */
class Myriad_Cache_Reads {

	/**
	 * Functions that read the author of each post of a loop, whether or not the page shows it.
	 */
	const AUTHORS = array( 'generate_postdata' => true );

	/**
	 * Functions that read terms of posts and lists of terms, which `Myriad_Cache_Notes` handles.
	 */
	const TERMS = array(
		'get_object_term_cache'  => true,
		'wp_get_object_terms'    => true,
		'get_terms'              => true,
		'get_term_link'          => true,
		'get_ancestors'          => true,
		'wp_get_nav_menu_object' => true,
		'wp_setup_nav_menu_item' => true,
	);

	/**
	 * Number of calling functions that are compared, and of those that are compared first: most callers are near.
	 */
	const DEPTH = 14;
	const NEAR  = 8;

	/**
	 * Number of functions between a method that is called by a filter and the function that applies it: the method that determines the caller,
	 * the method, and two of WordPress.
	 */
	const OWN_FRAMES = 4;

	/**
	 * Maximum number of reads of a page whose callers are determined. Later reads count as reads by a plugin.
	 */
	const MOST_TRACES = 500;

	/**
	 * Fields of users that WordPress reads with every user.
	 */
	const ROLES = '/(?:^|_)(?:capabilities|user_level)$/D';

	/**
	 * Tables, and the kinds of objects whose changes change them.
	 */
	const TABLES = array(
		'posts'              => array( 'p' ),
		'postmeta'           => array( 'p', 'st', 'sl' ),
		'term_relationships' => array( 'p', 't' ),
		'term_taxonomy'      => array( 't' ),
		'terms'              => array( 't' ),
		'termmeta'           => array( 't' ),
		'users'              => array( 'u' ),
		'usermeta'           => array( 'u' ),
		'comments'           => array( 'c' ),
		'commentmeta'        => array( 'c' ),
	);

	/**
	 * SQL that selects single objects of one table.
	 */
	const SINGLE = '/^\s*SELECT\s[^()]*?\sFROM\s+(\S+)(?:\s+(?:AS\s+)?(?!WHERE\b)\w+)?\s+WHERE\s+(?:[\w`]+\.)?`?(ID|post_id|user_id|term_id|comment_post_ID)`?\s*(?:=\s*[\'"]?([0-9]{1,18})\b|IN\s*\(([0-9,\s\'"]{1,400})\))(?!.*\b(?:OR|SELECT|UNION)\b)/is';

	/**
	 * SQL that selects posts of one type, or orders of WooCommerce by their status, without alternatives in its condition.
	 */
	const ONE_KIND = '/^\s*SELECT\s(?!.*\b(?:SELECT|UNION|X?OR)\b|.*\bNOT\s*\(|.*\|\|).*?\sWHERE\s+(?:.*\sAND\s+)?(?:[\w`]+\.)?`?(?:post_type`?\s*=\s*[\'"]([\w-]+)[\'"]|post_status`?\s+IN\s*\((?:\s*[\'"]wc-[\w-]+[\'"]\s*,?)+\))(?=\s|$)/is';

	/**
	 * Number in SQL that is no part of a name.
	 */
	const NUMBER = '/(?<![`\w.])[0-9]+(?![`\w.])/';

	/**
	 * Maximum length of SQL that is compared without its numbers.
	 */
	const MOST_SHAPE = 2000;

	/**
	 * Maximum length of SQL that is searched for single objects and types. Longer SQL counts as reading all objects of its tables.
	 */
	const MOST_SQL = 10000;

	/**
	 * True while reads are noted.
	 *
	 * @var bool
	 */
	private static $is_noting = false;

	/**
	 * Number of reads whose callers were determined.
	 *
	 * @var int
	 */
	private static $traces = 0;

	/**
	 * Posts whose fields were read, as keys, with stages as in `Myriad_Cache_Tags`.
	 *
	 * @var array<int, int>
	 */
	private static $posts = array();

	/**
	 * Kinds of the separate tags of the fields of posts that were read, by name; empty for fields without such a tag.
	 *
	 * @var array<string, string>
	 */
	private static $fields = array();

	/**
	 * Regular expression for names of tables, by prefix of the site.
	 *
	 * @var array<string, string>
	 */
	private static $patterns = array();

	/**
	 * What SQL names, by prefix of the site, and its start or shape: tags of tables of plugins, and whether it names tables of WordPress.
	 *
	 * @var array<string, array<string, array{0: array<string, string>, 1: bool}>>
	 */
	private static $heads = array();

	/**
	 * Shapes of SQL that selects only posts that no page shows, as keys, by prefix of the site.
	 *
	 * @var array<string, array<string, true>>
	 */
	private static $inner = array();

	/**
	 * Folders whose SQL is not noted: WordPress's own and the folder of this plugin.
	 *
	 * @var string[]
	 */
	private static $own_folders = array();

	/**
	 * Hook `get_term` while it is removed.
	 *
	 * @var WP_Hook|null
	 */
	private static $term_hook = null;

	/**
	 * Taxonomies of the class names of a post, while WordPress reads its terms for them; otherwise empty.
	 *
	 * @var string[]
	 */
	private static $of_class = array();

	/**
	 * Last query of a table of a plugin, until `Myriad_Cache_Table_Times` has searched its rows.
	 *
	 * @var string|null
	 */
	public static $dated_sql = null;

	/**
	 * Starts noting.
	 */
	public static function start() {
		self::$is_noting = true;

		$function = new ReflectionFunction( 'apply_filters' );

		self::$own_folders = array( dirname( (string) $function->getFileName() ) . DIRECTORY_SEPARATOR, __DIR__ . DIRECTORY_SEPARATOR );
		Myriad_Cache_Writes::start_page();
		Myriad_Cache_Hooks::add( 'get_post_metadata', array( __CLASS__, 'note_post_field' ), PHP_INT_MAX, 3 );
		Myriad_Cache_Hooks::add( 'get_user_metadata', array( __CLASS__, 'note_user_field' ), PHP_INT_MAX, 3 );
		Myriad_Cache_Hooks::add( 'get_term_metadata', array( __CLASS__, 'note_term_field' ), PHP_INT_MAX, 2 );
		Myriad_Cache_Hooks::add( 'get_comment_metadata', array( __CLASS__, 'note_comment_field' ), PHP_INT_MAX, 2 );
		Myriad_Cache_Hooks::add( 'get_term', array( __CLASS__, 'note_term' ), PHP_INT_MAX );
		Myriad_Cache_Hooks::add( 'post_class_taxonomies', array( __CLASS__, 'begin_class' ), PHP_INT_MAX );
		Myriad_Cache_Hooks::add( 'post_class', array( __CLASS__, 'end_class' ), PHP_INT_MIN, 3 );
		Myriad_Cache_Hooks::add( 'get_comment', array( __CLASS__, 'note_comment' ), PHP_INT_MAX );
	}

	/**
	 * Runs a function without noting its reads.
	 *
	 * @param callable $run Function.
	 * @return mixed Result of the function.
	 */
	public static function unnoted( $run ) {
		$before          = self::$is_noting;
		self::$is_noting = false;
		try {
			return $run();
		} finally {
			self::$is_noting = $before;
		}
	}

	/**
	 * Stops noting for a moment.
	 *
	 * @return bool Value for continue_noting().
	 */
	public static function pause_noting() {
		$before          = self::$is_noting;
		self::$is_noting = false;
		return $before;
	}

	/**
	 * Continues noting if it was active before pause_noting().
	 *
	 * @param bool $before Value from pause_noting().
	 */
	public static function continue_noting( $before ) {
		self::$is_noting = $before;
	}

	/**
	 * Resumes noting after the page is complete, for values that are computed and stored later.
	 */
	public static function resume() {
		self::$is_noting = true;
	}

	/**
	 * Tags the page with the posts that were read.
	 */
	public static function finish() {
		self::$is_noting = false;

		Myriad_Cache_Titles::finish();
		if ( self::$term_hook ) {
			// An exception has left the function of WordPress, so that later reads of terms were not noted.
			self::continue_terms();
			Myriad_Cache_Page::limit( Myriad_Cache_Times::LATE_VALIDITY );
		}
		$held    = Myriad_Cache_Memory::objects( 'posts' );
		$parents = array();
		foreach ( $held as $post ) {
			// The link of a page contains the names of its ancestors.
			$parents[ isset( $post->post_parent ) ? (int) $post->post_parent : 0 ] = true;
		}
		foreach ( $held as $post_id => $post ) {
			$is_inner = isset( $post->post_type ) && in_array( $post->post_type, Myriad_Cache_Tags::INNER_TYPES, true );
			if ( $is_inner ) {
				unset( self::$posts[ $post_id ] );
			} elseif ( ! Myriad_Cache_Tags::has( 'p' . $post_id ) && ( ! Myriad_Cache_Tags::has( 'pt' . $post_id ) || Myriad_Cache_Titles::has( $post_id ) ) ) {
				Myriad_Cache_Tags::add( ( isset( $parents[ $post_id ] ) ? 'pt' : 'p' ) . $post_id );
			}
		}
		foreach ( array_keys( self::$posts ) as $post_id ) {
			Myriad_Cache_Tags::add( 'p' . $post_id );
		}
		self::$posts = array();
	}

	/**
	 * Returns the present state of the reads, for since().
	 *
	 * @return array{0: int, 1: int} Number of the stage, and number of posts in memory (`Myriad_Cache_Memory`).
	 */
	public static function mark() {
		Myriad_Cache_Notes::start_posts();
		return array( Myriad_Cache_Tags::mark(), Myriad_Cache_Memory::number_of_posts() );
	}

	/**
	 * Returns the tags of what was read since a state.
	 *
	 * @param array{0: int, 1: int} $mark State.
	 * @return string[] Tags with their site numbers, and `at.TIME` for the next moment at which they change.
	 */
	public static function since( $mark ) {
		$posts = array_keys( Myriad_Cache_Memory::objects( 'posts', $mark[1] ) );
		foreach ( self::$posts as $post_id => $number ) {
			if ( $number > $mark[0] ) {
				$posts[] = $post_id;
			}
		}
		$tags = Myriad_Cache_Tags::since( $mark[0] );
		foreach ( array_unique( $posts ) as $post_id ) {
			$tags[] = Myriad_Cache_Tags::named( 'p' . $post_id );
		}
		$moment = Myriad_Cache_Times::since( $mark[0], $posts );
		return $moment > 0 ? array_merge( $tags, array( 'at.' . $moment ) ) : $tags;
	}

	/**
	 * Returns whether one of these functions called the filter.
	 *
	 * @param array<string, true> $functions Names.
	 * @param int                 $depth     Number of calling functions that are compared.
	 * @return bool
	 */
	public static function is_read_by( $functions, $depth = self::DEPTH ) {
		if ( ++self::$traces > self::MOST_TRACES ) {
			return false;
		}
		foreach ( debug_backtrace( DEBUG_BACKTRACE_IGNORE_ARGS, $depth ) as $frame ) { // phpcs:ignore WordPress.PHP.DevelopmentFunctions -- filters do not name the reader.
			if ( isset( $functions[ $frame['function'] ] ) ) {
				return true;
			}
		}
		return false;
	}

	/**
	 * Returns whether WordPress itself called a function that runs now.
	 *
	 * @param string $name Function of WordPress that applies the present filter.
	 * @return bool
	 */
	public static function is_called_by_core( $name ) {
		foreach ( debug_backtrace( DEBUG_BACKTRACE_IGNORE_ARGS, self::OWN_FRAMES + 1 ) as $frame ) { // phpcs:ignore WordPress.PHP.DevelopmentFunctions -- filters do not name the reader.
			if ( $name === $frame['function'] && isset( $frame['file'] ) ) {
				return 0 === strpos( $frame['file'], self::$own_folders[0] );
			}
		}
		return false;
	}

	/**
	 * Notes a post whose field is read.
	 *
	 * @param mixed  $value   Value.
	 * @param int    $post_id Post.
	 * @param string $name    Name of the field; empty for all.
	 * @return mixed
	 */
	public static function note_post_field( $value, $post_id, $name = '' ) {
		if ( self::$is_noting && $post_id > 0 ) {
			if ( ! isset( self::$fields[ $name ] ) ) {
				self::$fields[ $name ] = isset( Myriad_Cache_Stock::FIELDS[ $name ] ) ? Myriad_Cache_Stock::FIELDS[ $name ] : '';
				if ( '' !== (string) $name && Myriad_Cache_Writes::is_noisy_field( (string) $name ) ) {
					Myriad_Cache_Page::limit_for_counters();
				}
			}
			if ( '' !== self::$fields[ $name ] ) {
				Myriad_Cache_Tags::add( self::$fields[ $name ] . (int) $post_id );
			}
			if ( '_thumbnail_id' === $name && '' !== Myriad_Cache_Titles::$list ) {
				Myriad_Cache_Titles::note_post( (int) $post_id ); // For the class names of the post.
			} elseif ( empty( $GLOBALS['_wp_switched_stack'] ) ) {
				self::$posts[ (int) $post_id ] = Myriad_Cache_Tags::$stage;
			} else {
				Myriad_Cache_Tags::add( 'p' . (int) $post_id );
			}
		}
		return $value;
	}

	/**
	 * Notes a user when a field is read. Creating a `WP_User` reads the roles.
	 *
	 * @param mixed  $value   Value.
	 * @param int    $user_id User.
	 * @param string $name    Name of the field; empty for all.
	 * @return mixed
	 */
	public static function note_user_field( $value, $user_id, $name ) {
		if ( ! self::$is_noting || $user_id < 1 ) {
			return $value;
		}
		if ( ! preg_match( self::ROLES, (string) $name ) ) {
			Myriad_Cache_Tags::add( 'u' . (int) $user_id . '.' . ( '' === (string) $name ? 'all' : Myriad_Cache_Tags::field( $name ) ) );
		} elseif ( ! Myriad_Cache_Tags::has( 'u' . (int) $user_id ) && ! self::is_read_by( self::AUTHORS ) ) {
			Myriad_Cache_Tags::add( 'u' . (int) $user_id );
		}
		return $value;
	}

	/**
	 * Notes a term whose field is read.
	 *
	 * @param mixed $value   Value.
	 * @param int   $term_id Term.
	 * @return mixed
	 */
	public static function note_term_field( $value, $term_id ) {
		if ( self::$is_noting && $term_id > 0 ) {
			Myriad_Cache_Tags::add( 't' . (int) $term_id );
		}
		return $value;
	}

	/**
	 * Notes a term that is read.
	 *
	 * @param mixed $term Term.
	 * @return mixed
	 */
	public static function note_term( $term ) {
		if ( ! self::$is_noting || ! $term instanceof WP_Term ) {
			return $term;
		}
		if ( Myriad_Cache_Tags::has( 't' . $term->term_id ) ) {
			Myriad_Cache_Notes::note_slug( $term->term_id );
			return $term;
		}
		$reader = ++self::$traces > self::MOST_TRACES ? '' : self::reader_of_term();
		if ( '' === $reader ) {
			Myriad_Cache_Tags::add( 't' . $term->term_id );
		}
		if ( 'get_terms' !== $reader ) {
			Myriad_Cache_Notes::note_slug( $term->term_id );
		}
		return $term;
	}

	/**
	 * Stops noting terms, because WordPress reads them for class names of a post: end_class() notes their slugs.
	 *
	 * @param mixed $taxonomies Taxonomies.
	 * @return mixed
	 */
	public static function begin_class( $taxonomies ) {
		if ( is_array( $taxonomies ) && ! isset( $GLOBALS['wp_filter']['get_the_terms'] ) && self::pause_terms() ) {
			self::$of_class = $taxonomies;
		}
		return $taxonomies;
	}

	/**
	 * Stops noting terms for a function of WordPress that reads many of them.
	 *
	 * @return bool False if plugins have registered functions for reads of terms, which may read other terms.
	 */
	private static function pause_terms() {
		global $wp_filter;
		if ( self::$term_hook || ! isset( $wp_filter['get_term'] ) ) {
			return false;
		}
		$callbacks = $wp_filter['get_term']->callbacks;
		if ( 1 !== count( $callbacks ) || array( __CLASS__ . '::note_term' ) !== array_keys( (array) reset( $callbacks ) ) ) {
			return false;
		}
		self::$term_hook = $wp_filter['get_term'];
		unset( $wp_filter['get_term'] );
		return true;
	}

	/**
	 * Continues noting terms after WordPress has read those of several posts in advance.
	 */
	public static function end_preload() {
		if ( ! self::$of_class ) {
			self::continue_terms();
		}
	}

	/**
	 * Continues noting terms.
	 */
	private static function continue_terms() {
		global $wp_filter;
		if ( self::$term_hook ) {
			if ( isset( $wp_filter['get_term'] ) ) {
				Myriad_Cache_Hooks::add( 'get_term', array( __CLASS__, 'note_term' ), PHP_INT_MAX );
			} else {
				$wp_filter['get_term'] = self::$term_hook; // phpcs:ignore WordPress.WP.GlobalVariablesOverride -- it is restored.
			}
			self::$term_hook = null;
		}
	}

	/**
	 * Notes the slugs of the terms of a post, and continues noting terms.
	 *
	 * @param mixed $classes Class names.
	 * @param mixed $more    Additional items.
	 * @param int   $post_id Post.
	 * @return mixed
	 */
	public static function end_class( $classes, $more, $post_id ) {
		$taxonomies     = self::$of_class;
		self::$of_class = array();
		if ( $taxonomies ) {
			self::continue_terms();
		}
		foreach ( self::$is_noting && ! Myriad_Cache_Notes::has_preloaded( $post_id ) ? $taxonomies : array() as $taxonomy ) {
			$ids = wp_cache_get( $post_id, $taxonomy . '_relationships' );
			foreach ( is_array( $ids ) ? $ids : array() as $id ) {
				Myriad_Cache_Notes::note_slug( is_object( $id ) ? (int) $id->term_id : (int) $id );
			}
		}
		return $classes;
	}

	/**
	 * Notes objects whose terms are read, unless WordPress reads them in advance for all posts of a list.
	 *
	 * @param array $args Arguments of the query for terms, with `object_ids`.
	 */
	public static function note_terms_of( $args ) {
		// WordPress reads terms in advance only with this value.
		if ( ! self::$is_noting ) {
			return;
		}
		if ( 'all_with_object_id' === $args['fields'] && self::is_read_by( array( 'update_object_term_cache' => true ) ) ) {
			self::pause_terms();
			return;
		}
		$taxonomies = array_filter( (array) $args['taxonomy'] );
		foreach ( Myriad_Cache_Selections::tags_of_objects( (array) $args['object_ids'], $taxonomies ? $taxonomies : get_taxonomies() ) as $tag ) {
			Myriad_Cache_Tags::add( $tag );
		}
	}

	/**
	 * Returns the function for which WordPress reads a term.
	 *
	 * @return string `get_post_class` for class names, which contain only the slug, `get_terms` for a function of `TERMS` that
	 *                `Myriad_Cache_Notes` handles; otherwise empty.
	 */
	private static function reader_of_term() {
		foreach ( array( self::NEAR, self::DEPTH ) as $depth ) {
			$frames = debug_backtrace( DEBUG_BACKTRACE_IGNORE_ARGS, $depth ); // phpcs:ignore WordPress.PHP.DevelopmentFunctions -- filters do not name the reader.
			$count  = count( $frames );
			for ( $at = self::OWN_FRAMES; $at < $count; $at++ ) {
				$function = $frames[ $at ]['function'];
				if ( 'get_the_terms' !== $function && ! isset( self::TERMS[ $function ] ) ) {
					continue;
				}
				$caller = isset( $frames[ $at + 1 ] ) ? $frames[ $at + 1 ]['function'] : '';
				if ( '' === $caller && self::NEAR === $depth ) {
					break;
				}
				if ( 'get_the_terms' === $function ) {
					return 'get_post_class' === $caller ? $caller : '';
				}
				if ( 'get_the_terms' !== $caller && 'wp_get_object_terms' !== $caller ) {
					return 'get_terms';
				}
			}
		}
		return '';
	}

	/**
	 * Notes the post of a comment whose field is read.
	 *
	 * @param mixed $value      Value.
	 * @param int   $comment_id Comment.
	 * @return mixed
	 */
	public static function note_comment_field( $value, $comment_id ) {
		if ( self::$is_noting && $comment_id > 0 ) {
			get_comment( $comment_id ); // Noted by note_comment().
		}
		return $value;
	}

	/**
	 * Notes the post of a comment that is read.
	 *
	 * @param mixed $comment Comment.
	 * @return mixed
	 */
	public static function note_comment( $comment ) {
		if ( self::$is_noting && isset( $comment->comment_post_ID ) ) {
			Myriad_Cache_Tags::add( 'c' . (int) $comment->comment_post_ID );
		}
		return $comment;
	}

	/**
	 * Notes the tables and transients that SQL reads.
	 *
	 * @param string $sql SQL.
	 */
	public static function note_sql( $sql ) {
		global $wpdb;
		if ( null !== self::$dated_sql ) {
			Myriad_Cache_Table_Times::take_rows();
		}
		if ( ! self::$is_noting ) {
			return;
		}
		if ( Myriad_Cache_Sql::reads_options( $sql, $wpdb->options ) ) {
			Myriad_Cache_Transients::note( $sql );
			return;
		}
		if ( 0 !== strncasecmp( $sql, 'SELECT', 6 ) && ! preg_match( Myriad_Cache_Sql::READ, $sql ) ) {
			return;
		}
		$head = Myriad_Cache_Sql::head( $sql );
		$key  = $head === $sql ? self::shape( $sql ) : $head;
		if ( isset( self::$heads[ $wpdb->prefix ][ $key ] ) ) {
			list( $tags, $has_core ) = self::$heads[ $wpdb->prefix ][ $key ];
		} else {
			$tags     = Myriad_Cache_Tables::tags( $head );
			if ( strlen( $head ) > Myriad_Cache_Sql::MOST_READ ) {
				Myriad_Cache_Page::limit( Myriad_Cache_Value_Tags::UNTAGGED_VALIDITY );
			}
			$has_core = (bool) preg_match( self::pattern(), $head );

			self::$heads[ $wpdb->prefix ][ $key ] = array( $tags, $has_core );
		}
		Myriad_Cache_Tables::note( $sql, $tags );
		Myriad_Cache_Transients::note( $sql );
		if ( ! $has_core ) {
			return;
		}
		if ( self::is_own_sql() ) {
			Myriad_Cache_Selections::note_objects_in_terms( $sql );
		} else {
			self::note_foreign_sql( $sql );
		}
	}

	/**
	 * Returns SQL with zeros in place of its numbers: statements that differ only in numbers read the same tables.
	 *
	 * @param string $sql SQL.
	 * @return string A hash, if it is long.
	 */
	private static function shape( $sql ) {
		return strlen( $sql ) > self::MOST_SHAPE ? md5( $sql ) : (string) preg_replace( self::NUMBER, '0', $sql );
	}

	/**
	 * Returns the regular expression for names of tables of WordPress.
	 *
	 * @return string
	 */
	private static function pattern() {
		global $wpdb;
		if ( ! isset( self::$patterns[ $wpdb->prefix ] ) ) {
			$prefixes = '(?:' . preg_quote( $wpdb->prefix, '/' ) . '|' . preg_quote( $wpdb->base_prefix, '/' ) . ')';

			self::$patterns[ $wpdb->prefix ] = '/\b' . $prefixes . '(' . implode( '|', array_keys( self::TABLES ) ) . ')\b/';
		}
		return self::$patterns[ $wpdb->prefix ];
	}

	/**
	 * Notes the objects that SQL of a plugin or theme reads: single objects, or all objects of the kinds in its tables.
	 *
	 * @param string $sql SQL.
	 */
	private static function note_foreign_sql( $sql ) {
		global $wpdb;
		$tables = array();
		$single = array();
		$shape  = self::shape( $sql );
		if ( isset( self::$inner[ $wpdb->prefix ][ $shape ] ) ) {
			return;
		}
		preg_match_all( self::pattern(), $sql, $tables );
		if ( self::selects_inner_posts( $sql, $tables[1] ) ) {
			self::$inner[ $wpdb->prefix ][ $shape ] = true;
			return;
		}
		$tables = array_values( array_unique( $tables[1] ) );
		$ids    = array();
		if ( 1 === count( $tables ) && 'term_relationships' !== $tables[0] && strlen( $sql ) <= self::MOST_SQL && preg_match( self::SINGLE, $sql, $single ) ) {
			$ids = '' !== $single[3] ? array( $single[3] ) : preg_split( '/[^0-9]+/', $single[4], -1, PREG_SPLIT_NO_EMPTY );
			// The number of a comment is not the number of its post.
			$ids = in_array( $tables[0], array( 'comments', 'commentmeta' ), true ) && 'comment_post_id' !== strtolower( $single[2] ) ? array() : $ids;
		}
		foreach ( $tables as $table ) {
			foreach ( self::TABLES[ $table ] as $kind ) {
				foreach ( $ids ? $ids : array( '' ) as $id ) {
					Myriad_Cache_Tags::add( '' === $id ? $kind . '.all' : $kind . (int) $id );
					if ( 'u' === $kind && '' !== $id ) {
						Myriad_Cache_Tags::add( 'u' . (int) $id . '.all' );
					}
				}
			}
		}
	}

	/**
	 * Returns whether SQL selects only posts that no page shows, although each request reads them: tasks of Action Scheduler, and orders that
	 * reserve stock.
	 *
	 * @param string   $sql    SQL.
	 * @param string[] $tables Tables in it, as often as it names them.
	 * @return bool
	 */
	private static function selects_inner_posts( $sql, $tables ) {
		$found = array();
		return 1 === count( array_keys( $tables, 'posts', true ) ) && strlen( $sql ) <= self::MOST_SQL && preg_match( self::ONE_KIND, $sql, $found ) && ( ! isset( $found[1] ) || in_array( $found[1], Myriad_Cache_Tags::INNER_TYPES, true ) );
	}

	/**
	 * Returns whether WordPress itself or this plugin runs the SQL.
	 *
	 * @return bool
	 */
	private static function is_own_sql() {
		$file = '';
		foreach ( array( self::NEAR, self::DEPTH ) as $depth ) {
			$frames = debug_backtrace( DEBUG_BACKTRACE_IGNORE_ARGS, $depth ); // phpcs:ignore WordPress.PHP.DevelopmentFunctions -- the filter does not name the caller.
			$count  = count( $frames );
			for ( $at = self::OWN_FRAMES; $at < $count; $at++ ) {
				$class = isset( $frames[ $at ]['class'] ) ? $frames[ $at ]['class'] : '';
				if ( '' !== $class && isset( $frames[ $at ]['file'] ) && ( 'wpdb' === $class || is_subclass_of( $class, 'wpdb' ) ) ) {
					$file = $frames[ $at ]['file'];
				} elseif ( '' !== $file ) {
					break 2;
				}
			}
		}
		return '' === $file || self::is_own_file( $file );
	}

	/**
	 * Returns whether a file is one of WordPress itself or of this plugin.
	 *
	 * @param string $file Path.
	 * @return bool
	 */
	public static function is_own_file( $file ) {
		foreach ( self::$own_folders as $folder ) {
			if ( 0 === strpos( $file, $folder ) ) {
				return true;
			}
		}
		return false;
	}
}
