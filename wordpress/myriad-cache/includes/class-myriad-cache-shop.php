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
	 * Function with which WooCommerce shows them.
	 */
	const OUTPUT_NOTICES = 'woocommerce_output_all_notices';

	/**
	 * Start of the element with notices.
	 */
	const NOTICES_START = '<div class="woocommerce-notices-wrapper">';

	/**
	 * Files of WooCommerce that read the current user while any page is generated, without effect on the page: they prepare
	 * the session, caches of queries, and data for scripts of the cart.
	 */
	const HARMLESS = array(
		'plugins/woocommerce/includes/class-woocommerce.php',
		'plugins/woocommerce/includes/class-wc-cart',
		'plugins/woocommerce/includes/class-wc-customer.php',
		'plugins/woocommerce/includes/class-wc-frontend-scripts.php',
		'plugins/woocommerce/includes/class-wc-query.php',
		'plugins/woocommerce/includes/class-wc-session-handler.php',
		'plugins/woocommerce/includes/data-stores/class-wc-customer-data-store-session.php',
		'plugins/woocommerce/src/Blocks/Assets/AssetDataRegistry.php',
		'plugins/woocommerce/src/Internal/ComingSoon/',
	);

	/**
	 * Functions of WooCommerce that read the current user in each request without effect on the page, as keys. Others in the same files have one.
	 */
	const HARMLESS_FUNCTIONS = array( 'wc_current_user_is_active' => true );

	/**
	 * Shortcodes and blocks that show data of the customer, on any page.
	 */
	const PERSONAL = '/^woocommerce(?:_cart|_checkout|_my_account|_order_tracking|_messages|\/(?:cart|checkout|customer-account|my-account|order-confirmation|classic-shortcode)(?:-|$))/';

	/**
	 * Block with a link to the customer's account, and the label of the link in it, as text or for screen readers.
	 */
	const ACCOUNT_BLOCK = 'woocommerce/customer-account';
	const ACCOUNT_LABEL = '/(<a\b[^<>]*\baria-label="|<span class="label">)([^"<>]*)(?=["<])/';

	/**
	 * Filter of the data for scripts of interactive blocks; WooCommerce's blocks read the cart there.
	 */
	const STATE = 'script_module_data_@wordpress/interactivity';

	/**
	 * Begins to mark places.
	 */
	public static function start() {
		Myriad_Cache_Hooks::add( self::STATE, array( __CLASS__, 'mark_state' ), PHP_INT_MAX );
		Myriad_Cache_Hooks::add( 'pre_do_shortcode_tag', array( __CLASS__, 'note_shortcode' ), PHP_INT_MAX, 2 );
		Myriad_Cache_Hooks::add( 'wp', array( __CLASS__, 'start_blocks' ), PHP_INT_MAX );
		Myriad_Cache_Hooks::add( 'wp', array( __CLASS__, 'await_notices' ), PHP_INT_MAX );
		Myriad_Cache_Hooks::add( 'woocommerce_before_mini_cart', array( __CLASS__, 'begin_cart' ), PHP_INT_MIN );
		Myriad_Cache_Hooks::add( 'woocommerce_after_mini_cart', array( __CLASS__, 'end_cart' ), PHP_INT_MAX );
		Myriad_Cache_Fragments::start();
		Myriad_Cache_Fragments::note_reads();
	}

	/**
	 * Observes the blocks that show data of the customer. A filter of all blocks would be called hundreds of times for a page.
	 */
	public static function start_blocks() {
		$names = implode( "\n", array_keys( WP_Block_Type_Registry::get_instance()->get_all_registered() ) );
		foreach ( false === strpos( $names, 'woocommerce' ) ? array() : preg_grep( self::PERSONAL, explode( "\n", $names ) ) as $name ) {
			Myriad_Cache_Hooks::add( 'render_block_' . $name, array( __CLASS__, 'note_block' ), PHP_INT_MAX, 2 );
		}
	}

	/**
	 * Excludes known visitors from a page with a shortcode that shows data of the customer.
	 *
	 * @param string|false $output Output, if another plugin has made it.
	 * @param string       $tag    Name of the shortcode.
	 * @return string|false
	 */
	public static function note_shortcode( $output, $tag ) {
		if ( preg_match( self::PERSONAL, (string) $tag ) ) {
			Myriad_Cache_Known::refuse( 'the shortcode ' . $tag );
		}
		return $output;
	}

	/**
	 * Excludes known visitors from a page with a block that shows data of the customer. Of the block with the link to the account, only the
	 * label depends on the visitor, and is replaced by a place.
	 *
	 * @param string $output Output of the block.
	 * @param array  $block  Block.
	 * @return string
	 */
	public static function note_block( $output, $block ) {
		$name  = isset( $block['blockName'] ) ? $block['blockName'] : '';
		$label = static function ( $text ) {
			return Myriad_Cache_Known::place( 'shop-account', $text );
		};
		$shown = self::ACCOUNT_BLOCK === $name && empty( $block['attrs']['hasDropdownNavigation'] ) ? self::with_account_label( $output, $label ) : null;
		if ( null === $shown ) {
			Myriad_Cache_Known::refuse( 'the block ' . $name );
		}
		return null === $shown ? $output : $shown;
	}

	/**
	 * Replaces the label of the link in the block with the link to the account.
	 *
	 * @param string                   $output  Output of the block.
	 * @param callable(string): string $replace Function that returns the text in place of the label.
	 * @return string|null Null if the block does not have one label.
	 */
	private static function with_account_label( $output, $replace ) {
		$shown = preg_replace_callback(
			self::ACCOUNT_LABEL,
			static function ( $found ) use ( $replace ) {
				return $found[1] . $replace( $found[2] );
			},
			$output,
			-1,
			$count
		);
		return 1 === $count ? $shown : null;
	}

	/**
	 * Encloses the label of the link to the account in marks for a comparison.
	 *
	 * @param string $output Output of the block.
	 * @return string
	 */
	public static function enclose_account_label( $output ) {
		$shown = self::with_account_label( $output, array( 'Myriad_Cache_Comparison', 'enclosed' ) );
		return null === $shown ? $output : $shown;
	}

	/**
	 * Returns the label of the link to the account of a visitor, as the block shows it.
	 *
	 * @return string|null Null if WooCommerce has no such block.
	 */
	public static function account_label() {
		$block = render_block(
			array(
				'blockName'    => self::ACCOUNT_BLOCK,
				'attrs'        => array( 'displayStyle' => 'text_only' ),
				'innerBlocks'  => array(),
				'innerHTML'    => '',
				'innerContent' => array(),
			)
		);
		return preg_match( self::ACCOUNT_LABEL, $block, $found ) ? $found[2] : null;
	}

	/**
	 * Prepares the replacement of notices by places.
	 */
	public static function await_notices() {
		foreach ( self::NOTICES as $action ) {
			Myriad_Cache_Hooks::add( $action, array( __CLASS__, 'replace_notices' ), PHP_INT_MIN );
		}
		Myriad_Cache_Hooks::add( 'render_block_woocommerce/store-notices', array( __CLASS__, 'replace_notices_of_block' ), PHP_INT_MAX );
	}

	/**
	 * Replaces the notices of the present action by a place. Templates made of blocks remove the notices from the action before it runs, and
	 * show them in a block. The callback is replaced where it is: a callback that is removed and added again would run after others of the
	 * same priority.
	 */
	public static function replace_notices() {
		global $wp_filter;
		$action   = current_action();
		$priority = has_action( $action, self::OUTPUT_NOTICES );
		if ( false !== $priority ) {
			$wp_filter[ $action ]->callbacks[ $priority ][ self::OUTPUT_NOTICES ]['function'] = array( __CLASS__, 'notices' );
		}
	}

	/**
	 * Adds the place for notices to the block that shows them.
	 *
	 * @param string $block Block.
	 * @return string
	 */
	public static function replace_notices_of_block( $block ) {
		if ( Myriad_Cache_Comparison::is_active() ) {
			return preg_replace_callback(
				'/(' . preg_quote( self::NOTICES_START, '/' ) . ')(.*?)((?:<\/div>\s*){2})$/s',
				static function ( $found ) {
					return $found[1] . Myriad_Cache_Comparison::enclosed( $found[2] ) . $found[3];
				},
				$block
			);
		}
		$empty = self::NOTICES_START . '</div>';
		if ( 1 !== substr_count( $block, $empty ) ) {
			Myriad_Cache_Known::refuse( 'the block with notices of the shop' );
			return $block;
		}
		return str_replace( $empty, self::NOTICES_START . Myriad_Cache_Known::place( 'shop-notices' ) . '</div>', $block );
	}

	/**
	 * Prints the place for notices, or the notices in marks for a comparison.
	 */
	public static function notices() {
		$notices = Myriad_Cache_Comparison::is_active() ? Myriad_Cache_Comparison::enclosed( self::take_notices() ) : Myriad_Cache_Known::place( 'shop-notices' );
		echo self::NOTICES_START . $notices . '</div>'; // phpcs:ignore WordPress.Security.EscapeOutput -- WooCommerce has escaped it.
	}

	/**
	 * Replaces the cart in the data for scripts by a place, or by marks for a comparison.
	 *
	 * @param mixed $data Data.
	 * @return mixed
	 */
	public static function mark_state( $data ) {
		if ( isset( $data['state']['woocommerce']['cart'] ) && ( Myriad_Cache_Comparison::is_active() || Myriad_Cache_Known::is_active() ) ) {
			$text = self::json( $data['state']['woocommerce']['cart'] );

			$data['state']['woocommerce']['cart'] = Myriad_Cache_Comparison::is_active() ? Myriad_Cache_Comparison::enclosed_value( $text ) : Myriad_Cache_Known::place_value( 'shop-state', $text );
		}
		return $data;
	}

	/**
	 * Returns a value as WordPress prints it in data for scripts.
	 *
	 * @param mixed $value Value.
	 * @return string
	 */
	private static function json( $value ) {
		return (string) wp_json_encode( $value, JSON_HEX_TAG | JSON_UNESCAPED_SLASHES | ( is_utf8_charset() ? JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_LINE_TERMINATORS : 0 ) );
	}

	/**
	 * Returns the cart of a visitor for scripts, as WooCommerce's blocks get it.
	 *
	 * @return string|null Null if WooCommerce has no such blocks.
	 */
	public static function state() {
		$package   = 'Automattic\WooCommerce\Blocks\Package';
		$hydration = 'Automattic\WooCommerce\Blocks\Domain\Services\Hydration';
		if ( ! class_exists( $package ) || ! class_exists( $hydration ) || ! function_exists( 'WC' ) || ! isset( WC()->cart ) || ! function_exists( 'is_utf8_charset' ) ) {
			return null;
		}
		try {
			$cart = $package::container()->get( $hydration )->get_rest_api_response_data( '/wc/store/v1/cart' );
			return isset( $cart['body'] ) ? self::json( $cart['body'] ) : null;
		} catch ( Throwable $error ) {
			return null; // The visitor gets the cart of the stored page, which scripts update.
		}
	}

	/**
	 * Encloses notices, the cart and the label of the link to the account in marks for a comparison.
	 */
	public static function enclose() {
		Myriad_Cache_Hooks::add( self::STATE, array( __CLASS__, 'mark_state' ), PHP_INT_MAX );
		self::await_notices();
		Myriad_Cache_Hooks::add( 'woocommerce_before_mini_cart', array( __CLASS__, 'begin_cart' ), PHP_INT_MIN );
		Myriad_Cache_Hooks::add( 'woocommerce_after_mini_cart', array( __CLASS__, 'enclose_cart' ), PHP_INT_MAX );
		Myriad_Cache_Hooks::add( 'render_block_' . self::ACCOUNT_BLOCK, array( __CLASS__, 'enclose_account_label' ), PHP_INT_MAX );
	}

	/**
	 * Prints the cart in marks.
	 */
	public static function enclose_cart() {
		Myriad_Cache_Fragments::change_depth( -1 );
		echo Myriad_Cache_Comparison::enclosed( (string) ob_get_clean() ); // phpcs:ignore WordPress.Security.EscapeOutput -- WooCommerce has escaped it.
	}

	/**
	 * Begins to buffer the cart, which is the text for other visitors.
	 */
	public static function begin_cart() {
		Myriad_Cache_Fragments::change_depth( 1 );
		ob_start();
	}

	/**
	 * Prints the place for the cart.
	 */
	public static function end_cart() {
		Myriad_Cache_Fragments::change_depth( -1 );
		echo Myriad_Cache_Known::place( 'shop-cart', (string) ob_get_clean() ); // phpcs:ignore WordPress.Security.EscapeOutput -- letters and digits.
	}

	/**
	 * Value of the cookie Myriad_Cache_Parts::NO_CACHE of customers whose taxes differ from those of anonymous visitors.
	 */
	const TAX_COOKIE = 'tax';

	/**
	 * Reports notices to Myriad, which may have stored that the visitor has none, and checks the taxes of the customer.
	 */
	public static function before_header() {
		if ( ! function_exists( 'WC' ) || empty( WC()->session ) || ! WC()->session->has_session() ) {
			return;
		}
		if ( function_exists( 'wc_notice_count' ) && wc_notice_count() > 0 ) {
			header( 'X-Myriad-Private-Purge: 1' );
		}
		if ( ! empty( WC()->customer ) ) {
			self::check_tax();
		}
	}

	/**
	 * Sets or deletes the cookie that sends all requests of the customer to PHP, because the location of the customer changes the prices.
	 */
	private static function check_tax() {
		// phpcs:ignore WordPress.Security.ValidatedSanitizedInput -- it is compared, and never shown.
		$cookie  = isset( $_COOKIE[ Myriad_Cache_Parts::NO_CACHE ] ) ? $_COOKIE[ Myriad_Cache_Parts::NO_CACHE ] : '';
		$differs = self::has_other_taxes( WC()->customer );
		if ( $differs && '' === $cookie ) {
			Myriad_Cache_Parts::set_cookie( 0, COOKIEPATH, self::TAX_COOKIE );
		} elseif ( ! $differs && self::TAX_COOKIE === $cookie ) {
			Myriad_Cache_Parts::set_cookie( 1 );
		}
	}

	/**
	 * Returns whether the taxes of a customer differ from those of anonymous visitors.
	 *
	 * @param WC_Customer $customer Customer.
	 * @return bool
	 */
	private static function has_other_taxes( $customer ) {
		if ( ! wc_tax_enabled() ) {
			return false;
		}
		if ( $customer->is_vat_exempt() ) {
			return true;
		}
		$other = wc_get_customer_default_location();
		$other = array( $other['country'], $other['state'], '', '' );
		if ( 'base' === get_option( 'woocommerce_tax_based_on' ) || array_values( $customer->get_taxable_address() ) === $other ) {
			return false;
		}
		return self::all_rates( array_values( $customer->get_taxable_address() ) ) !== self::all_rates( $other );
	}

	/**
	 * Returns the tax rates of all tax classes at a location.
	 *
	 * @param string[] $location Country, state, postcode and city.
	 * @return array[]
	 */
	public static function all_rates( $location ) {
		$rates = array();
		foreach ( array_merge( array( '' ), WC_Tax::get_tax_class_slugs() ) as $class ) {
			$rates[] = self::rates( $location, $class );
		}
		return $rates;
	}

	/**
	 * Returns the tax rates at a location.
	 *
	 * @param string[] $location Country, state, postcode and city.
	 * @param string   $tax_class Tax class.
	 * @return array
	 */
	private static function rates( $location, $tax_class ) {
		list( $country, $state, $postcode, $city ) = $location;
		return WC_Tax::find_rates( compact( 'country', 'state', 'postcode', 'city', 'tax_class' ) );
	}

	/**
	 * Returns the cart of a visitor.
	 *
	 * @return string
	 */
	public static function cart() {
		return function_exists( 'woocommerce_mini_cart' ) ? Myriad_Cache_Parts::printed( 'woocommerce_mini_cart' ) : '';
	}

	/**
	 * Returns whether the visitor may have notices that were not shown.
	 *
	 * @return bool
	 */
	public static function may_have_notices() {
		return function_exists( 'wc_notice_count' ) ? wc_notice_count() > 0 : function_exists( 'wc_print_notices' );
	}

	/**
	 * Returns the notices of a visitor, and deletes them.
	 *
	 * @return string
	 */
	public static function take_notices() {
		return function_exists( 'wc_print_notices' ) ? (string) wc_print_notices( true ) : '';
	}
}
