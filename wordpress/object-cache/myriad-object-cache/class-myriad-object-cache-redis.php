<?php
/**
 * Redis, Valkey and compatible servers.
 *
 * @package Myriad_Object_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Store that uses the phpredis extension. Connections are not persistent, so that a late response never reaches another
 * request.
 */
class Myriad_Object_Cache_Redis implements Myriad_Object_Cache_Store {

	/**
	 * Maximum number of attempts to change a value while other processes change it.
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
	 * @param array $address  Parts of the address, as returned by `parse_url()`; `rediss` means TLS.
	 * @param float $patience Timeout for connections and responses, in seconds.
	 * @throws RuntimeException If the server does not answer.
	 */
	public function __construct( $address, $patience ) {
		$this->redis = new Redis();
		$this->asked(
			function () use ( $address, $patience ) {
				$is_socket = empty( $address['host'] );
				$host      = $is_socket ? $address['path'] : ( 'rediss' === $address['scheme'] ? 'tls://' : '' ) . trim( $address['host'], '[]' );
				$port      = $is_socket ? 0 : ( isset( $address['port'] ) ? $address['port'] : 6379 );
				@$this->redis->connect( $host, $port, $patience, null, 0, $patience ); // phpcs:ignore WordPress.PHP.NoSilencedErrors -- it also throws.
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
	 * Executes commands, and converts every kind of failure to an exception.
	 *
	 * @param callable $ask Executes the commands.
	 * @return mixed Result; never false.
	 * @throws RuntimeException If the server fails.
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
	 * Sends several commands in a pipeline.
	 *
	 * @param callable $commands Adds the commands to the pipeline.
	 * @return array Result of each command.
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
	 * Returns values.
	 *
	 * @param string[] $keys Keys.
	 * @return array<string, string|int> Existing values, by key.
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
	 * Converts the text of an integer to an integer.
	 *
	 * @param string $text Stored text.
	 * @return string|int
	 */
	private static function read( $text ) {
		return is_numeric( $text ) && (string) (int) $text === $text ? (int) $text : $text;
	}

	/**
	 * Stores values, and replaces existing values. If a value is too large, its key has no value afterwards.
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
			// Out of memory: the old value must not remain.
			$this->delete( array_map( 'strval', array_keys( $values ) ) );
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
		$options = array( 'nx', 'ex' => $ttl ); // phpcs:ignore WordPress.Arrays -- the format of phpredis.
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
	 * Deletes values.
	 *
	 * @param string[] $keys Keys.
	 * @return array<string, bool> True for each key that had a value, by key.
	 * @throws RuntimeException If the server fails.
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
	 * Returns the remaining TTL of a value, in seconds.
	 *
	 * @param string $key Key.
	 * @return int
	 */
	private function left( $key ) {
		$left = (int) $this->redis->ttl( $key );
		return $left > 0 ? $left : Myriad_Object_Cache_Pool::MOST_TTL;
	}

	/**
	 * Changes a value without losing concurrent changes of other processes.
	 *
	 * @param string   $key    Key.
	 * @param int|null $ttl    Seconds; null to retain the remaining TTL of the value.
	 * @param callable $change Callback: receives the value, or null, and returns the new value, null to delete it, or
	 *                         the same value to change nothing. It may be called several times.
	 * @return bool True on success; false if other processes changed the value during every attempt, in which case
	 *              nothing was changed.
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
					return is_array( $told ) ? $told : array(); // Empty if another process changed the value first.
				}
			);
			if ( $told && ! in_array( false, $told, true ) ) {
				return true;
			}
			usleep( mt_rand( 0, 500 * ( $try + 1 ) ) ); // phpcs:ignore WordPress.WP.AlternativeFunctions -- WordPress is not loaded yet.
		}
		return false;
	}
}
