<?php
/**
 * Tags of the page that is being generated.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Collects the names of all objects from which a page is generated.
 *
 * The tags:
 *
 *     s        the site: every page            p12      post 12 of any type: title, link or content
 *     pt12     title and link of post 12       c12, c   comments of post 12, of all posts; cp12: a list of all has some of post 12
 *     pc12     class names of post 12          lc12     pages below page 12
 *     lpost    a list of posts (see Lists)
 *     t5, ts5  term 5 and its fields, its slug txTAX    a list of terms of a taxonomy; txTAX.by-name: depends on their names;
 *                                              txTAX.by-posts: depends on which objects have the terms
 *     st12     quantity of product 12          sl12     number of sales of product 12
 *     u1       user 1                          u1.NAME  a field of user 1; u1.all: all of its fields
 *     lu       a list of users; lu.by-NAME: depends on a field
 *     m7       menu 7
 *     wTEXT    widgets of a kind; sb: sidebars oNAME    an option
 *     tplSLUG  a template; partSLUG: a part    adj12    adjacent posts of post 12; adj: within a term
 *     sm...    sitemaps                        mod      time of the last change of a post
 *     db.NAME  a table of a plugin             tr.NAME  a transient
 *     oc.GROUP values of the object cache; oc.GROUP.HASH: a value
 *
 * A page with more than FOLD_ABOVE tags has tags such as `p.all` (a change of any post) instead of the tags of single
 * objects.
 *
 * The site number precedes each tag, because the sites of a network share a cache. Users, transients of the network and global groups of the
 * object cache have the number 0, because all sites of a network share them; `wp0-s` is the whole network.
 */
class Myriad_Cache_Tags {

	/**
	 * Options that are tagged where they are read. A change of any other visible option purges the site.
	 */
	const OPTIONS = array(
		'blogname',
		'blogdescription',
		'date_format',
		'time_format',
		'start_of_week',
		'show_avatars',
		'avatar_default',
		'avatar_rating',
		'thread_comments',
		'thread_comments_depth',
		'page_comments',
		'comments_per_page',
		'default_comments_page',
		'comment_order',
		'comment_registration',
		'require_name_email',
		'show_comments_cookies_opt_in',
		'rss_use_excerpt',
		'posts_per_rss',
		'site_icon',
	);

	/**
	 * Post types without separate content: other tags cover their effects, or no page shows them, such as the tasks of Action Scheduler.
	 */
	const INNER_TYPES = array(
		'wp_template',
		'wp_template_part',
		'wp_global_styles',
		'custom_css',
		'customize_changeset',
		'oembed_cache',
		'user_request',
		'revision',
		'nav_menu_item',
		'scheduled-action',
	);

	/**
	 * Sitemaps of WordPress.
	 */
	const SITEMAPS = array( 'index', 'posts', 'taxonomies', 'users' );

	/**
	 * Number of tags above which the tags of single objects are replaced by a tag for all objects of their kind.
	 */
	const FOLD_ABOVE = 300;

	/**
	 * Maximum number of tags that Myriad stores for a page, and their total length in bytes. A page with more is
	 * covered by every purge.
	 */
	const MOST       = 512;
	const MOST_BYTES = 16384;

	/**
	 * Tags of single objects. The first group is their kind.
	 */
	const OBJECTS = '/^(p[tc]?|st|sl|cp?|ts?|u|lc|adj|m)[0-9]+(?:\.|$)/D';

	/**
	 * Maximum length of the name of a field in a tag; longer names are hashed.
	 */
	const MOST_FIELD = 60;

	/**
	 * The network: every page of each of its sites.
	 */
	const NETWORK = 'wp0-s';

	/**
	 * Tags so far, as keys, with the stage of their last addition.
	 *
	 * @var array<string, int>
	 */
	private static $tags = array();

	/**
	 * Tags with their site numbers: of tables, and of other sites of the network whose content the page shows.
	 *
	 * @var array<string, int>
	 */
	private static $others = array();

	/**
	 * Number of the current stage, which other classes only read. Each call of mark() begins another one.
	 *
	 * @var int
	 */
	public static $stage = 1;

	/**
	 * Adds a tag.
	 *
	 * @param string $tag Tag without the site number.
	 */
	public static function add( $tag ) {
		if ( empty( $GLOBALS['_wp_switched_stack'] ) ) {
			self::$tags[ $tag ] = self::$stage;
		} else {
			self::$others[ self::named( $tag ) ] = self::$stage;
		}
	}

	/**
	 * Begins another stage, for since().
	 *
	 * @return int Number of the stage before.
	 */
	public static function mark() {
		Myriad_Cache_Notes::note_counted();
		return self::$stage++;
	}

