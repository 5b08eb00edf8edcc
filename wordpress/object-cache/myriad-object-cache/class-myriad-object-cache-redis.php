<?php
/**
 * Redis, Valkey, and others that speak as they do.
 *
 * @package Myriad_Object_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * By the extension phpredis. Connections are of one request: an answer that came too late is never another request's.
 */
class Myriad_Object_Cache_Redis implements Myriad_Object_Cache_Store {

	/**
	 * Tries to change a value while others do.
	 */
	const TRIES = 20;

	/**
	 * Connection.
	 *
	 * @var Redis
	 */
	private $redis;

	/**
	 * Connects.
	 *
	 * @param array $address  Parts of the address, as `parse_url()` gives them; `rediss` is TLS.
	 * @param float $patience Seconds to connect, and to wait for an answer.
	 * @throws RuntimeException Where it does not answer.
	 */
	public function __construct( $address, $patience ) {
		$this->redis = new Redis();
		$this->asked(
			function () use ( $address, $patience ) {
				$is_socket = empty( $address['host'] );
				$host      = $is_socket ? $address['path'] : ( 'rediss' === $address['scheme'] ? 'tls://' : '' ) . trim( $address['host'], '[]' );
				$port      = $is_socket ? 0 : ( isset( $address['port'] ) ? $address['port'] : 6379 );
				@$this->redis->connect( $host, $port, $patience, null, 0, $patience ); // phpcs:ignore WordPress.PHP.NoSilencedErrors -- it throws, too.
				if ( defined( 'Redis::OPT_MAX_RETRIES' ) ) {
					$this->redis->setOption( Redis::OPT_MAX_RETRIES, 0 );
				}
				if ( isset( $address['pass'] ) ) {
					$user     = isset( $address['user'] ) ? rawurldecode( $address['user'] ) : '';
					$password = rawurldecode( $address['pass'] );
					$this->redis->auth( '' === $user ? $password : array( $user, $password ) );
				}
				$query = array();
				parse_str( isset( $address['query'] ) ? $address['query'] : '', $query );
				$number = $is_socket ? ( isset( $query['db'] ) ? $query['db'] : 0 ) : trim( isset( $address['path'] ) ? $address['path'] : '', '/' );
				return 0 === (int) $number || $this->redis->select( (int) $number );
			}
		);
	}

	/**
	 * Asks, and makes each kind of failure one.
	 *
	 * @param callable $ask What is asked.
	 * @return mixed What came of it, which is not false.
	 * @throws RuntimeException Where the server does not do it.
	 */
	private function asked( $ask ) {
		try {
			$told = $ask();
		} catch ( RedisException $failure ) {
			throw new RuntimeException( $failure->getMessage() ); // phpcs:ignore WordPress.Security.EscapeOutput -- it is logged, and never shown.
		}
		if ( false === $told ) {
			throw new RuntimeException( (string) $this->redis->getLastError() ); // phpcs:ignore WordPress.Security.EscapeOutput -- it is logged, and never shown.
		}
		return $told;
	}

	/**
	 * Sends several commands at once.
	 *
	 * @param callable $commands Gives them to the connection.
	 * @return array What came of each.
	 */
	private function at_once( $commands ) {
		return $this->asked(
			function () use ( $commands ) {
				$pipe = $this->redis->multi( Redis::PIPELINE );
				$commands( $pipe );
				return $pipe->exec();
			}
		);
	}

	/**
	 * Gives values.
	 *
	 * @param string[] $keys Keys.
	 * @return array<string, string|int> Those that are there, by key.
	 */
	public function get( $keys ) {
		$told = $this->asked(
			function () use ( $keys ) {
				return $this->redis->mget( $keys );
			}
		);
		return array_map( array( __CLASS__, 'read' ), array_filter( array_combine( $keys, $told ), 'is_string' ) );
	}

	/**
	 * Reads an integer as such.
	 *
	 * @param string $text As it is kept.
	 * @return string|int
	 */
	private static function read( $text ) {
		return is_numeric( $text ) && (string) (int) $text === $text ? (int) $text : $text;
	}

