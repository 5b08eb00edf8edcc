<?php
/**
 * Fragments of pages that scripts of WooCommerce replace when the cart changes.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Marks these fragments in a page, such as the number of articles in the header.
 *
 * Themes and plugins register fragments with the filter `woocommerce_add_to_cart_fragments`: a selector and the element that replaces all elements
 * that match it. If the element of the present visitor is in the page as registered, it becomes a place for known visitors.
 *
 * Code of themes and plugins that reads the cart may print it elsewhere. If all fragments are in the page, and the fragments read the cart at the
 * same lines as the page, nothing else was printed. Otherwise the page is compared (see Myriad_Cache_Comparison).
 */
class Myriad_Cache_Fragments {

	/**
	 * Filter with which fragments are registered.
	 */
	const FILTER = 'woocommerce_add_to_cart_fragments';

	/**
	 * Fragment of WooCommerce itself, whose content has its own place.
	 */
	const SMALL_CART = 'div.widget_shopping_cart_content';

	/**
	 * Start of the names of parts.
	 */
	const PREFIX = 'f.';

	/**
	 * Maximum number of fragments, and of places in a page.
	 */
	const MOST = 20;

	/**
	 * Selector of an element by its name, class or id.
	 */
	const SIMPLE = '/^([a-z][a-z0-9-]*)?((?:[.#][\w-]+)+)$/iD';

	/**
	 * Fragments of the visitor, by selector.
	 *
	 * @var array<string, string>
	 */
	private static $fragments = array();

	/**
	 * Places in code that read the cart: for the page, and for the fragments.
	 *
	 * @var array<string, array>[]
	 */
	private static $readers = array( array(), array() );

	/**
	 * Number of the list in $readers to which reads are added.
	 *
	 * @var int
	 */
	private static $list = 0;

	/**
	 * Greater than zero while the small cart is printed, which has its own place.
	 *
	 * @var int
	 */
	private static $depth = 0;

	/**
	 * True for files of WooCommerce, by name of the file.
	 *
	 * @var array<string, bool>
	 */
	private static $files = array();

	/**
	 * Functions that are registered with the filter when requests for parts are answered. Those that are added later are unknown there.
	 *
	 * @var array
	 */
	private static $registered = array();

	/**
	 * False if the page may show a fragment that is not marked.
	 *
	 * @var bool
	 */
	private static $is_complete = true;

	/**
	 * Prepares to mark fragments.
	 */
	public static function start() {
		Myriad_Cache_Hooks::add( 'wp_loaded', array( __CLASS__, 'note_registered' ), PHP_INT_MAX );
		Myriad_Cache_Hooks::add( 'wp_footer', array( __CLASS__, 'collect' ), PHP_INT_MAX );
	}

	/**
	 * Records the functions that are registered now.
	 */
	public static function note_registered() {
		self::$registered = self::registered();
	}

	/**
	 * Returns the functions that are registered with the filter.
	 *
	 * @return array[] Keys of functions, by priority.
	 */
	private static function registered() {
		global $wp_filter;
		return isset( $wp_filter[ self::FILTER ] ) ? array_map( 'array_keys', $wp_filter[ self::FILTER ]->callbacks ) : array();
	}

	/**
	 * Records which code reads the cart.
	 */
	public static function note_reads() {
		Myriad_Cache_Hooks::add( 'woocommerce_get_cart_contents', array( __CLASS__, 'note_read' ), PHP_INT_MAX );
	}

	/**
	 * Changes the number of small carts that are being printed.
	 *
	 * @param int $change 1 at the start of a small cart, -1 after it.
	 */
	public static function change_depth( $change ) {
		self::$depth += $change;
	}

	/**
	 * Records the code of a theme or of another plugin that reads the cart through functions of WooCommerce.
	 *
	 * @param array $contents Contents of the cart.
	 * @return array
	 */
	public static function note_read( $contents ) {
		if ( self::$depth > 0 || ! defined( 'WC_ABSPATH' ) ) {
			return $contents;
		}
		$is_below = false;
		// phpcs:ignore WordPress.PHP.DevelopmentFunctions -- only the backtrace contains the caller.
		foreach ( debug_backtrace( DEBUG_BACKTRACE_IGNORE_ARGS, 16 ) as $frame ) {
			$is_shop = isset( $frame['file'] ) && self::is_of_shop( $frame['file'] );
			if ( $is_below && ! $is_shop && isset( $frame['file'], $frame['line'] ) ) {
				self::$readers[ self::$list ][ $frame['file'] . ':' . $frame['line'] ] = $frame;
				break;
			}
			$is_below = $is_below || $is_shop;
		}
		return $contents;
	}

