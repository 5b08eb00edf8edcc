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
	 * Condition on the name of a field or option, in a statement whose text literals are numbered by {@see Myriad_Cache_Direct_Writes::numbered()}.
	 */
	const NAMES = '/`?\b(?:meta_key|option_name)\b`?\s*(?:=|\bIN\s*\()\s*(\?[0-9]+(?:\s*,\s*\?[0-9]+)*)/i';

	/**
	 * Options that statements for many options delete: expired values.
	 */
	const EXPIRED = '/_transient_|_session/';

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
	const MOST = 200;

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
		$is_ignored = in_array( $table, self::UNSEEN, true ) || preg_match( self::REVISIONS, $sql ) || ( 'options' === $table && preg_match( self::EXPIRED, $sql ) );
		if ( $is_ignored || count( self::$written ) > self::MOST || self::is_reported() ) {
			return;
		}
		list( $sql, $texts ) = self::numbered( substr( $sql, 0, Myriad_Cache_Sql::MOST ) );

		$where = preg_match( '/^(.*)\bWHERE\b(.*)$/is', $sql, $parts ) && ! preg_match( '/\b(?:JOIN|SELECT|NOT|UNION)\b/i', $parts[2] ) ? $parts[2] : '';
		$ids   = isset( self::KEYS[ $table ] ) ? self::objects( $where, self::KEYS[ $table ], $texts ) : array( 0 );
		$names = '' === $where && 'options' === $table ? self::inserted( $sql, $texts ) : self::names( $where, $texts );
		foreach ( $ids as $id ) {
			foreach ( $names as $name ) {
				self::$written[ "$site $table $id $name " . implode( ',', $columns ) ] = array( $site, $table, $id, $name, $columns );
			}
		}
		Myriad_Cache_Queue::arrange();
	}

	/**
	 * Returns whether the statement comes from WordPress, or from code that reports its changes.
	 *
	 * @return bool
	 */
	private static function is_reported() {
		$root   = str_replace( '\\', '/', ABSPATH );
		$core   = $root . WPINC . '/';
		$inner  = array( $core . 'class-wpdb.php', $core . 'wp-db.php', $core . 'class-wp-hook.php', $core . 'plugin.php', str_replace( '\\', '/', WP_CONTENT_DIR ) . '/db.php' );
		$of_own = str_replace( '\\', '/', __DIR__ ) . '/';
		// phpcs:ignore WordPress.PHP.DevelopmentFunctions -- only the backtrace contains the caller.
		foreach ( debug_backtrace( DEBUG_BACKTRACE_IGNORE_ARGS, 15 ) as $frame ) {
			$file = isset( $frame['file'] ) ? str_replace( '\\', '/', $frame['file'] ) : '';
			if ( '' !== $file && ! in_array( $file, $inner, true ) && 0 !== strpos( $file, $of_own ) && false === strpos( $file, '/plugins/query-monitor/' ) ) {
				return 0 === strpos( $file, $core ) || 0 === strpos( $file, $root . 'wp-admin/' ) || preg_match( self::REPORTED, $file );
			}
		}
		return true;
	}

	/**
	 * Replaces the text literals of a statement by `?NUMBER`.
	 *
	 * @param string $sql Statement.
	 * @return array{0: string, 1: string[]} The statement, and the texts.
	 */
	private static function numbered( $sql ) {
		$texts = array();
		$plain = preg_replace_callback(
			Myriad_Cache_Sql::LITERALS,
			static function ( $found ) use ( &$texts ) {
				$is_text = '\'' === $found[0][0] || '"' === $found[0][0];
				$texts[] = $is_text ? stripslashes( substr( $found[0], 1, -1 ) ) : '';
				return $is_text ? '?' . ( count( $texts ) - 1 ) : ' ';
			},
			$sql
		);
		return array( (string) $plain, $texts );
	}

	/**
	 * Returns the objects that the condition of a statement names.
	 *
	 * @param string   $where Condition; empty if there is none, or it is too complicated.
	 * @param string   $key   Column with the object.
	 * @param string[] $texts Text literals.
	 * @return int[] A zero if they are unknown.
	 */
	private static function objects( $where, $key, $texts ) {
		$found = array();
		$value = '\??[0-9]+';
		if ( preg_match( '/\bOR\b/i', $where ) || ! preg_match( '/(?<![\w`.])(?:`?\w+`?\.)?`?' . $key . '`?\s*(?:=\s*|\bIN\s*\(\s*)(' . $value . '(?:\s*,\s*' . $value . ')*)/i', $where, $found ) ) {
			return array( 0 );
		}
		$ids = array();
		foreach ( explode( ',', preg_replace( '/\s/', '', $found[1] ) ) as $id ) {
			$ids[] = '?' === $id[0] ? (int) $texts[ (int) substr( $id, 1 ) ] : (int) $id;
		}
		$ids = array_unique( array_filter( $ids ) );
		return $ids && count( $ids ) <= self::MOST ? $ids : array( 0 );
	}

	/**
	 * Returns the names of fields or options in a condition.
	 *
	 * @param string   $where Condition.
	 * @param string[] $texts Text literals.
	 * @return string[] An empty text if they are unknown.
	 */
	private static function names( $where, $texts ) {
		$found = array();
		$names = array();
		preg_match_all( self::NAMES, $where, $found );
		foreach ( preg_split( '/\D+/', implode( ',', $found[1] ), -1, PREG_SPLIT_NO_EMPTY ) as $number ) {
			$names[] = $texts[ (int) $number ];
		}
		return $names ? array_unique( $names ) : array( '' );
	}

	/**
	 * Returns the name of an option that a statement inserts as its first value.
	 *
	 * @param string   $sql   Statement.
	 * @param string[] $texts Text literals.
	 * @return string[] An empty text if it is unknown.
	 */
	private static function inserted( $sql, $texts ) {
		return preg_match( '/\(\s*`?option_name`?\s*,[^()]*\)\s*VALUES\s*\(\s*\?([0-9]+)[^()]*\)\s*(?:ON\b.*)?;?\s*$/is', $sql, $found ) ? array( $texts[ (int) $found[1] ] ) : array( '' );
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
		if ( count( $written ) > self::MOST && ! Myriad_Cache_Actor::is_checkout() ) {
			Myriad_Cache_Queue::add_network();
			return;
		}
		foreach ( $written as list( $site, $table, $id, $name, $columns ) ) {
			$is_other = is_multisite() && get_current_blog_id() !== $site;
			if ( $is_other ) {
				switch_to_blog( $site );
			}
			if ( ! self::resolve_object( $table, $id, $name, $columns ) && ! Myriad_Cache_Actor::is_checkout() ) {
				Myriad_Cache_Changes::site(); // Visitors must not purge all pages with an order.
			}
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
	 * @return bool False if the pages that show it are unknown.
	 */
	private static function resolve_object( $table, $id, $name, $columns ) {
		if ( 'sitemeta' === $table || ( 'options' === $table && '' === $name && ! Myriad_Cache_Actor::changes_settings() ) ) {
			Myriad_Cache_Changes::network_option( $name );
		} elseif ( 'options' === $table && '' !== $name ) {
			Myriad_Cache_Changes::option( $name );
		} elseif ( 'posts' === $table && $id ) {
			return self::post( $id, $columns );
		} elseif ( 'postmeta' === $table && $id && '' !== $name ) {
			Myriad_Cache_Post_Changes::post_meta( 0, $id, $name );
		} elseif ( ( 'comments' === $table || 'commentmeta' === $table ) && $id ) {
			return self::comment( $id );
		} elseif ( 'users' === $table && $id ) {
			Myriad_Cache_Queue::add( 'u' . $id, 'lu' );
		} elseif ( 'usermeta' === $table && $id && '' !== $name ) {
			Myriad_Cache_Changes::user_meta( 0, $id, $name );
		} else {
			return false;
		}
		return true;
	}

	/**
	 * Adds the tags of a comment.
	 *
	 * @param int $comment_id Comment.
	 * @return bool False if the pages that show it are unknown.
	 */
	private static function comment( $comment_id ) {
		$comment = get_comment( $comment_id );
		if ( $comment ) {
			$post_id = (int) $comment->comment_post_ID;
			Myriad_Cache_Queue::add( 'c' . $post_id, 'cp' . $post_id, 'c' );
			return true;
		}
		// Scheduled tasks delete spam, which no page shows.
		return Myriad_Cache_Actor::is_job();
	}

	/**
	 * Adds the tags of a post.
	 *
	 * @param int      $post_id Post.
	 * @param string[] $columns Written columns.
	 * @return bool False if the pages that show it are unknown.
	 */
	private static function post( $post_id, $columns ) {
		$post = get_post( $post_id );
		if ( ! $post ) {
			return false;
		}
		if ( Myriad_Cache_Post_Changes::is_part( $post ) ) {
			return true;
		}
		Myriad_Cache_Queue::add( 'p' . $post_id, 'pt' . $post_id );
		if ( ! is_post_type_viewable( $post->post_type ) ) {
			return true;
		}
		if ( array_diff( $columns, self::OF_POST ) ) {
			return false; // It may now belong to other lists.
		}
		Myriad_Cache_Queue::add( 'mod', 'smposts' . $post->post_type );
		foreach ( array_intersect_key( Myriad_Cache_Lists::COLUMNS, array_flip( $columns ) ) as $field ) {
			Myriad_Cache_Queue::add_fields( $post_id, $field );
		}
		if ( is_post_type_hierarchical( $post->post_type ) ) {
			Myriad_Cache_Queue::add( 'l' . $post->post_type, 'lany', 'lc' . $post->post_parent );
		}
		return true;
	}
}
