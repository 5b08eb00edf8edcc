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
 * Runs several functions before the header of the response is sent, because PHP permits only one. A response without output
 * has its header sent after PHP has destroyed objects and can load no class any more, so that the functions run during shutdown
 * at the latest.
 */
class Myriad_Cache_Header {

	/**
	 * Functions, in the order in which they run.
	 *
	 * @var callable[]
	 */
	private static $callbacks = array();

	/**
	 * Adds a function, which runs once. Does nothing if the header has been sent.
	 *
	 * @param callable $callback Function without arguments. It may change the header.
	 */
	public static function before( $callback ) {
		if ( headers_sent() ) {
			return;
		}
		if ( ! self::$callbacks ) {
			header_register_callback( array( __CLASS__, 'run' ) );
			add_action( 'shutdown', array( __CLASS__, 'run' ), PHP_INT_MIN );
		}
		self::$callbacks[] = $callback;
	}

	/**
	 * Runs the functions.
	 */
	public static function run() {
		$callbacks       = self::$callbacks;
		self::$callbacks = array();
		foreach ( $callbacks as $callback ) {
			call_user_func( $callback );
		}
	}
}