	/**
	 * Keeps values, in the place of those that are there. A value that is too large leaves none.
	 *
	 * @param array<string, string|int> $values Values by key.
	 * @param int                       $ttl    Seconds.
	 */
	public function set( $values, $ttl ) {
		$told = $this->at_once(
			function ( $pipe ) use ( $values, $ttl ) {
				foreach ( $values as $key => $value ) {
					$pipe->setex( (string) $key, $ttl, (string) $value );
				}
			}
		);
		if ( in_array( false, $told, true ) ) {
			// No room: what is there would be old.
			$this->delete( array_map( 'strval', array_keys( $values ) ) );
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
		$options = array( 'nx', 'ex' => $ttl ); // phpcs:ignore WordPress.Arrays -- as phpredis asks for it.
		$told    = $this->at_once(
			function ( $pipe ) use ( $values, $options ) {
				foreach ( $values as $key => $value ) {
					$pipe->set( (string) $key, (string) $value, $options );
				}
			}
		);
		return array_combine( array_keys( $values ), array_map( 'boolval', $told ) );
	}

	/**
	 * Forgets values.
	 *
	 * @param string[] $keys Keys.
	 * @return array<string, bool> Whether each was there, by key.
	 * @throws RuntimeException Where the server does not do it.
	 */
	public function delete( $keys ) {
		$told = $this->at_once(
			function ( $pipe ) use ( $keys ) {
				foreach ( $keys as $key ) {
					$pipe->del( $key );
				}
			}
		);
		if ( in_array( false, $told, true ) ) {
			throw new RuntimeException( (string) $this->redis->getLastError() ); // phpcs:ignore WordPress.Security.EscapeOutput -- it is logged, and never shown.
		}
		return array_combine( $keys, array_map( 'boolval', $told ) );
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
		$sum = is_int( $there[ $key ] ) ? $there[ $key ] + $offset : null;
		if ( ! is_int( $sum ) || $sum < 0 ) {
			return null;
		}
		$now = $this->asked(
			function () use ( $key, $offset ) {
				return $this->redis->incrBy( $key, $offset );
			}
		);
		if ( $now < 0 ) {
			// Another process subtracted at the same time.
			$this->change(
				$key,
				null,
				static function ( $value ) {
					return is_int( $value ) ? max( 0, $value ) : $value;
				}
			);
		}
		return max( 0, $now );
	}

	/**
	 * Returns the seconds that are left of a value.
	 *
	 * @param string $key Key.
	 * @return int
	 */
	private function left( $key ) {
		$left = (int) $this->redis->ttl( $key );
		return $left > 0 ? $left : Myriad_Object_Cache_Pool::MOST_TTL;
	}

	/**
	 * Changes a value so that no change of another process in between is lost.
	 *
	 * @param string   $key    Key.
	 * @param int|null $ttl    Seconds; null for the time that is left of the value.
	 * @param callable $change Is given the value, or null, and returns the new one, null for none, the same to leave all as it is. It may be
	 *                         called several times.
	 * @return bool Whether it was changed. If not, others are at it all the time, and nothing was done.
	 */
	public function change( $key, $ttl, $change ) {
		for ( $try = 0; $try < self::TRIES; $try++ ) {
			$told = $this->asked(
				function () use ( $key, $ttl, $change ) {
					$this->redis->watch( $key );
					$before = $this->redis->get( $key );
					$after  = $change( is_string( $before ) ? self::read( $before ) : null );
					if ( null === $after ? ! is_string( $before ) : (string) $after === $before ) {
						$this->redis->unwatch();
						return array( true );
					}
					$left = null === $ttl && null !== $after ? $this->left( $key ) : $ttl;
					$all  = $this->redis->multi();
					if ( null === $after ) {
						$all->del( $key );
					} else {
						$all->setex( $key, $left, (string) $after );
					}
					$told = $all->exec();
					return is_array( $told ) ? $told : array(); // Nothing, where another process was faster.
				}
			);
			if ( $told && ! in_array( false, $told, true ) ) {
				return true;
			}
			usleep( mt_rand( 0, 500 * ( $try + 1 ) ) ); // phpcs:ignore WordPress.WP.AlternativeFunctions -- WordPress is not there yet.
		}
		return false;
	}
}
