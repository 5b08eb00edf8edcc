<?php
/**
 * Comparison of pages for known visitors with stored pages.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Compares the page that WordPress generates for a known visitor with the stored page that Myriad could send instead.
 *
 * While the page is generated, each text for which stored pages have a part (the admin bar, the cart) is enclosed in marks. The complete page
 * without these texts is compared with the stored page without its parts. If they are equal, the response contains the class of the visitor.
 */
class Myriad_Cache_Comparison {

	/**
	 * Maximum length of a page that is compared, in bytes.
	 */
	const MOST = 1000000;

	/**
	 * Age in seconds above which a stored page may differ for another reason than the visitor, such as "three days ago".
	 */
	const MAX_AGE = 600;

	/**
	 * Byte in place of a private text. Each one of the visitor's page must have a part of the stored page at the same position.
	 */
	const PRIVATE_TEXT = "\x04";

	/**
	 * Maximum number of bytes that differ at each rendering in one place.
	 */
	const MOST_NOISE = 64;

	/**
	 * Classes of the body that WordPress adds for users.
	 */
	const BODY_CLASSES = array( 'logged-in', 'admin-bar', 'no-customize-support', 'customize-support' );

	/**
	 * Marks before and after a private text.
	 *
	 * @var string
	 */
	private static $open = '';

	/**
	 * See $open.
	 *
	 * @var string
	 */
	private static $close = '';

	/**
	 * Private values in JSON, by their marks.
	 *
	 * @var array<string, string>
	 */
	private static $values = array();

	/**
	 * Properties of the visitor, and the visitor's number. They are read before the page is sent: plugins that are called then may use
	 * output buffers, which PHP does not permit while a buffer is sent.
	 *
	 * @var array{0: array, 1: string}
	 */
	private static $visitor = array( array(), '' );

	/**
	 * Output so far.
	 *
	 * @var string
	 */
	private static $made = '';

	/**
	 * True once a template is chosen, so that the page is buffered.
	 *
	 * @var bool
	 */
	private static $is_held = false;

	/**
	 * Returns whether Myriad supports pages that must be compared.
	 *
	 * @return bool
	 */
	public static function is_offered() {
		return Myriad_Cache_Page::has_capability( 'compare/1' );
	}

	/**
	 * Prepares the comparison, for a page view of a visitor with a personal cookie. Responses to scripts and to `HEAD` contain no whole page.
	 */
	public static function start() {
		$is_view = 'GET' === Myriad_Cache_Page::method() && empty( $_SERVER['HTTP_X_REQUESTED_WITH'] ) && empty( $_SERVER['HTTP_AUTHORIZATION'] );
		if ( ! $is_view || ! self::is_offered() || isset( $_COOKIE[ Myriad_Cache_Parts::NO_CACHE ] ) || isset( $_COOKIE['NO_CACHE'] ) ) {
			return;
		}
		add_action( 'template_redirect', array( __CLASS__, 'hold' ), PHP_INT_MIN );
		Myriad_Cache_Fragments::start();
		Myriad_Cache_Header::before( array( __CLASS__, 'check_early_response' ) );
	}

	/**
	 * Begins to buffer the page, and to mark private texts.
	 */
	public static function hold() {
		if ( ! self::is_reader() ) {
			return;
		}
		self::$is_held = true;
		self::$visitor = array( Myriad_Cache_Visitor::facts(), Myriad_Cache_Visitor::number() );
		self::$open    = 'mYo' . bin2hex( random_bytes( 6 ) ) . 'z';
		self::$close   = 'mYc' . bin2hex( random_bytes( 6 ) ) . 'z';
		ob_start( array( __CLASS__, 'take' ) );
		Myriad_Cache_Bar::start( array( __CLASS__, 'enclosed_part' ) );
		if ( is_user_logged_in() ) {
			add_filter( 'comment_form_logged_in', array( __CLASS__, 'logged_in_as' ), PHP_INT_MAX );
			add_filter( 'loginout', array( __CLASS__, 'log_in_link' ), PHP_INT_MAX );
			add_filter( 'register', array( __CLASS__, 'register_link' ), PHP_INT_MAX );
		}
		Myriad_Cache_Shop::enclose();
	}

