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
 * By the extension apcu. It has no server that could fail. Programs of the command line have memory of their own: see the pool.
 */
class Myriad_Object_Cache_APCu implements Myriad_Object_Cache_Store {

	/**
	 * Tries to change a value while others do.
	 */
	const TRIES = 200;

	/**
	 * Gives values.
	 *
	 * @param string[] $keys Keys.
	 * @return array<string, string|int> Those that are there, by key.
	 */
	public function get( $keys ) {
		$told = apcu_fetch( $keys );
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
			if ( ! apcu_store( (string) $key, $value, $ttl ) ) {
				// No room: what is there would be old.
				apcu_delete( (string) $key );
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
			$kept[ $key ] = apcu_add( (string) $key, $value, $ttl );
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
			$were[ $key ] = apcu_delete( $key );
		}
		return $were;
	}

	/**
	 * Leaves adding to `change()`, whose lock `apcu_inc()` does not know.
	 *
	 * @param string $key    Key.
	 * @param int    $offset Number to add.
	 * @return null
	 */
	public function add_integer( $key, $offset ) { // phpcs:ignore VariableAnalysis, Generic.CodeAnalysis -- as the interface has it.
		return null;
	}

	/**
	 * Returns the seconds that are left of a value.
	 *
	 * @param string $key Key.
	 * @param string $new Key of a value that was just added: APCu's clock need not be the system's.
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
			// The lock of a process that died goes after a second.
			if ( ! apcu_add( $key . ':lock', 1, 1 ) ) {
				usleep( 500 );
				continue;
			}
			$is_there = false;
			$before   = apcu_fetch( $key, $is_there );
			$after    = $change( $is_there ? $before : null );
			if ( null === $after ) {
				apcu_delete( $key );
			} elseif ( ! $is_there || $after !== $before ) {
				$this->set( array( $key => $after ), null === $ttl ? self::left( $key, $key . ':lock' ) : $ttl );
			}
			apcu_delete( $key . ':lock' );
			return true;
		}
		return false;
	}
}
