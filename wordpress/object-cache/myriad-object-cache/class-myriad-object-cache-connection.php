<?php
/**
 * Address of the server, and its outages.
 *
 * @package Myriad_Object_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Reads the address, opens the store, and records outages across requests.
 *
 * If the server does not answer, no request on this machine contacts it for REST seconds. Values from before the outage
 * are discarded afterwards, because the server did not receive the changes that were made meanwhile. The time of the
 * last outage is the modification time of a file, in this folder or in the folder for temporary files.
 */
class Myriad_Object_Cache_Connection {

	/**
	 * Timeout for connections and responses, in seconds.
	 */
	const PATIENCE = 1.0;

	/**
	 * Seconds for which a server that did not answer is not contacted.
	 */
	const REST = 10;

	/**
	 * The same for APCu, after a change by a command-line program.
	 */
	const REST_OF_APCU = 2;

	/**
	 * Seconds without an outage after which the next outage is logged again.
	 */
	const SILENCE = 600;

	/**
	 * Extension and class by URL scheme.
	 */
	const KINDS = array(
		'redis'     => array( 'redis', 'Redis' ),
		'rediss'    => array( 'redis', 'Redis' ),
		'memcached' => array( 'memcached', 'Memcached' ),
		'apcu'      => array( 'apcu', 'APCu' ),
	);

	/**
	 * Address and salt, after the first read.
	 *
	 * @var array{address: string, salt: string}|null
	 */
	private static $said = null;

	/**
	 * Returns the address, such as `redis:/run/redis.sock`, `redis://:password@127.0.0.1:6379/2`,
	 * `memcached://127.0.0.1:11211` or `apcu:`, and the salt, which is the prefix of all keys of the site.
	 *
	 * @return array{address: string, salt: string}
	 */
	private static function said() {
		if ( null === self::$said ) {
			$file    = __DIR__ . '/connection.php';
			$written = is_readable( $file ) ? include $file : array();
			$address = isset( $written['address'] ) ? $written['address'] : '';
			$salt    = isset( $written['salt'] ) ? $written['salt'] : '';

			self::$said = array(
				'address' => defined( 'MYRIAD_OBJECT_CACHE' ) ? (string) MYRIAD_OBJECT_CACHE : (string) $address,
				'salt'    => defined( 'WP_CACHE_KEY_SALT' ) && WP_CACHE_KEY_SALT ? (string) WP_CACHE_KEY_SALT : (string) $salt,
			);
		}
		return self::$said;
	}

	/**
	 * Returns the parts of the address.
	 *
	 * @return array
	 */
	private static function address() {
		$parts = parse_url( self::said()['address'] ); // phpcs:ignore WordPress.WP.AlternativeFunctions -- the WordPress function is not loaded yet.
		return is_array( $parts ) ? $parts : array();
	}

	/**
	 * Returns whether an address is configured and the required extension is loaded.
	 *
	 * @return bool
	 */
	public static function is_possible() {
		$address = self::address();
		$kind    = isset( $address['scheme'], self::KINDS[ $address['scheme'] ] ) ? self::KINDS[ $address['scheme'] ] : null;
		if ( ! $kind || ! extension_loaded( $kind[0] ) ) {
			return false;
		}
		return 'apcu' === $kind[0] || ! empty( $address['host'] ) || ! empty( $address['path'] );
	}

	/**
	 * Returns the prefix of all keys of the site, which no other site on the server uses.
	 *
	 * @return string
	 */
	public static function salt() {
		global $table_prefix;
		$salt = self::said()['salt'];
		return '' !== $salt ? $salt : substr( hash( 'sha256', DB_HOST . "\n" . DB_NAME . "\n" . $table_prefix . "\n" . ABSPATH ), 0, 16 );
	}

	/**
	 * Connects.
	 *
	 * @return Myriad_Object_Cache_Store|null Null if the server does not answer. The caller must check `is_at_rest()`
	 *                                        first.
	 */
	public static function open() {
		$address = self::address();
		$kind    = self::KINDS[ $address['scheme'] ][1];
		if ( 'APCu' === $kind && ! apcu_enabled() ) {
			return null; // For example in command-line programs.
		}
		require_once __DIR__ . '/interface-myriad-object-cache-store.php';
		require_once __DIR__ . '/class-myriad-object-cache-' . strtolower( $kind ) . '.php';
		$class = 'Myriad_Object_Cache_' . $kind;
		try {
			return 'APCu' === $kind ? new $class() : new $class( $address, self::PATIENCE );
		} catch ( RuntimeException $failure ) {
			self::failed( $failure->getMessage() );
			return null;
		}
	}

	/**
	 * Returns the files whose modification time is the time of the last outage.
	 *
	 * @return string[]
	 */
	private static function files() {
		return array( __DIR__ . '/outage', sys_get_temp_dir() . '/myriad-object-cache-' . substr( hash( 'sha256', self::salt() ), 0, 20 ) );
	}

	/**
	 * Returns the last time at which the server missed a change.
	 *
	 * @return int Unix time; 0 for never.
	 */
	public static function outage() {
		$last = 0;
		clearstatcache();
		foreach ( self::files() as $file ) {
			$last = is_file( $file ) ? max( $last, (int) filemtime( $file ) ) : $last;
		}
		return $last;
	}

	/**
	 * Returns whether the server is in its rest period after an outage.
	 *
	 * @return bool
	 */
	public static function is_at_rest() {
		$address = self::address();
		return time() - self::outage() < ( 'apcu' === $address['scheme'] ? self::REST_OF_APCU : self::REST );
	}

	/**
	 * Records that the server misses a change. During the rest period the recorded time does not change; otherwise the
	 * period would never expire.
	 */
	public static function remember() {
		if ( self::is_at_rest() ) {
			return;
		}
		foreach ( self::files() as $file ) {
			// phpcs:ignore WordPress.WP.AlternativeFunctions, WordPress.PHP.NoSilencedErrors -- the WordPress function is not loaded yet; the second file is used if the first cannot be written.
			if ( ! is_link( $file ) && @touch( $file ) ) {
				return;
			}
		}
	}

	/**
	 * Records that the server did not answer, and logs it unless the previous outage was less than SILENCE seconds ago.
	 *
	 * @param string $why Reason, from the server or the system.
	 */
	public static function failed( $why ) {
		$is_known = time() - self::outage() < self::SILENCE;
		self::remember();
		if ( ! $is_known ) {
			$address = self::address();
			$place   = $address['scheme'] . ':' . ( isset( $address['host'] ) ? '//' . $address['host'] . ( isset( $address['port'] ) ? ':' . $address['port'] : '' ) : ( isset( $address['path'] ) ? $address['path'] : '' ) );
			// phpcs:ignore WordPress.PHP.DevelopmentFunctions -- the operator of the site must see it.
			error_log( 'Myriad Object Cache: ' . $place . ' does not answer (' . trim( $why ) . '). WordPress continues without it, and connects again after ' . self::REST . ' seconds.' );
		}
	}
}
