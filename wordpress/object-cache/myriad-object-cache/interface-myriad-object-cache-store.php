<?php
/**
 * Key-value store.
 *
 * @package Myriad_Object_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Operations that the cache requires of Redis, memcached and APCu.
 *
 * Values are texts and integers. `$ttl` is in seconds, and greater than 0. Each method throws a RuntimeException if the
 * server fails; the request then does not read from it again.
 */
interface Myriad_Object_Cache_Store {

	/**
	 * Returns values.
	 *
	 * @param string[] $keys Keys.
	 * @return array<string, string|int> Existing values, by key.
	 */
	public function get( $keys );

	/**
	 * Stores values, and replaces existing values. If a value is too large, its key has no value afterwards.
	 *
	 * @param array<string, string|int> $values Values by key.
	 * @param int                       $ttl    Seconds.
	 */
	public function set( $values, $ttl );

	/**
	 * Stores values whose keys have no value yet.
	 *
	 * @param array<string, string|int> $values Values by key.
	 * @param int                       $ttl    Seconds.
	 * @return array<string, bool> True for each stored value, by key.
	 */
	public function add( $values, $ttl );

	/**
	 * Deletes values.
	 *
	 * @param string[] $keys Keys.
	 * @return array<string, bool> True for each key that had a value, by key.
	 */
	public function delete( $keys );

	/**
	 * Adds to an integer if the value and the result are integers of at least 0. The TTL of the value does not change.
	 *
	 * @param string $key    Key.
	 * @param int    $offset Number to add.
	 * @return int|false|null Result; false if the key has no value; null if nothing was done and the caller must use
	 *                        `change()`.
	 */
	public function add_integer( $key, $offset );

	/**
	 * Changes a value without losing concurrent changes of other processes.
	 *
	 * @param string   $key    Key.
	 * @param int|null $ttl    Seconds; null to retain the remaining TTL of the value if the server reports it, else for
	 *                         a day.
	 * @param callable $change Callback: receives the value, or null, and returns the new value, null to delete it, or
	 *                         the same value to change nothing. It may be called several times.
	 * @return bool True on success; false if other processes changed the value during every attempt, in which case
	 *              nothing was changed.
	 */
	public function change( $key, $ttl, $change );
}
