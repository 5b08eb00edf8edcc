<?php
/**
 * Plugin Name:       Myriad Cache
 * Description:       Tells the Myriad web accelerator which pages have changed: exactly those are made anew, at once.
 * Version:           1.0.0
 * Requires at least: 6.0
 * Requires PHP:      7.4
 * License:           MIT OR Apache-2.0
 * Text Domain:       myriad-cache
 * Domain Path:       /languages
 *
 * A page that is made for Myriad bears tags of all that it was made from; a change purges the tags of what has changed.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) || defined( 'MYRIAD_CACHE_VERSION' ) ) {
	return;
}

define( 'MYRIAD_CACHE_VERSION', '1.0.0' );
define( 'MYRIAD_CACHE_FILE', __FILE__ );

if ( isset( $_SERVER['MYRIAD_CLOCK'] ) && ! defined( 'DISABLE_WP_CRON' ) ) {
	// Myriad runs what is due, so no visitor has to; without the plugin or Myriad all is as before.
	define( 'DISABLE_WP_CRON', true );
}

require_once __DIR__ . '/includes/class-myriad-cache-tags.php';
require_once __DIR__ . '/includes/class-myriad-cache-notes.php';
require_once __DIR__ . '/includes/class-myriad-cache-lists.php';
require_once __DIR__ . '/includes/class-myriad-cache-page.php';
require_once __DIR__ . '/includes/class-myriad-cache-client.php';
require_once __DIR__ . '/includes/class-myriad-cache-queue.php';
require_once __DIR__ . '/includes/class-myriad-cache-post-changes.php';
require_once __DIR__ . '/includes/class-myriad-cache-term-changes.php';
require_once __DIR__ . '/includes/class-myriad-cache-changes.php';
require_once __DIR__ . '/includes/class-myriad-cache-admin.php';
require_once __DIR__ . '/includes/class-myriad-cache-health.php';

Myriad_Cache_Changes::start();
Myriad_Cache_Page::start();
Myriad_Cache_Admin::start();
Myriad_Cache_Health::start();

if ( defined( 'WP_CLI' ) && WP_CLI ) {
	require_once __DIR__ . '/includes/class-myriad-cache-cli.php';
	WP_CLI::add_command( 'myriad', 'Myriad_Cache_CLI' );
}
