<?php
/**
 * Page that is being generated: its tags and its validity.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Sends the tags and the validity of a page in header fields.
 */
class Myriad_Cache_Page {

	/**
	 * Default validity of a page, in hours. It may be long, because purges are exact.
	 */
	const HOURS = 24;

	/**
	 * Seconds for which the nonce of a page remains valid after the page is replaced, so that visitors can still use
	 * it.
	 */
	const NONCE_RESERVE = HOUR_IN_SECONDS;

	/**
	 * Maximum validity of this page in seconds, because of what it shows.
	 *
	 * @var int
	 */
	private static $limit = PHP_INT_MAX;

	/**
	 * True if the page shows values that visits change, such as counters.
	 *
	 * @var bool
	 */
	private static $has_counters = false;

	/**
	 * True if Myriad requests a page that may be shared; null before the request was examined.
	 *
	 * @var bool|null
	 */
	private static $is_requested = null;

	/**
	 * True if the header fields were added.
	 *
	 * @var bool
	 */
	private static $has_fields = false;

	/**
	 * True if the page contains a nonce.
	 *
	 * @var bool
	 */
	private static $has_nonce = false;

	/**
	 * Header field with the validity that was added; empty if none was added.
	 *
	 * @var string
	 */
	private static $sent = '';

	/**
	 * Header fields that state a validity, and maximum validity, after the field of this plugin was added.
	 *
	 * @var array
	 */
	private static $settled = array();

	/**
	 * Output so far.
	 *
	 * @var string
	 */
	private static $made = '';

	/**
	 * Starts to tag the page, if Myriad requests a page.
	 */
	public static function start() {
		if ( ! self::is_page_request() ) {
			return;
		}
		Myriad_Cache_Notes::start();
		if ( ! self::has_own_cookie() ) {
			Myriad_Cache_Hooks::add( 'nocache_headers', array( __CLASS__, 'share_missing' ), PHP_INT_MAX );
			// Shops determine the country of the visitor during `init`.
			Myriad_Cache_Hooks::add( 'init', array( __CLASS__, 'hide_address' ), PHP_INT_MIN );
			Myriad_Cache_Currency::start();
			Myriad_Cache_Nonces::start();
			Myriad_Cache_Other_Caches::start();
			Myriad_Cache_Empty_Cart::start();
			if ( Myriad_Cache_Known::is_offered() && ! Myriad_Cache_Empty_Cart::is_announced() ) {
				Myriad_Cache_Known::start();
			}
		} elseif ( Myriad_Cache_Known::is_offered() ) {
			Myriad_Cache_Comparison::start();
		}
		Myriad_Cache_Hooks::add( 'template_redirect', array( __CLASS__, 'hold' ), PHP_INT_MIN );
		Myriad_Cache_Header::before( array( __CLASS__, 'tag_early_response' ) );
		Myriad_Cache_Device::start();
	}

	/**
	 * Returns whether Myriad requests a page for a visitor without a personal cookie.
	 *
	 * @return bool
	 */
	public static function is_view() {
		return self::is_page_request() && ! self::has_own_cookie();
	}

	/**
	 * Returns whether Myriad requests a page that may be shared.
	 *
	 * @return bool
	 */
	private static function is_page_request() {
		if ( null === self::$is_requested ) {
			self::$is_requested = self::requests_page();
		}
		return self::$is_requested;
	}

	/**
	 * Returns whether Myriad requests a page that may be shared, as is_page_request().
	 *
	 * @return bool
	 */
	private static function requests_page() {
		$is_page = in_array( self::method(), array( 'GET', 'HEAD' ), true ) && false !== strpos( self::capabilities(), 'myriad=' ) && wp_using_themes();
		// phpcs:ignore WordPress.Security.NonceVerification -- parts of pages are handled elsewhere.
		$is_other = isset( $_GET[ Myriad_Cache_Known::ARGUMENT ] ) || is_admin() || wp_doing_cron() || wp_doing_ajax() || ( defined( 'XMLRPC_REQUEST' ) && XMLRPC_REQUEST );
		return $is_page && ! $is_other && ! ( defined( 'WP_CLI' ) && WP_CLI );
	}

	/**
	 * Returns the method of the request.
	 *
	 * @return string Empty on the command line.
	 */
	public static function method() {
		return isset( $_SERVER['REQUEST_METHOD'] ) ? (string) $_SERVER['REQUEST_METHOD'] : ''; // phpcs:ignore WordPress.Security.ValidatedSanitizedInput -- it is compared, and never shown.
	}

