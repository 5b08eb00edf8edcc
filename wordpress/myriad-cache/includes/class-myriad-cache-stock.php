<?php
/**
 * Stock of WooCommerce's products.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Purges the pages that show the stock of a product only if its visible text changes. Most orders change only the quantity, which shops show
 * always, only when it is low, or never.
 *
 * A page that reads the quantity of product 12 has the tag `st12`, and a page that reads the number of its sales `sl12`. An order also saves the product, deletes its transients and clears its
 * cached post; these actions are ignored for products of the order, because other actions report changes of their fields, terms and posts.
 */
class Myriad_Cache_Stock {

	/**
	 * Filters by which themes and plugins show the quantity in other ways.
	 */
	const TEXTS = array( 'woocommerce_get_availability', 'woocommerce_get_availability_text', 'woocommerce_get_stock_html', 'woocommerce_format_stock_quantity' );

	/**
	 * Fields of products whose pages have separate tags, and the kinds of these tags.
	 */
	const FIELDS = array(
		'_stock'      => 'st',
		'total_sales' => 'sl',
	);

	/**
	 * Stock status and visible text of products before their quantity changes, by number of the product.
	 *
	 * @var array<int, array{0: string, 1: string}>
	 */
	private static $before = array();

	/**
	 * Products whose quantity was read for the page, as keys, with their numbers and those of the products of which they are variations.
	 *
	 * @var array<int, int[]>
	 */
	private static $parents = array();

	/**
	 * Products whose quantity this request has changed, and the products of which they are variations, as keys.
	 *
	 * @var array<int, true>
	 */
	private static $sold = array();

	/**
	 * Registers the actions of changes.
	 */
	public static function start() {
		foreach ( array( 'product', 'variation' ) as $kind ) {
			Myriad_Cache_Hooks::add( 'woocommerce_' . $kind . '_set_stock', array( __CLASS__, 'after' ) );
		}
		Myriad_Cache_Hooks::add( 'woocommerce_updated_product_sales', array( __CLASS__, 'sales' ) );
	}

	/**
	 * Registers the filters of reads, while a page is generated.
	 */
	public static function note() {
		Myriad_Cache_Hooks::add( 'woocommerce_product_get_stock_quantity', array( __CLASS__, 'note_quantity' ), PHP_INT_MAX, 2 );
		Myriad_Cache_Hooks::add( 'woocommerce_product_variation_get_stock_quantity', array( __CLASS__, 'note_quantity' ), PHP_INT_MAX, 2 );
		Myriad_Cache_Hooks::add( 'woocommerce_product_get_total_sales', array( __CLASS__, 'note_sales' ), PHP_INT_MAX, 2 );
	}

	/**
	 * Tags the page with the quantity of a product.
	 *
	 * @param mixed      $quantity Quantity.
	 * @param WC_Product $product  Product.
	 * @return mixed
	 */
	public static function note_quantity( $quantity, $product ) {
		$id = self::number( $product );
		if ( ! isset( self::$parents[ $id ] ) ) {
			self::$parents[ $id ] = array_filter( array( $id, (int) wp_get_post_parent_id( $id ) ) );
		}
		foreach ( self::$parents[ $id ] as $product_id ) {
			Myriad_Cache_Tags::add( 'st' . $product_id );
		}
		return $quantity;
	}

	/**
	 * Tags the page with the number of sales of a product.
	 *
	 * @param mixed      $count   Number of sales.
	 * @param WC_Product $product Product.
	 * @return mixed
	 */
	public static function note_sales( $count, $product ) {
		Myriad_Cache_Tags::add( 'sl' . self::number( $product ) );
		return $count;
	}

	/**
	 * Returns the number of a product.
	 *
	 * @param WC_Product|int $product Product, or its number.
	 * @return int
	 */
	private static function number( $product ) {
		return is_object( $product ) && method_exists( $product, 'get_id' ) ? (int) $product->get_id() : (int) $product;
	}

	/**
	 * Returns the stock status of a product, and what its visible text depends on, as WooCommerce computes it from its fields.
	 *
	 * @param int $id Product.
	 * @return array{0: string, 1: string}
	 */
	private static function state( $id ) {
		$field = static function ( $name ) use ( $id ) {
			return (string) get_post_meta( $id, $name, true );
		};

		$status = $field( '_stock_status' );
		if ( 'yes' !== $field( '_manage_stock' ) || 'outofstock' === $status ) {
			return array( $status, $field( '_backorders' ) );
		}
		$quantity = (float) $field( '_stock' );
		$shown    = (string) $quantity;
		$format   = (string) get_option( 'woocommerce_stock_format' );
		if ( ! array_filter( self::TEXTS, 'has_filter' ) ) {
			$low   = $field( '_low_stock_amount' );
			$low   = (float) ( '' === $low ? get_option( 'woocommerce_notify_low_stock_amount', 2 ) : $low );
			$shown = '' === $format || ( 'low_amount' === $format && $quantity <= $low ) ? $shown : '';
		}
		// With less than one, a product is on backorder.
		return array( $status, $shown . ' ' . $field( '_backorders' ) . ( $quantity < 1 ? ' backorder' : '' ) );
	}

