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
 * Has what is due in the other sites of a network run, when Myriad asks the main site for what is due in it.
 *
 * WordPress runs what is due in a site by requests for that site alone. Only WordPress knows the sites, so the main site looks at each, and
 * Myriad sends the request.
 */
class Myriad_Cache_Clock {

	/**
	 * Seconds between two looks.
	 */
	const INTERVAL = 15;

	/**
	 * Most sites that one look sees: those of a larger network are seen in turn.
	 */
	const MOST = 100;

	/**
	 * Looks at the other sites once WordPress and all plugins are there.
	 */
	public static function start() {
		add_action( 'wp_loaded', array( __CLASS__, 'look' ) );
	}

	/**
	 * Asks Myriad for the clock of each site where something is due.
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
	 * The sites that are looked at now.
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
	 * Whether something is due in a site.
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
