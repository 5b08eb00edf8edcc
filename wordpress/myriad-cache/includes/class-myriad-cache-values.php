<?php
/**
 * Values of a persistent object cache.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Gives pages that read a cached value the tags of the objects from which it was computed.
 *
 * Myriad's object cache reports reads and writes of values. The tags that a page adds between its first read of a missing value and the
 * storage of the value belong to the value; they are stored in the same object cache. A page that reads a value of unknown origin, which
 * another request than a page has computed, is valid for UNKNOWN_VALIDITY seconds. A value that staff, cron, WP-CLI or a checkout replaces or deletes
 * purges the pages that read it. With another object cache, pages that read values of other groups than WordPress's are valid for
 * UNOBSERVED_VALIDITY seconds.
 */
class Myriad_Cache_Values {

	/**
	 * Groups of WordPress, whose contents other filters and actions report, and of this plugin.
	 */
	const CORE = '/^(?:options|notoptions|site-options|posts|post_meta|post_ancestors|terms|term_meta|users|user_meta|userlogins|useremail|userslugs|comment|comment_meta|counts|plugins|themes?|theme_json|theme_files|bookmark|general|calendar|timeinfo|rss|fonts|translation_files|image_editor|block_patterns|html-api|blog-details|blog-lookup|blog-id-cache|blog_meta|networks?|sites?|site-details|site-lookup|site_meta|global-cache-test|signups|[\w-]*(?:_relationships|-queries|_children)|myriad_\w+)$/D';

	/**
	 * Versions by which plugins replace all values of a group: the tags of the values report what has changed. WooCommerce changes some with
	 * each order.
	 */
	const VERSION = '/(?:last_changed|_cache_prefix|-transient-version|is_blog_installed)$/D';

	/**
	 * In place of a key, in the tag of pages with values of a group: all values of the group were deleted.
	 */
	const FLUSH = 'flush';

	/**
	 * Group of the tags of values.
	 */
	const TAGS = 'myriad_tags';

	/**
	 * Groups with the results of `get_objects_in_term()`, as keys, and the start of the keys of these results.
	 */
	const TERMS   = array(
		'terms'        => true,
		'term-queries' => true,
	);
	const OBJECTS = 'get_objects_in_term:';

	/**
	 * Maximum validity of a page with an object cache that reports nothing, in seconds.
	 */
	const UNOBSERVED_VALIDITY = 300;

	/**
	 * Maximum validity of a page that reads a value of unknown origin, in seconds. Its replacement by staff is reported.
	 */
	const UNKNOWN_VALIDITY = 3600;

	/**
	 * Maximum number of values of a group that are separate tags of a page; more are one tag.
	 */
	const MOST_OF_GROUP = 20;

	/**
	 * Seconds for which tags of values are stored: longer than values without expiry.
	 */
	const STORED = 172800;

	/**
	 * True if the object cache reports reads and writes.
	 *
	 * @var bool
	 */
	private static $is_observed = false;

	/**
	 * True during a request that generates a page.
	 *
	 * @var bool
	 */
	private static $is_page = false;

	/**
	 * True for groups of plugins, by name.
	 *
	 * @var array<string, bool>
	 */
	private static $groups = array();

	/**
	 * Values that were read, by group and key: null if the value existed, otherwise the state of the tags before.
	 *
	 * @var array<string, array<string, array|null>>
	 */
	private static $read = array();

	/**
	 * Tags of the values that this page stored, by group and key.
	 *
	 * @var array<string, array<string, string[]>>
	 */
	private static $made = array();

	/**
	 * Values that this request replaced (true) or deleted (false), by group and key.
	 *
	 * @var array<string, array<string, bool>>
	 */
	private static $changed = array();

	/**
	 * Starts to observe the object cache.
	 */
	public static function load() {
		$cache = isset( $GLOBALS['wp_object_cache'] ) ? $GLOBALS['wp_object_cache'] : null;
		if ( wp_using_ext_object_cache() && is_object( $cache ) && is_callable( array( $cache, 'observe' ) ) ) {
			self::$is_observed = true;
			$cache->observe( array( __CLASS__, 'note' ) );
		}
	}

