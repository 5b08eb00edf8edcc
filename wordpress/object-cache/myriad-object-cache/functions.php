<?php
/**
 * Functions of WordPress's object cache.
 *
 * @package Myriad_Object_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Creates the cache of the request.
 */
function wp_cache_init() {
	$GLOBALS['wp_object_cache'] = new WP_Object_Cache(); // phpcs:ignore WordPress.WP.GlobalVariablesOverride -- WordPress requires this name.
}

/**
 * Stores a value if the key has none.
 *
 * @param int|string $key    Key.
 * @param mixed      $data   Value.
 * @param string     $group  Group.
 * @param int        $expire Seconds; 0 for no bound.
 * @return bool True if the value is stored.
 */
function wp_cache_add( $key, $data, $group = '', $expire = 0 ) {
	return $GLOBALS['wp_object_cache']->add( $key, $data, $group, (int) $expire );
}

/**
 * Stores values whose keys have no value yet.
 *
 * @param array  $data   Values by key.
 * @param string $group  Group.
 * @param int    $expire Seconds; 0 for no bound.
 * @return bool[] True for each stored value, by key.
 */
function wp_cache_add_multiple( array $data, $group = '', $expire = 0 ) {
	return $GLOBALS['wp_object_cache']->add_multiple( $data, $group, (int) $expire );
}

/**
 * Stores a value if the key already has one.
 *
 * @param int|string $key    Key.
 * @param mixed      $data   Value.
 * @param string     $group  Group.
 * @param int        $expire Seconds; 0 for no bound.
 * @return bool True if the value is stored.
 */
function wp_cache_replace( $key, $data, $group = '', $expire = 0 ) {
	return $GLOBALS['wp_object_cache']->replace( $key, $data, $group, (int) $expire );
}

/**
 * Stores a value.
 *
 * @param int|string $key    Key.
 * @param mixed      $data   Value.
 * @param string     $group  Group.
 * @param int        $expire Seconds; 0 for no bound.
 * @return bool True if the key is valid.
 */
function wp_cache_set( $key, $data, $group = '', $expire = 0 ) {
	return $GLOBALS['wp_object_cache']->set( $key, $data, $group, (int) $expire );
}

/**
 * Stores values.
 *
 * @param array  $data   Values by key.
 * @param string $group  Group.
 * @param int    $expire Seconds; 0 for no bound.
 * @return bool[] True for each valid key, by key.
 */
function wp_cache_set_multiple( array $data, $group = '', $expire = 0 ) {
	return $GLOBALS['wp_object_cache']->set_multiple( $data, $group, (int) $expire );
}

/**
 * Returns a value.
 *
 * @param int|string $key   Key.
 * @param string     $group Group.
 * @param bool       $force True to read from the server even if the value is in the memory of this request.
 * @param bool       $found Set to whether the value exists.
 * @return mixed Value, or false.
 */
function wp_cache_get( $key, $group = '', $force = false, &$found = null ) {
	return $GLOBALS['wp_object_cache']->get( $key, $group, $force, $found );
}

/**
 * Returns values.
 *
 * @param array  $keys  Keys.
 * @param string $group Group.
 * @param bool   $force True to read from the server even if the value is in the memory of this request.
 * @return array Value or false, by key.
 */
function wp_cache_get_multiple( $keys, $group = '', $force = false ) {
	return $GLOBALS['wp_object_cache']->get_multiple( (array) $keys, $group, $force );
}

/**
 * Deletes a value.
 *
 * @param int|string $key   Key.
 * @param string     $group Group.
 * @return bool True if the key had a value.
 */
function wp_cache_delete( $key, $group = '' ) {
	return $GLOBALS['wp_object_cache']->delete( $key, $group );
}

/**
 * Deletes values.
 *
 * @param array  $keys  Keys.
 * @param string $group Group.
 * @return bool[] True for each key that had a value, by key.
 */
function wp_cache_delete_multiple( array $keys, $group = '' ) {
	return $GLOBALS['wp_object_cache']->delete_multiple( $keys, $group );
}

/**
 * Adds to a number. A value that is not numeric counts as 0.
 *
 * @param int|string $key    Key.
 * @param int        $offset Number to add.
 * @param string     $group  Group.
 * @return int|float|false Result, at least 0; false if the key has no value.
 */
function wp_cache_incr( $key, $offset = 1, $group = '' ) {
	return $GLOBALS['wp_object_cache']->incr( $key, $offset, $group );
}

/**
 * Subtracts from a number. A value that is not numeric counts as 0.
 *
 * @param int|string $key    Key.
 * @param int        $offset Number to subtract.
 * @param string     $group  Group.
 * @return int|float|false Result, at least 0; false if the key has no value.
 */
function wp_cache_decr( $key, $offset = 1, $group = '' ) {
	return $GLOBALS['wp_object_cache']->decr( $key, $offset, $group );
}

/**
 * Deletes all values of the site and of all sites of its network, but no values of other installations that share the
 * server.
 *
 * @return bool True on success.
 */
function wp_cache_flush() {
	return $GLOBALS['wp_object_cache']->flush();
}

/**
 * Deletes the values in the memory of this request.
 *
 * @return bool
 */
function wp_cache_flush_runtime() {
	return $GLOBALS['wp_object_cache']->flush_runtime();
}

/**
 * Deletes the values of a group.
 *
 * @param string $group Group.
 * @return bool True on success.
 */
function wp_cache_flush_group( $group ) {
	return $GLOBALS['wp_object_cache']->flush_group( $group );
}

/**
 * Returns whether a feature is supported.
 *
 * @param string $feature Feature.
 * @return bool
 */
function wp_cache_supports( $feature ) {
	return in_array( $feature, array( 'add_multiple', 'set_multiple', 'get_multiple', 'delete_multiple', 'flush_runtime', 'flush_group' ), true );
}

/**
 * Does nothing: connections are closed after the request.
 *
 * @return true
 */
function wp_cache_close() {
	return true;
}

/**
 * Adds groups that all sites of a network share.
 *
 * @param string|string[] $groups Groups.
 */
function wp_cache_add_global_groups( $groups ) {
	$GLOBALS['wp_object_cache']->add_global_groups( $groups );
}

/**
 * Adds groups that are stored for one request only.
 *
 * @param string|string[] $groups Groups.
 */
function wp_cache_add_non_persistent_groups( $groups ) {
	$GLOBALS['wp_object_cache']->add_non_persistent_groups( $groups );
}

/**
 * Switches to another site of the network.
 *
 * @param int $blog_id Site.
 */
function wp_cache_switch_to_blog( $blog_id ) {
	$GLOBALS['wp_object_cache']->switch_to_blog( $blog_id );
}

/**
 * Switches to the current site, for code written for WordPress before 3.5.
 */
function wp_cache_reset() {
	$GLOBALS['wp_object_cache']->switch_to_blog( get_current_blog_id() );
}
