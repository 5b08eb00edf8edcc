<?php
/**
 * First requests after the plugin was installed or activated.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Purges the pages that were stored before the plugin was active: they have no tags, so that no change would purge them.
 */
class Myriad_Cache_Installation {

	/**
	 * Option, of the network if there is one: hash of the secret with which these pages were purged. Each installation has a new secret.
	 */
	const DONE = 'myriad_cache_installed';

	/**
	 * Maximum number of pages that are purged by address; if there are more, all pages are purged.
	 */
	const MOST = 1000;

	/**
	 * Registers the actions. Cron runs soon after Myriad has read the secret.
	 */
	public static function start() {
		Myriad_Cache_Hooks::add( 'activated_plugin', array( __CLASS__, 'activated' ) );
		Myriad_Cache_Hooks::add( 'admin_init', array( __CLASS__, 'check' ) );
		if ( wp_doing_cron() ) {
			Myriad_Cache_Hooks::add( 'init', array( __CLASS__, 'check' ) );
		}
	}

	/**
	 * Handles an activated plugin.
	 *
	 * @param string $plugin Plugin.
	 */
	public static function activated( $plugin ) {
		if ( plugin_basename( MYRIAD_CACHE_FILE ) === $plugin ) {
			delete_site_option( self::DONE );
			self::check();
		}
	}

	/**
	 * Purges pages without tags, once for each installation and activation.
	 */
	public static function check() {
		$secret = Myriad_Cache_Client::connection()['secret'];
		$hash   = '' === $secret ? '' : substr( hash( 'sha256', 'installed ' . $secret ), 0, 12 );
		if ( '' === $hash || get_site_option( self::DONE ) === $hash || wp_doing_ajax() ) {
			return;
		}
		$pages = Myriad_Cache_Warm::pages();
		if ( null === $pages ) {
			return; // Myriad does not run, or has not been reloaded yet.
		}
		$found = array();
		foreach ( $pages as $url => $page ) {
			if ( ! preg_grep( '/^wp[0-9]+-/', $page['tags'] ) && ! preg_match( '#(?:css|javascript)$#D', $page['type'] ) ) {
				$found[] = (string) $url;
			}
		}
		if ( count( $found ) > self::MOST || count( $pages ) >= 100 * Myriad_Cache_Warm::MOST_ANSWERS ) {
			Myriad_Cache_Queue::add_zone();
		} else {
			array_map( array( 'Myriad_Cache_Queue', 'add_url' ), $found );
		}
		update_site_option( self::DONE, $hash );
	}
}
