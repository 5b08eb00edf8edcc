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
 * Makes the cache of the request.
 */
function wp_cache_init() {
	$GLOBALS['wp_object_cache'] = new WP_Object_Cache(); // phpcs:ignore WordPress.WP.GlobalVariablesOverride -- this is its place.
}

/**
 * Keeps a value where there is none.
 *
 * @param int|string $key    Key.
 * @param mixed      $data   Value.
 * @param string     $group  Group.
 * @param int        $expire Seconds; 0 for no bound.
 * @return bool Whether it is kept.
 */
function wp_cache_add( $key, $data, $group = '', $expire = 0 ) {
	return $GLOBALS['wp_object_cache']->add( $key, $data, $group, (int) $expire );
}

/**
 * Keeps values where there are none.
 *
 * @param array  $data   Values by key.
 * @param string $group  Group.
 * @param int    $expire Seconds; 0 for no bound.
 * @return bool[] Whether each is kept, by key.
 */
function wp_cache_add_multiple( array $data, $group = '', $expire = 0 ) {
	return $GLOBALS['wp_object_cache']->add_multiple( $data, $group, (int) $expire );
}

/**
 * Keeps a value where there is one already.
 *
 * @param int|string $key    Key.
 * @param mixed      $data   Value.
 * @param string     $group  Group.
 * @param int        $expire Seconds; 0 for no bound.
 * @return bool Whether it is kept.
 */
function wp_cache_replace( $key, $data, $group = '', $expire = 0 ) {
	return $GLOBALS['wp_object_cache']->replace( $key, $data, $group, (int) $expire );
}

/**
 * Keeps a value.
 *
 * @param int|string $key    Key.
 * @param mixed      $data   Value.
 * @param string     $group  Group.
 * @param int        $expire Seconds; 0 for no bound.
 * @return bool Whether the key can be one.
 */
function wp_cache_set( $key, $data, $group = '', $expire = 0 ) {
	return $GLOBALS['wp_object_cache']->set( $key, $data, $group, (int) $expire );
}

/**
 * Keeps values.
 *
 * @param array  $data   Values by key.
 * @param string $group  Group.
 * @param int    $expire Seconds; 0 for no bound.
 * @return bool[] Whether each key can be one, by key.
 */
function wp_cache_set_multiple( array $data, $group = '', $expire = 0 ) {
	return $GLOBALS['wp_object_cache']->set_multiple( $data, $group, (int) $expire );
}

/**
 * Gives a value.
 *
 * @param int|string $key   Key.
 * @param string     $group Group.
 * @param bool       $force Whether to look beyond what this request knows already.
 * @param bool       $found Whether there is one.
 * @return mixed Value, or false.
 */
function wp_cache_get( $key, $group = '', $force = false, &$found = null ) {
	return $GLOBALS['wp_object_cache']->get( $key, $group, $force, $found );
}

/**
 * Gives values.
 *
 * @param array  $keys  Keys.
 * @param string $group Group.
 * @param bool   $force Whether to look beyond what this request knows already.
 * @return array Value or false, by key.
 */
function wp_cache_get_multiple( $keys, $group = '', $force = false ) {
	return $GLOBALS['wp_object_cache']->get_multiple( (array) $keys, $group, $force );
}

/**
 * Forgets a value.
 *
 * @param int|string $key   Key.
 * @param string     $group Group.
 * @return bool Whether there was one.
 */
function wp_cache_delete( $key, $group = '' ) {
	return $GLOBALS['wp_object_cache']->delete( $key, $group );
}

/**
 * Forgets values.
 *
 * @param array  $keys  Keys.
 * @param string $group Group.
 * @return bool[] Whether there was one, by key.
 */
function wp_cache_delete_multiple( array $keys, $group = '' ) {
	return $GLOBALS['wp_object_cache']->delete_multiple( $keys, $group );
}

/**
 * Adds to a number. What is not numeric counts as 0.
 *
 * @param int|string $key    Key.
 * @param int        $offset Number to add.
 * @param string     $group  Group.
 * @return int|float|false Result, at least 0; false if there is no value.
 */
function wp_cache_incr( $key, $offset = 1, $group = '' ) {
	return $GLOBALS['wp_object_cache']->incr( $key, $offset, $group );
}

/**
 * Subtracts from a number. What is not numeric counts as 0.
 *
 * @param int|string $key    Key.
 * @param int        $offset Number to subtract.
 * @param string     $group  Group.
 * @return int|float|false Result, at least 0; false if there is no value.
 */
function wp_cache_decr( $key, $offset = 1, $group = '' ) {
	return $GLOBALS['wp_object_cache']->decr( $key, $offset, $group );
}

/**
 * Forgets all values of the site, and of all sites of its network; none of others that share the server.
 *
 * @return bool Whether the server knows it.
 */
function wp_cache_flush() {
	return $GLOBALS['wp_object_cache']->flush();
}

/**
 * Forgets what this request knows.
 *
 * @return bool
 */
function wp_cache_flush_runtime() {
	return $GLOBALS['wp_object_cache']->flush_runtime();
}

/**
 * Forgets the values of a group.
 *
 * @param string $group Group.
 * @return bool Whether the server knows it.
 */
function wp_cache_flush_group( $group ) {
	return $GLOBALS['wp_object_cache']->flush_group( $group );
}

/**
 * Says what is possible.
 *
 * @param string $feature Feature.
 * @return bool
 */
function wp_cache_supports( $feature ) {
	return in_array( $feature, array( 'add_multiple', 'set_multiple', 'get_multiple', 'delete_multiple', 'flush_runtime', 'flush_group' ), true );
}

/**
 * Ends nothing: connections end with the request.
 *
 * @return true
 */
function wp_cache_close() {
	return true;
}

/**
 * Names groups that all sites of a network share.
 *
 * @param string|string[] $groups Groups.
 */
function wp_cache_add_global_groups( $groups ) {
	$GLOBALS['wp_object_cache']->add_global_groups( $groups );
}

/**
 * Names groups that are kept for one request.
 *
 * @param string|string[] $groups Groups.
 */
function wp_cache_add_non_persistent_groups( $groups ) {
	$GLOBALS['wp_object_cache']->add_non_persistent_groups( $groups );
}

/**
 * Goes to another site of the network.
 *
 * @param int $blog_id Site.
 */
function wp_cache_switch_to_blog( $blog_id ) {
	$GLOBALS['wp_object_cache']->switch_to_blog( $blog_id );
}

/**
 * Goes to the site at hand, as callers before WordPress 3.5 do.
 */
function wp_cache_reset() {
	$GLOBALS['wp_object_cache']->switch_to_blog( get_current_blog_id() );
}
