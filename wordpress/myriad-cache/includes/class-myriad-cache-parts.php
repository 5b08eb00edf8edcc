<?php
/**
 * Parts of pages that belong to one visitor.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Responds to Myriad's requests for parts, before WordPress queries posts, and marks the visitors who get no stored
 * pages.
 */
class Myriad_Cache_Parts {

	/**
	 * Cookie of visitors who get all pages from PHP. Myriad and other caches recognize it.
	 */
	const NO_CACHE = 'wordpress_no_cache';

	/**
	 * Placeholder for the page from which a visitor logs out.
	 */
	const BACK = 'myriad-back';

	/**
	 * Seconds for which Myriad may store parts for the visitor. Any change by the visitor discards them.
	 */
	const SECONDS = 600;

	/**
	 * Parts that show the cart.
	 */
	const CARTS = array( 'shop-cart', 'shop-state' );

	/**
	 * Name of the part that is the class of the visitor. Myriad requests it together with the parts of a page before it is known
	 * whether visitors of the class get this page.
	 */
	const VISITOR_CLASS = 'visitor-class';

	/**
	 * Maximum number of parts in one request.
	 */
	const MOST = 64;

	/**
	 * True if the visitor has an admin bar; null until this is determined.
	 *
	 * @var bool|null
	 */
	private static $has_bar = null;

	/**
	 * Output of the admin bar for the head of the page.
	 *
	 * @var string
	 */
	private static $head = '';

	/**
	 * Registers the actions and filters.
	 */
	public static function start() {
		Myriad_Cache_Hooks::add( 'logout_redirect', array( __CLASS__, 'back' ), 10, 2 );
		if ( ! Myriad_Cache_Known::is_offered() ) {
			return;
		}
		// phpcs:ignore WordPress.Security.NonceVerification -- nothing is changed.
		if ( isset( $_GET[ Myriad_Cache_Known::ARGUMENT ] ) && 'GET' === Myriad_Cache_Page::method() ) {
			Myriad_Cache_Hooks::add( 'wp_loaded', array( __CLASS__, 'answer' ), PHP_INT_MAX );
		}
		Myriad_Cache_Hooks::add( 'set_logged_in_cookie', array( __CLASS__, 'logged_in' ), 10, 4 );
		Myriad_Cache_Hooks::add( 'clear_auth_cookie', array( __CLASS__, 'logged_out' ) );
		Myriad_Cache_Hooks::add( 'init', array( __CLASS__, 'check_cookie' ) );
		add_action(
			'woocommerce_init',
			static function () {
				Myriad_Cache_Header::before( array( 'Myriad_Cache_Shop', 'before_header' ) );
			}
		);
		Myriad_Cache_Hooks::add( 'comment_post', array( __CLASS__, 'commented' ), 10, 2 );
	}

	/**
	 * Returns whether a user sees the same pages as all visitors, except for the marked places.
	 *
	 * @param WP_User $user User.
	 * @return bool
	 */
	public static function is_reader( $user ) {
		$may       = array_keys( array_filter( (array) $user->allcaps ) );
		$is_reader = ! array_diff( $may, Myriad_Cache_Known::OF_READERS, Myriad_Cache_Known::OF_MEMBERS, (array) $user->roles );
		/**
		 * Filters whether a user gets stored pages.
		 *
		 * @param bool    $is_reader True if the user may only read.
		 * @param WP_User $user      User.
		 */
		return (bool) apply_filters( 'myriad_cache_is_reader', $is_reader, $user );
	}

	/**
	 * Sets the cookie of visitors who get all pages from PHP.
	 *
	 * @param int    $until Expiration time; 0 for the session of the browser.
	 * @param string $path  Path.
	 * @param string $value Value.
	 */
	public static function set_cookie( $until, $path = COOKIEPATH, $value = '1' ) {
		if ( ! headers_sent() ) {
			setcookie( self::NO_CACHE, $until > 0 && $until < time() ? '' : $value, $until, $path ? $path : '/', (string) COOKIE_DOMAIN, is_ssl(), true );
		}
	}

	/**
	 * Sets the cookie when a user logs in who is not a reader.
	 *
	 * @param string $cookie     Cookie.
	 * @param int    $until      Time at which the browser deletes it.
	 * @param int    $expiration Time at which it becomes invalid.
	 * @param int    $user_id    User.
	 */
	public static function logged_in( $cookie, $until, $expiration, $user_id ) {
		$user = get_userdata( $user_id );
		if ( $user && ! self::is_reader( $user ) ) {
			self::set_cookie( (int) $until );
		}
	}

	/**
	 * Deletes the cookie when a user logs out.
	 */
	public static function logged_out() {
		self::set_cookie( 1 );
	}

	/**
	 * Sets the cookie for users who logged in before the plugin was installed, or who got more capabilities since.
	 */
	public static function check_cookie() {
		if ( ! isset( $_COOKIE[ self::NO_CACHE ] ) && is_user_logged_in() && ! self::is_reader( wp_get_current_user() ) ) {
			self::set_cookie( 0 );
		}
	}