	/**
	 * Returns the names of the cookies of the request that match a pattern.
	 *
	 * @param string $pattern Regular expression.
	 * @return string[]
	 */
	public static function cookies( $pattern ) {
		return preg_grep( $pattern, array_map( 'strval', array_keys( $_COOKIE ) ) );
	}

	/**
	 * Returns the header field `Surrogate-Capability` of the request.
	 *
	 * @return string
	 */
	private static function capabilities() {
		return isset( $_SERVER['HTTP_SURROGATE_CAPABILITY'] ) ? (string) $_SERVER['HTTP_SURROGATE_CAPABILITY'] : ''; // phpcs:ignore WordPress.Security.ValidatedSanitizedInput -- it is compared, and never shown.
	}

	/**
	 * Returns whether Myriad states a capability in its request.
	 *
	 * @param string $name Capability, such as `ESI/1.0`.
	 * @return bool
	 */
	public static function has_capability( $name ) {
		// WordPress adds a backslash to quotation marks.
		return (bool) preg_match( '#\bmyriad=\\\\?"[^"]*\b' . preg_quote( $name, '#' ) . '\b#', self::capabilities() );
	}

	/**
	 * Returns whether the visitor has a personal cookie: such a page is not shared, and remains as WordPress generates
	 * it.
	 *
	 * @return bool
	 */
	private static function has_own_cookie() {
		return (bool) self::cookies( '/^(?:wordpress_|wp-postpass|comment_author|woocommerce_|wp_woocommerce_|NO_CACHE$|PHPSESSID$)/' );
	}

	/**
	 * Replaces the address of the visitor, unless plugins need it during `init`: then it is replaced afterwards.
	 */
	public static function hide_address() {
		if ( Myriad_Cache_Currency::needs_address() ) {
			Myriad_Cache_Hooks::add( 'wp_loaded', array( 'Myriad_Cache_Address', 'hide' ), PHP_INT_MIN );
		} else {
			Myriad_Cache_Address::hide();
		}
	}

	/**
	 * Permits shared caches to store the page for a missing address, so that a missing file does not cost a page of PHP for each
	 * view. Since WordPress 6.3, `private` forbids that; without it, Myriad stores such pages for ten seconds.
	 *
	 * @param string[] $fields Header fields that forbid caching.
	 * @return string[]
	 */
	public static function share_missing( $fields ) {
		if ( isset( $fields['Cache-Control'] ) && is_404() && ! is_user_logged_in() ) {
			$fields['Cache-Control'] = implode( ', ', array_diff( array_map( 'trim', explode( ',', $fields['Cache-Control'] ) ), array( 'private' ) ) );
		}
		return $fields;
	}

	/**
	 * Buffers the page until it is complete, because its header fields are sent first and name all of its content.
	 */
	public static function hold() {
		if ( is_user_logged_in() ) {
			Myriad_Cache_Known::stop();
			Myriad_Cache_Address::restore();
		} else {
			Myriad_Cache_Nonces::stop_passing();
			// Until the page is complete: a fatal error while the buffer is sent would leave an empty page.
			header( 'X-Myriad-State: incomplete' );
			ob_start( array( __CLASS__, 'take' ) );
		}
	}

	/**
	 * Adds the tags to a response that a plugin completes before the template is selected: a redirect, a sitemap, a closed
	 * site. Without tags, no purge would reach it.
	 */
	public static function tag_early_response() {
		if ( self::$has_fields || did_action( 'template_redirect' ) ) {
			return;
		}
		Myriad_Cache_Options::finish();
		$status = (int) http_response_code();
		if ( ! self::has_own_cookie() && $status >= 300 && $status < 400 ) {
			// The content of other responses is not buffered, and may contain the identifier of the session.
			Myriad_Cache_Session::drop( '' );
		}
		self::send_tags();
	}

