<?php
/**
 * Nonces in pages that several visitors share.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Replaces each nonce by a random mark while a shared page is generated.
 *
 * The nonce of anonymous visitors is public, so that a comment may contain it. A mark is different in each request and
 * never leaves it: the author of a text cannot insert the content that replaces a mark (the anonymous nonce, or an
 * include for known visitors).
 */
class Myriad_Cache_Nonces {

	/**
	 * Length of a nonce, in bytes.
	 */
	const LENGTH = 10;

	/**
	 * Attributes whose value is an address.
	 */
	const ADDRESSES = array( 'action', 'archive', 'background', 'cite', 'classid', 'codebase', 'data', 'formaction', 'href', 'imagesrcset', 'longdesc', 'manifest', 'ping', 'poster', 'src', 'srcset', 'xlink:href' );

	/**
	 * Maximum length of an attribute with a nonce, in bytes. A nonce in a longer one counts as unsafe.
	 */
	const MOST_ATTRIBUTE = 20000;

	/**
	 * User to create marks for; empty while marks are off.
	 *
	 * @var string
	 */
	private static $user = '';

	/**
	 * Marks created in this request: the action, and the anonymous nonce; or the user and the action from which it is computed when the mark is found.
	 *
	 * @var array<string, array{0: string, 1: mixed, 2: string|int|null}>
	 */
	private static $marks = array();

	/**
	 * Actions and nonce ticks that already have a mark, as keys.
	 *
	 * @var array<string, true>
	 */
	private static $marked = array();

	/**
	 * True if a nonce of this request was the same as a part of the hash from which WordPress makes nonces: computing it directly takes a quarter
	 * of the time.
	 *
	 * @var bool
	 */
	private static $is_usual = false;

	/**
	 * User of the nonce that is computed for a new mark, as the only item; empty otherwise.
	 *
	 * @var array
	 */
	private static $computing = array();

	/**
	 * Longest text that was searched, the number of marks at that time, and the marks in it by their positions.
	 *
	 * @var array{0: string, 1: int, 2: array<int, string>}
	 */
	private static $searched = array( '', 0, array() );

	/**
	 * Last bytes of the output, if they may be the first bytes of a mark.
	 *
	 * @var string
	 */
	private static $held = '';

	/**
	 * Turns marks on, for a request for a page.
	 */
	public static function start() {
		self::$user = 'myriad-' . bin2hex( random_bytes( 16 ) );
		Myriad_Cache_Hooks::add( 'nonce_user_logged_out', array( __CLASS__, 'replace_user' ), PHP_INT_MAX, 2 );
		Myriad_Cache_Hooks::add( 'wp_redirect', array( __CLASS__, 'settle' ), PHP_INT_MAX );
		Myriad_Cache_Hooks::add( 'wp_mail', array( __CLASS__, 'settle_value' ), PHP_INT_MAX );
		Myriad_Cache_Hooks::add( 'pre_http_request', array( __CLASS__, 'settle_request' ), PHP_INT_MAX, 3 );
		// Since WordPress 6.8 the first names are deprecated.
		$is_old = version_compare( $GLOBALS['wp_version'], '6.8', '<' );
		Myriad_Cache_Hooks::add( $is_old ? 'setted_transient' : 'set_transient', array( __CLASS__, 'settle_transient' ), 10, 3 );
		Myriad_Cache_Hooks::add( $is_old ? 'setted_site_transient' : 'set_site_transient', array( __CLASS__, 'settle_site_transient' ), 10, 3 );
		// Handles a response that is no page, printed before WordPress chooses a template. A chunk size of 1 passes
		// each piece on at once.
		ob_start( array( __CLASS__, 'pass' ), 1 );
	}

	/**
	 * Registers the actions that run after a value with marks may have been written to the database.
	 */
	public static function start_after() {
		Myriad_Cache_Hooks::add( 'added_option', array( __CLASS__, 'settle_new_option' ), 10, 2 );
		Myriad_Cache_Hooks::add( 'updated_option', array( __CLASS__, 'settle_option' ), 10, 3 );
		Myriad_Cache_Hooks::add( array( 'added_post_meta', 'updated_post_meta' ), array( __CLASS__, 'settle_meta' ), 10, 4 );
	}

	/**
	 * Turns marks off after the page: nonces that are created later are those of anonymous visitors.
	 */
	public static function stop() {
		self::$user     = '';
		self::$marks    = array();
		self::$searched = array( '', 0, array() );
	}

