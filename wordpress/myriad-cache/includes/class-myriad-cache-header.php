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
			Myriad_Cache_Hooks::add( 'shutdown', array( __CLASS__, 'run' ), PHP_INT_MIN );
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

	/**
	 * Fields that specify the validity of a page, in the order in which Myriad uses them.
	 */
	const VALIDITY = array( 'x-accel-expires', 'x-litespeed-cache-control', 'surrogate-control', 'cache-control' );

	/**
	 * Lines with these fields.
	 */
	const VALIDITY_FIELDS = '/^\s*(?:x-accel-expires|x-litespeed-cache-control|surrogate-control|cache-control)\s*:/i';

	/**
	 * Returns the validity that header fields specify.
	 *
	 * @param string[] $lines Header fields.
	 * @param int      $now   Time.
	 * @return array{0: string, 1: int} Field that is used, in lower case, or an empty string; seconds, 0 if the page must not be stored.
	 */
	public static function validity( $lines, $now ) {
		$values = array();
		foreach ( preg_grep( self::VALIDITY_FIELDS, $lines ) as $line ) {
			list( $name, $value ) = explode( ':', $line . ':', 2 );
			$name                 = strtolower( trim( $name ) );
			$values[ $name ]      = ( isset( $values[ $name ] ) ? $values[ $name ] . ',' : '' ) . strtolower( trim( $value, " :\t" ) );
		}
		foreach ( array_intersect( self::VALIDITY, array_map( 'strval', array_keys( $values ) ) ) as $name ) {
			$value = $values[ $name ];
			if ( 'x-accel-expires' === $name ) {
				return array( $name, '@' === substr( $value, 0, 1 ) ? max( 0, (int) substr( $value, 1 ) - $now ) : (int) $value );
			}
			if ( preg_match( '/(?:^|[\s,;])(?:no-store|no-cache|private)/', $value ) ) {
				return array( $name, 0 );
			}
			if ( preg_match( '/\bs-maxage\s*=\s*"?(\d+)/', $value, $found ) || preg_match( '/\bmax-age\s*=\s*"?(\d+)/', $value, $found ) ) {
				return array( $name, (int) $found[1] );
			}
			if ( 'cache-control' === $name ) {
				// Without a lifetime, the validity of Myriad's configuration applies.
				return array( $name, MINUTE_IN_SECONDS );
			}
		}
		return array( '', PHP_INT_MAX );
	}
}