	/**
	 * Adds the tags, and prevents storing if a plugin has requested that.
	 *
	 * @return bool True if the response may be stored.
	 */
	private static function send_tags() {
		self::$has_fields = true;
		if ( isset( $_SERVER[ Myriad_Cache_Private_Cart::PARAMETER ] ) ) {
			Myriad_Cache_Private_Cart::add_tags();
		}
		header( 'Surrogate-Key: ' . implode( ' ', Myriad_Cache_Tags::all() ), false );
		$is_announced = Myriad_Cache_Empty_Cart::is_announced();
		$is_forbidden = $is_announced ? ! Myriad_Cache_Empty_Cart::send_fields() : defined( 'DONOTCACHEPAGE' ) && DONOTCACHEPAGE;
		if ( $is_forbidden || self::$limit <= 0 ) {
			header( 'X-Accel-Expires: 0' );
			return false;
		}
		Myriad_Cache_Private_Cart::send_field();
		return true;
	}

	/**
	 * Returns whether the tags of the page were sent. The tags of values that are stored later must be stored at once.
	 *
	 * @return bool
	 */
	public static function is_sent() {
		return self::$has_fields;
	}

	/**
	 * Receives a piece of the page.
	 *
	 * @param string $piece Piece.
	 * @param int    $phase Bits that indicate whether it is the last piece.
	 * @return string Output that is sent now.
	 */
	public static function take( $piece, $phase ) {
		if ( ! self::collect( self::$made, $piece, $phase ) ) {
			return '';
		}
		list( $made, $fields ) = Myriad_Cache_Known::finish( self::$made );
		self::send_head( $fields );
		Myriad_Cache_Other_Caches::refuse();
		self::$made = '';
		Myriad_Cache_Nonces::stop();
		return $made;
	}

	/**
	 * Adds a piece to the output of a buffer that is sent as a whole. A piece that other code discards also discards those before it.
	 *
	 * @param string $made  Output so far.
	 * @param string $piece Piece.
	 * @param int    $phase Bits that indicate whether it is discarded, and whether it is the last piece.
	 * @return bool True if the output is complete.
	 */
	public static function collect( &$made, $piece, $phase ) {
		if ( $phase & PHP_OUTPUT_HANDLER_CLEAN ) {
			$made = '';
		} else {
			$made .= $piece;
		}
		return (bool) ( $phase & PHP_OUTPUT_HANDLER_FINAL );
	}

	/**
	 * Adds the header fields.
	 *
	 * @param string[] $fields Additional items.
	 */
	private static function send_head( $fields ) {
		if ( headers_sent() ) {
			return;
		}
		Myriad_Cache_Nonces::settle_head();
		$state = self::state( self::$made );
		if ( Myriad_Cache_Device::is_used() ) {
			header( 'Vary: User-Agent', false );
		}
		Myriad_Cache_Options::finish();
		if ( ! self::has_own_cookie() ) {
			Myriad_Cache_Session::drop( self::$made );
		}
		foreach ( $fields as $field ) {
			header( $field, false );
		}
		if ( self::send_tags() && ( 200 === http_response_code() || Myriad_Cache_Known::is_icon() ) ) {
			self::$has_nonce = (bool) Myriad_Cache_Nonces::positions( self::$made );
			self::send_validity();
			// Plugins with an outer buffer add their header fields later.
			Myriad_Cache_Header::before( array( __CLASS__, 'send_validity' ) );
		}
		if ( '' === $state && self::$has_counters ) {
			$state = 'counters';
		}
		if ( '' === $state ) {
			header_remove( 'X-Myriad-State' );
		} else {
			header( 'X-Myriad-State: ' . $state );
		}
		Myriad_Cache_Reads::resume();
	}

	/**
	 * Returns the state of the site or the page that is reported to Myriad.
	 *
	 * @param string $page Page.
	 * @return string `maintenance`, `incomplete`, or an empty string.
	 */
	private static function state( $page ) {
		$status = http_response_code();
		if ( 503 === $status ) {
			// WordPress has reached the template, so that a plugin has closed the site.
			return 'maintenance';
		}
		return 200 === $status && ( self::has_failed() || self::is_cut( $page ) ) ? 'incomplete' : '';
	}

	/**
	 * Returns whether PHP stopped with a fatal error.
	 *
	 * @return bool
	 */
	public static function has_failed() {
		$error = error_get_last();
		return $error && in_array( $error['type'], array( E_ERROR, E_PARSE, E_CORE_ERROR, E_COMPILE_ERROR, E_USER_ERROR, E_RECOVERABLE_ERROR ), true );
	}

