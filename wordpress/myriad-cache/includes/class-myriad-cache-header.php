<?php
/**
 * Functions that run before the header of the response is sent.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Runs several functions before the header of the response is sent, because PHP permits only one.
 */
class Myriad_Cache_Header {

	/**
	 * Functions, in the order in which they run.
	 *
	 * @var callable[]
	 */
	private static $callbacks = array();

	/**
	 * Adds a function. Does nothing if the header has been sent.
	 *
	 * @param callable $callback Function without arguments. It may change the header.
	 */
	public static function before( $callback ) {
		if ( headers_sent() ) {
			return;
		}
		if ( ! self::$callbacks ) {
			header_register_callback( array( __CLASS__, 'run' ) );
		}
		self::$callbacks[] = $callback;
	}

	/**
	 * Runs the functions.
	 */
	public static function run() {
		foreach ( self::$callbacks as $callback ) {
			$callback();
		}
	}
}