	/**
	 * Sets the cookie for the page of a comment that awaits moderation, for a day: only its author sees the comment.
	 *
	 * @param int        $comment_id Comment.
	 * @param int|string $status     1 if all visitors see it.
	 */
	public static function commented( $comment_id, $status ) {
		$comment = get_comment( $comment_id );
		$is_kept = is_user_logged_in() || isset( $_POST['wp-comment-cookies-consent'] ); // phpcs:ignore WordPress.Security.NonceVerification -- nothing is changed.
		if ( $comment && $is_kept && '1' !== (string) $status && 'spam' !== $status ) {
			self::set_cookie( time() + DAY_IN_SECONDS, (string) wp_parse_url( get_permalink( (int) $comment->comment_post_ID ), PHP_URL_PATH ) );
		}
	}

	/**
	 * Returns the address to which a visitor is redirected after logging out.
	 *
	 * @param string $address   Address.
	 * @param string $requested Address in the link.
	 * @return string
	 */
	public static function back( $address, $requested = '' ) {
		if ( self::BACK !== $requested ) {
			return $address;
		}
		$page = wp_get_referer();
		return $page ? $page : home_url( '/' );
	}

	/**
	 * Responds with the requested parts.
	 */
	public static function answer() {
		// phpcs:ignore WordPress.Security -- names are compared with known names.
		$names = explode( ',', is_string( $_GET[ Myriad_Cache_Known::ARGUMENT ] ) ? $_GET[ Myriad_Cache_Known::ARGUMENT ] : '' );
		Myriad_Cache_Hooks::add( 'logout_url', array( __CLASS__, 'log_out_url' ), PHP_INT_MAX, 2 );
		if ( array_filter( $names, array( __CLASS__, 'is_of_shop' ) ) ) {
			Myriad_Cache_Private_Cart::add_tags();
			header( 'Surrogate-Key: ' . implode( ' ', Myriad_Cache_Tags::all() ) );
		}
		$body = '';
		foreach ( array_slice( array_unique( $names ), 0, self::MOST ) as $name ) {
			if ( 'shop-notices' === $name && in_array( self::VISITOR_CLASS, $names, true ) && Myriad_Cache_Shop::may_have_notices() ) {
				continue; // Notices are shown once, and the visitor may not get the stored page.
			}
			$part = self::part( $name );
			if ( null !== $part ) {
				$body .= $name . ' ' . strlen( $part ) . ' ' . self::seconds( $name, $part ) . "\n" . $part . "\n";
			}
		}
		while ( ob_get_level() > 0 ) {
			ob_end_clean();
		}
		status_header( 200 );
		header( 'Content-Type: application/x-myriad-fragments' );
		header( 'Cache-Control: private, max-age=' . self::SECONDS );
		header( 'X-Content-Type-Options: nosniff' );
		echo $body; // phpcs:ignore WordPress.Security.EscapeOutput -- each part is already escaped.
		exit;
	}

	/**
	 * Returns whether a part shows the cart.
	 *
	 * @param string $name Name.
	 * @return bool
	 */
	private static function is_of_shop( $name ) {
		return in_array( $name, self::CARTS, true ) || Myriad_Cache_Fragments::is_name( $name );
	}

	/**
	 * Returns the time for which Myriad may store a part for the visitor. Notices are deleted when they are shown.
	 *
	 * @param string $name Name.
	 * @param string $part Part.
	 * @return int Seconds.
	 */
	private static function seconds( $name, $part ) {
		if ( 'shop-notices' === $name && '' !== trim( $part ) ) {
			return 0;
		}
		return self::is_of_shop( $name ) && '' !== trim( $part ) ? Myriad_Cache_Private_Cart::seconds() : self::SECONDS;
	}