	/**
	 * Starts to record tags, while a page is generated.
	 */
	public static function start() {
		self::$is_page = true;
	}

	/**
	 * Records an operation of the object cache.
	 *
	 * @param string              $what  Operation: `get`, `set`, `delete` or `flush`.
	 * @param string              $group Group; empty for all.
	 * @param array<string, bool> $ids   Keys, with the number of the site; true if the value exists (`get`), or differs from the one in memory
	 *                                   (`set`).
	 */
	public static function note( $what, $group, $ids ) {
		if ( ! isset( self::$groups[ $group ] ) ) {
			self::$groups[ $group ] = ! preg_match( self::CORE, $group );
		}
		if ( ! self::$groups[ $group ] ) {
			if ( 'get' === $what && self::$is_page && isset( self::TERMS[ $group ] ) ) {
				self::note_objects_in_terms( $ids );
			}
			return;
		}
		foreach ( $ids as $id => $is_set ) {
			$id = (string) $id;
			if ( preg_match( self::VERSION, $id ) || self::is_inner_transient( $group, $id ) ) {
				continue;
			}
			if ( 'get' === $what ) {
				if ( ! isset( self::$read[ $group ] ) || ! array_key_exists( $id, self::$read[ $group ] ) ) {
					self::$read[ $group ][ $id ] = $is_set ? null : ( self::$is_page ? Myriad_Cache_Reads::mark() : array() );
				}
			} elseif ( self::$is_page ) {
				if ( 'set' === $what ) {
					self::note_stored( $group, $id );
				}
			} elseif ( 'delete' === $what || ( $is_set && ! isset( self::$read[ $group ][ $id ] ) ) ) {
				if ( Myriad_Cache_Stock::is_value_of_sold( $group, $id ) ) {
					continue;
				}
				self::$changed[ $group ][ $id ] = 'set' === $what || ! empty( self::$changed[ $group ][ $id ] );
				Myriad_Cache_Queue::arrange();
			} else {
				self::$read[ $group ][ $id ] = null; // A later replacement of a value that was missing is a change.
			}
		}
	}

	/**
	 * Tags the page with the posts of terms, if the object cache has answered `get_objects_in_term()`, which WordPress does not report.
	 *
	 * @param array<string, bool> $ids Keys, as for note().
	 */
	private static function note_objects_in_terms( $ids ) {
		foreach ( $ids as $id => $is_set ) {
			if ( $is_set && false !== strpos( (string) $id, self::OBJECTS ) ) {
				Myriad_Cache_Selections::note_cached_objects_in_terms();
			}
		}
	}

	/**
	 * Records a value that a page stores.
	 *
	 * @param string $group Group.
	 * @param string $id    Key.
	 */
	private static function note_stored( $group, $id ) {
		// Without a read before, it may have been computed from everything that the page has read.
		$mark = isset( self::$read[ $group ][ $id ] ) ? self::$read[ $group ][ $id ] : array( 0, 0 );

		self::$made[ $group ][ $id ] = Myriad_Cache_Reads::since( $mark );
		if ( Myriad_Cache_Page::is_sent() ) {
			self::store_tags();
		}
	}

	/**
	 * Returns whether a value is a transient that does not affect pages.
	 *
	 * @param string $group Group.
	 * @param string $id    Key.
	 * @return bool
	 */
	private static function is_inner_transient( $group, $id ) {
		return ( 'transient' === $group || 'site-transient' === $group ) && preg_match( Myriad_Cache_Transients::INNER, (string) preg_replace( '/^[0-9]+:/', '', $id ) );
	}

	/**
	 * Returns the site that a value belongs to.
	 *
	 * @param string $id Key; empty for all values of a group.
	 * @return int Number of the site; 0 if all sites of a network share the value.
	 */
	private static function site_of( $id ) {
		$found = array();
		if ( ! is_multisite() ) {
			return get_current_blog_id();
		}
		return preg_match( '/^([0-9]+):/', $id, $found ) ? (int) $found[1] : 0;
	}

