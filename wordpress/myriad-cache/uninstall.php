<?php
/**
 * Deletes all data when the plugin is deleted.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'WP_UNINSTALL_PLUGIN' ) ) {
	exit;
}

/**
 * Deletes the options of the current site.
 */
function myriad_cache_forget() {
	foreach ( array( 'myriad_cache_hours', 'myriad_cache_mode', 'myriad_cache_pending', 'myriad_cache_last', 'myriad_cache_noise', 'myriad_cache_options_read', 'myriad_cache_options_pages', 'myriad_cache_times', 'myriad_cache_jobs', 'myriad_cache_warm', 'myriad_cache_callers', 'myriad_cache_equal', 'myriad_cache_different', 'myriad_cache_epoch', 'myriad_cache_revoked' ) as $myriad_cache_option ) {
		delete_option( $myriad_cache_option );
	}
	global $wpdb;
	$wpdb->query( "DELETE FROM {$wpdb->options} WHERE option_name LIKE '\\_transient\\_%myriad\\_tags\\_%'" ); // phpcs:ignore WordPress.DB -- their names are not known.
}

delete_site_option( 'myriad_cache_noise' );
delete_site_option( 'myriad_cache_installed' );
delete_site_option( 'myriad_cache_code' );
wp_unschedule_hook( 'myriad_cache_revoke' );
if ( is_multisite() ) {
	foreach ( get_sites( array( 'fields' => 'ids', 'number' => 0 ) ) as $myriad_cache_site ) { // phpcs:ignore WordPress.Arrays.ArrayDeclarationSpacing.AssociativeArrayFound
		switch_to_blog( $myriad_cache_site );
		myriad_cache_forget();
		restore_current_blog();
	}
} else {
	myriad_cache_forget();
}