	/**
	 * Returns the tags that were added, or added again, after a stage.
	 *
	 * @param int $mark Number of the stage.
	 * @return string[] Tags with their site numbers.
	 */
	public static function since( $mark ) {
		Myriad_Cache_Notes::note_counted();
		$is_later = static function ( $number ) use ( $mark ) {
			return $number > $mark;
		};
		$own      = array_map( array( __CLASS__, 'named' ), array_map( 'strval', array_keys( array_filter( self::$tags, $is_later ) ) ) );
		return array_merge( $own, array_keys( array_filter( self::$others, $is_later ) ) );
	}

	/**
	 * Adds a tag with its site number.
	 *
	 * @param string $tag Tag in Myriad's format.
	 */
	public static function add_named( $tag ) {
		$own = 'wp' . get_current_blog_id() . '-';
		if ( 0 === strpos( $tag, $own ) && empty( $GLOBALS['_wp_switched_stack'] ) ) {
			self::add( substr( $tag, strlen( $own ) ) );
			return;
		}
		self::$others[ $tag ] = self::$stage;
	}

	/**
	 * Returns whether the page has a tag of this site.
	 *
	 * @param string $tag Tag without the site number.
	 * @return bool
	 */
	public static function has( $tag ) {
		if ( ! isset( self::$tags[ $tag ] ) || ! empty( $GLOBALS['_wp_switched_stack'] ) ) {
			return false;
		}
		// The caller would add it otherwise.
		self::$tags[ $tag ] = self::$stage;
		return true;
	}

	/**
	 * Returns the name of a field as a part of a tag.
	 *
	 * @param string $name Name.
	 * @return string
	 */
	public static function field( $name ) {
		return strlen( $name ) > self::MOST_FIELD ? substr( $name, 0, 20 ) . '-' . md5( $name ) : $name;
	}

	/**
	 * Returns the tag in Myriad's format.
	 *
	 * @param string $tag Tag.
	 * @return string Tag with the number of this site, or 0 for objects that all sites of a network share; without
	 *                characters that separate tags.
	 */
	public static function named( $tag ) {
		$start     = substr( $tag, 0, 2 );
		$is_shared = ( 'u' === $tag[0] || 'lu' === $start || 'tr' === $start ) && preg_match( '/^(?:u[0-9]|u\.all$|lu(?:\.|$)|tr\.site\/)/D', $tag );
		return self::of_site( $is_shared ? 0 : get_current_blog_id(), $tag );
	}

	/**
	 * Returns the tag of a site in Myriad's format.
	 *
	 * @param int    $site Site number.
	 * @param string $tag  Tag.
	 * @return string Tag with the site number, without characters that separate tags.
	 */
	public static function of_site( $site, $tag ) {
		return 'wp' . $site . '-' . ( ctype_alnum( strtr( $tag, '_.-', 'aaa' ) ) ? $tag : preg_replace( '/[^A-Za-z0-9_.-]/', '_', $tag ) );
	}

	/**
	 * Returns the tag for all objects of the kind of an object: for class names of posts, the tag for all changes of posts.
	 *
	 * @param string $tag Tag.
	 * @return string Tag; empty if the given tag is not the tag of an object.
	 */
	public static function of_all( $tag ) {
		$found = array();
		if ( ! preg_match( self::OBJECTS, $tag, $found ) ) {
			return '';
		}
		return ( 'pc' === $found[1] ? 'p' : $found[1] ) . '.all';
	}

	/**
	 * Returns all tags of the page, as they are sent.
	 *
	 * @return string[]
	 */
	public static function all() {
		Myriad_Cache_Notes::note_counted();
		Myriad_Cache_Transients::finish();
		Myriad_Cache_Values::finish();
		Myriad_Cache_Times::finish();
		Myriad_Cache_Reads::finish();
		if ( self::note_request() ) {
			Myriad_Cache_Notes::finish();
		}
		self::fold();
		$tags = array();
		$site = 'wp' . get_current_blog_id() . '-';
		foreach ( self::$tags as $tag => $stage ) {
			$tag    = (string) $tag;
			$tags[] = ctype_alnum( $tag ) && 'u' !== $tag[0] && 'l' !== $tag[0] ? $site . $tag : self::named( $tag );
		}
		if ( is_multisite() ) {
			array_unshift( $tags, self::NETWORK );
		}
		return self::bounded( array_values( array_unique( array_merge( $tags, array_keys( self::$others ) ) ) ) );
	}

