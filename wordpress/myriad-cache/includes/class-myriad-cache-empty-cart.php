<?php
/**
 * Empty cart that all visitors without a cart share.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Permits Myriad to store the response to the requests by which scripts of WooCommerce load the cart on each page view
 * (`/wp-json/wc/store/v1/cart`, `?wc-ajax=get_refreshed_fragments`), if the visitor has no cart and no session.
 *
 * The response of the Store API contains a token that identifies the session to create. It is removed, because all visitors
 * with the same token would have the same cart. Myriad therefore announces requests of scripts that do not use it.
 */
class Myriad_Cache_Empty_Cart {

	/**
	 * Parameter by which Myriad announces such a request. Clients cannot set it.
	 */
	const PARAMETER = 'MYRIAD_EMPTY_CART';

	/**
	 * Header fields of a response that may belong to one visitor.
	 */
	const PERSONAL_FIELDS = '/^(?:Set-Cookie|RateLimit|X-WP-Nonce|User-ID: *[^0 ]|[\w-]*(?:session|customer))/i';

	/**
	 * True if Myriad has announced such a request.
	 *
	 * @var bool
	 */
	private static $is_announced = false;

	/**
	 * True if a plugin has forbidden to store the response. WooCommerce itself does so, too, but later.
	 *
	 * @var bool
	 */
	private static $is_forbidden = false;

	/**
	 * Prepares for such a request.
	 */
	public static function start() {
		if ( isset( $_SERVER[ self::PARAMETER ] ) ) {
			self::$is_announced = true;
			Myriad_Cache_Hooks::add( 'template_redirect', array( __CLASS__, 'note_constant' ), PHP_INT_MIN );
		}
	}

	/**
	 * Returns whether Myriad has announced such a request. Its response is no page with places for known visitors.
	 *
	 * @return bool
	 */
	public static function is_announced() {
		return self::$is_announced;
	}

	/**
	 * Records whether a plugin has forbidden to store the response.
	 */
	public static function note_constant() {
		self::$is_forbidden = defined( 'DONOTCACHEPAGE' ) && DONOTCACHEPAGE;
	}

	/**
	 * Returns whether the response contains the empty cart of a visitor without a session.
	 *
	 * @return bool
	 */
	private static function is_shared() {
		if ( ! self::$is_announced || self::$is_forbidden || 200 !== http_response_code() || ! function_exists( 'WC' ) || is_user_logged_in() ) {
			return false;
		}
		$cart    = WC()->cart ?? null;
		$session = WC()->session ?? null;
		if ( ! $cart || ! $session || ! $cart->is_empty() || $session->has_session() ) {
			return false;
		}
		// The cart contains the country of the customer, which may result from the address of the visitor.
		if ( 0 === strpos( (string) get_option( 'woocommerce_default_customer_address' ), 'geolocation' ) ) {
			return false;
		}
		return self::is_answered() && ! preg_grep( self::PERSONAL_FIELDS, headers_list() );
	}

	/**
	 * Returns whether WooCommerce has answered a request for the cart.
	 *
	 * @return bool
	 */
	private static function is_answered() {
		if ( did_action( 'wc_ajax_get_refreshed_fragments' ) ) {
			return true;
		}
		$route = $GLOBALS['wp']->query_vars['rest_route'] ?? '';
		return defined( 'REST_REQUEST' ) && '/wc/store/v1/cart' === $route && ! ( defined( 'DONOTCACHEPAGE' ) && DONOTCACHEPAGE );
	}

	/**
	 * Changes the header of the response so that Myriad stores it, and browsers do not.
	 *
	 * @return bool False if it must not be stored.
	 */
	public static function send_fields() {
		if ( ! self::is_shared() ) {
			return false;
		}
		header_remove( 'Cart-Token' );
		header_remove( 'Expires' );
		header( 'Cache-Control: no-cache, no-store, must-revalidate, max-age=0' );
		header( 'X-Accel-Expires: ' . Myriad_Cache_Page::validity( time(), true ) );
		return true;
	}
}