	/**
	 * Filters the user of a nonce.
	 *
	 * @param mixed      $user_id User; 0 for an anonymous visitor.
	 * @param string|int $action  Action of the nonce.
	 * @return mixed
	 */
	public static function replace_user( $user_id, $action = -1 ) {
		if ( self::$computing ) {
			return self::$computing[0];
		}
		// A response of the REST interface may contain nonces in its head.
		if ( '' === self::$user || ( defined( 'REST_REQUEST' ) && REST_REQUEST ) ) {
			return $user_id;
		}
		$frame = debug_backtrace( 0, 4 )[3] ?? array(); // phpcs:ignore WordPress.PHP.DevelopmentFunctions -- the filter does not receive whether a nonce is created or verified.
		$name  = isset( $frame['function'] ) ? $frame['function'] : '';
		if ( 'wp_verify_nonce' === $name ) {
			$nonce = isset( $frame['args'][0] ) && is_string( $frame['args'][0] ) ? $frame['args'][0] : '';
			return isset( self::$marks[ $nonce ] ) ? self::$user : $user_id;
		}
		if ( 'wp_create_nonce' !== $name ) {
			return $user_id;
		}
		$key = wp_nonce_tick( $action ) . '|' . $action;
		if ( ! isset( self::$marked[ $key ] ) ) {
			self::$marked[ $key ] = true;

			$mark  = self::computed( $action, self::$user );
			// Most scripts that WordPress prepares are not printed.
			$nonce = self::$is_usual ? $user_id : self::computed( $action, $user_id );
			if ( self::LENGTH !== strlen( $mark ) || ( ! self::$is_usual && self::LENGTH !== strlen( $nonce ) ) ) {
				self::$user = '';
				Myriad_Cache_Known::refuse( 'another plugin defines wp_create_nonce()' );
				return $user_id;
			}
			self::$marks[ $mark ] = array( (string) $action, $nonce, self::$is_usual ? $action : null );
		}
		return self::$user;
	}

	/**
	 * Computes the nonce of a user.
	 *
	 * @param string|int $action  Action of the nonce.
	 * @param mixed      $user_id User.
	 * @return string
	 */
	private static function computed( $action, $user_id ) {
		$short = substr( wp_hash( wp_nonce_tick( $action ) . '|' . $action . '|' . $user_id . '|', 'nonce' ), -12, self::LENGTH );
		if ( self::$is_usual ) {
			return $short;
		}
		self::$computing = array( $user_id );
		$nonce           = (string) wp_create_nonce( $action );
		self::$computing = array();
		self::$is_usual  = $short === $nonce;
		return $nonce;
	}

	/**
	 * Returns the marks in a page by their positions. A page is searched once.
	 *
	 * @param string $page Page.
	 * @return array<int, string>
	 */
	public static function positions( $page ) {
		$count = count( self::$marks );
		if ( $count === self::$searched[1] && $page === self::$searched[0] ) {
			return self::$searched[2];
		}
		$found = array();
		foreach ( self::marks() as $mark ) {
			// PHP finds a text fast if its first character is rare in pages. Of at most eight, it compares all characters only then.
			$start = strcspn( $mark, '6789' );
			$start = $start > 5 ? 2 : $start;
			$part  = substr( $mark, $start, 8 );
			for ( $at = strpos( $page, $part ); false !== $at; $at = strpos( $page, $part, $at + 1 ) ) {
				if ( $at >= $start && 0 === substr_compare( $page, $mark, $at - $start, self::LENGTH ) ) {
					$found[ $at - $start ] = $mark;
				}
			}
		}
		if ( strlen( $page ) >= strlen( self::$searched[0] ) ) {
			self::$searched = array( $page, $count, $found );
		}
		return $found;
	}

	/**
	 * Returns a page with texts in place of marks.
	 *
	 * @param string                               $page  Page.
	 * @param array<int, array{0: int, 1: string}> $texts Length of the mark, and text, by position of the mark.
	 * @return string
	 */
	public static function with_texts( $page, $texts ) {
		$pieces = array();
		$done   = 0;
		ksort( $texts );
		foreach ( $texts as $start => list( $length, $text ) ) {
			$pieces[] = substr( $page, $done, $start - $done );
			$pieces[] = $text;
			$done     = $start + $length;
		}
		$pieces[] = substr( $page, $done );
		return implode( '', $pieces );
	}

	/**
	 * Returns the action of the nonce that a mark represents.
	 *
	 * @param string $mark Mark.
	 * @return string
	 */
	public static function action( $mark ) {
		return self::$marks[ $mark ][0];
	}

	/**
	 * Returns the marks created in this request.
	 *
	 * @return string[]
	 */
	public static function marks() {
		return array_map( 'strval', array_keys( self::$marks ) );
	}

	/**
	 * Returns the anonymous nonce that a mark represents.
	 *
	 * @param string $mark Mark.
	 * @return string
	 */
	public static function nonce( $mark ) {
		if ( null !== self::$marks[ $mark ][2] ) {
			self::$marks[ $mark ][1] = self::computed( self::$marks[ $mark ][2], self::$marks[ $mark ][1] );
			self::$marks[ $mark ][2] = null;
		}
		return self::$marks[ $mark ][1];
	}

