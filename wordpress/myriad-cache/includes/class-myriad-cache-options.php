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
 */
class Myriad_Cache_Options {

	/**
	 * Option with the names.
	 */
	const READ = 'myriad_cache_options_read';

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
	 * Starts to record names, while a page is generated.
	 */
	public static function start() {
		add_filter( 'pre_option', array( __CLASS__, 'note' ), PHP_INT_MAX, 2 );
	}

	/**
	 * Records a name.
	 *
	 * @param mixed  $value Value.
	 * @param string $name  Name.
	 * @return mixed
	 */
	public static function note( $value, $name ) {
		if ( 0 === strpos( $name, Myriad_Cache_Transients::OPTION ) ) {
			Myriad_Cache_Transients::note( $name );
		} else {
			self::$read[ $name ] = true;
		}
		return $value;
	}

	/**
	 * Stores the names that are not known yet.
	 */
	public static function finish() {
		remove_filter( 'pre_option', array( __CLASS__, 'note' ), PHP_INT_MAX );
		$names = array_filter( array_map( 'strval', array_keys( self::$read ) ), array( __CLASS__, 'is_visible' ) );
		$known = get_option( self::READ );
		$known = is_array( $known ) ? $known : array();
		$new   = array_diff( $names, $known );
		if ( ! $new ) {
			return;
		}
		// Another request may have added names in the meantime.
		wp_cache_delete( self::READ, 'options' );
		$known = get_option( self::READ );
		$known = is_array( $known ) ? $known : array();
		$new   = array_diff( $names, $known );
		if ( count( $known ) <= self::MOST ) {
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