	/**
	 * Returns whether the template stopped before its footer, with an unclosed body.
	 *
	 * @param string $page Page.
	 * @return bool
	 */
	private static function is_cut( $page ) {
		return did_action( 'wp_head' ) && ! did_action( 'wp_footer' ) && false !== stripos( $page, '<body' ) && false === stripos( $page, '</body' );
	}

	/**
	 * Sends the validity of the page, or shortens the one that another plugin has specified. Myriad uses `X-Accel-Expires` before all
	 * other fields.
	 */
	public static function send_validity() {
		$fields = self::validity_fields();
		if ( array( $fields, self::$limit ) === self::$settled ) {
			return; // Sent before, and nothing has changed since.
		}
		if ( in_array( self::$sent, $fields, true ) ) {
			header_remove( 'X-Accel-Expires' );
			$fields = self::validity_fields();
		}
		self::$sent = '';
		$now        = time();
		$own        = self::validity( $now, self::$has_nonce );
		list( $name, $stated ) = Myriad_Cache_Header::validity( $fields, $now );
		// Cache plugins send one lifetime for all pages; other plugins know their page.
		$most = '' === $name || 'x-litespeed-cache-control' === $name ? $own : self::bound( $now, self::$has_nonce );
		if ( $stated > $most ) {
			self::$sent = 'X-Accel-Expires: ' . $most;
			header( self::$sent );
		}
		self::$settled = array( self::validity_fields(), self::$limit );
	}

	/**
	 * Returns the header fields of the response that state a validity.
	 *
	 * @return string[]
	 */
	private static function validity_fields() {
		return array_values( preg_grep( Myriad_Cache_Header::VALIDITY_FIELDS, headers_list() ) );
	}

	/**
	 * Limits the validity of the page.
	 *
	 * @param int $seconds Maximum validity in seconds.
	 */
	public static function limit( $seconds ) {
		self::$limit = min( self::$limit, $seconds );
	}

	/**
	 * Limits the validity of the page because it shows values that visits change, whose writes purge nothing. Myriad does not
	 * regard other numbers in such a page as a change.
	 */
	public static function limit_for_counters() {
		self::limit( Myriad_Cache_Writes::NOISY_VALIDITY );
		self::$has_counters = true;
	}

	/**
	 * Returns the maximum validity because of what the page shows.
	 *
	 * @param int  $now       Time.
	 * @param bool $has_nonce True if the page contains a nonce.
	 * @return int Seconds.
	 */
	private static function bound( $now, $has_nonce ) {
		if ( ! $has_nonce ) {
			return max( 0, self::$limit );
		}
		// A nonce is valid for the rest of the current half of its lifetime, and for another half.
		$half = max( 2, (int) apply_filters( 'nonce_life', DAY_IN_SECONDS, -1 ) ) / 2; // phpcs:ignore WordPress.NamingConventions.PrefixAllGlobals -- WordPress's own.
		$left = (int) ( ( ceil( $now / $half ) + 1 ) * $half - $now );
		return max( 0, min( self::$limit, $left - min( self::NONCE_RESERVE, (int) ( $half / 4 ) ) ) );
	}

	/**
	 * Returns the validity of the page, if no other plugin specifies it.
	 *
	 * @param int  $now       Time.
	 * @param bool $has_nonce True if the page contains a nonce.
	 * @return int Seconds.
	 */
	public static function validity( $now, $has_nonce ) {
		$validity = min( self::bound( $now, $has_nonce ), (int) round( (float) get_option( 'myriad_cache_hours', self::HOURS ) * HOUR_IN_SECONDS ) );
		$next = isset( $_SERVER['MYRIAD_CLOCK'] ) ? 0 : self::next_scheduled_post();
		if ( $next > 0 ) {
			// Without Myriad's clock, requests of visitors trigger WordPress's cron: the page expires when a post is
			// due, so that a request reaches WordPress.
			$validity = min( $validity, max( 1, $next - $now ) );
		}
		/**
		 * Filters the validity of the page in the cache.
		 *
		 * @param int $validity Seconds.
		 */
		return max( 0, (int) apply_filters( 'myriad_cache_validity', $validity ) );
	}

	/**
	 * Returns the time at which the next scheduled post is due.
	 *
	 * @return int Unix time, or 0.
	 */
	private static function next_scheduled_post() {
		foreach ( (array) _get_cron_array() as $time => $hooks ) {
			if ( is_array( $hooks ) && isset( $hooks['publish_future_post'] ) ) {
				return (int) $time;
			}
		}
		return 0;
	}
}
