<?php
/**
 * Where the server is, and whether it may be asked.
 *
 * @package Myriad_Object_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Reads the address, makes the store, and remembers outages from one request to the next.
 *
 * A server that does not answer is left alone for some seconds by all requests of the machine, and what it holds after that is not
 * believed: changes were made that it was not told of. What is remembered is the date of a file, beside this one or in the folder for
 * temporary files.
 */
class Myriad_Object_Cache_Connection {

	/**
	 * Seconds to connect, and to wait for an answer.
	 */
	const PATIENCE = 1.0;

	/**
	 * Seconds in which a server that did not answer is left alone.
	 */
	const REST = 10;

	/**
	 * The same for APCu, after a program of the command line has changed something.
	 */
	const REST_OF_APCU = 2;

	/**
	 * Seconds between two lines in the log of the same outage.
	 */
	const SILENCE = 600;

	/**
	 * Extension and class of each kind of address.
	 */
	const KINDS = array(
		'redis'     => array( 'redis', 'Redis' ),
		'rediss'    => array( 'redis', 'Redis' ),
		'memcached' => array( 'memcached', 'Memcached' ),
		'apcu'      => array( 'apcu', 'APCu' ),
	);

	/**
	 * What was said, once read.
	 *
	 * @var array{address: string, salt: string}|null
	 */
	private static $said = null;

	/**
	 * What was said: the address, such as `redis:/run/redis.sock`, `redis://:password@127.0.0.1:6379/2`, `memcached://127.0.0.1:11211`
	 * or `apcu:`, and the salt, which begins all keys of the site.
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
	 * Parts of the address.
	 *
	 * @return array
	 */
	private static function address() {
		$parts = parse_url( self::said()['address'] ); // phpcs:ignore WordPress.WP.AlternativeFunctions -- WordPress's own is not there yet.
		return is_array( $parts ) ? $parts : array();
	}

	/**
	 * Whether there is an address, and the extension that it needs.
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
	 * What begins all keys of the site, so that no other one on the server has them.
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
	 * @return Myriad_Object_Cache_Store|null Nothing where the server does not answer. Whether it is left alone is for the caller to ask before.
	 */
	public static function open() {
		$address = self::address();
		$kind    = self::KINDS[ $address['scheme'] ][1];
		if ( 'APCu' === $kind && ! apcu_enabled() ) {
			return null; // As in programs of the command line.
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
	 * Files whose date is that of the last outage.
	 *
	 * @return string[]
	 */
	private static function files() {
		return array( __DIR__ . '/outage', sys_get_temp_dir() . '/myriad-object-cache-' . substr( hash( 'sha256', self::salt() ), 0, 20 ) );
	}

	/**
	 * When the server was last not told of a change.
	 *
	 * @return int Time, 0 for never.
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
	 * Whether the server is left alone.
	 *
	 * @return bool
	 */
	public static function is_at_rest() {
		$address = self::address();
		return time() - self::outage() < ( 'apcu' === $address['scheme'] ? self::REST_OF_APCU : self::REST );
	}

	/**
	 * Remembers that the server is not told of a change. While all leave it alone the date stays as it is, or that would never end.
	 */
	public static function remember() {
		if ( self::is_at_rest() ) {
			return;
		}
		foreach ( self::files() as $file ) {
			// phpcs:ignore WordPress.WP.AlternativeFunctions, WordPress.PHP.NoSilencedErrors -- WordPress's own is not there yet; the second file is for where the first fails.
			if ( ! is_link( $file ) && @touch( $file ) ) {
				return;
			}
		}
	}

	/**
	 * The server did not answer: remembers it, and says so once.
	 *
	 * @param string $why Its reason, or the system's.
	 */
	public static function failed( $why ) {
		$is_known = time() - self::outage() < self::SILENCE;
		self::remember();
		if ( ! $is_known ) {
			$address = self::address();
			$place   = $address['scheme'] . ':' . ( isset( $address['host'] ) ? '//' . $address['host'] . ( isset( $address['port'] ) ? ':' . $address['port'] : '' ) : ( isset( $address['path'] ) ? $address['path'] : '' ) );
			// phpcs:ignore WordPress.PHP.DevelopmentFunctions -- whoever runs the site is to know.
			error_log( 'Myriad Object Cache: ' . $place . ' does not answer (' . trim( $why ) . '). WordPress goes on without it, slower, and asks again every ' . self::REST . ' seconds.' );
		}
	}
}
