<?php
/**
 * The server memcached.
 *
 * @package Myriad_Object_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * By the extension memcached.
 */
class Myriad_Object_Cache_Memcached implements Myriad_Object_Cache_Store {

	/**
	 * Tries to change a value while others do.
	 */
	const TRIES = 20;

	/**
	 * Longer times memcached takes for a date.
	 */
	const MONTH = 2592000;

	/**
	 * Connection.
	 *
	 * @var Memcached
	 */
	private $memcached;

	/**
	 * Prepares a connection; it is made with the first question.
	 *
	 * @param array $address  Parts of the address, as `parse_url()` gives them.
	 * @param float $patience Seconds to connect, and to wait for an answer.
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
	 * Throws where the last question failed.
	 *
	 * @param int ...$usual Results that are no failure, beside success.
	 * @throws RuntimeException Where the server does not answer.
	 */
	private function check( ...$usual ) {
		$code = $this->memcached->getResultCode();
		if ( Memcached::RES_SUCCESS !== $code && ! in_array( $code, $usual, true ) ) {
			throw new RuntimeException( $this->memcached->getResultMessage() ); // phpcs:ignore WordPress.Security.EscapeOutput -- it is logged, and never shown.
		}
	}

	/**
	 * Time as memcached takes it.
	 *
	 * @param int $ttl Seconds.
	 * @return int
	 */
	private static function until( $ttl ) {
		return $ttl > self::MONTH ? time() + $ttl : $ttl;
	}

	/**
	 * Gives values.
	 *
	 * @param string[] $keys Keys.
	 * @return array<string, string|int> Those that are there, by key.
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
	 * Keeps values, in the place of those that are there. A value that is too large leaves none.
	 *
	 * @param array<string, string|int> $values Values by key.
	 * @param int                       $ttl    Seconds.
	 */
	public function set( $values, $ttl ) {
		foreach ( $values as $key => $value ) {
			$this->memcached->set( (string) $key, $value, self::until( $ttl ) );
			$this->check( Memcached::RES_E2BIG, Memcached::RES_SERVER_ERROR );
			if ( Memcached::RES_SUCCESS !== $this->memcached->getResultCode() ) {
				// Too large, or no room: what is there would be old.
				$this->delete( array( (string) $key ) );
			}
		}
	}

	/**
	 * Keeps values where there are none.
	 *
	 * @param array<string, string|int> $values Values by key.
	 * @param int                       $ttl    Seconds.
	 * @return array<string, bool> Whether each was kept, by key.
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
	 * Forgets values.
	 *
	 * @param string[] $keys Keys.
	 * @return array<string, bool> Whether each was there, by key.
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
	 * Adds to an integer, if value and result are integers of at least 0. The time of the value stays as it is.
	 *
	 * @param string $key    Key.
	 * @param int    $offset Number to add.
	 * @return int|false|null Result, false if there is no value; null if nothing was done, and `change()` must do it.
	 */
	public function add_integer( $key, $offset ) {
		$there = $this->get( array( $key ) );
		if ( ! isset( $there[ $key ] ) ) {
			return false;
		}
		// The server knows no negative numbers, and goes on at 0 where its own integers end.
		if ( ! is_int( $there[ $key ] ) || $there[ $key ] < 0 || ! is_int( $there[ $key ] + $offset ) || ! is_int( -$offset ) ) {
			return null;
		}
		$now = $offset < 0 ? $this->memcached->decrement( $key, -$offset ) : $this->memcached->increment( $key, $offset );
		$this->check( Memcached::RES_NOTFOUND );
		return $now;
	}

	/**
	 * Changes a value so that no change of another process in between is lost.
	 *
	 * @param string   $key    Key.
	 * @param int|null $ttl    Seconds; null for a day: the server does not tell what is left.
	 * @param callable $change Is given the value, or null, and returns the new one, null for none, the same to leave all as it is. It may be
	 *                         called several times.
	 * @return bool Whether it was changed. If not, others are at it all the time, and nothing was done.
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
				// A text that no reader takes for a value, gone a second later: deleting knows no condition.
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
			usleep( mt_rand( 0, 500 * ( $try + 1 ) ) ); // phpcs:ignore WordPress.WP.AlternativeFunctions -- WordPress is not there yet.
		}
		return false;
	}
}
