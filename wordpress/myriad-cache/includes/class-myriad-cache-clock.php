<?php
/**
 * Clock of a network.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Runs the due cron events of the other sites of a network, when Myriad requests the cron of the main site.
 *
 * WordPress runs the cron events of a site only in requests for that site. Only WordPress has the list of sites, so the
 * main site checks each of them, and Myriad sends the requests.
 */
class Myriad_Cache_Clock {

	/**
	 * Seconds between two checks.
	 */
	const INTERVAL = 15;

	/**
	 * Maximum number of sites per check; the sites of a larger network are checked in turn.
	 */
	const MOST = 100;

	/**
	 * Checks the other sites after WordPress and all plugins are loaded.
	 */
	public static function start() {
		add_action( 'wp_loaded', array( __CLASS__, 'look' ) );
	}

	/**
	 * Requests the cron of each site that has due events.
	 */
	public static function look() {
		if ( ! is_multisite() || ! is_main_site() || ! wp_doing_cron() ) {
			return;
		}
		foreach ( self::sites( time() ) as $site ) {
			if ( self::is_due( (int) $site->blog_id ) ) {
				Myriad_Cache_Client::tick( $site->domain, $site->path );
			}
		}
	}

	/**
	 * Returns the sites of this check.
	 *
	 * @param int $now Time.
	 * @return WP_Site[]
	 */
	private static function sites( $now ) {
		$which = array(
			'site__not_in' => array( get_main_site_id() ),
			'archived'     => 0,
			'deleted'      => 0,
			'spam'         => 0,
		);
		$turns = (int) ceil( get_sites( $which + array( 'count' => true ) ) / self::MOST );
		if ( 0 === $turns ) {
			return array();
		}
		return get_sites(
			$which + array(
				'number' => self::MOST,
				'offset' => self::MOST * ( intdiv( $now, self::INTERVAL ) % $turns ),
			)
		);
	}

	/**
	 * Returns whether a site has due events.
	 *
	 * @param int $site Number of the site.
	 * @return bool
	 */
	private static function is_due( $site ) {
		switch_to_blog( $site );
		$is_due = (bool) wp_get_ready_cron_jobs();
		restore_current_blog();
		return $is_due;
	}
}
