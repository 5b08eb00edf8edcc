<?php
/**
 * Replacement of a WordPress function that plugins may replace; it also records its caller.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Returns the user of the request, like WordPress's own function.
 *
 * @return WP_User
 */
function wp_get_current_user() { // phpcs:ignore WordPress.NamingConventions.PrefixAllGlobals -- WordPress's own.
	Myriad_Cache_Known::note_caller();
	// A plugin may read the user while it is loaded, before WordPress can determine the user.
	return function_exists( 'wp_validate_auth_cookie' ) ? _wp_get_current_user() : new WP_User( 0 );
}
