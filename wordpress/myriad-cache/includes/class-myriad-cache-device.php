<?php
/**
 * Pages that differ between devices.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Detects that a page depends on the visitor's device.
 *
 * Such a page has `Vary: User-Agent`; Myriad then stores it once for each class of devices (`cache_device_class`), and
 * sends PHP the name of a browser of that class. Without it, a shared page is always the version for computers.
 */
class Myriad_Cache_Device {

	/**
	 * Filters of the functions that detect the device: WordPress, Jetpack, AMP.
	 */
	const FILTERS = array( 'wp_is_mobile', 'pre_jetpack_is_mobile', 'jetpack_is_mobile', 'amp_pre_is_mobile' );

	/**
	 * Constants of plugins that switch the theme by the device: WPtouch.
	 */
	const SWITCHERS = array( 'WPTOUCH_VERSION' );

	/**
	 * Names of classes that detect the device; plugins have copies with a prefix.
	 */
	const CLASSES = '/(?:^|[_\\\\])Mobile_?Detect$/im';

	/**
	 * True after one of the filters was applied.
	 *
	 * @var bool
	 */
	private static $is_asked = false;

	/**
	 * Adds the filters.
	 */
	public static function start() {
		Myriad_Cache_Hooks::add( self::FILTERS, array( __CLASS__, 'note' ), PHP_INT_MAX );
	}

	/**
	 * Records that the device was requested.
	 *
	 * @param mixed $is_mobile Result.
	 * @return mixed The same.
	 */
	public static function note( $is_mobile ) {
		self::$is_asked = true;
		return $is_mobile;
	}

	/**
	 * Returns whether a class that detects the device is loaded.
	 *
	 * @return bool
	 */
	private static function has_class() {
		$names = implode( "\n", get_declared_classes() );
		return false !== stripos( $names, 'mobile' ) && preg_match( self::CLASSES, $names );
	}

	/**
	 * Returns whether the page may differ between devices.
	 *
	 * @return bool
	 */
	public static function is_used() {
		return self::$is_asked || (bool) array_filter( self::SWITCHERS, 'defined' ) || self::has_class();
	}
}
