<?php
/**
 * Address of the visitor during the generation of a shared page.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Replaces the address of the visitor while a shared page is generated, so that the page does not depend on it: plugins
 * store votes, ratings and downloads by address, and other visitors would get that visitor's page.
 */
class Myriad_Cache_Address {

	/**
	 * Address used for all visitors, from the range for documentation (RFC 5737).
	 */
	const ANY = '192.0.2.1';

	/**
	 * Fields in which proxies and modules of servers send the address or the country of the visitor.
	 */
	const FIELDS = array(
		'HTTP_X_FORWARDED_FOR',
		'HTTP_X_FORWARDED',
		'HTTP_FORWARDED_FOR',
		'HTTP_FORWARDED',
		'HTTP_X_REAL_IP',
		'HTTP_CLIENT_IP',
		'HTTP_X_CLUSTER_CLIENT_IP',
		'HTTP_CF_CONNECTING_IP',
		'HTTP_CF_IPCOUNTRY',
		'HTTP_X_COUNTRY_CODE',
		'HTTP_CLOUDFRONT_VIEWER_COUNTRY',
		'GEOIP_COUNTRY_CODE',
		'MM_COUNTRY_CODE',
		'HTTP_TRUE_CLIENT_IP',
	);

	/**
	 * Values before the replacement, by name.
	 *
	 * @var array<string, string>
	 */
	private static $own = array();

	/**
	 * Replaces the address until the shutdown of PHP. Code that runs before `init`, such as firewalls, has seen the address of the visitor.
	 */
	public static function hide() {
		/**
		 * Filters whether shared pages are generated without the address of the visitor.
		 *
		 * @param bool $is_hidden True by default.
		 */
		if ( self::$own || ! isset( $_SERVER['REMOTE_ADDR'] ) || ! apply_filters( 'myriad_cache_hides_address', true ) ) {
			return;
		}
		$fields    = array_diff( self::FIELDS, self::keyed_fields() );
		self::$own = array_intersect_key( $_SERVER, array_flip( array_merge( array( 'REMOTE_ADDR' ), $fields ) ) );
		foreach ( $fields as $field ) {
			unset( $_SERVER[ $field ] );
		}
		$_SERVER['REMOTE_ADDR'] = self::ANY;
		Myriad_Cache_Hooks::add( 'shutdown', array( __CLASS__, 'restore' ), PHP_INT_MIN );
	}

	/**
	 * Restores the address.
	 */
	public static function restore() {
		$_SERVER   = array_merge( $_SERVER, self::$own );
		self::$own = array();
	}

	/**
	 * Returns whether the address is replaced.
	 *
	 * @return bool
	 */
	public static function is_hidden() {
		return (bool) self::$own;
	}

	/**
	 * Returns the header fields of the visitor that the key of the page contains, as named in `$_SERVER`.
	 *
	 * @return string[]
	 */
	public static function keyed_fields() {
		// phpcs:ignore WordPress.Security.ValidatedSanitizedInput -- it is a parameter of the server.
		$names = isset( $_SERVER['MYRIAD_KEYED_FIELDS'] ) ? (string) $_SERVER['MYRIAD_KEYED_FIELDS'] : '';
		$found = array();
		foreach ( '' === $names ? array() : explode( ' ', $names ) as $name ) {
			// Myriad drops a value that is not listed.
			if ( ! empty( $_SERVER[ 'HTTP_' . $name ] ) ) {
				$found[] = 'HTTP_' . $name;
			}
		}
		return $found;
	}
}