	/**
	 * Returns a part.
	 *
	 * @param string $name Name.
	 * @return string|null Null if no part has this name.
	 */
	public static function part( $name ) {
		$is_in     = is_user_logged_in();
		$commenter = wp_get_current_commenter();
		switch ( $name ) {
			case 'body-class':
				return $is_in ? ' logged-in' . ( self::has_bar() ? ' admin-bar no-customize-support' : '' ) : '';
			case 'body-class-below-bar': // All visitors have a bar.
				return $is_in ? ' logged-in' : '';
			case 'head':
				return self::has_bar() ? self::printed( array( wp_styles(), 'do_items' ), 'admin-bar' ) . self::$head : '';
			case 'admin-bar':
				// Above the page, the bar needs no link to itself.
				$GLOBALS['wp_actions']['wp_body_open'] = 1; // phpcs:ignore WordPress.WP.GlobalVariablesOverride -- its callbacks must not run.
				return self::has_bar() ? self::printed( 'wp_admin_bar_render' ) : '';
			case 'admin-bar-below':
				return self::has_bar() ? self::printed( 'wp_admin_bar_render' ) : '';
			case 'footer':
				return self::has_bar() ? self::printed( array( wp_scripts(), 'do_items' ), 'admin-bar' ) : '';
			case 'guest':
				return $is_in ? '<!--' : '';
			case 'guest-end':
				return $is_in ? '-->' : '';
			case 'log-in-class':
				return $is_in ? 'logged-in' : 'logged-out';
			case 'log-out':
			case 'log-out-back':
				return $is_in ? wp_loginout( 'log-out' === $name ? '' : self::BACK, false ) : '';
			case 'site-admin':
				return $is_in ? (string) wp_register( '<li>', '</li>', false ) : '';
			case 'logged-in-as':
				return $is_in ? self::logged_in_as() : '';
			case 'commenter-name':
				return esc_attr( $commenter['comment_author'] );
			case 'commenter-email':
				return esc_attr( $commenter['comment_author_email'] );
			case 'commenter-url':
				return esc_attr( $commenter['comment_author_url'] );
			case 'commenter-consent':
				return '' === (string) $commenter['comment_author_email'] ? '' : ' checked';
			case 'commenter-consent-xhtml':
				return '' === (string) $commenter['comment_author_email'] ? '' : ' checked="checked"';
			case self::VISITOR_CLASS:
				return Myriad_Cache_Comparison::is_reader() ? Myriad_Cache_Visitor::class_of( Myriad_Cache_Visitor::facts() ) : '';
			case 'shop-account':
				return Myriad_Cache_Shop::account_label();
			case 'shop-cart':
				return Myriad_Cache_Shop::cart();
			case 'shop-state':
				return Myriad_Cache_Shop::state();
			case 'shop-notices':
				return Myriad_Cache_Shop::take_notices();
			default:
				return Myriad_Cache_Fragments::is_name( $name ) ? Myriad_Cache_Fragments::part( $name ) : self::nonce( $name );
		}
	}

	/**
	 * Returns the output of a function.
	 *
	 * @param callable $printer Function.
	 * @param mixed    ...$args Arguments.
	 * @return string
	 */
	public static function printed( $printer, ...$args ) {
		ob_start();
		$printer( ...$args );
		return (string) ob_get_clean();
	}

	/**
	 * Returns whether the visitor has an admin bar, and prepares it.
	 *
	 * @return bool
	 */
	private static function has_bar() {
		if ( null === self::$has_bar ) {
			// Only the output of the bar is printed in the head.
			remove_all_actions( 'wp_head' );
			self::$has_bar = (bool) _wp_admin_bar_init();
			self::enqueue_bar();
			self::$head    = self::$has_bar ? self::printed( 'do_action', 'wp_head' ) : '';
		}
		return self::$has_bar;
	}

	/**
	 * Adds the styles of the admin bar to its style sheet, as WordPress does since 6.4. The callbacks that print them in the
	 * head are deprecated; these functions remove them.
	 */
	private static function enqueue_bar() {
		foreach ( array( 'wp_enqueue_admin_bar_header_styles', 'wp_enqueue_admin_bar_bump_styles' ) as $enqueue ) {
			if ( self::$has_bar && function_exists( $enqueue ) ) {
				$enqueue();
			}
		}
	}

	/**
	 * Returns the line above the comment form that names the user, from the form of a post that does not exist.
	 *
	 * @return string
	 */
	private static function logged_in_as() {
		$line = '';
		$take = static function ( $defaults ) use ( &$line ) {
			$line = isset( $defaults['logged_in_as'] ) ? $defaults['logged_in_as'] : '';
			return $defaults;
		};
		$post = new WP_Post(
			(object) array(
				'ID'             => 0,
				'comment_status' => 'open',
				'post_type'      => 'post',
				'post_status'    => 'publish',
				'filter'         => 'raw',
			)
		);
		$back = static function () {
			return self::BACK;
		};
		add_filter( 'the_permalink', $back, PHP_INT_MAX );
		add_filter( 'comments_open', '__return_true', PHP_INT_MAX );
		add_filter( 'comment_form_defaults', $take, PHP_INT_MAX );
		self::printed( 'comment_form', array(), $post );
		return (string) apply_filters( 'comment_form_logged_in', $line, wp_get_current_commenter(), wp_get_current_user()->display_name ); // phpcs:ignore WordPress.NamingConventions.PrefixAllGlobals -- WordPress's own.
	}

	/**
	 * Changes the link for logging out: the address of the page is not known here, so that the link contains a
	 * placeholder for it.
	 *
	 * @param string $url      Link.
	 * @param string $redirect Target of the link.
	 * @return string
	 */
	public static function log_out_url( $url, $redirect ) {
		return '' === (string) $redirect ? $url : preg_replace( '/\bredirect_to=[^&"\']*/', 'redirect_to=' . self::BACK, $url );
	}

	/**
	 * Returns a nonce.
	 *
	 * @param string $name Name of its part.
	 * @return string|null
	 */
	private static function nonce( $name ) {
		$words = explode( '.', $name );
		if ( 3 !== count( $words ) || 'n' !== $words[0] ) {
			return null;
		}
		$action = (string) base64_decode( strtr( $words[1], '-_', '+/' ) ); // phpcs:ignore WordPress.PHP.DiscouragedPHPFunctions -- names allow few characters.
		if ( ! hash_equals( Myriad_Cache_Known::nonce_name( $action ), $name ) ) {
			return null;
		}
		return (string) wp_create_nonce( '-1' === $action ? -1 : $action );
	}
}
