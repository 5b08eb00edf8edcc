<?php
/**
 * Direct SQL of plugins that writes WordPress's tables.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Purges the pages with objects that a plugin changes with direct SQL: plugins that sort, replace or import content. The functions of
 * WordPress report their changes by actions.
 *
 * Where the statement does not name the objects, all pages of the site are purged. Writes of visits are not observed: they are counters.
 */
class Myriad_Cache_Direct_Writes {

	/**
	 * Column with the object, by table. Other tables have no such column, or changes of them affect all pages.
	 */
	const KEYS = array(
		'posts'       => 'ID',
		'postmeta'    => 'post_id',
		'comments'    => 'comment_ID',
		'commentmeta' => 'comment_id',
		'users'       => 'ID',
		'usermeta'    => 'user_id',
	);

	/**
	 * Columns with the name of a field or option.
	 */
	const NAMES = '/`?\b(?:meta_key|option_name)\b`?\s*=\s*([\'"])((?:(?!\1).)+)\1/';

	/**
	 * Tables that pages do not show.
	 */
	const UNSEEN = array( 'site', 'signups', 'registration_log', 'blog_versions' );

	/**
	 * Condition of a statement that cleans the database.
	 */
	const REVISIONS = '/\bpost_type`?\s*=\s*[\'"]revision[\'"]/i';

	/**
	 * Columns of posts that change only the post, and the lists that are ordered by them.
	 */
	const OF_POST = array( 'menu_order', 'post_title', 'post_content', 'post_excerpt', 'post_modified', 'post_modified_gmt', 'comment_count' );

	/**
	 * Parts of the paths of code that writes by SQL, and reports it by actions.
	 */
	const REPORTED = '#/plugins/woocommerce/|/action-scheduler/|/myriad-cache/#';

	/**
	 * Maximum number of objects. A larger number purges all pages of the site.
	 */
	const MOST = 1000;

	/**
	 * Written objects: site, table, object (0 if it is unknown), name of a field or option (empty if it is unknown), and columns.
	 *
	 * @var array<string, array{0: int, 1: string, 2: int, 3: string, 4: string[]}>
	 */
	private static $written = array();

	/**
	 * Records a statement that writes a table of WordPress.
	 *
	 * @param string   $sql     Statement.
	 * @param string   $table   Name of the table, without prefix.
	 * @param int      $site    Number of the site.
	 * @param string[] $columns Written columns.
	 */
	public static function note( $sql, $table, $site, $columns ) {
		if ( count( self::$written ) > self::MOST || in_array( $table, self::UNSEEN, true ) || preg_match( self::REVISIONS, $sql ) || self::is_reported() ) {
			return;
		}
		$found = array();
		$sql   = substr( $sql, 0, Myriad_Cache_Sql::MOST );
		$name  = preg_match( self::NAMES, $sql, $found ) ? $found[2] : '';
		foreach ( isset( self::KEYS[ $table ] ) ? self::objects( $sql, self::KEYS[ $table ] ) : array( 0 ) as $id ) {
			self::$written[ "$site $table $id $name " . implode( ',', $columns ) ] = array( $site, $table, $id, 'options' === $table && '' === $name ? self::inserted( $sql ) : $name, $columns );
		}
		Myriad_Cache_Queue::arrange();
	}

	/**
	 * Returns whether the statement comes from WordPress, or from code that reports its changes.
	 *
	 * @return bool
	 */
	private static function is_reported() {
		// phpcs:ignore WordPress.PHP.DevelopmentFunctions -- only the backtrace contains the caller.
		foreach ( debug_backtrace( DEBUG_BACKTRACE_IGNORE_ARGS, 15 ) as $frame ) {
			$file = isset( $frame['file'] ) ? str_replace( '\\', '/', $frame['file'] ) : '';
			if ( '' !== $file && ! preg_match( '#/(?:class-wpdb|wp-db|class-wp-hook|plugin|db|class-myriad-cache-[a-z-]+)\.php$|/plugins/query-monitor/#D', $file ) ) {
				$root = str_replace( '\\', '/', ABSPATH );
				return 0 === strpos( $file, $root . WPINC . '/' ) || 0 === strpos( $file, $root . 'wp-admin/' ) || preg_match( self::REPORTED, $file );
			}
		}
		return true;
	}

