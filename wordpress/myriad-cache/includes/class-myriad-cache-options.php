<?php
/**
 * Options that pages read.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Remembers the names of all options that any page has read. A change of another option affects no stored page.
 *
 * The filter that reports reads is called two thousand times for a page, which takes 3% of its time. So each page is recorded only at
 * its first rendering, and again after changes by staff, cron or commands, which may have added a block or a plugin to it.
 */
class Myriad_Cache_Options {

	/**
	 * Option with the names.
	 */
	const READ = 'myriad_cache_options_read';

	/**
	 * Option with the recorded pages: seven hexadecimal digits for each, preceded by a comma.
	 */
	const PAGES = 'myriad_cache_options_pages';

	/**
	 * Maximum number of recorded pages. A further one begins a new list.
	 */
	const MOST_PAGES = 2000;

	/**
	 * Option with the times of the last purges by cron, by name of the changed option.
	 */
	const JOBS = 'myriad_cache_jobs';

	/**
	 * Maximum number of these times.
	 */
	const MOST_JOBS = 100;

	/**
	 * Times in options that cron writes.
	 */
	const TIMES = '/\b1[5-9][0-9]{8}(?:[0-9]{3})?\b|\b20[0-9]{2}-[01][0-9]-[0-3][0-9](?:[T ][0-9:.]+(?:Z|[+-][0-9:]+)?)?/';

	/**
	 * Maximum number of names. With more, every option counts as read.
	 */
	const MOST = 3000;

	/**
	 * True if the plugin was loaded before plugins that read options when they are loaded, as a must-use plugin.
	 *
	 * @var bool
	 */
	private static $is_early = false;

	/**
	 * True if this page is recorded.
	 *
	 * @var bool
	 */
	private static $is_recording = false;

	/**
	 * This page in the list of recorded pages.
	 *
	 * @var string
	 */
	private static $page = '';

	/**
	 * Names that this page has read, as keys.
	 *
	 * @var array<string, true>
	 */
	private static $read = array();

	/**
	 * Notes whether the plugin is loaded before other plugins.
	 */
	public static function load() {
		self::$is_early = ! did_action( 'muplugins_loaded' );
	}

	/**
	 * Starts to record names, while a page is generated, if the page is not recorded yet.
	 */
	public static function start() {
		$uri        = isset( $_SERVER['REQUEST_URI'] ) ? (string) $_SERVER['REQUEST_URI'] : ''; // phpcs:ignore WordPress.Security.ValidatedSanitizedInput -- it is hashed only.
		self::$page = ',' . substr( md5( $uri ), 0, 7 );
		$names      = array( self::PAGES, 'myriad_cache_hours', Myriad_Cache_Times::OPTION );
		if ( ! is_multisite() ) {
			$names[] = Myriad_Cache_Writes::NOISE;
		}
		if ( array_diff_key( array_flip( $names ), wp_load_alloptions() ) && function_exists( 'wp_prime_option_caches' ) ) {
			// One query instead of one for each of them.
			wp_prime_option_caches( $names );
		}
		if ( false === strpos( (string) get_option( self::PAGES ), self::$page ) ) {
			self::$is_recording = true;
			add_filter( 'pre_option', array( __CLASS__, 'note' ), PHP_INT_MAX, 2 );
		}
	}

	/**
	 * Forgets which pages are recorded, after a change other than by a visitor.
	 */
	public static function forget_pages() {
		if ( Myriad_Cache_Actor::is_managing() && '' !== (string) get_option( self::PAGES ) ) {
			update_option( self::PAGES, '', self::are_autoloaded() );
		}
	}

	/**
	 * Records a name.
	 *
	 * @param mixed  $value Value.
	 * @param string $name  Name.
	 * @return mixed
	 */
	public static function note( $value, $name ) {
		self::$read[ $name ] = true;
		return $value;
	}

	/**
	 * Stores the names that are not known yet, and that the page is recorded.
	 */
	public static function finish() {
		if ( ! self::$is_recording ) {
			return;
		}
		self::$is_recording = false;
		remove_filter( 'pre_option', array( __CLASS__, 'note' ), PHP_INT_MAX );
		$names = array_filter( array_map( 'strval', array_keys( self::$read ) ), array( __CLASS__, 'is_visible' ) );
		Myriad_Cache_Times::store_options( array_merge( $names, preg_grep( '/^theme_mods_/', array_map( 'strval', array_keys( self::$read ) ) ) ) );
		if ( array_diff( $names, self::known() ) ) {
			self::add( $names );
			wp_cache_delete( self::READ, 'options' );
			if ( array_diff( $names, self::known() ) ) {
				// Another request stored its names at the same time: the next rendering records the page.
				return;
			}
		}
		wp_cache_delete( self::PAGES, 'options' );
		$pages = (string) get_option( self::PAGES );
		update_option( self::PAGES, strlen( $pages ) < self::MOST_PAGES * strlen( self::$page ) ? $pages . self::$page : self::$page, self::are_autoloaded() );
		self::autoload();
	}

