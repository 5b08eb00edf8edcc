<?php
/**
 * Class of a known visitor.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Describes a known visitor without personal data: visitors of one class are expected to get equal pages.
 */
class Myriad_Cache_Visitor {

	/**
	 * Returns the properties of the current visitor on which pages usually depend.
	 *
	 * @return array<string, mixed>
	 */
	public static function facts() {
		$user  = wp_get_current_user();
		$may   = array_map( 'strval', array_keys( array_filter( (array) $user->allcaps ) ) );
		$roles = array_map( 'strval', (array) $user->roles );
		sort( $may );
		sort( $roles );
		$facts = array(
			'roles'     => $roles,
			'may'       => $may,
			'in'        => $user->exists(),
			'member'    => $user->exists() && is_user_member_of_blog( $user->ID ),
			'language'  => $user->exists() ? get_user_locale( $user ) : '',
			'commenter' => (bool) Myriad_Cache_Page::cookies( '/^comment_author_/' ),
			'shop'      => self::of_shop(),
			'levels'    => $user->exists() ? self::levels( (int) $user->ID ) : array(),
		);
		/**
		 * Filters the properties that define the class of a known visitor. Visitors with equal properties share pages that were compared.
		 *
		 * @param array   $facts Properties, such as roles, taxes and membership levels; no personal data.
		 * @param WP_User $user  User; its ID is 0 if the visitor is not logged in.
		 */
		return (array) apply_filters( 'myriad_cache_visitor_class', $facts, $user );
	}

	/**
	 * Returns the class.
	 *
	 * @param array $facts Properties.
	 * @return string Letters and digits.
	 */
	public static function class_of( $facts ) {
		return substr( hash_hmac( 'sha256', (string) wp_json_encode( $facts ), wp_salt( 'auth' ) . 'myriad-class' ), 0, 16 );
	}

	/**
	 * Returns the name of a class for administrators.
	 *
	 * @param array $facts Properties.
	 * @return string
	 */
	public static function name_of( $facts ) {
		$name = empty( $facts['in'] ) ? array( empty( $facts['commenter'] ) ? 'visitor' : 'commenter' ) : (array) $facts['roles'];
		return implode( '+', $name ) . ( empty( $facts['shop']['cart'] ) ? '' : ' with a cart' );
	}

	/**
	 * Returns a value that differs between visitors, and from which no visitor can be identified.
	 *
	 * @return string
	 */
	public static function number() {
		$user = get_current_user_id();
		if ( ! $user && function_exists( 'WC' ) && isset( WC()->session ) && is_callable( array( WC()->session, 'has_session' ) ) && WC()->session->has_session() ) {
			$user = 'session ' . WC()->session->get_customer_id();
		}
		if ( ! $user ) {
			// Cookies of commenters have no signature, so that one visitor could be many.
			$user = 'address ' . ( isset( $_SERVER['REMOTE_ADDR'] ) ? (string) $_SERVER['REMOTE_ADDR'] : '' ); // phpcs:ignore WordPress.Security.ValidatedSanitizedInput -- it is hashed only.
		}
		return substr( hash_hmac( 'sha256', (string) $user, wp_salt( 'auth' ) . 'myriad-visitor' ), 0, 8 );
	}

	/**
	 * Returns whether the cart of the visitor contains an item.
	 *
	 * @return bool
	 */
	private static function has_cart() {
		$cart = function_exists( 'WC' ) && isset( WC()->cart ) ? WC()->cart : null;
		return is_object( $cart ) && is_callable( array( $cart, 'is_empty' ) ) && ! $cart->is_empty();
	}

	/**
	 * Returns whether the visitor has a cart if a cookie states it. Anybody can send the cookie, which has no signature, and code that reads it
	 * would show another page than to customers.
	 *
	 * @return bool
	 */
	public static function has_stated_cart() {
		return empty( $_COOKIE['woocommerce_items_in_cart'] ) || self::has_cart();
	}

	/**
	 * Returns the properties of a customer of WooCommerce.
	 *
	 * @return array<string, mixed>
	 */
	private static function of_shop() {
		if ( ! function_exists( 'WC' ) || empty( WC()->customer ) || ! class_exists( 'WC_Tax' ) ) {
			return array();
		}
		$customer = WC()->customer;
		return array(
			'cart'     => self::has_cart(),
			'exempt'   => $customer->is_vat_exempt(),
			'taxes'    => wc_tax_enabled() ? Myriad_Cache_Shop::all_rates( array_values( $customer->get_taxable_address() ) ) : array(),
			'place'    => method_exists( $customer, 'get_shipping_country' ) ? array( $customer->get_shipping_country(), $customer->get_shipping_state(), $customer->get_billing_country() ) : array(),
			'currency' => function_exists( 'get_woocommerce_currency' ) ? get_woocommerce_currency() : '',
		);
	}

	/**
	 * Returns the levels of memberships of a user.
	 *
	 * @param int $user User.
	 * @return array<string, mixed>
	 */
	private static function levels( $user ) {
		$levels = array();
		if ( function_exists( 'pmpro_getMembershipLevelsForUser' ) ) {
			$levels['pmpro'] = wp_list_pluck( (array) pmpro_getMembershipLevelsForUser( $user ), 'id' );
		}
		if ( function_exists( 'wc_memberships_get_user_active_memberships' ) ) {
			$levels['wc'] = wp_list_pluck( (array) wc_memberships_get_user_active_memberships( $user ), 'plan_id' );
		}
		if ( function_exists( 'rcp_get_customer_membership_level_ids' ) && function_exists( 'rcp_get_customer_by_user_id' ) ) {
			$customer      = rcp_get_customer_by_user_id( $user );
			$levels['rcp'] = $customer ? rcp_get_customer_membership_level_ids( $customer->get_id() ) : array();
		}
		if ( class_exists( 'MeprUser' ) ) {
			$member         = new MeprUser( $user );
			$levels['mepr'] = (array) $member->active_product_subscriptions( 'ids' );
		}
		if ( function_exists( 'bp_get_member_type' ) ) {
			$levels['bp'] = bp_get_member_type( $user, false );
		}
		return $levels;
	}
}