	/**
	 * Returns whether the visitor is a reader, or is not logged in, and has no forged cookie of a cart.
	 *
	 * @return bool
	 */
	public static function is_reader() {
		return Myriad_Cache_Visitor::has_stated_cart() && ( ! is_user_logged_in() || Myriad_Cache_Parts::is_reader( wp_get_current_user() ) );
	}

	/**
	 * Returns a text in marks.
	 *
	 * @param string $text Text.
	 * @return string
	 */
	public static function enclosed( $text ) {
		return self::$open . $text . self::$close;
	}

	/**
	 * Returns whether the current page is compared.
	 *
	 * @return bool
	 */
	public static function is_active() {
		return '' !== self::$open;
	}

	/**
	 * Returns marks for a private value in JSON; the value itself is inserted when the page is complete.
	 *
	 * @param string $text Value, in JSON.
	 * @return string Marks; they must be printed as a string in JSON.
	 */
	public static function enclosed_value( $text ) {
		$marks = self::$open . count( self::$values ) . self::$close;

		self::$values[ '"' . $marks . '"' ] = $text;
		return $marks;
	}

	/**
	 * Returns the text of a part in marks.
	 *
	 * @param string $name Name of the part.
	 * @param string $text Text.
	 * @return string
	 */
	public static function enclosed_part( $name, $text ) {
		return self::enclosed( $text );
	}

	/**
	 * Encloses the text for users above the comment form. Without a text, the stored page has no part.
	 *
	 * @param string $text Text.
	 * @return string
	 */
	public static function logged_in_as( $text ) {
		return '' === $text ? '' : self::enclosed( $text );
	}

	/**
	 * Encloses the link for logging out, unless other code takes it as a value.
	 *
	 * @param string $link Link.
	 * @return string
	 */
	public static function log_in_link( $link ) {
		return Myriad_Cache_Known::is_taken( 'wp_loginout', 1 ) ? $link : self::enclosed( $link );
	}

	/**
	 * Encloses the link to the back office, unless other code takes it as a value.
	 *
	 * @param string $link Link.
	 * @return string
	 */
	public static function register_link( $link ) {
		return Myriad_Cache_Known::is_taken( 'wp_register', 2 ) ? $link : self::enclosed( $link );
	}

	/**
	 * Receives a piece of the page.
	 *
	 * @param string $piece Piece.
	 * @param int    $phase Bits that indicate whether it is the last piece.
	 * @return string Output that is sent now.
	 */
	public static function take( $piece, $phase ) {
		if ( ! Myriad_Cache_Page::collect( self::$made, $piece, $phase ) ) {
			return '';
		}
		self::$made = Myriad_Cache_Fragments::mark( self::$made, array( __CLASS__, 'enclosed_part' ) );
		self::judge( self::$made );
		$page       = str_replace( array( self::$open, self::$close ), '', strtr( self::$made, self::$values ) );
		self::$made = '';
		return $page;
	}

	/**
	 * Compares a response that is sent before a template is chosen, such as a redirect to a login form. Refusals of firewalls concern the
	 * client, not the page.
	 */
	public static function check_early_response() {
		$status = (int) http_response_code();
		if ( ! self::$is_held && $status >= 300 && $status < 500 && ! in_array( $status, array( 401, 403, 429 ), true ) && did_action( 'init' ) && self::is_reader() ) {
			self::$visitor = array( Myriad_Cache_Visitor::facts(), Myriad_Cache_Visitor::number() );
			self::judge( '' );
		}
	}

	/**
	 * Compares a response with the stored page, and reports the result to Myriad if they are equal.
	 *
	 * @param string $made Response with marks; empty if it is no page.
	 */
	private static function judge( $made ) {
		if ( headers_sent() || http_response_code() >= 500 || strlen( $made ) > self::MOST || Myriad_Cache_Page::has_failed() ) {
			return;
		}
		try {
			$stored = self::stored();
			foreach ( $stored as $page ) {
				// With several variants, it is not known which one a different page must be compared with.
				if ( self::judge_by( $page, $made, 1 === count( $stored ) ) ) {
					return;
				}
			}
		} catch ( Throwable $error ) {
			return; // The visitor gets the page anyway.
		}
	}