	/**
	 * Replaces marks by the nonces of anonymous visitors.
	 *
	 * @param mixed $text Text.
	 * @return mixed
	 */
	public static function settle( $text ) {
		if ( ! is_string( $text ) || ! self::$marks ) {
			return $text;
		}
		// Faster than strtr(), which tests each byte of a long page for all marks.
		$nonces = array();
		foreach ( self::positions( $text ) as $at => $mark ) {
			$nonces[ $at ] = array( self::LENGTH, self::nonce( $mark ) );
		}
		return $nonces ? self::with_texts( $text, $nonces ) : $text;
	}

	/**
	 * Replaces marks in a value of any type. A value without a mark is returned unchanged; objects in it are never
	 * changed in place.
	 *
	 * @param mixed $value Value.
	 * @return mixed
	 */
	public static function settle_value( $value ) {
		if ( ! self::$marks || ! ( is_string( $value ) || is_array( $value ) || is_object( $value ) ) ) {
			return $value;
		}
		if ( is_string( $value ) ) {
			return self::settle( $value );
		}
		try {
			$text = serialize( $value ); // phpcs:ignore WordPress.PHP.DiscouragedPHPFunctions -- it is not stored.
			return self::positions( $text ) ? unserialize( self::settle( $text ) ) : $value; // phpcs:ignore WordPress.PHP.DiscouragedPHPFunctions -- marks and nonces have the same length.
		} catch ( Throwable $error ) {
			return $value; // A value that cannot be serialized cannot be stored either.
		}
	}

	/**
	 * Replaces marks in output that is not buffered as a page.
	 *
	 * @param string $piece Piece.
	 * @param int    $phase Bits that indicate whether it is the last piece.
	 * @return string
	 */
	public static function pass( $piece, $phase ) {
		if ( ! self::$marks && '' === self::$held ) {
			return $piece;
		}
		$text       = self::settle( self::$held . $piece );
		self::$held = '';
		if ( ! ( $phase & PHP_OUTPUT_HANDLER_FINAL ) ) {
			$length     = self::unfinished( $text );
			self::$held = $length > 0 ? substr( $text, -$length ) : '';
			$text       = $length > 0 ? substr( $text, 0, -$length ) : $text;
		}
		return $text;
	}

	/**
	 * Stops handling output that is not buffered as a page, unless another buffer was started since.
	 */
	public static function stop_passing() {
		if ( __CLASS__ . '::pass' === ( ob_get_status()['name'] ?? '' ) ) {
			ob_end_flush();
		}
	}

	/**
	 * Returns the number of bytes at the tail of a text that may be the first bytes of a mark.
	 *
	 * @param string $text Text.
	 * @return int
	 */
	private static function unfinished( $text ) {
		for ( $length = min( self::LENGTH - 1, strlen( $text ) ); $length > 0; --$length ) {
			foreach ( array_keys( self::$marks ) as $mark ) {
				if ( 0 === substr_compare( $text, substr( (string) $mark, 0, $length ), -$length ) ) {
					return $length;
				}
			}
		}
		return 0;
	}

	/**
	 * Replaces marks in the header fields of the response.
	 */
	public static function settle_head() {
		$fields = headers_list();
		foreach ( $fields as $field ) {
			$name = strtok( $field, ':' );
			if ( self::settle( $field ) === $field || false === $name ) {
				continue;
			}
			header_remove( $name );
			foreach ( preg_grep( '/^' . preg_quote( $name, '/' ) . ':/i', $fields ) as $same ) {
				header( self::settle( $same ), false );
			}
		}
	}

	/**
	 * Replaces marks in a request that the site sends.
	 *
	 * @param mixed  $response Response of another filter, or false.
	 * @param array  $args     Arguments of the request.
	 * @param string $url      Address.
	 * @return mixed
	 */
	public static function settle_request( $response, $args, $url ) {
		$settled = array( self::settle( $url ), $args );
		foreach ( array( 'body', 'headers' ) as $name ) {
			if ( isset( $args[ $name ] ) ) {
				$settled[1][ $name ] = self::settle_value( $args[ $name ] );
			}
		}
		if ( false !== $response || array( $url, $args ) === $settled ) {
			return $response;
		}
		return wp_remote_request( $settled[0], $settled[1] );
	}

	/**
	 * Replaces marks in a transient that was just set: another request reads it.
	 *
	 * @param string $name    Name.
	 * @param mixed  $value   Value.
	 * @param int    $seconds Lifetime in seconds.
	 */
	public static function settle_transient( $name, $value, $seconds ) {
		$settled = self::settle_value( $value );
		if ( $settled !== $value ) {
			set_transient( $name, $settled, $seconds );
		}
	}

