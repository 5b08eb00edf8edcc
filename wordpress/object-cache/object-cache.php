<?php
/**
 * Plugin Name: Myriad Object Cache
 * Description: Stores data that WordPress has read from its database in Redis, Valkey, memcached or APCu.
 * Version:     1.0.0
 * License:     MIT OR Apache-2.0
 *
 * Written by `myriad wordpress --install-object-cache`, and removed by `--remove-object-cache`. If its folder or the
 * PHP extension is missing, or if wp-config.php contains `define( 'MYRIAD_OBJECT_CACHE', false );`, WordPress uses its
 * own cache.
 *
 * @package Myriad_Object_Cache
 */

if ( ! defined( 'ABSPATH' ) || function_exists( 'wp_cache_init' ) ) {
	return;
}
if ( ! is_readable( __DIR__ . '/myriad-object-cache/class-myriad-object-cache-connection.php' ) ) {
	return;
}
require_once __DIR__ . '/myriad-object-cache/class-myriad-object-cache-connection.php';
if ( ! Myriad_Object_Cache_Connection::is_possible() ) {
	return;
}
require_once __DIR__ . '/myriad-object-cache/class-myriad-object-cache-values.php';
require_once __DIR__ . '/myriad-object-cache/class-myriad-object-cache-pool.php';
require_once __DIR__ . '/myriad-object-cache/class-wp-object-cache.php';
// The functions are in a separate file, because PHP defines the functions of a file before it executes the first line.
require_once __DIR__ . '/myriad-object-cache/functions.php';