	/**
	 * Returns the objects that the condition of a statement names.
	 *
	 * @param string $sql Statement.
	 * @param string $key Column with the object.
	 * @return int[] A zero if they are unknown.
	 */
	private static function objects( $sql, $key ) {
		$found = array();
		if ( ! preg_match( '/\bWHERE\b(.*)$/is', $sql, $where ) || preg_match( '/\b(?:OR|JOIN|SELECT|NOT|UNION)\b/i', $where[1] ) ) {
			return array( 0 );
		}
		if ( ! preg_match( '/(?<![\w`.])(?:`?\w+`?\.)?`?' . $key . '`?\s*(?:=\s*[\'"]?([0-9]+)[\'"]?|\bIN\s*\(([0-9\s,\'"]+)\))/i', $where[1], $found ) ) {
			return array( 0 );
		}
		$ids = isset( $found[2] ) ? explode( ',', preg_replace( '/[^0-9,]/', '', $found[2] ) ) : array( $found[1] );
		$ids = array_filter( array_map( 'intval', $ids ) );
		return $ids && count( $ids ) <= self::MOST ? array_unique( $ids ) : array( 0 );
	}

	/**
	 * Returns the name of an option that a statement inserts as its first value.
	 *
	 * @param string $sql Statement.
	 * @return string
	 */
	private static function inserted( $sql ) {
		return preg_match( '/\(\s*`?option_name`?\s*,.*?VALUES\s*\(\s*\'((?:[^\'\\\\])+)\'/is', $sql, $found ) ? $found[1] : '';
	}

	/**
	 * Adds the tags of the written objects to the queue.
	 */
	public static function resolve() {
		$written       = self::$written;
		self::$written = array();
		if ( ! $written || '' !== Myriad_Cache_Actor::visit() ) {
			return;
		}
		if ( count( $written ) > self::MOST ) {
			Myriad_Cache_Queue::add_network();
			return;
		}
		foreach ( $written as list( $site, $table, $id, $name, $columns ) ) {
			$is_other = is_multisite() && get_current_blog_id() !== $site;
			if ( $is_other ) {
				switch_to_blog( $site );
			}
			self::resolve_object( $table, $id, $name, $columns );
			if ( $is_other ) {
				restore_current_blog();
			}
		}
	}

	/**
	 * Adds the tags of one object.
	 *
	 * @param string   $table   Table, without prefix.
	 * @param int      $id      Object; 0 if it is unknown.
	 * @param string   $name    Name of a field or option; empty if it is unknown.
	 * @param string[] $columns Written columns.
	 */
	private static function resolve_object( $table, $id, $name, $columns ) {
		if ( 'options' === $table || 'sitemeta' === $table ) {
			self::option( $table, $name );
		} elseif ( 'posts' === $table && $id ) {
			self::post( $id, $columns );
		} elseif ( 'postmeta' === $table && $id && '' !== $name ) {
			Myriad_Cache_Post_Changes::post_meta( 0, $id, $name );
		} elseif ( ( 'comments' === $table || 'commentmeta' === $table ) && $id && get_comment( $id ) ) {
			$post_id = (int) get_comment( $id )->comment_post_ID;
			Myriad_Cache_Queue::add( 'c' . $post_id, 'cp' . $post_id, 'c' );
		} elseif ( 'users' === $table && $id ) {
			Myriad_Cache_Queue::add( 'u' . $id, 'lu' );
		} elseif ( 'usermeta' === $table && $id && '' !== $name ) {
			Myriad_Cache_Changes::user_meta( 0, $id, $name );
		} else {
			Myriad_Cache_Changes::site();
		}
	}

	/**
	 * Adds the tags of an option. Statements for several options delete expired values.
	 *
	 * @param string $table Table, without prefix.
	 * @param string $name  Option; empty if it is unknown.
	 */
	private static function option( $table, $name ) {
		if ( '' !== $name && 'options' === $table ) {
			Myriad_Cache_Changes::option( $name );
		} elseif ( '' !== $name ) {
			Myriad_Cache_Changes::network_option( $name );
		}
	}

	/**
	 * Adds the tags of a post.
	 *
	 * @param int      $post_id Post.
	 * @param string[] $columns Written columns.
	 */
	private static function post( $post_id, $columns ) {
		$post = get_post( $post_id );
		if ( $post && in_array( $post->post_type, array( 'revision', 'customize_changeset', 'oembed_cache' ), true ) ) {
			return;
		}
		if ( ! $post || array_diff( $columns, self::OF_POST ) || ! is_post_type_viewable( $post->post_type ) ) {
			// The post may now belong to other lists, or is a part of the site: a menu, a template.
			Myriad_Cache_Changes::site();
			return;
		}
		Myriad_Cache_Queue::add( 'p' . $post_id, 'pt' . $post_id, 'mod', 'smposts' . $post->post_type );
		foreach ( array_intersect_key( Myriad_Cache_Lists::COLUMNS, array_flip( $columns ) ) as $field ) {
			Myriad_Cache_Queue::add_fields( $post_id, $field );
		}
		if ( is_post_type_hierarchical( $post->post_type ) ) {
			Myriad_Cache_Queue::add( 'l' . $post->post_type, 'lany', 'lc' . $post->post_parent );
		}
	}
}
