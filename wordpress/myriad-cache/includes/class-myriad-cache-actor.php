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
 * Distinguishes changes by people who manage the site from writes that page views cause, such as counters.
 */
class Myriad_Cache_Actor {

	/**
	 * Capabilities of subscribers and customers.
	 */
	const MINOR = array( 'read', 'level_0', 'subscriber', 'customer', 'exist' );

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
	 * Returns the method of the request.
	 *
	 * @return string Empty on the command line.
	 */
	private static function method() {
		return isset( $_SERVER['REQUEST_METHOD'] ) ? (string) $_SERVER['REQUEST_METHOD'] : ''; // phpcs:ignore WordPress.Security.ValidatedSanitizedInput -- it is compared, and never shown.
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
	 * Returns whether a user above subscriber is logged in. Before the user is determined, the result is false.
	 *
	 * @return bool
	 */
	private static function is_staff() {
		if ( ! did_action( 'init' ) || ! function_exists( 'wp_get_current_user' ) ) {
			return false;
		}
		$user = wp_get_current_user();
		return $user->exists() && ( is_super_admin( $user->ID ) || array_diff( array_keys( array_filter( (array) $user->allcaps ) ), self::MINOR ) );
	}

	/**
	 * Returns whether the request is a page view, or a script request of a page, by a visitor.
	 *
	 * Checkouts are not: they are requests of WooCommerce with an action of their own.
	 *
	 * @return string `view`, `script`, or an empty string for all other requests.
	 */
	public static function visit() {
		if ( self::is_command_line() || wp_doing_cron() || self::is_staff() ) {
			return '';
		}
		if ( in_array( self::method(), array( 'GET', 'HEAD' ), true ) && ! wp_doing_ajax() ) {
			return 'view';
		}
		$is_checkout = preg_match( '/checkout|order|payment/i', self::argument( 'wc-ajax' ) . self::argument( 'action' ) . self::argument( 'rest_route' ) . ( isset( $_SERVER['REQUEST_URI'] ) ? $_SERVER['REQUEST_URI'] : '' ) ); // phpcs:ignore WordPress.Security.ValidatedSanitizedInput -- it is compared, and never shown.
		$is_script   = wp_doing_ajax() || ( defined( 'REST_REQUEST' ) && REST_REQUEST ) || '' !== self::argument( 'wc-ajax' );
		return $is_script && ! $is_checkout ? 'script' : '';
	}

	/**
	 * Returns whether a user above subscriber, or a command, changes settings: with any method, or by a link that contains a nonce.
	 *
	 * Requests that open screens send on their own do not count.
	 *
	 * @return bool
	 */
	public static function changes_settings() {
		if ( self::is_command_line() ) {
			return true;
		}
		if ( wp_doing_cron() || ! self::is_staff() ) {
			return false;
		}
		if ( in_array( self::method(), array( 'GET', 'HEAD', 'OPTIONS' ), true ) ) {
			return '' !== self::argument( '_wpnonce' ) || '' !== self::argument( '_ajax_nonce' ) || '' !== self::argument( 'nonce' );
		}
		return ! in_array( self::argument( 'action' ), self::AUTOMATIC, true ) && ! ( defined( 'DOING_AUTOSAVE' ) && DOING_AUTOSAVE );
	}
}