	/**
	 * Compares a response with the stored page.
	 *
	 * @param array  $stored  State of the stored page.
	 * @param string $made    Response with marks.
	 * @param bool   $is_only True if the visitor would get this page.
	 * @return bool True if the pages are equal.
	 */
	private static function judge_by( $stored, $made, $is_only ) {
		$callers = Myriad_Cache_Callers::in_tags( (array) $stored['tags'] );
		$facts   = self::$visitor[0];
		$class   = Myriad_Cache_Visitor::class_of( $facts );
		if ( ! $callers || Myriad_Cache_Callers::is_different( $class, $callers ) ) {
			return false;
		}
		$shared = self::normal( self::shared_text( $stored['esi'] ) );
		if ( '' === $shared ) {
			return false;
		}
		$place = self::difference( $shared, self::normal( self::without_private( $made ) ) );
		if ( '' === $place ) {
			$same = Myriad_Cache_Callers::add_equal( $facts, $callers, self::$visitor[1] ) ? ', same=' . $stored['esi']['version'] : '';
			header( 'X-Myriad-Visitor: class=' . $class . $same );
			return true;
		}
		if ( ! $is_only ) {
			return false;
		}
		if ( $stored['now_ms'] - $stored['stored_ms'] > self::MAX_AGE * 1000 ) {
			if ( ! Myriad_Cache_Callers::begin_epoch_at_most_each_minute() ) {
				return false; // Visitors must not purge pages as fast as they request them.
			}
		} elseif ( ! Myriad_Cache_Callers::add_different( $facts, $callers, $place ) ) {
			return false;
		}
		// The page that is generated next is another version, which must be compared first.
		Myriad_Cache_Queue::add_url( self::url() );
		return false;
	}

	/**
	 * Returns the address of the current page.
	 *
	 * @return string
	 */
	private static function url() {
		$home = wp_parse_url( home_url( '/' ) );
		// phpcs:ignore WordPress.Security.ValidatedSanitizedInput -- Myriad compares it with the addresses of stored pages.
		return $home['scheme'] . '://' . $home['host'] . ( isset( $home['port'] ) ? ':' . $home['port'] : '' ) . ( isset( $_SERVER['REQUEST_URI'] ) ? $_SERVER['REQUEST_URI'] : '/' );
	}

	/**
	 * Returns the stored pages at the current address that must be compared with this one.
	 *
	 * @return array[] Empty if a variant is of another kind.
	 */
	private static function stored() {
		$told  = Myriad_Cache_Client::ask( 'GET', 'cache/page?body=on&page=' . rawurlencode( self::url() ) );
		$pages = is_array( $told ) && isset( $told['pages'] ) ? (array) $told['pages'] : array();
		foreach ( $pages as $page ) {
			if ( empty( $page['esi']['compared'] ) || ! isset( $page['esi']['body'], $page['esi']['version'] ) || '' === $page['esi']['version'] || $page['fresh_until_ms'] <= $page['now_ms'] ) {
				return array();
			}
		}
		return $pages;
	}

	/**
	 * Returns the stored page for the visitor, with PRIVATE_TEXT in place of each private text.
	 *
	 * @param array $esi Body and parts of the page.
	 * @return string
	 */
	private static function shared_text( $esi ) {
		$whole = '';
		$done  = 0;
		foreach ( (array) $esi['parts'] as $part ) {
			$name   = self::replaced( '/^.*[?&]' . Myriad_Cache_Known::ARGUMENT . '=/', '', (string) $part['src'] );
			$whole .= substr( $esi['body'], $done, $part['at'] - $done ) . self::filled( $name );
			$done   = $part['at'] + $part['instead'];
		}
		$whole .= substr( $esi['body'], $done );
		// Sections for guests are HTML comments for users.
		return is_user_logged_in() ? self::replaced( '/\x02[^\x03]*\x03/', '', $whole ) : strtr( $whole, array( "\x02" => '', "\x03" => '' ) );
	}

