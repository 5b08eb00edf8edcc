<?php
/**
 * Plugin Name:       Myriad Cache
 * Description:       Notifies the Myriad web accelerator of changes, so that exactly the pages that show a change are replaced at once.
 * Version:           1.0.0
 * Requires at least: 6.0
 * Requires PHP:      7.4
 * License:           MIT OR Apache-2.0
 * Text Domain:       myriad-cache
 * Domain Path:       /languages
 *
 * Each page that is generated for Myriad has tags for all objects in it; a change purges the tags of the changed
 * objects.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) || defined( 'MYRIAD_CACHE_VERSION' ) ) {
	return;
}

define( 'MYRIAD_CACHE_VERSION', '1.0.0' );
define( 'MYRIAD_CACHE_FILE', __FILE__ );

if ( isset( $_SERVER['MYRIAD_CLOCK'] ) && ! defined( 'DISABLE_WP_CRON' ) ) {
	// Myriad runs due cron events, so that requests of visitors do not run them.
	define( 'DISABLE_WP_CRON', true );
}

spl_autoload_register(
	static function ( $name ) {
		// Most requests need only a few of the classes.
		if ( 0 === strpos( $name, 'Myriad_Cache_' ) ) {
			// Without a check that the file exists: it would double the time to load a class.
			include __DIR__ . '/includes/class-' . strtolower( str_replace( '_', '-', $name ) ) . '.php';
		}
	}
);

if ( isset( $_SERVER['MYRIAD_CLOCK'] ) && 'network' === $_SERVER['MYRIAD_CLOCK'] ) {
	Myriad_Cache_Clock::start();
}

Myriad_Cache_Changes::start();
// phpcs:ignore WordPress.Security.NonceVerification -- the argument has a signature.
if ( ! isset( $_GET['myriad-trace'] ) || ! Myriad_Cache_Trace::start() ) {
	Myriad_Cache_Page::start();
	Myriad_Cache_Parts::start();
}

add_action(
	'init',
	static function () {
		if ( is_admin() || wp_doing_cron() || is_user_logged_in() ) {
			Myriad_Cache_Admin::start();
			Myriad_Cache_Health::start();
		}
	},
	1
);

if ( defined( 'WP_CLI' ) && WP_CLI ) {
	WP_CLI::add_command( 'myriad', 'Myriad_Cache_CLI' );
}
