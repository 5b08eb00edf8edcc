<?php
/**
 * APCu: memory that the PHP processes of one php-fpm share.
 *
 * @package Myriad_Object_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Store that uses the apcu extension. It has no server that can fail. Command-line programs do not share this memory:
 * see Myriad_Object_Cache_Pool::connects().
 */
class Myriad_Object_Cache_APCu implements Myriad_Object_Cache_Store {

	/**
	 * Maximum number of attempts to change a value while other processes change it.
	 */
	const TRIES = 200;

	/**
	 * TTL of the lock of a value, in seconds. The lock of a process that dies expires after this time; until then, changes by other processes delete the value.
	 */
	const LOCK_TTL = 5;

	/**
	 * Returns values.
	 *
	 * @param string[] $keys Keys.
	 * @return array<string, string|int> Existing values, by key.
	 */
	public function get( $keys ) {
		$told = apcu_fetch( $keys );
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
			if ( ! apcu_store( (string) $key, $value, $ttl ) ) {
				// Out of memory: the old value must not remain.
				apcu_delete( (string) $key );
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
			$kept[ $key ] = apcu_add( (string) $key, $value, $ttl );
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
			$were[ $key ] = apcu_delete( $key );
		}
		return $were;
	}

	/**
	 * Does nothing, so that callers use `change()`: `apcu_inc()` would ignore the lock of that function.
	 *
	 * @param string $key    Key.
	 * @param int    $offset Number to add.
	 * @return null
	 */
	public function add_integer( $key, $offset ) { // phpcs:ignore VariableAnalysis, Generic.CodeAnalysis -- required by the interface.
		return null;
	}

	/**
	 * Returns the remaining TTL of a value, in seconds.
	 *
	 * @param string $key Key.
	 * @param string $new Key of a value that was just added, because APCu's clock can differ from the system clock.
	 * @return int
	 */
	private static function left( $key, $new ) {
		$told = apcu_key_info( $key );
		$now  = apcu_key_info( $new );
		if ( empty( $told['ttl'] ) || ! isset( $now['creation_time'] ) ) {
			return Myriad_Object_Cache_Pool::MOST_TTL;
		}
		return max( 1, $told['creation_time'] + $told['ttl'] - $now['creation_time'] );
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
		$lock  = $key . ':lock';
		$token = random_int( 1, PHP_INT_MAX );
		for ( $try = 0; $try < self::TRIES; $try++ ) {
			if ( ! apcu_add( $lock, $token, self::LOCK_TTL ) ) {
				usleep( 500 );
				continue;
			}
			$is_there = false;
			$before   = apcu_fetch( $key, $is_there );
			$after    = $change( $is_there ? $before : null );
			if ( apcu_fetch( $lock ) !== $token ) {
				// The lock has expired while this process waited for a processor, and others may have changed the value.
				continue;
			}
			if ( null === $after ) {
				apcu_delete( $key );
			} elseif ( ! $is_there || $after !== $before ) {
				$this->set( array( $key => $after ), null === $ttl ? self::left( $key, $lock ) : $ttl );
			}
			apcu_delete( $lock );
			return true;
		}
		return false;
	}
}