	/**
	 * Replaces tags of single objects by the tag for all objects of their kind, most frequent kind first, until at most FOLD_ABOVE remain.
	 */
	private static function fold() {
		$count = count( self::$tags ) + count( self::$others );
		if ( $count <= self::FOLD_ABOVE ) {
			return;
		}
		$kinds = array();
		foreach ( array_keys( self::$tags ) as $tag ) {
			$all = self::of_all( (string) $tag );
			// A feed of comments and some blocks contain titles of posts that are not hierarchical.
			$all = 'pt.all' === $all && ( is_comment_feed() || Myriad_Cache_Titles::are_shown() ) ? 'p.all' : $all;
			if ( '' !== $all ) {
				$kinds[ $all ][] = $tag;
			}
		}
		uasort(
			$kinds,
			static function ( $a, $b ) {
				return count( $b ) - count( $a );
			}
		);
		foreach ( $kinds as $all => $tags ) {
			if ( $count <= self::FOLD_ABOVE ) {
				return;
			}
			self::$tags  = array_diff_key( self::$tags, array_fill_keys( $tags, true ) ) + array( $all => self::$stage );
			$count      -= count( $tags ) - 1;
		}
	}

	/**
	 * Truncates the tags one beyond the bounds, so that Myriad detects that there were more.
	 *
	 * @param string[] $tags Tags.
	 * @return string[]
	 */
	private static function bounded( $tags ) {
		$bytes = 0;
		foreach ( $tags as $number => $tag ) {
			$bytes += strlen( $tag );
			if ( $number >= self::MOST || $bytes > self::MOST_BYTES ) {
				return array_slice( $tags, 0, $number + 1 );
			}
		}
		return $tags;
	}

	/**
	 * Tags the page with the objects that its address selects: the term, the author, the kind of sitemap.
	 *
	 * @return bool True if the page shows single terms; false for sitemaps.
	 */
	private static function note_request() {
		global $wp, $wp_query;
		$vars = isset( $wp->query_vars ) ? $wp->query_vars : array();
		// Plugins for search engines use the same query variable for their own sitemaps, with other values.
		if ( ! empty( $vars['sitemap'] ) && in_array( $vars['sitemap'], self::SITEMAPS, true ) ) {
			return self::note_sitemap( 'sm' . $vars['sitemap'] . ( isset( $vars['sitemap-subtype'] ) ? $vars['sitemap-subtype'] : '' ) );
		}
		if ( ! empty( $vars['sitemap-stylesheet'] ) ) {
			self::$tags = array( 'smstyle' => true );
			return false;
		}
		if ( ! $wp_query instanceof WP_Query ) {
			return true;
		}
		$object = $wp_query->get_queried_object();
		if ( $object instanceof WP_Term ) {
			self::add( 't' . $object->term_id );
		} elseif ( $object instanceof WP_User ) {
			self::add( 'u' . $object->ID );
		} elseif ( $object instanceof WP_Post ) {
			self::add( 'p' . $object->ID );
		}
		if ( $wp_query->is_comment_feed() ) {
			self::note_comment_feed( $wp_query, $object );
		}
		if ( ! wp_is_block_theme() && ! is_feed() ) {
			// PHP templates of themes can show the number of pages in any way.
			self::note_page_count( '' );
		}
		return true;
	}

	/**
	 * Tags a sitemap. It lists thousands of posts, so that its tag depends on its kind only, unless a plugin has filtered its entries, or has
	 * selected them by terms or fields, as plugins for languages do.
	 *
	 * @param string $tag Tag of its kind.
	 * @return bool See note_request().
	 */
	private static function note_sitemap( $tag ) {
		foreach ( self::SITEMAPS as $kind ) {
			if ( has_filter( 'wp_sitemaps_' . $kind . '_entry' ) ) {
				self::add( $tag );
				return true;
			}
		}
		$lists      = preg_grep( '/^l(?!u(?:\.|$))|^tx.*\.by-posts$/D', array_map( 'strval', array_keys( self::$tags ) ) );
		$is_chosen  = (bool) preg_grep( '/\.by-|^l[tad][0-9]/', $lists );
		self::$tags = array_fill_keys( array_merge( array( 's', $tag ), $is_chosen ? $lists : array() ), self::$stage );
		return false;
	}

	/**
	 * Tags a feed of comments: it shows only the titles of their posts.
	 *
	 * @param WP_Query $query Query.
	 * @param mixed    $post  Post whose comments they are.
	 */
	private static function note_comment_feed( $query, $post ) {
		foreach ( array_keys( self::$tags ) as $tag ) {
			if ( preg_match( '/^p[0-9]+$/', $tag ) ) {
				unset( self::$tags[ $tag ] );
				self::add( 'pt' . substr( $tag, 1 ) );
			}
		}
		if ( $query->is_singular() ) {
			self::add( $post instanceof WP_Post ? 'c' . $post->ID : 'mod' );
			return;
		}
		Myriad_Cache_Notes::note_comments( $query->comments, null );
	}

	/**
	 * Tags the page with the number of pages of a list.
	 *
	 * @param mixed $value Value that is read.
	 * @return mixed
	 */
	public static function note_page_count( $value ) {
		foreach ( self::$tags as $tag => $stage ) {
			if ( 'l' === $tag[0] && '.x' === substr( $tag, -2 ) ) {
				self::add( substr( $tag, 0, -1 ) . 'n' );
			}
		}
		return $value;
	}
}
