<?php
/**
 * Memcached server.
 *
 * @package Myriad_Object_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Store that uses the memcached extension.
 */
class Myriad_Object_Cache_Memcached implements Myriad_Object_Cache_Store {

	/**
	 * Maximum number of attempts to change a value while other processes change it.
	 */
	const TRIES = 20;

	/**
	 * Maximum relative time in seconds; memcached interprets larger values as a Unix time.
	 */
	const MONTH = 2592000;

	/**
	 * Connection.
	 *
	 * @var Memcached
	 */
	private $memcached;

	/**
	 * Configures the connection, which the first command opens.
	 *
	 * @param array $address  Parts of the address, as returned by `parse_url()`.
	 * @param float $patience Timeout for connections and responses, in seconds.
	 */
	public function __construct( $address, $patience ) {
		$this->memcached = new Memcached();
		$this->memcached->setOptions(
			array(
				Memcached::OPT_CONNECT_TIMEOUT => (int) ( $patience * 1000 ),
				Memcached::OPT_POLL_TIMEOUT    => (int) ( $patience * 1000 ),
				Memcached::OPT_SEND_TIMEOUT    => (int) ( $patience * 1000000 ),
				Memcached::OPT_RECV_TIMEOUT    => (int) ( $patience * 1000000 ),
				Memcached::OPT_TCP_NODELAY     => true,
			)
		);
		if ( empty( $address['host'] ) ) {
			$this->memcached->addServer( $address['path'], 0 );
		} else {
			$this->memcached->addServer( trim( $address['host'], '[]' ), isset( $address['port'] ) ? $address['port'] : 11211 );
		}
	}

	/**
	 * Throws if the last command failed.
	 *
	 * @param int ...$usual Result codes that are no failure, in addition to success.
	 * @throws RuntimeException If the server fails.
	 */
	private function check( ...$usual ) {
		$code = $this->memcached->getResultCode();
		if ( Memcached::RES_SUCCESS !== $code && ! in_array( $code, $usual, true ) ) {
			throw new RuntimeException( $this->memcached->getResultMessage() ); // phpcs:ignore WordPress.Security.EscapeOutput -- it is logged, and never shown.
		}
	}

	/**
	 * Returns an expiration time in the format of memcached.
	 *
	 * @param int $ttl Seconds.
	 * @return int
	 */
	private static function until( $ttl ) {
		return $ttl > self::MONTH ? time() + $ttl : $ttl;
	}

	/**
	 * Returns values.
	 *
	 * @param string[] $keys Keys.
	 * @return array<string, string|int> Existing values, by key.
	 */
	public function get( $keys ) {
		if ( 1 === count( $keys ) ) {
			$key   = reset( $keys );
			$value = $this->memcached->get( $key );
			$this->check( Memcached::RES_NOTFOUND );
			return Memcached::RES_SUCCESS === $this->memcached->getResultCode() ? array( $key => $value ) : array();
		}
		$told = $this->memcached->getMulti( $keys );
		$this->check( Memcached::RES_NOTFOUND );
		return is_array( $told ) ? $told : array();
	}

	/**
	 * Stores values, and replaces existing values. If a value is too large, its key has no value afterwards.
	 *
	 * @param array<string, string|int> $values Values by key.
	 * @param int                       $ttl    Seconds.
	 */
	public function set( $values, $ttl ) {
		foreach ( $values as $key => $value ) {
			$this->memcached->set( (string) $key, $value, self::until( $ttl ) );
			$this->check( Memcached::RES_E2BIG, Memcached::RES_SERVER_ERROR );
			if ( Memcached::RES_SUCCESS !== $this->memcached->getResultCode() ) {
				// Too large, or out of memory: the old value must not remain.
				$this->delete( array( (string) $key ) );
			}
		}
	}

