<?php
/**
 * Cart of a customer that Myriad stores for this customer.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Permits Myriad to store the response to the request by which scripts of WooCommerce load the cart on each page view
 * (`/wp-json/wc/store/v1/cart`) for the customer, until the customer changes something or a tag of the cart is purged.
 */
class Myriad_Cache_Private_Cart {

	/**
	 * Parameter by which Myriad announces such a request. Clients cannot set it.
	 */
	const PARAMETER = 'MYRIAD_PRIVATE_CART';

	/**
	 * Maximum time in seconds for which a cart is stored.
	 */
	const SECONDS = 300;

	/**
	 * Header fields of a response that is different at each request.
	 */
	const FORBIDDING_FIELDS = '/^(?:Set-Cookie|RateLimit)/i';

	/**
	 * True if the tags of the cart are unknown, because another plugin failed.
	 *
	 * @var bool
	 */
	private static $has_failed = false;

	/**
	 * Adds the header field with the permission, if the response is the cart of the visitor.
	 */
	public static function send_field() {
		if ( ! isset( $_SERVER[ self::PARAMETER ] ) || 200 !== http_response_code() || ! self::is_answered() || preg_grep( self::FORBIDDING_FIELDS, headers_list() ) ) {
			return;
		}
		// The cart contains the country of the customer, which may result from the address of the visitor.
		if ( 0 === strpos( (string) get_option( 'woocommerce_default_customer_address' ), 'geolocation' ) ) {
			return;
		}
		$seconds = min( self::seconds(), Myriad_Cache_Page::validity( time(), true ) );
		if ( $seconds > 0 ) {
			header( 'X-Myriad-Private-Cache: ' . $seconds );
		}
	}

	/**
	 * Returns whether the response is WooCommerce's cart of a visitor with a session and without notices.
	 *
	 * @return bool
	 */
	private static function is_answered() {
		$route = $GLOBALS['wp']->query_vars['rest_route'] ?? '';
		if ( ! defined( 'REST_REQUEST' ) || '/wc/store/v1/cart' !== $route || ( defined( 'DONOTCACHEPAGE' ) && DONOTCACHEPAGE ) ) {
			return false;
		}
		return self::has_session() && function_exists( 'wc_notice_count' ) && 0 === wc_notice_count();
	}

	/**
	 * Returns whether the visitor has a cart and a session.
	 *
	 * @return bool
	 */
	private static function has_session() {
		return function_exists( 'WC' ) && ! empty( WC()->cart ) && ! empty( WC()->session ) && WC()->session->has_session();
	}

	/**
	 * Returns the time for which the cart is valid unless a request changes it: until a dated sale starts or stops, a coupon expires, or the
	 * session is renewed, and at most SECONDS.
	 *
	 * @return int Seconds; 0 if the cart must not be stored.
	 */
	public static function seconds() {
		if ( ! self::has_session() ) {
			return self::SECONDS;
		}
		try {
			$times = self::$has_failed ? array( time() ) : self::times();
		} catch ( Throwable $error ) {
			return 0;
		}
		$left = self::SECONDS;
		foreach ( $times as $time ) {
			$left = $time >= time() ? min( $left, $time - time() ) : $left;
		}
		return $left;
	}

	/**
	 * Returns the times at which the cart may change, in the past or in the future.
	 *
	 * @return int[] Unix times.
	 */
	private static function times() {
		$times = array();
		foreach ( Myriad_Cache_Page::cookies( '/^wp_woocommerce_session_/' ) as $name ) {
			// Customer, expiration, and the time from which the session is renewed. The separator was changed in WooCommerce 10.
			$words = preg_split( '/\|+/', is_string( $_COOKIE[ $name ] ) ? $_COOKIE[ $name ] : '' ); // phpcs:ignore WordPress.Security.ValidatedSanitizedInput -- only numbers are used.
			$times = array_merge( $times, array_map( 'intval', array_slice( $words, 1, 2 ) ) );
		}
		$dates = array();
		foreach ( self::objects() as $object ) {
			foreach ( array( 'get_date_on_sale_from', 'get_date_on_sale_to', 'get_date_expires' ) as $method ) {
				$dates[] = method_exists( $object, $method ) ? $object->$method( 'edit' ) : null;
			}
		}
		foreach ( array_filter( $dates, 'is_object' ) as $date ) {
			$times[] = (int) $date->getTimestamp();
		}
		return $times;
	}

	/**
	 * Returns the products and coupons of the cart.
	 *
	 * @return object[]
	 */
	private static function objects() {
		$objects = array();
		foreach ( WC()->cart->get_cart() as $item ) {
			$objects[] = isset( $item['data'] ) ? $item['data'] : null;
		}
		return array_filter( array_merge( $objects, array_values( (array) WC()->cart->get_coupons() ) ), 'is_object' );
	}

	/**
	 * Adds the tags of the products and coupons of the cart.
	 */
	public static function add_tags() {
		Myriad_Cache_Tags::add( 's' );
		if ( ! self::has_session() ) {
			return;
		}
		try {
			foreach ( WC()->cart->get_cart() as $item ) {
				foreach ( array( 'product_id', 'variation_id' ) as $name ) {
					self::add_tags_of( isset( $item[ $name ] ) ? (int) $item[ $name ] : 0, array( 'p', 'st' ) );
				}
			}
			foreach ( (array) WC()->cart->get_coupons() as $coupon ) {
				self::add_tags_of( (int) $coupon->get_id(), array( 'p' ) );
			}
		} catch ( Throwable $error ) {
			self::$has_failed = true;
		}
	}

	/**
	 * Adds the tags of an object.
	 *
	 * @param int      $id    Number; 0 for none.
	 * @param string[] $kinds Kinds of tags.
	 */
	private static function add_tags_of( $id, $kinds ) {
		foreach ( $id > 0 ? $kinds : array() as $kind ) {
			Myriad_Cache_Tags::add( $kind . $id );
		}
	}
}