	/**
	 * Returns whether the options that each page reads are loaded with all options. With a persistent object cache, a change of one of them would
	 * replace the cached value of all.
	 *
	 * @return bool
	 */
	private static function are_autoloaded() {
		return ! is_multisite() && ! wp_using_ext_object_cache();
	}

	/**
	 * Stores the options that each page reads so that they are loaded with all options. Otherwise each page would query them, also those that do not
	 * exist.
	 */
	private static function autoload() {
		if ( ! self::are_autoloaded() ) {
			return;
		}
		$options = array(
			'myriad_cache_hours'        => Myriad_Cache_Page::HOURS,
			Myriad_Cache_Times::OPTION  => array(),
			Myriad_Cache_Writes::NOISE  => array(),
			self::PAGES                 => '',
		);
		foreach ( array_diff_key( $options, wp_load_alloptions() ) as $name => $value ) {
			if ( ! add_option( $name, $value, '', true ) && function_exists( 'wp_set_option_autoload' ) ) {
				wp_set_option_autoload( $name, true ); // Since WordPress 6.4.
			}
		}
	}

	/**
	 * Returns the stored value of an option. Filters of plugins are not called, because they may use output buffers, which PHP does not permit while a
	 * buffer is sent.
	 *
	 * @param string $name Name.
	 * @return mixed False if there is none.
	 */
	public static function stored( $name ) {
		global $wpdb;
		$all = wp_load_alloptions();
		if ( isset( $all[ $name ] ) ) {
			return maybe_unserialize( $all[ $name ] );
		}
		$missing = wp_cache_get( 'notoptions', 'options' );
		$value   = is_array( $missing ) && isset( $missing[ $name ] ) ? null : wp_cache_get( $name, 'options' );
		if ( false === $value ) {
			$value = Myriad_Cache_Reads::unnoted(
				static function () use ( $wpdb, $name ) {
					// phpcs:ignore WordPress.DB -- as get_option() does.
					return $wpdb->get_var( $wpdb->prepare( "SELECT option_value FROM $wpdb->options WHERE option_name = %s LIMIT 1", $name ) );
				}
			);
		}
		return null === $value ? false : maybe_unserialize( $value );
	}

	/**
	 * Returns the names that pages have read.
	 *
	 * @return string[] Empty before any page was recorded.
	 */
	private static function known() {
		$known = get_option( self::READ );
		return is_array( $known ) ? $known : array();
	}

	/**
	 * Adds names to the stored ones.
	 *
	 * @param string[] $names Names.
	 */
	private static function add( $names ) {
		// Another request may have added names in the meantime.
		wp_cache_delete( self::READ, 'options' );
		$known = self::known();
		$new   = array_diff( $names, $known );
		if ( $new && count( $known ) <= self::MOST ) {
			update_option( self::READ, array_merge( $known, array_values( $new ) ), false );
		}
	}

	/**
	 * Returns whether a page depends on an option.
	 *
	 * @param string $name Name.
	 * @return bool
	 */
	private static function is_visible( $name ) {
		return ! preg_match( Myriad_Cache_Changes::INNER_OPTIONS, $name );
	}

	/**
	 * Returns whether pages must be purged because cron changed an option: pages have read it, more than times in it has changed, and it was
	 * no reason for a purge within the last hour. An option that changes more often contains a counter, or a state of the plugin.
	 *
	 * @param string $name   Name.
	 * @param mixed  $before Old value; null if it is unknown.
	 * @param mixed  $after  New value; null after a deletion.
	 * @return bool
	 */
	public static function is_changed_by_job( $name, $before, $after ) {
		if ( ! in_array( $name, self::known(), true ) || ( null !== $after && self::without_times( $before ) === self::without_times( $after ) ) ) {
			return false;
		}
		$now   = time();
		$times = get_option( self::JOBS );
		$times = is_array( $times ) ? $times : array();
		if ( isset( $times[ $name ] ) && $now - $times[ $name ] < HOUR_IN_SECONDS ) {
			return false;
		}
		$times[ $name ] = $now;
		update_option( self::JOBS, array_slice( $times, -self::MOST_JOBS, null, true ), false );
		return true;
	}

	/**
	 * Returns the text of a value without times.
	 *
	 * @param mixed $value Value.
	 * @return string
	 */
	private static function without_times( $value ) {
		return (string) preg_replace( self::TIMES, '', (string) maybe_serialize( $value ) );
	}

	/**
	 * Returns whether a page may have read an option.
	 *
	 * @param string $name Name.
	 * @return bool True also if it is unknown: before any page was recorded, before WordPress 6.1, which does not report reads, and
	 *              if plugins were loaded earlier.
	 */
	public static function is_read( $name ) {
		$known = get_option( self::READ );
		return ! self::$is_early || ! is_array( $known ) || count( $known ) > self::MOST || version_compare( get_bloginfo( 'version' ), '6.1', '<' ) || in_array( $name, $known, true );
	}
}