	/**
	 * Returns whether a file belongs to WooCommerce.
	 *
	 * @param string $file File.
	 * @return bool
	 */
	private static function is_of_shop( $file ) {
		if ( ! isset( self::$files[ $file ] ) ) {
			self::$files[ $file ] = 0 === strpos( wp_normalize_path( $file ), wp_normalize_path( WC_ABSPATH ) );
		}
		return self::$files[ $file ];
	}

	/**
	 * Collects the fragments of the visitor after the page, before its buffer is sent: their functions use output buffers, too.
	 */
	public static function collect() {
		if ( ! Myriad_Cache_Known::is_active() && ! Myriad_Cache_Comparison::is_active() ) {
			return;
		}
		self::$list      = 1;
		self::$fragments = self::all();
		self::$list      = 0;
	}

	/**
	 * Returns the fragments of the visitor, except the one of WooCommerce itself.
	 *
	 * @return array<string, string> Elements by selector; the longest first, because an element may be in another one.
	 */
	private static function all() {
		if ( ! has_filter( self::FILTER ) || ! function_exists( 'WC' ) || empty( WC()->cart ) ) {
			return array();
		}
		try {
			$found = (array) apply_filters( self::FILTER, array( self::SMALL_CART => '' ) ); // phpcs:ignore WordPress.NamingConventions.PrefixAllGlobals -- WooCommerce's own.
		} catch ( Throwable $error ) {
			return array( '' => '' );
		}
		unset( $found[ self::SMALL_CART ] );
		$found = array_map( 'trim', array_filter( $found, 'is_string' ) );
		uasort(
			$found,
			static function ( $one, $other ) {
				return strlen( $other ) - strlen( $one );
			}
		);
		return $found;
	}

	/**
	 * Replaces the fragments in a page.
	 *
	 * @param string                           $page    Page.
	 * @param callable(string, string): string $replace Function that returns the text in place of a fragment, from the name of its part and its text.
	 * @return string
	 */
	public static function mark( $page, $replace ) {
		self::$is_complete = count( self::$fragments ) <= self::MOST && self::registered() === self::$registered;
		foreach ( self::$is_complete ? self::$fragments : array() as $selector => $text ) {
			$places = self::is_replaceable( (string) $selector, $text ) ? self::places( $page, (string) $selector, $text ) : array();
			if ( ! $places ) {
				self::$is_complete = false;
			}
			foreach ( array_reverse( $places ) as $at ) {
				$page = substr_replace( $page, $replace( self::name( $selector ), $text ), $at, strlen( $text ) );
			}
		}
		return $page;
	}

	/**
	 * Returns code that read the cart for the page, and whose output may not be marked.
	 *
	 * @return array[] Frames of backtraces.
	 */
	public static function unexplained() {
		return self::$is_complete ? array_diff_key( self::$readers[0], self::$readers[1] ) : self::$readers[0];
	}

	/**
	 * Returns whether a fragment is one element that its selector matches, without places or nonces.
	 *
	 * @param string $selector Selector.
	 * @param string $text     Element.
	 * @return bool
	 */
	private static function is_replaceable( $selector, $text ) {
		$simple = self::steps( $selector );
		return $simple && self::is_match( end( $simple ), $text ) && ! Myriad_Cache_Known::has_mark( $text ) && ! Myriad_Cache_Nonces::positions( $text );
	}

	/**
	 * Returns the steps of a selector, such as `.header` and `span.count`.
	 *
	 * @param string $selector Selector.
	 * @return string[] Empty if it is of another kind.
	 */
	private static function steps( $selector ) {
		$steps = preg_split( '/[\s>]+/', trim( $selector ), -1, PREG_SPLIT_NO_EMPTY );
		return count( preg_grep( self::SIMPLE, $steps ) ) === count( $steps ) ? $steps : array();
	}

