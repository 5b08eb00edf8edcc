<?php
/**
 * Places of WooCommerce.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * The small cart, and notices such as "is in your cart".
 */
class Myriad_Cache_Shop {

	/**
	 * Where WooCommerce shows notices.
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
	 * Puts places where notices are.
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
	 * Place of notices.
	 */
	public static function notices() {
		echo '<div class="woocommerce-notices-wrapper">' . Myriad_Cache_Known::place( 'shop-notices' ) . '</div>'; // phpcs:ignore WordPress.Security.EscapeOutput -- letters and digits.
	}

	/**
	 * The cart begins: what others see there is put aside.
	 */
	public static function begin_cart() {
		ob_start();
	}

	/**
	 * The cart ends.
	 */
	public static function end_cart() {
		echo Myriad_Cache_Known::place( 'shop-cart', (string) ob_get_clean() ); // phpcs:ignore WordPress.Security.EscapeOutput -- letters and digits.
	}

	/**
	 * The cart of a visitor.
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
	 * Notices of a visitor; they are gone then.
	 *
	 * @return string
	 */
	public static function told() {
		return function_exists( 'wc_print_notices' ) ? (string) wc_print_notices( true ) : '';
	}
}
