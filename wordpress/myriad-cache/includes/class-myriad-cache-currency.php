<?php
/**
 * Location of the visitor, and currency that the visitor has chosen.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Prevents that a page with the prices for one visitor is stored for others.
 *
 * Shared pages are generated without the address of the visitor. WooCommerce and currency switchers still get it if they determine a
 * country or currency with it; the page is then stored only if its key contains the result, or if the page does not show it.
 */
class Myriad_Cache_Currency {

	/**
	 * Files of WooCommerce, below wp-content.
	 */
	const SHOP = 'plugins/woocommerce/';

	/**
	 * Cookies of switchers with the currency that they have determined by the address, by a class that exists if the switcher is active.
	 */
	const SWITCHERS = array(
		'WOOMULTI_CURRENCY_F_Data'                       => 'wmc_current_currency',
		'WOOMULTI_CURRENCY_Data'                         => 'wmc_current_currency',
		'Aelia\WC\CurrencySwitcher\WC_Aelia_CurrencySwitcher' => 'aelia_cs_selected_currency',
		'WCML_Multi_Currency'                            => 'wcml_client_currency',
	);

	/**
	 * True while WooCommerce determines the country with the address of the visitor.
	 *
	 * @var bool
	 */
	private static $is_locating = false;

	/**
	 * Begins to observe the page.
	 */
	public static function start() {
		Myriad_Cache_Hooks::add( 'woocommerce_geolocate_ip', array( __CLASS__, 'locate' ), PHP_INT_MAX, 4 );
		Myriad_Cache_Hooks::add( 'wp_loaded', array( __CLASS__, 'observe' ), PHP_INT_MAX );
	}

	/**
	 * Returns whether plugins read the address of the visitor themselves during `init`, to choose a currency.
	 *
	 * @return bool
	 */
	public static function needs_address() {
		return '' !== self::switcher();
	}

	/**
	 * Returns the cookie of a switcher that chooses the currency by address; an empty string without one.
	 *
	 * @return string
	 */
	private static function switcher() {
		foreach ( self::SWITCHERS as $name => $cookie ) {
			if ( class_exists( $name, false ) && self::chooses_by_address( $cookie ) ) {
				return $cookie;
			}
		}
		return '';
	}

	/**
	 * Returns whether the settings of a switcher choose the currency by address.
	 *
	 * @param string $cookie Cookie of the switcher.
	 * @return bool
	 */
	private static function chooses_by_address( $cookie ) {
		$of = static function ( $option, $name ) {
			$settings = get_option( $option );
			return is_array( $settings ) && isset( $settings[ $name ] ) ? $settings[ $name ] : '';
		};
		switch ( $cookie ) {
			case 'wmc_current_currency':
				return (int) $of( 'woo_multi_currency_params', 'auto_detect' ) > 0;
			case 'aelia_cs_selected_currency':
				return ! in_array( $of( 'wc_aelia_currency_switcher', 'ipgeolocation_enabled' ), array( '', '0', 0, false ), true );
			default:
				return 'by_location' === $of( '_wcml_settings', 'currency_mode' );
		}
	}

	/**
	 * Returns whether WOOCS stores the currency of visitors by their addresses.
	 *
	 * @return bool
	 */
	private static function is_stored_by_address() {
		return class_exists( 'WOOCS', false ) && in_array( get_option( 'woocs_storage', 'transient' ), array( 'transient', 'memcached', 'redis' ), true );
	}

	/**
	 * Generates the page in the default currency, if a script of WOOCS then inserts the prices in the currency of each visitor.
	 *
	 * @return bool True if it does.
	 */
	private static function use_default_currency() {
		global $WOOCS; // phpcs:ignore WordPress.NamingConventions -- the other plugin's own.
		if ( ! get_option( 'woocs_shop_is_cached', 0 ) || ! isset( $WOOCS->current_currency, $WOOCS->default_currency ) ) {
			return false;
		}
		$WOOCS->current_currency = $WOOCS->default_currency;
		return true;
	}