	/**
	 * Replaces marks in a transient of the network.
	 *
	 * @param string $name    Name.
	 * @param mixed  $value   Value.
	 * @param int    $seconds Lifetime in seconds.
	 */
	public static function settle_site_transient( $name, $value, $seconds ) {
		$settled = self::settle_value( $value );
		if ( $settled !== $value ) {
			set_site_transient( $name, $settled, $seconds );
		}
	}

	/**
	 * Replaces marks in a new option.
	 *
	 * @param string $name  Name.
	 * @param mixed  $value Value.
	 */
	public static function settle_new_option( $name, $value ) {
		self::settle_option( $name, null, $value );
	}

	/**
	 * Replaces marks in an option that was just changed.
	 *
	 * @param string $name   Name.
	 * @param mixed  $before Former value.
	 * @param mixed  $value  Value.
	 */
	public static function settle_option( $name, $before, $value ) {
		// settle_transient() handles transients.
		$settled = self::settle_value( $value );
		if ( $settled !== $value && ! preg_match( '/^_(?:site_)?transient_/', $name ) ) {
			update_option( $name, $settled );
		}
	}

	/**
	 * Replaces marks in a field of a post.
	 *
	 * @param int    $meta_id Field.
	 * @param int    $post_id Post.
	 * @param string $name    Name of the field.
	 * @param mixed  $value   Value.
	 */
	public static function settle_meta( $meta_id, $post_id, $name, $value ) {
		$settled = self::settle_value( $value );
		if ( $settled !== $value ) {
			update_metadata_by_mid( 'post', $meta_id, $settled );
		}
	}

	/**
	 * Returns whether a mark is in a script or in an attribute that sends nothing to another host.
	 *
	 * Elsewhere the nonce of a known visitor could leave the site, for example in a plugin's link to another host.
	 *
	 * @param string $page Page.
	 * @param int    $at   Position of the mark.
	 * @return bool
	 */
	public static function is_safe( $page, $at ) {
		$script = strrpos( $page, '<script', $at - strlen( $page ) );
		$code   = false === $script ? '' : substr( $page, $script, $at - $script );
		$is_in  = false !== strpos( $code, '>' ) && false === stripos( $code, '</script' );
		$start  = max( 0, $at - self::MOST_ATTRIBUTE );
		return $is_in || self::is_safe_attribute( substr( $page, $start, $at - $start ) );
	}

	/**
	 * Returns whether the byte after a text belongs to an attribute that sends nothing to another host.
	 *
	 * @param string $before Part of the page up to a mark.
	 * @return bool
	 */
	private static function is_safe_attribute( $before ) {
		$open = array();
		foreach ( array( '"', "'" ) as $quote ) {
			$from = strrpos( $before, $quote );
			if ( false !== $from ) {
				$open[ $from ] = true;
			}
		}
		// The nearest quotation mark may be a character of the value.
		krsort( $open );
		foreach ( array_keys( $open ) as $from ) {
			if ( preg_match( '/[\s"\'\/]([a-z_:@][-\w:.@]*)\s*=\s*$/iD', substr( $before, max( 0, $from - 200 ), min( 200, $from ) ), $found ) ) {
				return self::is_safe_value( strtolower( $found[1] ), substr( $before, $from + 1 ) );
			}
		}
		$is_bare = preg_match( '/\s([a-z_:@][-\w:.@]*)=([^\s"\'<>=`]*)$/iD', substr( $before, -1000 ), $found );
		return $is_bare && self::is_safe_value( strtolower( $found[1] ), $found[2] );
	}

	/**
	 * Returns whether an attribute sends nothing to another host.
	 *
	 * @param string $name  Name of the attribute.
	 * @param string $value Value up to a mark.
	 * @return bool
	 */
	private static function is_safe_value( $name, $value ) {
		if ( 'style' === $name || 'srcdoc' === $name ) {
			return false;
		}
		if ( ! in_array( $name, self::ADDRESSES, true ) ) {
			return true;
		}
		// Browsers read a backslash as a slash, and ignore line breaks and tabs.
		$value = strtr( trim( preg_replace( '/[\t\r\n]/', '', html_entity_decode( $value, ENT_QUOTES ) ) ), '\\', '/' );
		if ( preg_match( '#^(?:https?:)?//#i', $value ) ) {
			$host = strtolower( (string) wp_parse_url( $value, PHP_URL_HOST ) );
			return in_array( $host, array( strtolower( (string) wp_parse_url( home_url(), PHP_URL_HOST ) ), strtolower( (string) wp_parse_url( site_url(), PHP_URL_HOST ) ) ), true );
		}
		return ! preg_match( '/^[^\/?#]*:/', $value );
	}
}