	/**
	 * Records a product before its quantity changes.
	 *
	 * @param WC_Product $product Product.
	 */
	public static function before( $product ) {
		$id = self::number( $product );

		self::$before[ $id ] = self::state( $id );
		self::$sold[ $id ]   = true;
		self::$sold[ (int) wp_get_post_parent_id( $id ) ] = true;
	}

	/**
	 * Purges the pages that show a product after its quantity has changed: all of them if its status changes, those with its quantity if the
	 * text changes.
	 *
	 * @param WC_Product $product Product.
	 */
	public static function after( $product ) {
		$id     = self::number( $product );
		$before = isset( self::$before[ $id ] ) ? self::$before[ $id ] : null;
		$after  = self::state( $id );
		unset( self::$before[ $id ] );
		Myriad_Cache_Queue::add_fields( $id, 'meta-_stock' );
		if ( null === $before || $before[0] !== $after[0] ) {
			unset( self::$sold[ $id ], self::$sold[ (int) wp_get_post_parent_id( $id ) ] );
			Myriad_Cache_Changes::product( $id );
		}
		if ( $before !== $after ) {
			Myriad_Cache_Changes::product_in_sitemap( $id );
			foreach ( array_filter( array( $id, (int) wp_get_post_parent_id( $id ) ) ) as $product_id ) {
				Myriad_Cache_Queue::add( 'st' . $product_id );
			}
		}
	}

	/**
	 * Purges the pages that show the number of sales of a product, and the lists by it.
	 *
	 * @param int $id Product.
	 */
	public static function sales( $id ) {
		Myriad_Cache_Queue::add( 'sl' . (int) $id );
		Myriad_Cache_Queue::add_fields( $id, 'meta-total_sales' );
	}

	/**
	 * Handles a changed quantity or number of sales in `wp_postmeta`.
	 *
	 * @param int    $id   Product.
	 * @param string $name Name of the field.
	 * @return bool False for other fields and other posts.
	 */
	public static function is_field( $id, $name ) {
		if ( ! isset( self::FIELDS[ $name ] ) || ! in_array( get_post_type( $id ), array( 'product', 'product_variation' ), true ) ) {
			return false;
		}
		Myriad_Cache_Queue::add_fields( $id, 'meta', 'meta-' . $name );
		if ( '_stock' !== $name || ! isset( self::$before[ $id ] ) ) {
			Myriad_Cache_Queue::add( self::FIELDS[ $name ] . (int) $id );
		}
		return true;
	}

	/**
	 * Returns whether only the quantity of a product has changed, so that actions that WooCommerce calls when it saves a product mean nothing else.
	 *
	 * @param int $id Product.
	 * @return bool
	 */
	public static function is_sold( $id ) {
		return isset( self::$sold[ (int) $id ] );
	}

	/**
	 * Returns whether WooCommerce deletes or replaces a value of the object cache because the quantity of a product has changed.
	 *
	 * @param string $group Group.
	 * @param string $id    Key.
	 * @return bool
	 */
	public static function is_value_of_sold( $group, $id ) {
		if ( 'transient' === $group ) {
			return self::is_of_sold( (string) preg_replace( '/^[0-9]+:/', '', $id ) );
		}
		$found = array();
		if ( ! self::$sold || ! preg_match( '/^(?:products?|woocommerce|wc)(?:[^a-z]|$)/', $group ) ) {
			return false;
		}
		return self::$before || ( preg_match( '/([0-9]+)$/D', $id, $found ) && self::is_sold( (int) $found[1] ) );
	}

	/**
	 * Returns whether WooCommerce deletes a transient because the quantity of a product has changed.
	 *
	 * @param string $transient Name of the transient.
	 * @return bool
	 */
	public static function is_of_sold( $transient ) {
		$found = array();
		if ( ! self::$sold || ! preg_match( '/^_?wc_\w*?(?:_([0-9]+))?$/D', $transient, $found ) ) {
			return false;
		}
		return self::$before || ( isset( $found[1] ) && self::is_sold( (int) $found[1] ) );
	}
}
