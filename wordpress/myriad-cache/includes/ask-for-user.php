<?php
/**
 * Function of WordPress that plugins may replace, with a note of who asks.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Gives the user of the request, as WordPress's own does.
 *
 * @return WP_User
 */
function wp_get_current_user() { // phpcs:ignore WordPress.NamingConventions.PrefixAllGlobals -- WordPress's own.
	Myriad_Cache_Known::note_asker();
	return _wp_get_current_user();
}