	/**
	 * Returns the text with which a part is compared.
	 *
	 * @param string $name Name of the part.
	 * @return string PRIVATE_TEXT for private texts.
	 */
	private static function filled( $name ) {
		switch ( $name ) {
			case 'guest':
				return "\x02";
			case 'guest-end':
				return "\x03";
			case 'log-in-class':
			case 'commenter-name':
			case 'commenter-email':
			case 'commenter-url':
			case 'commenter-consent':
			case 'commenter-consent-xhtml':
				return (string) Myriad_Cache_Parts::part( $name );
			case 'shop-state':
				return '"' . self::PRIVATE_TEXT . '"';
			case 'head':
			case 'admin-bar':
			case 'admin-bar-below':
			case 'footer':
			case 'shop-account':
			case 'shop-cart':
			case 'shop-notices':
				return self::PRIVATE_TEXT;
			case 'log-out':
			case 'log-out-back':
			case 'site-admin':
			case 'logged-in-as':
				return is_user_logged_in() ? self::PRIVATE_TEXT : '';
			default:
				if ( Myriad_Cache_Fragments::is_name( $name ) ) {
					return self::PRIVATE_TEXT;
				}
				return 0 === strpos( $name, 'n.' ) ? (string) Myriad_Cache_Parts::part( $name ) : '';
		}
	}

	/**
	 * Returns the page with PRIVATE_TEXT in place of each private text.
	 *
	 * @param string $made Page with marks.
	 * @return string
	 */
	private static function without_private( $made ) {
		if ( '' === self::$open ) {
			return $made;
		}
		$whole = '';
		$depth = 0;
		foreach ( preg_split( '/(' . self::$open . '|' . self::$close . ')/', $made, -1, PREG_SPLIT_DELIM_CAPTURE ) as $piece ) {
			if ( self::$open === $piece ) {
				++$depth;
			} elseif ( self::$close === $piece ) {
				--$depth;
				$whole .= 0 === $depth ? self::PRIVATE_TEXT : '';
			} elseif ( $depth < 1 ) {
				$whole .= $piece;
			}
		}
		return $whole;
	}

	/**
	 * Removes from a page what browsers compute from the data for scripts, if these data contain the private cart: attributes, items of lists,
	 * and the state of the blocks of the small cart.
	 *
	 * @param string $page Page.
	 * @return string
	 */
	private static function without_computed( $page ) {
		if ( false === strpos( $page, '"' . self::PRIVATE_TEXT . '"' ) ) {
			return $page;
		}
		$at   = (int) strpos( $page, '"state":{' );
		$page = substr( $page, 0, $at ) . self::replaced( '/"woocommerce\/mini-cart[\w-]*":(\{(?:[^{}"]++|"(?:[^"\\\\]++|\\\\.)*+"|(?1))*+\})/', '', substr( $page, $at ) );
		$page = self::replaced( '/<(\w+)\b[^<>]*\sdata-wp-each-child\b[^<>]*+>((?:[^<]++|<(?!\/?\1\b)|<\1\b[^<>]*+>(?2)<\/\1\s*>)*+)<\/\1\s*>/', '', $page );
		return self::checked(
			preg_replace_callback(
				'/<\w+\b[^<>]*\sdata-wp-bind--[^<>]*+>/',
				static function ( $found ) {
					preg_match_all( '/\sdata-wp-bind--([\w-]+)/', $found[0], $bound );
					return preg_replace( '/\s(?:' . implode( '|', $bound[1] ) . ')(?:=(?:"[^"]*"|\'[^\']*\'))?(?=[\s\/>])/', '', $found[0] );
				},
				$page
			)
		);
	}