	/**
	 * Returns whether the first tag of a text matches a step of a selector.
	 *
	 * @param string $step Step.
	 * @param string $text Text.
	 * @return bool
	 */
	private static function is_match( $step, $text ) {
		if ( ! preg_match( self::SIMPLE, $step, $wanted ) || ! preg_match( '/^<([a-z][a-z0-9-]*)\b((?:[^<>"\']|"[^"]*"|\'[^\']*\')*)>/i', $text, $tag ) || ( '' !== $wanted[1] && 0 !== strcasecmp( $wanted[1], $tag[1] ) ) ) {
			return false;
		}
		preg_match_all( '/([.#])([\w-]+)/', $wanted[2], $names, PREG_SET_ORDER );
		foreach ( $names as list( , $kind, $name ) ) {
			$attribute = '.' === $kind ? 'class' : 'id';
			if ( ! preg_match( '/\s' . $attribute . '=(["\'])(?:[^"\']*\s)?' . preg_quote( $name, '/' ) . '(?:\s[^"\']*)?\1/i', $tag[2] ) ) {
				return false;
			}
		}
		return true;
	}

	/**
	 * Returns the positions of a fragment in a page.
	 *
	 * @param string $page     Page.
	 * @param string $selector Selector.
	 * @param string $text     Element.
	 * @return int[] In order; empty if there are too many.
	 */
	private static function places( $page, $selector, $text ) {
		$above  = array_slice( self::steps( $selector ), 0, -1 );
		$places = array();
		for ( $at = strpos( $page, $text ); false !== $at; $at = strpos( $page, $text, $at + strlen( $text ) ) ) {
			if ( count( $places ) === self::MOST ) {
				return array();
			}
			$outside = array_filter(
				$above,
				static function ( $step ) use ( $page, $at ) {
					return ! self::is_inside( $page, $step, $at );
				}
			);
			if ( ! $outside ) {
				$places[] = $at;
			}
		}
		return $places;
	}

	/**
	 * Returns whether a position in a page is inside of an element.
	 *
	 * @param string $page Page.
	 * @param string $step Step of a selector that matches the element.
	 * @param int    $to   Position.
	 * @return bool
	 */
	private static function is_inside( $page, $step, $to ) {
		preg_match( self::SIMPLE, $step, $wanted );
		preg_match( '/[\w-]+$/D', $step, $last );
		for ( $at = strpos( $page, $last[0] ); false !== $at && $at < $to; $at = strpos( $page, $last[0], $at + 1 ) ) {
			$start = strrpos( substr( $page, 0, $at ), '<' );
			$part  = false === $start ? '' : substr( $page, $start, $to - $start );
			if ( preg_match( '/^<([a-z][a-z0-9-]*)\b/i', $part, $tag ) && self::is_match( $step, $part ) ) {
				$opened = preg_match_all( '/<' . preg_quote( $tag[1], '/' ) . '\b/i', $part );
				$closed = preg_match_all( '/<\/' . preg_quote( $tag[1], '/' ) . '\s*>/i', $part );
				if ( $opened > $closed ) {
					return true;
				}
			}
		}
		return false;
	}

	/**
	 * Returns the name of the part for a fragment.
	 *
	 * @param string $selector Selector.
	 * @return string
	 */
	private static function name( $selector ) {
		return self::PREFIX . substr( md5( $selector ), 0, 16 );
	}

	/**
	 * Returns whether a part is a fragment.
	 *
	 * @param string $name Name of the part.
	 * @return bool
	 */
	public static function is_name( $name ) {
		return 0 === strpos( $name, self::PREFIX );
	}

	/**
	 * Returns a fragment of the visitor.
	 *
	 * @param string $name Name of its part.
	 * @return string|null Null if no fragment has this name.
	 */
	public static function part( $name ) {
		static $all = null;
		if ( null === $all ) {
			$all = self::all();
		}
		foreach ( $all as $selector => $text ) {
			if ( self::name( $selector ) === $name ) {
				return $text;
			}
		}
		return null;
	}
}