	/**
	 * Stores values whose keys have no value yet.
	 *
	 * @param array<string, string|int> $values Values by key.
	 * @param int                       $ttl    Seconds.
	 * @return array<string, bool> True for each stored value, by key.
	 */
	public function add( $values, $ttl ) {
		$kept = array();
		foreach ( $values as $key => $value ) {
			$kept[ $key ] = $this->memcached->add( (string) $key, $value, self::until( $ttl ) );
			$this->check( Memcached::RES_NOTSTORED, Memcached::RES_DATA_EXISTS, Memcached::RES_E2BIG, Memcached::RES_SERVER_ERROR );
		}
		return $kept;
	}

	/**
	 * Deletes values.
	 *
	 * @param string[] $keys Keys.
	 * @return array<string, bool> True for each key that had a value, by key.
	 */
	public function delete( $keys ) {
		$were = array();
		foreach ( $keys as $key ) {
			$were[ $key ] = $this->memcached->delete( $key );
			$this->check( Memcached::RES_NOTFOUND );
		}
		return $were;
	}

	/**
	 * Adds to an integer if the value and the result are integers of at least 0. The TTL of the value does not change.
	 *
	 * @param string $key    Key.
	 * @param int    $offset Number to add.
	 * @return int|false|null Result; false if the key has no value; null if nothing was done and the caller must use
	 *                        `change()`.
	 */
	public function add_integer( $key, $offset ) {
		$there = $this->get( array( $key ) );
		if ( ! isset( $there[ $key ] ) ) {
			return false;
		}
		// The server does not support negative numbers, and its integers wrap around to 0.
		if ( ! is_int( $there[ $key ] ) || $there[ $key ] < 0 || ! is_int( $there[ $key ] + $offset ) || ! is_int( -$offset ) ) {
			return null;
		}
		$now = $offset < 0 ? $this->memcached->decrement( $key, -$offset ) : $this->memcached->increment( $key, $offset );
		$this->check( Memcached::RES_NOTFOUND );
		return $now;
	}

	/**
	 * Changes a value without losing concurrent changes of other processes.
	 *
	 * @param string   $key    Key.
	 * @param int|null $ttl    Seconds; null for a day, because memcached does not report the remaining TTL.
	 * @param callable $change Callback: receives the value, or null, and returns the new value, null to delete it, or
	 *                         the same value to change nothing. It may be called several times.
	 * @return bool True on success; false if other processes changed the value during every attempt, in which case
	 *              nothing was changed.
	 */
	public function change( $key, $ttl, $change ) {
		$ttl = null === $ttl ? Myriad_Object_Cache_Pool::MOST_TTL : $ttl;
		for ( $try = 0; $try < self::TRIES; $try++ ) {
			$told = $this->memcached->get( $key, null, Memcached::GET_EXTENDED );
			$this->check( Memcached::RES_NOTFOUND );
			$is_there = is_array( $told ) && isset( $told['cas'] );
			$after    = $change( $is_there ? $told['value'] : null );
			if ( ( $is_there ? $told['value'] : null ) === $after ) {
				return true;
			}
			if ( null === $after ) {
				// Memcached has no conditional deletion: this text is not a value, and expires after a second.
				$this->memcached->cas( $told['cas'], $key, '', 1 );
			} elseif ( $is_there ) {
				$this->memcached->cas( $told['cas'], $key, $after, self::until( $ttl ) );
			} else {
				$this->memcached->add( $key, $after, self::until( $ttl ) );
			}
			$this->check( Memcached::RES_DATA_EXISTS, Memcached::RES_NOTSTORED, Memcached::RES_NOTFOUND, Memcached::RES_E2BIG, Memcached::RES_SERVER_ERROR );
			if ( Memcached::RES_SUCCESS === $this->memcached->getResultCode() ) {
				return true;
			}
			usleep( mt_rand( 0, 500 * ( $try + 1 ) ) ); // phpcs:ignore WordPress.WP.AlternativeFunctions -- WordPress is not loaded yet.
		}
		return false;
	}
}
