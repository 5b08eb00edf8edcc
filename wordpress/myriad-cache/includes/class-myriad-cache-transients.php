<?php
/**
 * Transients that pages read.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Gives pages that read a transient the tags of the objects from which it was computed, although they do not read these objects.
 *
 * While a page is generated, the tags that are added between the read of a missing transient and its storage belong to the transient. They
 * are stored next to it. A page is valid at most as long as the transients that it reads, and a transient that is stored or deleted by
 * another request than a page view purges the pages that read it.
 *
 * With a persistent object cache WordPress does not report reads of transients, and this class does nothing.
 */
class Myriad_Cache_Transients {

	/**
	 * Prefix of options with transients.
	 */
	const OPTION = '_transient_';

	/**
	 * Prefix of the transients with tags.
	 */
	const TAGS = 'myriad_tags_';

	/**
	 * Transients that do not affect pages: locks, data of this plugin, and versions in the names of transients of WooCommerce, which change
	 * with each order.
	 */
	const INNER = '/^(?:timeout_|myriad_|doing_cron$|_?wc_session)/';

	/**
	 * Transients with a version that plugins compare with other transients. WooCommerce changes it with each order, so that it is no tag.
	 */
	const VERSION = '/-transient-version$/D';

	/**
	 * Minimum validity of a page, in seconds, if it reads a transient that expires earlier.
	 */
	const LEAST = 300;

	/**
	 * Maximum number of tags of a transient. One with more limits the validity of pages to LEAST.
	 */
	const MOST = 200;

	/**
	 * State of the tags when each transient was read, by name.
	 *
	 * @var array<string, array>
	 */
	private static $read = array();

	/**
	 * Transients that this page stored: tags and lifetime in seconds, by name.
	 *
	 * @var array<string, array{0: string[], 1: int}>
	 */
	private static $stored = array();

	/**
	 * True if a transient with a version was read.
	 *
	 * @var bool
	 */
	private static $has_version = false;

	/**
	 * True while a page is generated.
	 *
	 * @var bool
	 */
	private static $is_page = false;

	/**
	 * Registers the actions of all requests.
	 */
	public static function load() {
		// WordPress 6.8 renamed the action.
		add_action( version_compare( get_bloginfo( 'version' ), '6.8', '<' ) ? 'setted_transient' : 'set_transient', array( __CLASS__, 'stored' ), 10, 3 );
		add_action( 'deleted_transient', array( __CLASS__, 'deleted' ) );
	}

	/**
	 * Starts to record reads, while a page is generated.
	 */
	public static function start() {
		self::$is_page = ! wp_using_ext_object_cache();
	}

	/**
	 * Records that a transient is read.
	 *
	 * @param string $option Name of its option.
	 */
	public static function note( $option ) {
		$name = substr( $option, strlen( self::OPTION ) );
		if ( self::$is_page && preg_match( self::VERSION, $name ) ) {
			self::$has_version = true;
		} elseif ( self::$is_page && ! isset( self::$read[ $name ] ) && ! preg_match( self::INNER, $name ) ) {
			// The first read counts: set_transient() reads the option again.
			self::$read[ $name ] = Myriad_Cache_Reads::mark();
		}
	}

	/**
	 * Handles a stored transient.
	 *
	 * @param string $name     Name.
	 * @param mixed  $value    Value.
	 * @param int    $lifetime Lifetime in seconds; 0 for no limit.
	 */
	public static function stored( $name, $value, $lifetime ) {
		if ( ! self::$is_page ) {
			self::deleted( $name );
		} elseif ( isset( self::$read[ $name ] ) ) {
			self::$stored[ $name ] = array( Myriad_Cache_Reads::since( self::$read[ $name ] ), (int) $lifetime );
		}
	}

	/**
	 * Purges the pages that read a transient, unless a page view of a visitor deleted it.
	 *
	 * @param string $name Name.
	 */
	public static function deleted( $name ) {
		if ( ! self::$is_page && ! preg_match( self::INNER, $name ) && ! preg_match( self::VERSION, $name ) && 'view' !== Myriad_Cache_Actor::visit() ) {
			Myriad_Cache_Queue::add( self::tag( $name ) );
		}
	}

	/**
	 * Returns the tag of a transient.
	 *
	 * @param string $name Name.
	 * @return string
	 */
	private static function tag( $name ) {
		return 'tr.' . Myriad_Cache_Tags::field( $name );
	}

	/**
	 * Returns the name of the transient with the tags of a transient.
	 *
	 * @param string $name Name.
	 * @return string
	 */
	private static function tags_of( $name ) {
		return self::TAGS . md5( $name );
	}

	/**
	 * Tags the page with the tags of its transients, limits its validity to theirs, and stores the tags of new transients.
	 */
	public static function finish() {
		if ( ! self::$is_page ) {
			return;
		}
		self::$is_page = false;
		$autoloaded    = wp_load_alloptions();
		$names         = array_map( 'strval', array_keys( self::$read ) );
		foreach ( $names as $name ) {
			Myriad_Cache_Tags::add( self::tag( $name ) );
			// Autoloaded transients do not expire.
			$expires = isset( $autoloaded[ self::OPTION . $name ] ) ? 0 : (int) get_option( self::OPTION . 'timeout_' . $name );
			if ( $expires > 0 ) {
				Myriad_Cache_Page::limit( max( self::LEAST, $expires - time() ) );
			}
		}
		$earlier = array_diff( $names, array_map( 'strval', array_keys( self::$stored ) ) );
		$lists   = self::load_tags( $earlier );
		foreach ( preg_split( '/ /', implode( ' ', $lists ), -1, PREG_SPLIT_NO_EMPTY ) as $tag ) {
			Myriad_Cache_Tags::add_named( $tag );
		}
		if ( self::$has_version && count( $lists ) < count( $earlier ) ) {
			// Another request than a shared page computed a transient, and no purge reports that its version has changed.
			Myriad_Cache_Page::limit( self::LEAST );
		}
		foreach ( self::$stored as $name => list( $tags, $lifetime ) ) {
			if ( count( $tags ) > self::MOST ) {
				Myriad_Cache_Page::limit( self::LEAST );
			} else {
				set_transient( self::tags_of( (string) $name ), implode( ' ', $tags ), $lifetime > 0 ? $lifetime : MONTH_IN_SECONDS );
			}
		}
		self::$read   = array();
		self::$stored = array();
	}

	/**
	 * Returns the tags of transients that earlier pages computed.
	 *
	 * @param string[] $names Names.
	 * @return string[] Tags of each of these transients that has some, separated by spaces.
	 */
	private static function load_tags( $names ) {
		global $wpdb;
		if ( ! $names ) {
			return array();
		}
		$options = array();
		foreach ( $names as $name ) {
			$options[] = self::OPTION . self::tags_of( $name );
		}
		$places = implode( ',', array_fill( 0, count( $options ), '%s' ) );
		return $wpdb->get_col( $wpdb->prepare( "SELECT option_value FROM {$wpdb->options} WHERE option_name IN ($places)", $options ) ); // phpcs:ignore WordPress.DB -- one query instead of one for each transient.
	}
}
