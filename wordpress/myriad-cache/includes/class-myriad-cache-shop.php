<?php
/**
 * Places for WooCommerce.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Marks the mini cart, and notices such as "is in your cart".
 */
class Myriad_Cache_Shop {

	/**
	 * Actions in which WooCommerce shows notices.
	 */
	const NOTICES = array( 'woocommerce_before_shop_loop', 'woocommerce_before_single_product', 'woocommerce_shortcode_before_product_cat_loop' );

	/**
	 * Begins to mark places.
	 */
	public static function start() {
		add_action( 'wp', array( __CLASS__, 'replace_notices' ), PHP_INT_MAX );
		add_action( 'woocommerce_before_mini_cart', array( __CLASS__, 'begin_cart' ), PHP_INT_MIN );
		add_action( 'woocommerce_after_mini_cart', array( __CLASS__, 'end_cart' ), PHP_INT_MAX );
	}

	/**
	 * Replaces notices by places.
	 */
	public static function replace_notices() {
		foreach ( self::NOTICES as $action ) {
			$priority = has_action( $action, 'woocommerce_output_all_notices' );
			if ( false !== $priority ) {
				remove_action( $action, 'woocommerce_output_all_notices', $priority );
				add_action( $action, array( __CLASS__, 'notices' ), $priority );
			}
		}
	}

	/**
	 * Prints the place for notices.
	 */
	public static function notices() {
		echo '<div class="woocommerce-notices-wrapper">' . Myriad_Cache_Known::place( 'shop-notices' ) . '</div>'; // phpcs:ignore WordPress.Security.EscapeOutput -- letters and digits.
	}

	/**
	 * Begins to buffer the cart, which is the text for other visitors.
	 */
	public static function begin_cart() {
		ob_start();
	}

	/**
	 * Prints the place for the cart.
	 */
	public static function end_cart() {
		echo Myriad_Cache_Known::place( 'shop-cart', (string) ob_get_clean() ); // phpcs:ignore WordPress.Security.EscapeOutput -- letters and digits.
	}

	/**
	 * Returns the cart of a visitor.
	 *
	 * @return string
	 */
	public static function cart() {
		if ( ! function_exists( 'woocommerce_mini_cart' ) ) {
			return '';
		}
		ob_start();
		woocommerce_mini_cart();
		return (string) ob_get_clean();
	}

	/**
	 * Returns the notices of a visitor, and deletes them.
	 *
	 * @return string
	 */
	public static function told() {
		return function_exists( 'wc_print_notices' ) ? (string) wc_print_notices( true ) : '';
	}
}
