<?php
/**
 * Kind of request that changes data.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Distinguishes changes by staff, cron and commands from writes that page views cause, such as counters.
 */
class Myriad_Cache_Actor {

	/**
	 * Capabilities of members, customers and participants of forums, in addition to those that permit to read. A user with any other one may
	 * change content or settings: plugins add capabilities for their screens.
	 */
	const VISITORS = '/^(?:exist|level_0|(?:read|view|access|spectate|participate|subscribe|follow|download|purchase|pay)(?:_|$)|(?:publish|edit|assign|delete)_(?:topics|replies|topic_tags)$)/D';

	/**
	 * Actions of checkouts.
	 */
	const CHECKOUTS = array( 'woocommerce_checkout_order_processed', 'woocommerce_store_api_checkout_order_processed', 'woocommerce_new_order', 'edd_complete_purchase' );

	/**
	 * Requests that the screens of wp-admin send without an action of the user.
	 */
	const AUTOMATIC = array( 'heartbeat', 'wp-compression-test', 'closed-postboxes', 'meta-box-order', 'hidden-columns', 'wp-remove-post-lock', 'dashboard-widgets', 'update-welcome-panel', 'health-check-site-status-result' );

	/**
	 * Returns an argument of the request that is compared only.
	 *
	 * @param string $name Name.
	 * @return string
	 */
	private static function argument( $name ) {
		return isset( $_REQUEST[ $name ] ) && is_string( $_REQUEST[ $name ] ) ? $_REQUEST[ $name ] : ''; // phpcs:ignore WordPress.Security -- it is compared, and never shown.
	}

	/**
	 * Returns whether the request runs on the command line (WP-CLI, scripts).
	 *
	 * @return bool
	 */
	private static function is_command_line() {
		return ( defined( 'WP_CLI' ) && WP_CLI ) || 'cli' === PHP_SAPI;
	}

	/**
	 * Returns whether the user is logged in and has more capabilities than visitors. Before the user is determined, the result is false.
	 *
	 * @return bool
	 */
	private static function is_staff() {
		if ( ! did_action( 'init' ) || ! function_exists( 'wp_get_current_user' ) ) {
			return false;
		}
		$user = wp_get_current_user();
		if ( ! $user->exists() ) {
			return false;
		}
		// The names of the user's roles are among the capabilities.
		$may = array_diff( array_map( 'strval', array_keys( array_filter( (array) $user->allcaps ) ) ), (array) $user->roles );
		return is_super_admin( $user->ID ) || count( $may ) > count( preg_grep( self::VISITORS, $may ) );
	}

	/**
	 * Returns whether staff views a page or screen, with a method that should change nothing.
	 *
	 * @return bool
	 */
	public static function is_staff_view() {
		return in_array( Myriad_Cache_Page::method(), array( 'GET', 'HEAD' ), true ) && self::is_staff();
	}

	/**
	 * Returns whether an argument of the request is a nonce. Plugins choose its name; ten digits under another name are a time or a number.
	 *
	 * @return bool
	 */
	private static function has_nonce() {
		foreach ( array_filter( $_REQUEST, 'is_string' ) as $name => $value ) { // phpcs:ignore WordPress.Security -- they are compared only.
			if ( preg_match( '/^[0-9a-f]{10}$/D', $value ) && ( ! ctype_digit( $value ) || false !== stripos( (string) $name, 'nonce' ) ) ) {
				return true;
			}
		}
		return false;
	}

	/**
	 * Returns the kind of visit. Writes of visits may be counters: requests of visitors, and requests of staff that change no settings.
	 *
	 * @return string `view` for a page view of a visitor, `script` for AJAX and REST requests of visitors, `form` for other requests; empty
	 *                for commands, cron, checkouts, and changes by staff, whose writes always purge.
	 */
	public static function visit() {
		if ( self::is_command_line() || self::is_job() || self::is_checkout() ) {
			return '';
		}
		if ( self::is_staff() ) {
			return self::changes_settings() ? '' : 'form';
		}
		if ( wp_doing_ajax() || ( defined( 'REST_REQUEST' ) && REST_REQUEST ) || defined( 'WC_DOING_AJAX' ) ) {
			return 'script';
		}
		return in_array( Myriad_Cache_Page::method(), array( 'GET', 'HEAD' ), true ) ? 'view' : 'form';
	}

	/**
	 * Returns whether the request changes the site on behalf of staff: a command, cron, or a change of settings or content.
	 *
	 * @return bool
	 */
	public static function is_managing() {
		return self::is_job() || self::changes_settings();
	}

	/**
	 * Returns whether the request has stored an order.
	 *
	 * @return bool
	 */
	public static function is_checkout() {
		return (bool) array_filter( self::CHECKOUTS, 'did_action' );
	}

	/**
	 * Returns whether the request runs scheduled tasks: cron, or the queue of Action Scheduler, which WooCommerce and others use.
	 *
	 * @return bool
	 */
	public static function is_job() {
		return wp_doing_cron() || did_action( 'action_scheduler_before_process_queue' ) > 0;
	}

	/**
	 * Returns whether staff, or a command, changes settings or content: with any method, or by a link that contains a nonce.
	 *
	 * Requests that open screens send on their own do not count.
	 *
	 * @return bool
	 */
	public static function changes_settings() {
		if ( self::is_job() ) {
			return false; // Also if a command runs it.
		}
		if ( self::is_command_line() ) {
			return true;
		}
		if ( ! self::is_staff() ) {
			return false;
		}
		if ( in_array( Myriad_Cache_Page::method(), array( 'GET', 'HEAD', 'OPTIONS' ), true ) ) {
			return self::has_nonce();
		}
		return ! in_array( self::argument( 'action' ), self::AUTOMATIC, true ) && ! ( defined( 'DOING_AUTOSAVE' ) && DOING_AUTOSAVE );
	}
}