	/**
	 * Removes from a page what differs for users without an effect that visitors see: the order of white space, rules for
	 * prefetching, the number of the user for scripts of WooCommerce, times, and ids that differ at each rendering.
	 *
	 * @param string $page Page.
	 * @return string
	 */
	private static function normal( $page ) {
		$page = self::checked(
			preg_replace_callback(
				'/(<body\b[^>]*?\bclass=")([^"]*)/i',
				static function ( $found ) {
					return $found[1] . implode( ' ', array_diff( preg_split( '/\s+/', $found[2], -1, PREG_SPLIT_NO_EMPTY ), self::BODY_CLASSES ) );
				},
				$page,
				1
			)
		);
		$page = self::replaced( '#<script type="speculationrules">.*?</script>#s', '', $page );
		$page = self::replaced( '/("|%22)currentUserId\1(:|%3A)\d+/', '', $page );
		// Plugins for search engines mark their tags for scripts of the admin bar.
		$page = self::replaced( '/(<(?:meta|link)\b[^<>]*?) class=(["\'])[\w -]*\2/', '$1', $page );
		$page = self::replaced( '/ (?:loading|fetchpriority|decoding)=(["\'])[a-z]*\1/', '', $page );
		$page = self::replaced( '/<link\b[^<>]*\brel=(["\'])(?:prefetch|prerender|preconnect|dns-prefetch)\1[^<>]*>/', '', $page );
		// Browsers compute these texts from the data for scripts, which contains the cart; WooCommerce's buttons also read the quantity there.
		$page = self::replaced( '/(<(\w+)\b[^<>]*\bdata-wp-text=[^<>]*>)[^<>]*(?=<\/\2>)/', '$1', $page );
		$page = self::replaced( '/("|&quot;)tempQuantity\1:\d+/', '', $page );
		$page = self::without_computed( $page );
		// Times, and the ids of uniqid(), which begin with the time.
		$page = self::checked(
			preg_replace_callback(
				'/(?<![0-9A-Za-z])(?:(1\d{9})(?:\d{3})?|([0-9a-f]{8})[0-9a-f]{5})(?![0-9A-Za-z])/',
				static function ( $found ) {
					$time = isset( $found[2] ) ? (int) hexdec( $found[2] ) : (int) $found[1];
					return abs( $time - time() ) < 2 * DAY_IN_SECONDS ? '0' : $found[0];
				},
				$page
			)
		);
		return self::replaced( array( '/\s+/', '/\s*([<>])\s*/' ), array( ' ', '$1' ), $page );
	}

	/**
	 * Returns the text of the stored page at the first difference.
	 *
	 * @param string $stored Stored page; bytes with the value 1 differ at each rendering.
	 * @param string $made   Page for the visitor.
	 * @return string Empty if the pages are equal.
	 */
	private static function difference( $stored, $made ) {
		$at = 0;
		foreach ( preg_split( '/\x01+/', $stored ) as $number => $text ) {
			// After noise (bytes that differ at each rendering), the next text may begin up to MOST_NOISE bytes later.
			$found = 0 === $number ? 0 : ( '' === $text ? $at : strpos( substr( $made, $at, self::MOST_NOISE + strlen( $text ) ), $text ) );
			if ( 0 === $number && 0 === strncmp( $made, $text, strlen( $text ) ) ) {
				$at = strlen( $text );
			} elseif ( 0 === $number || false === $found ) {
				return self::excerpt( $text, 0 === $number ? strspn( $text ^ substr( $made, 0, strlen( $text ) ), "\0" ) : 0 );
			} else {
				$at += '' === $text ? 0 : $found + strlen( $text );
			}
		}
		$left = strlen( $made ) - $at;
		return $left <= ( "\x01" === substr( $stored, -1 ) ? self::MOST_NOISE : 0 ) ? '' : self::excerpt( $stored, max( 0, strlen( $stored ) - 40 ) );
	}

	/**
	 * Returns a short text around a position, for administrators. It is a text of the shared page.
	 *
	 * @param string $text Text.
	 * @param int    $at   Position.
	 * @return string Not empty.
	 */
	private static function excerpt( $text, $at ) {
		$excerpt = trim( self::replaced( '/[^\x20-\x7e]+/', ' ', substr( $text, max( 0, $at - 40 ), 80 ) ) );
		return '' === $excerpt ? '...' : $excerpt;
	}

	/**
	 * Replaces matches of expressions, like preg_replace().
	 *
	 * @param string|string[] $pattern Expressions.
	 * @param string|string[] $text    Replacements.
	 * @param string          $page    Page.
	 * @return string
	 * @throws RuntimeException If an expression fails: a page without its text would be equal to another one.
	 */
	private static function replaced( $pattern, $text, $page ) {
		return self::checked( preg_replace( $pattern, $text, $page ) );
	}

	/**
	 * Returns the result of a replacement.
	 *
	 * @param string|null $result Result; null if an expression failed.
	 * @return string
	 * @throws RuntimeException If an expression failed.
	 */
	private static function checked( $result ) {
		if ( null === $result ) {
			throw new RuntimeException( 'an expression failed' );
		}
		return $result;
	}
}