	/**
	 * Observes what the page shows.
	 */
	public static function observe() {
		$cookie = self::switcher();
		if ( ( self::is_stored_by_address() && ! self::use_default_currency() ) || ( '' !== $cookie && ! isset( $_COOKIE[ $cookie ] ) ) ) {
			Myriad_Cache_Hooks::add( 'woocommerce_currency', array( __CLASS__, 'note_currency' ), PHP_INT_MAX );
		}
		// Without a shop, the option does not exist, so that each page would query it.
		if ( ( function_exists( 'WC' ) || class_exists( 'WC_Geolocation', false ) ) && 'geolocation' === get_option( 'woocommerce_default_customer_address' ) && ! self::has_keyed_country() ) {
			Myriad_Cache_Hooks::add( 'woocommerce_get_tax_location', array( __CLASS__, 'note_taxes' ), PHP_INT_MAX );
			Myriad_Cache_Hooks::add( 'woocommerce_customer_get_billing_country', array( __CLASS__, 'note_country' ), PHP_INT_MAX );
			Myriad_Cache_Hooks::add( 'woocommerce_customer_get_shipping_country', array( __CLASS__, 'note_country' ), PHP_INT_MAX );
		}
	}

	/**
	 * Returns whether the key of the page contains the country in a header field that WooCommerce reads.
	 *
	 * @return bool
	 */
	private static function has_keyed_country() {
		return (bool) array_intersect( array( 'HTTP_CF_IPCOUNTRY', 'HTTP_X_COUNTRY_CODE' ), Myriad_Cache_Address::keyed_fields() );
	}

	/**
	 * Determines the country with the address of the visitor, if the key of the page contains the country or if the page is not stored.
	 *
	 * @param string|false $country      Country of another filter, or false.
	 * @param string       $address      Address; empty for that of the visitor.
	 * @param bool         $fallback     True to try other means.
	 * @param bool         $api_fallback True to request other servers.
	 * @return string|false
	 */
	public static function locate( $country, $address = '', $fallback = false, $api_fallback = true ) {
		if ( false !== $country || self::$is_locating || '' !== (string) $address || ! Myriad_Cache_Address::is_hidden() || self::has_keyed_country() ) {
			return $country;
		}
		$is_shop = self::is_shop_call( 'geolocate_ip' );
		if ( $is_shop && 0 !== strpos( (string) get_option( 'woocommerce_default_customer_address' ), 'geolocation' ) ) {
			return $country;
		}
		if ( ! $is_shop ) {
			self::refuse( 'a plugin determines the country of the visitor' );
		}
		self::$is_locating = true;
		Myriad_Cache_Address::restore();
		$found = WC_Geolocation::geolocate_ip( '', $fallback, $api_fallback );
		Myriad_Cache_Address::hide();
		self::$is_locating = false;
		return $found['country'];
	}

	/**
	 * Returns whether WooCommerce itself has called a function or method.
	 *
	 * @param string $name Name of the function.
	 * @return bool
	 */
	private static function is_shop_call( $name ) {
		// phpcs:ignore WordPress.PHP.DevelopmentFunctions -- only the backtrace contains the caller.
		foreach ( debug_backtrace( DEBUG_BACKTRACE_IGNORE_ARGS, 12 ) as $frame ) {
			if ( $name === $frame['function'] && isset( $frame['file'] ) ) {
				return false !== strpos( wp_normalize_path( $frame['file'] ), '/' . self::SHOP );
			}
		}
		return true;
	}

	/**
	 * Excludes a page from the cache that shows prices in the currency of the visitor.
	 *
	 * @param string $currency Currency.
	 * @return string
	 */
	public static function note_currency( $currency ) {
		self::refuse( 'the currency of the visitor' );
		return $currency;
	}

	/**
	 * Excludes a page from the cache that shows prices with the taxes for the country of the visitor.
	 *
	 * @param array $location Location.
	 * @return array
	 */
	public static function note_taxes( $location ) {
		self::refuse( 'the taxes for the country of the visitor' );
		return $location;
	}

	/**
	 * Excludes a page from the cache if another plugin reads the country of the visitor.
	 *
	 * @param string $country Country.
	 * @return string
	 */
	public static function note_country( $country ) {
		if ( ! self::is_shop_call( substr( (string) current_filter(), strlen( 'woocommerce_customer_' ) ) ) ) {
			self::refuse( 'the country of the visitor' );
		}
		return $country;
	}

	/**
	 * Excludes the page from the cache.
	 *
	 * @param string $reason Reason.
	 */
	private static function refuse( $reason ) {
		Myriad_Cache_Page::limit( 0 );
		Myriad_Cache_Known::refuse( $reason );
	}
}