	/**
	 * Returns the tag of the values of a group, or of one of them.
	 *
	 * @param int    $site  Number of the site.
	 * @param string $group Group.
	 * @param string $id    Key; empty for all values.
	 * @return string Tag with the site number.
	 */
	private static function tag( $site, $group, $id ) {
		return Myriad_Cache_Tags::of_site( $site, 'oc.' . Myriad_Cache_Tags::field( $group ) . ( '' === $id ? '' : '.' . substr( md5( $id ), 0, 10 ) ) );
	}

	/**
	 * Returns the key of the tags of a value.
	 *
	 * @param string $group Group.
	 * @param string $id    Key.
	 * @return string
	 */
	private static function tags_of( $group, $id ) {
		return md5( $group . ' ' . $id );
	}

	/**
	 * Tags the page with its values and their tags, and stores the tags of new values.
	 */
	public static function finish() {
		if ( ! wp_using_ext_object_cache() ) {
			return;
		}
		if ( ! self::$is_observed ) {
			if ( Myriad_Cache_Memory::holds_groups_other_than( self::CORE ) ) {
				Myriad_Cache_Page::limit( self::UNOBSERVED_VALIDITY );
			}
			if ( Myriad_Cache_Memory::holds_key( array_keys( self::TERMS ), self::OBJECTS ) ) {
				Myriad_Cache_Selections::note_cached_objects_in_terms();
			}
			return;
		}
		$keys = array();
		foreach ( self::$read as $group => $ids ) {
			$group = (string) $group;
			Myriad_Cache_Tags::add_named( self::tag( self::site_of( '' ), $group, self::FLUSH ) );
			foreach ( $ids as $id => $mark ) {
				$id = (string) $id;
				Myriad_Cache_Tags::add_named( self::tag( self::site_of( $id ), $group, count( $ids ) > self::MOST_OF_GROUP ? '' : $id ) );
				if ( null === $mark && ! isset( self::$made[ $group ][ $id ] ) ) {
					$keys[] = self::tags_of( $group, $id );
				}
			}
		}
		self::store_tags();
		foreach ( $keys ? wp_cache_get_multiple( $keys, self::TAGS ) : array() as $list ) {
			if ( is_string( $list ) ) {
				Myriad_Cache_Value_Tags::add( $list );
			} else {
				Myriad_Cache_Page::limit( self::UNKNOWN_VALIDITY );
			}
		}
	}

	/**
	 * Stores the tags of the values that this page computed.
	 */
	private static function store_tags() {
		$lists = array();
		foreach ( self::$made as $group => $ids ) {
			foreach ( $ids as $id => $tags ) {
				$text = Myriad_Cache_Value_Tags::text( $tags );
				if ( null !== $text ) {
					$lists[ self::tags_of( (string) $group, (string) $id ) ] = $text;
				}
			}
		}
		self::$made = array();
		if ( $lists ) {
			wp_cache_set_multiple( $lists, self::TAGS, self::STORED );
		}
	}

	/**
	 * Adds the tags of replaced and deleted values to the queue, except those that visits write. Orders delete values of products and reports as a
	 * precaution: the data from which these were computed have their own tags.
	 */
	public static function resolve() {
		$changed       = self::$changed;
		self::$changed = array();
		if ( ! $changed || '' !== Myriad_Cache_Actor::visit() ) {
			return;
		}
		foreach ( $changed as $group => $ids ) {
			$group = (string) $group;
			if ( '' === $group ) {
				Myriad_Cache_Queue::add_network(); // All groups of all sites.
			}
			foreach ( array_keys( Myriad_Cache_Actor::is_checkout() ? array_filter( $ids ) : $ids ) as $id ) {
				$id   = (string) $id;
				$site = self::site_of( $id );
				Myriad_Cache_Queue::add_named( self::tag( $site, $group, '' === $id ? self::FLUSH : $id ) );
				Myriad_Cache_Queue::add_named( self::tag( $site, $group, '' ) );
			}
		}
	}
}
