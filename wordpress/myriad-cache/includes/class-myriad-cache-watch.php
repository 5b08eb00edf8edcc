<?php
/**
 * Requests that are terminated before their changes are purged.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Lets Myriad watch a request that changes the site: Myriad invalidates the pages of the site if PHP is terminated before the last
 * purge, for example because the system killed it or a plugin called `exit` during shutdown.
 *
 * The header of the request to Myriad is sent before the first change, and the final chunk of its body after the last purge. If PHP
 * is terminated in between, the system closes the connection.
 */
class Myriad_Cache_Watch {

	/**
	 * Connection to Myriad; false if it failed, null before the first change.
	 *
	 * @var resource|false|null
	 */
	private static $stream = null;

	/**
	 * Begins, if the changes of this request always purge. Changes by visitors, such as orders, affect few pages, and must not invalidate
	 * others. While Myriad is unreachable, nothing is sent.
	 */
	public static function begin() {
		if ( null === self::$stream && did_action( 'init' ) && '' === Myriad_Cache_Actor::visit() && ! Myriad_Cache_Actor::is_checkout() && ! get_option( Myriad_Cache_Queue::PENDING ) ) {
			self::$stream = Myriad_Cache_Client::open( 'writes?tag=' . rawurlencode( Myriad_Cache_Tags::named( 's' ) ) );
		}
	}

	/**
	 * Completes the request: all changes are purged, or are stored for a later purge.
	 */
	public static function finish() {
		if ( self::$stream ) {
			Myriad_Cache_Client::close( self::$stream );
		}
		self::$stream = false;
	}
}
