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
 * are stored next to it. A transient without tags contains data from elsewhere, such as a feed: a page that reads it is valid at most as long.
 * A transient that is stored or deleted by another request than a page view purges the pages that read it.
 *
 * With a persistent object cache WordPress does not report reads of transients: see `Myriad_Cache_Values`.
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
	 * Transients that do not affect pages (locks, sessions, data of this plugin), and those of WordPress that contain only data of the theme.
	 */
	const INNER = '/^(?:site\/)?(?:myriad_|update_(?:core|plugins|themes)$|browser_|php_check_|community-events|available_translations|poptags|wp_plugin_dep|wp_remote_block|doing_cron$|_?wc_session|global_styles|woocommerce_blocks_asset_api_script_data|wp_(?:styles_for_blocks|core_block_css_files|theme_files_patterns)|theme_roots$|settings_errors$|health-check-)/D';

	/**
	 * Name of a transient in SQL.
	 */
	const IN_SQL = "/'_(site_)?transient_(?:timeout_)?([^'\\\\]+)'/";

	/**
	 * Prefix of the names of transients of the network, or of the site if there is no network.
	 */
	const SITE = 'site/';

	/**
	 * Transients with a version that plugins compare with other transients. WooCommerce changes it with each order, so that it is no tag.
	 */
	const VERSION = '/-transient-version$/D';

	/**
	 * Hash in the name of a transient, from which its version cannot be read.
	 */
	const HASH = '/[0-9a-f]{32}/';

	/**
	 * Minimum validity of a page, in seconds, if it reads a transient that expires earlier.
	 */
	const MIN_VALIDITY = 300;

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
	 * True during a request that generates a page without a persistent object cache.
	 *
	 * @var bool
	 */
	private static $is_page = false;

	/**
	 * Values of the autoloaded transients with a version, by name of the option.
	 *
	 * @var array<string, string>|null
	 */
	private static $versions = null;

	/**
	 * Registers the actions of all requests.
	 */
	public static function load() {
		// WordPress 6.8 renamed the actions.
		$set = version_compare( get_bloginfo( 'version' ), '6.8', '<' ) ? 'setted' : 'set';
		Myriad_Cache_Hooks::add( $set . '_transient', array( __CLASS__, 'stored' ), 10, 3 );
		Myriad_Cache_Hooks::add( $set . '_site_transient', array( __CLASS__, 'site_stored' ), 10, 3 );
		Myriad_Cache_Hooks::add( 'deleted_transient', array( __CLASS__, 'deleted' ) );
		Myriad_Cache_Hooks::add( 'deleted_site_transient', array( __CLASS__, 'site_deleted' ) );
	}

	/**
	 * Starts to record reads, while a page is generated.
	 */
	public static function start() {
		self::$is_page = ! wp_using_ext_object_cache();
		$filters       = array();
		foreach ( self::$is_page ? array_keys( wp_load_alloptions() ) : array() as $option ) {
			// A regular expression takes five times as long.
			if ( isset( $option[0] ) && '_' === $option[0] && 0 === strncmp( $option, self::OPTION, 11 ) && 0 !== strncmp( $option, '_transient_timeout_', 19 ) ) {
				$filters[] = 'pre' . $option;
			}
		}
		Myriad_Cache_Hooks::add( $filters, array( __CLASS__, 'note_loaded' ), PHP_INT_MAX, 2 );
	}

	/**
	 * Records that a transient without expiry is read, which is loaded with all options.
	 *
	 * @param mixed  $value Value.
	 * @param string $name  Name.
	 * @return mixed
	 */
	public static function note_loaded( $value, $name ) {
		self::note_name( (string) $name );
		return $value;
	}

	/**
	 * Records the transients that SQL reads.
	 *
	 * @param string $sql SQL.
	 */
	public static function note( $sql ) {
		$found = array();
		if ( ! self::$is_page || false === strpos( $sql, self::OPTION ) || ! preg_match_all( self::IN_SQL, $sql, $found ) ) {
			return;
		}
		foreach ( $found[2] as $number => $name ) {
			self::note_name( ( '' === $found[1][ $number ] ? '' : self::SITE ) . $name );
		}
	}

	/**
	 * Records the first read of a transient: set_transient() reads the option again.
	 *
	 * @param string $name Name.
	 */
	private static function note_name( $name ) {
		if ( self::$is_page && ! isset( self::$read[ $name ] ) && ! preg_match( self::INNER, $name ) && ! preg_match( self::VERSION, $name ) ) {
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
			if ( Myriad_Cache_Page::is_sent() ) {
				self::store_tags(); // Transients are also stored during shutdown.
			}
		}
	}

	/**
	 * Handles a stored transient of the network.
	 *
	 * @param string $name     Name.
	 * @param mixed  $value    Value.
	 * @param int    $lifetime Lifetime in seconds; 0 for no limit.
	 */
	public static function site_stored( $name, $value, $lifetime ) {
		self::stored( self::SITE . $name, $value, $lifetime );
	}

	/**
	 * Handles a deleted transient of the network.
	 *
	 * @param string $name Name.
	 */
	public static function site_deleted( $name ) {
		self::deleted( self::SITE . $name );
	}

	/**
	 * Purges the pages that read a transient, if cron, a command, a checkout or a change by staff deleted it.
	 *
	 * @param string $name Name.
	 */
	public static function deleted( $name ) {
		if ( ! preg_match( self::INNER, $name ) && ! preg_match( self::VERSION, $name ) && ! Myriad_Cache_Stock::is_of_sold( $name ) && '' === Myriad_Cache_Actor::visit() ) {
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
	 * Tags the page with the tags of its transients, limits its validity, and stores the tags of new transients.
	 */
	public static function finish() {
		if ( ! self::$is_page ) {
			return;
		}
		self::store_tags();
		$names = array();
		foreach ( array_keys( self::$read ) as $name ) {
			$names[ self::tags_of( (string) $name ) ] = (string) $name;
		}
		$lists = $names ? self::load_tags( array_keys( $names ) ) : array();
		foreach ( $names as $tags_of => $name ) {
			$list = isset( $lists[ $tags_of ] ) ? $lists[ $tags_of ] : null;
			Myriad_Cache_Tags::add( self::tag( $name ) );
			if ( '' === (string) $list ) {
				self::limit( $name, null === $list );
			} else {
				Myriad_Cache_Value_Tags::add( $list );
			}
		}
	}

	/**
	 * Limits the validity of the page because of a transient without tags.
	 *
	 * @param string $name       Name.
	 * @param bool   $is_unknown True if another request than a shared page computed it. Then no purge reports that its version has changed.
	 */
	private static function limit( $name, $is_unknown ) {
		if ( 0 === strpos( $name, self::SITE ) ) {
			$option  = substr( $name, strlen( self::SITE ) );
			$expires = (int) get_site_option( '_site_transient_timeout_' . $option );
			if ( $expires > 0 && false !== ( is_multisite() ? get_site_option( '_site_transient_' . $option ) : self::stored_text( '_site_transient_' . $option ) ) ) {
				Myriad_Cache_Page::limit( max( self::MIN_VALIDITY, $expires - time() ) );
			}
			return;
		}
		$text = self::stored_text( self::OPTION . $name );
		if ( false === $text ) {
			return;
		}
		if ( $is_unknown && self::has_version( $name, $text ) ) {
			Myriad_Cache_Page::limit( self::MIN_VALIDITY );
			return;
		}
		// Autoloaded transients do not expire.
		$expires = isset( wp_load_alloptions()[ self::OPTION . $name ] ) ? 0 : (int) get_option( self::OPTION . 'timeout_' . $name );
		if ( $expires > 0 ) {
			Myriad_Cache_Page::limit( max( self::MIN_VALIDITY, $expires - time() ) );
		}
	}

	/**
	 * Returns an option as the database has it: values of transients are long, so that converting them takes time.
	 *
	 * @param string $option Name of the option.
	 * @return string|false False if it does not exist.
	 */
	private static function stored_text( $option ) {
		$autoloaded = wp_load_alloptions();
		$text       = isset( $autoloaded[ $option ] ) ? $autoloaded[ $option ] : wp_cache_get( $option, 'options' );
		$text       = false === $text ? get_option( $option ) : $text;
		return false === $text ? false : (string) maybe_serialize( $text );
	}

	/**
	 * Returns whether a plugin replaces a transient by changing a version: the transient contains the version, or its name does, possibly in a
	 * hash.
	 *
	 * @param string $name Name.
	 * @param string $text Value, as the database has it.
	 * @return bool
	 */
	private static function has_version( $name, $text ) {
		if ( null === self::$versions ) {
			$autoloaded     = wp_load_alloptions();
			self::$versions = array_intersect_key( $autoloaded, array_flip( preg_grep( self::VERSION, array_keys( $autoloaded ) ) ) );
		}
		if ( self::$versions && preg_match( self::HASH, $name ) ) {
			return true;
		}
		$text = $name . ' ' . $text;
		foreach ( self::$versions as $version ) {
			if ( '' !== (string) $version && false !== strpos( $text, (string) $version ) ) {
				return true;
			}
		}
		return false;
	}

	/**
	 * Stores the tags of the transients that this page computed.
	 */
	private static function store_tags() {
		foreach ( self::$stored as $name => list( $tags, $lifetime ) ) {
			$text = Myriad_Cache_Value_Tags::text( $tags );
			if ( null !== $text ) {
				set_transient( self::tags_of( (string) $name ), $text, $lifetime > 0 ? $lifetime : MONTH_IN_SECONDS );
			}
		}
		self::$stored = array();
	}

	/**
	 * Returns the tags of transients that pages have computed.
	 *
	 * @param string[] $names Results of tags_of() for the transients.
	 * @return array<string, string> Tags, separated by spaces, by these results; without transients that other requests computed.
	 */
	private static function load_tags( $names ) {
		global $wpdb;
		$options = "'" . self::OPTION . implode( "','" . self::OPTION, $names ) . "'";
		$lists   = array();
		$rows = Myriad_Cache_Reads::unnoted(
			static function () use ( $wpdb, $options ) {
				// phpcs:ignore WordPress.DB -- one query instead of one for each transient; the names are constants and hexadecimal digits.
				return $wpdb->get_results( "SELECT option_name, option_value FROM {$wpdb->options} WHERE option_name IN ($options)" );
			}
		);
		foreach ( (array) $rows as $row ) {
			$lists[ substr( $row->option_name, strlen( self::OPTION ) ) ] = $row->option_value;
		}
		return $lists;
	}
}
