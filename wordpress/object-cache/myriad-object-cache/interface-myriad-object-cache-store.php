<?php
/**
 * A server of keys and values.
 *
 * @package Myriad_Object_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * What the cache asks of Redis, memcached and APCu.
 *
 * Values are texts and integers. `$ttl` is a number of seconds above 0. Each method throws a RuntimeException where the server does
 * not do it: it is then not asked again in this request.
 */
interface Myriad_Object_Cache_Store {

	/**
	 * Gives values.
	 *
	 * @param string[] $keys Keys.
	 * @return array<string, string|int> Those that are there, by key.
	 */
	public function get( $keys );

	/**
	 * Keeps values, in the place of those that are there. A value that is too large leaves none.
	 *
	 * @param array<string, string|int> $values Values by key.
	 * @param int                       $ttl    Seconds.
	 */
	public function set( $values, $ttl );

	/**
	 * Keeps values where there are none.
	 *
	 * @param array<string, string|int> $values Values by key.
	 * @param int                       $ttl    Seconds.
	 * @return array<string, bool> Whether each was kept, by key.
	 */
	public function add( $values, $ttl );

	/**
	 * Forgets values.
	 *
	 * @param string[] $keys Keys.
	 * @return array<string, bool> Whether each was there, by key.
	 */
	public function delete( $keys );

	/**
	 * Adds to an integer, if value and result are integers of at least 0. The time of the value stays as it is.
	 *
	 * @param string $key    Key.
	 * @param int    $offset Number to add.
	 * @return int|false|null Result, false if there is no value; null if nothing was done, and `change()` must do it.
	 */
	public function add_integer( $key, $offset );

	/**
	 * Changes a value so that no change of another process in between is lost.
	 *
	 * @param string   $key    Key.
	 * @param int|null $ttl    Seconds; null for the time that is left of the value, where the server tells it, else for a day.
	 * @param callable $change Is given the value, or null, and returns the new one, null for none, the same to leave all as it is. It may be
	 *                         called several times.
	 * @return bool Whether it was changed. If not, others are at it all the time, and nothing was done.
	 */
	public function change( $key, $ttl, $change );
}
