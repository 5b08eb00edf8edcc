<?php
/**
 * Search for the part of a page that contains a text.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Responds to a signed request of `Myriad_Cache_Causes` with the block, shortcode, widget or callback whose output contains a text, and with the
 * tables and hosts that the page reads. The response contains no part of the page, and is not stored.
 */
class Myriad_Cache_Trace {

	/**
	 * Argument of the request: the sought text and the time of expiry, and their signature.
	 */
	const ARGUMENT = 'myriad-trace';

	/**
	 * Validity of a request, in seconds.
	 */
	const SECONDS = 60;

	/**
	 * Actions and filters whose callbacks are searched.
	 */
	const ACTIONS = array( 'wp_head', 'wp_body_open', 'wp_footer' );
	const FILTERS = array( 'the_content', 'the_excerpt' );

	/**
	 * Maximum number of elements, and of characters of a text that must be found.
	 */
	const MOST        = 20000;
	const MOST_SOUGHT = 100;

	/**
	 * Random text in the markers around the output of elements.
	 *
	 * @var string
	 */
	private static $token = '';

	/**
	 * Sought texts: before the changed place, and from it on.
	 *
	 * @var string[]
	 */
	private static $sought = array( '', '' );

	/**
	 * Elements: type, name, origin, and the tables and hosts read while they are generated, as keys.
	 *
	 * @var array<int, array{type: string, name: string, origin: string, tables: array<string, true>, hosts: array<string, true>}>
	 */
	private static $elements = array();

	/**
	 * Elements that are being generated, as numbers.
	 *
	 * @var int[]
	 */
	private static $open = array();

	/**
	 * Origins of the queries and requests of the page, by table and host.
	 *
	 * @var array{tables: array<string, string>, hosts: array<string, string>}
	 */
	private static $read = array(
		'tables' => array(),
		'hosts'  => array(),
	);

	/**
	 * Page so far.
	 *
	 * @var string
	 */
	private static $made = '';

	/**
	 * Returns the signature of a request.
	 *
	 * @param string $data   Data.
	 * @param string $target Path and query of the page.
	 * @return string Empty without a secret.
	 */
	private static function signature( $data, $target ) {
		$secret = Myriad_Cache_Client::connection()['secret'];
		return '' === $secret ? '' : hash_hmac( 'sha256', "trace\n$target\n$data", $secret );
	}

	/**
	 * Returns the address that searches a page.
	 *
	 * @param string $url    Address of the page.
	 * @param string $near   Text before the changed place.
	 * @param string $after  Text from it on.
	 * @return string Empty without a secret.
	 */
	public static function address( $url, $near, $after ) {
		$data      = rtrim( strtr( base64_encode( (string) wp_json_encode( array( time() + self::SECONDS, $near, $after ) ) ), '+/', '-_' ), '=' ); // phpcs:ignore WordPress.PHP.DiscouragedPHPFunctions -- for an address.
		$target    = (string) preg_replace( '#^[a-z]+://[^/]*#i', '', $url );
		$signature = self::signature( $data, $target );
		return '' === $signature ? '' : $url . ( false === strpos( $url, '?' ) ? '?' : '&' ) . self::ARGUMENT . '=' . $data . '.' . $signature;
	}

	/**
	 * Starts the search if the request has a valid signature. The page is that of an anonymous visitor.
	 *
	 * @return bool True if it does.
	 */
	public static function start() {
		// phpcs:disable WordPress.Security -- the signature covers both.
		$value  = isset( $_GET[ self::ARGUMENT ] ) && is_string( $_GET[ self::ARGUMENT ] ) ? $_GET[ self::ARGUMENT ] : '';
		$target = isset( $_SERVER['REQUEST_URI'] ) ? (string) $_SERVER['REQUEST_URI'] : '';
		// phpcs:enable
		$at = strpos( $target, self::ARGUMENT . '=' . $value );
		if ( ! preg_match( '/^([\w-]{1,2000})\.([0-9a-f]{64})$/D', $value, $parts ) || false === $at || strlen( $target ) !== $at + strlen( self::ARGUMENT . '=' . $value ) ) {
			return false;
		}
		$target    = substr( $target, 0, $at - 1 );
		$signature = self::signature( $parts[1], $target );
		$data      = json_decode( (string) base64_decode( strtr( $parts[1], '-_', '+/' ) ), true ); // phpcs:ignore WordPress.PHP.DiscouragedPHPFunctions -- as above.
		if ( '' === $signature || ! hash_equals( $signature, $parts[2] ) || ! is_array( $data ) || 3 !== count( $data ) || (int) $data[0] < time() ) {
			return false;
		}
		self::$sought = array( (string) $data[1], (string) $data[2] );
		self::$token  = bin2hex( random_bytes( 8 ) );

		$_SERVER['REQUEST_URI']  = $target;
		$_SERVER['QUERY_STRING'] = (string) substr( (string) strstr( $target, '?' ), 1 );
		$_COOKIE                 = array();
		unset( $_GET[ self::ARGUMENT ], $_REQUEST[ self::ARGUMENT ] );
		self::register();
		return true;
	}

	/**
	 * Registers the actions and filters.
	 */
	private static function register() {
		add_action(
			'template_redirect',
			static function () {
				ob_start( array( __CLASS__, 'take' ) );
			},
			PHP_INT_MIN
		);
		add_filter( 'pre_render_block', array( __CLASS__, 'open_block' ), PHP_INT_MAX, 2 );
		add_filter( 'render_block', array( __CLASS__, 'close_block' ), PHP_INT_MAX, 2 );
		add_filter( 'pre_do_shortcode_tag', array( __CLASS__, 'open_shortcode' ), PHP_INT_MAX, 2 );
		add_filter( 'do_shortcode_tag', array( __CLASS__, 'close_shortcode' ), PHP_INT_MAX, 2 );
		add_filter( 'dynamic_sidebar_params', array( __CLASS__, 'mark_widget' ), PHP_INT_MAX );
		foreach ( array_merge( self::ACTIONS, self::FILTERS ) as $hook ) {
			add_filter( $hook, array( __CLASS__, 'wrap_callbacks' ), PHP_INT_MIN );
		}
		add_filter( 'query', array( __CLASS__, 'note_sql' ), PHP_INT_MAX );
		add_filter( 'pre_http_request', array( __CLASS__, 'note_host' ), PHP_INT_MAX, 3 );
	}

	/**
	 * Adds an element.
	 *
	 * @param string $type   `block`, `shortcode`, `widget` or `callback`.
	 * @param string $name   Name.
	 * @param string $origin Origin.
	 * @return int Number of the element.
	 */
	private static function add( $type, $name, $origin ) {
		self::$elements[] = array(
			'type'   => $type,
			'name'   => $name,
			'origin' => $origin,
			'tables' => array(),
			'hosts'  => array(),
		);
		return count( self::$elements ) - 1;
	}

	/**
	 * Returns the output of an element between markers.
	 *
	 * @param int    $number Number of the element.
	 * @param string $output Output.
	 * @return string
	 */
	private static function marked( $number, $output ) {
		return '' === trim( $output ) || $number > self::MOST ? $output : self::marker( $number, true ) . $output . self::marker( $number, false );
	}

	/**
	 * Returns a marker.
	 *
	 * @param int  $number  Number of the element.
	 * @param bool $is_open True before its output.
	 * @return string
	 */
	private static function marker( $number, $is_open ) {
		return '<!--' . self::$token . ( $is_open ? ':' : ';' ) . $number . '-->';
	}

	/**
	 * Closes the element that was begun last, if it has this type and name; otherwise adds an element.
	 *
	 * @param string $type   Type.
	 * @param string $name   Name.
	 * @param string $output Output.
	 * @param string $origin Origin.
	 * @return string Output with markers.
	 */
	private static function close( $type, $name, $output, $origin ) {
		$last = end( self::$open );
		if ( false !== $last && self::$elements[ $last ]['type'] === $type && self::$elements[ $last ]['name'] === $name ) {
			array_pop( self::$open );
			return self::marked( $last, $output );
		}
		return self::marked( self::add( $type, $name, $origin ), $output );
	}

	/**
	 * Begins a block.
	 *
	 * @param mixed $content Content that replaces the block.
	 * @param array $block   Block.
	 * @return mixed
	 */
	public static function open_block( $content, $block ) {
		if ( null === $content && ! empty( $block['blockName'] ) ) {
			self::$open[] = self::add( 'block', $block['blockName'], self::origin_of_block( $block['blockName'] ) );
		}
		return $content;
	}

	/**
	 * Closes a block.
	 *
	 * @param mixed $content Content.
	 * @param array $block   Block.
	 * @return mixed
	 */
	public static function close_block( $content, $block ) {
		return is_string( $content ) && ! empty( $block['blockName'] ) ? self::close( 'block', $block['blockName'], $content, self::origin_of_block( $block['blockName'] ) ) : $content;
	}

	/**
	 * Returns the origin of a type of block.
	 *
	 * @param string $name Name of the block.
	 * @return string
	 */
	private static function origin_of_block( $name ) {
		$type = WP_Block_Type_Registry::get_instance()->get_registered( $name );
		$call = $type ? $type->render_callback : null;
		if ( $call instanceof Closure ) {
			// WordPress renders the file that block.json names.
			$values = ( new ReflectionFunction( $call ) )->getStaticVariables();
			if ( isset( $values['template_path'] ) && is_string( $values['template_path'] ) ) {
				return self::origin( $values['template_path'] );
			}
		}
		return $call ? self::origin_of( $call ) : ( 0 === strpos( $name, 'core/' ) ? 'core' : '' );
	}

	/**
	 * Begins a shortcode.
	 *
	 * @param mixed  $output Output that replaces that of the shortcode; false for none.
	 * @param string $tag    Name.
	 * @return mixed
	 */
	public static function open_shortcode( $output, $tag ) {
		if ( false === $output ) {
			self::$open[] = self::add( 'shortcode', $tag, self::origin_of_shortcode( $tag ) );
		}
		return $output;
	}

	/**
	 * Closes a shortcode.
	 *
	 * @param mixed  $output Output.
	 * @param string $tag    Name.
	 * @return mixed
	 */
	public static function close_shortcode( $output, $tag ) {
		return is_string( $output ) ? self::close( 'shortcode', $tag, $output, self::origin_of_shortcode( $tag ) ) : $output;
	}

	/**
	 * Returns the origin of a shortcode.
	 *
	 * @param string $tag Name.
	 * @return string
	 */
	private static function origin_of_shortcode( $tag ) {
		global $shortcode_tags;
		return isset( $shortcode_tags[ $tag ] ) ? self::origin_of( $shortcode_tags[ $tag ] ) : '';
	}

	/**
	 * Adds markers before and after a widget.
	 *
	 * @param array $params Parameters of the widget.
	 * @return array
	 */
	public static function mark_widget( $params ) {
		global $wp_registered_widgets;
		if ( isset( $params[0]['widget_id'], $params[0]['before_widget'], $params[0]['after_widget'] ) ) {
			$id     = $params[0]['widget_id'];
			$call   = isset( $wp_registered_widgets[ $id ]['callback'] ) ? $wp_registered_widgets[ $id ]['callback'] : null;
			$number = self::add( 'widget', isset( $params[0]['widget_name'] ) ? $params[0]['widget_name'] : $id, self::origin_of( $call ) );

			$params[0]['before_widget'] = self::marker( $number, true ) . $params[0]['before_widget'];
			$params[0]['after_widget'] .= self::marker( $number, false );
		}
		return $params;
	}

	/**
	 * Replaces the callbacks of plugins and themes by ones that add markers, before the first of them is called.
	 *
	 * @param mixed $value Filtered value.
	 * @return mixed
	 */
	public static function wrap_callbacks( $value = '' ) {
		global $wp_filter;
		$hook      = current_filter();
		$is_action = in_array( $hook, self::ACTIONS, true );
		foreach ( $wp_filter[ $hook ]->callbacks as $priority => $callbacks ) {
			foreach ( $callbacks as $id => $callback ) {
				$call   = $callback['function'];
				$origin = $call instanceof Myriad_Cache_Trace_Callback ? 'core' : self::origin_of( $call );
				if ( 'core' !== $origin && '' !== $origin ) {
					$wp_filter[ $hook ]->callbacks[ $priority ][ $id ]['function'] = new Myriad_Cache_Trace_Callback( $call, $hook, $origin, $is_action );
				}
			}
		}
		return $value;
	}

	/**
	 * Calls a callback of a plugin or theme, and adds markers to its output.
	 *
	 * @param callable $call      Callback.
	 * @param string   $hook      Action or filter.
	 * @param string   $origin    Origin.
	 * @param bool     $is_action True for an action.
	 * @param array    $arguments Arguments.
	 * @return mixed
	 */
	public static function call( $call, $hook, $origin, $is_action, $arguments ) {
		$number       = self::add( 'callback', $hook, $origin );
		self::$open[] = $number;
		$level        = ob_get_level();
		if ( $is_action ) {
			ob_start();
		}
		$value = call_user_func_array( $call, $arguments );
		if ( $is_action && ob_get_level() === $level + 1 ) {
			echo self::marked( $number, (string) ob_get_clean() ); // phpcs:ignore WordPress.Security.EscapeOutput -- output of the callback.
		}
		self::$open = array_slice( self::$open, 0, (int) array_search( $number, self::$open, true ) );
		$before     = isset( $arguments[0] ) ? $arguments[0] : null;
		$at         = is_string( $value ) && is_string( $before ) && '' !== $before ? strpos( $value, $before ) : false;
		if ( ! $is_action && false !== $at ) {
			// It has added text before or after the content.
			return self::marked( $number, substr( $value, 0, $at ) ) . $before . self::marked( $number, (string) substr( $value, $at + strlen( $before ) ) );
		}
		return $value;
	}

	/**
	 * Notes the tables of plugins that a query reads.
	 *
	 * @param string $sql SQL.
	 * @return string
	 */
	public static function note_sql( $sql ) {
		if ( is_string( $sql ) && preg_match( Myriad_Cache_Sql::READ, $sql ) ) {
			foreach ( Myriad_Cache_Sql::tables( $sql ) as $table ) {
				if ( '' !== Myriad_Cache_Tables::tag( (string) $table ) ) {
					self::note( 'tables', (string) $table );
				}
			}
		}
		return $sql;
	}

	/**
	 * Notes a host from which the page reads.
	 *
	 * @param mixed  $response Response that replaces the request.
	 * @param array  $args     Arguments.
	 * @param string $url      Address.
	 * @return mixed
	 */
	public static function note_host( $response, $args, $url ) {
		self::note( 'hosts', (string) wp_parse_url( $url, PHP_URL_HOST ) );
		return $response;
	}

	/**
	 * Notes a table or host, with the file that reads it.
	 *
	 * @param string $list `tables` or `hosts`.
	 * @param string $name Name.
	 */
	private static function note( $list, $name ) {
		foreach ( self::$open as $number ) {
			self::$elements[ $number ][ $list ][ $name ] = true;
		}
		if ( ! empty( self::$read[ $list ][ $name ] ) ) {
			return;
		}
		self::$read[ $list ][ $name ] = '';
		foreach ( debug_backtrace( DEBUG_BACKTRACE_IGNORE_ARGS ) as $frame ) { // phpcs:ignore WordPress.PHP.DevelopmentFunctions -- the filter does not name the caller.
			$origin = isset( $frame['file'] ) ? self::origin( $frame['file'] ) : '';
			if ( '' !== $origin && 'core' !== $origin ) {
				self::$read[ $list ][ $name ] = $origin;
				return;
			}
		}
	}

	/**
	 * Returns the origin of a callback.
	 *
	 * @param mixed $call Callback.
	 * @return string
	 */
	private static function origin_of( $call ) {
		try {
			if ( is_array( $call ) && 2 === count( $call ) ) {
				// A method that a class of WordPress declares belongs to the class of the object.
				$place = is_object( $call[0] ) ? new ReflectionObject( $call[0] ) : new ReflectionMethod( $call[0], $call[1] );
			} elseif ( is_string( $call ) && strpos( $call, '::' ) ) {
				$place = new ReflectionMethod( $call );
			} elseif ( is_object( $call ) && ! $call instanceof Closure ) {
				$place = new ReflectionObject( $call );
			} elseif ( is_string( $call ) || $call instanceof Closure ) {
				$place = new ReflectionFunction( $call );
			} else {
				return '';
			}
			return self::origin( (string) $place->getFileName() );
		} catch ( ReflectionException $error ) {
			return '';
		}
	}

	/**
	 * Returns the origin of a file.
	 *
	 * @param string $file File.
	 * @return string `core`, `plugin:FOLDER`, `must-use:FILE`, `theme:FOLDER`; empty for this plugin and unknown files.
	 */
	private static function origin( $file ) {
		$file = wp_normalize_path( $file );
		if ( 0 === strpos( $file, wp_normalize_path( __DIR__ ) . '/' ) || '' === $file ) {
			return '';
		}
		foreach ( array( 'theme' => get_theme_root(), 'must-use' => WPMU_PLUGIN_DIR, 'plugin' => WP_PLUGIN_DIR ) as $kind => $folder ) { // phpcs:ignore WordPress.Arrays -- one line.
			foreach ( array_unique( array( $folder, (string) realpath( $folder ) ) ) as $place ) {
				$place = rtrim( wp_normalize_path( $place ), '/' ) . '/';
				if ( '/' !== $place && 0 === strpos( $file, $place ) ) {
					return $kind . ':' . explode( '/', substr( $file, strlen( $place ) ) )[0];
				}
			}
		}
		$name = plugin_basename( $file ); // Plugins may be symbolic links.
		if ( $name !== ltrim( $file, '/' ) && $name !== $file ) {
			return 'plugin:' . explode( '/', $name )[0];
		}
		return 0 === strpos( $file, wp_normalize_path( ABSPATH . WPINC ) . '/' ) || 0 === strpos( $file, wp_normalize_path( ABSPATH . 'wp-admin' ) . '/' ) ? 'core' : '';
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
		if ( ! headers_sent() ) {
			header_remove();
			http_response_code( 200 );
			header( 'Content-Type: application/json' );
			header( 'Cache-Control: no-store, private' );
			header( 'X-Accel-Expires: 0' );
		}
		return (string) wp_json_encode( self::result() );
	}

	/**
	 * Returns the elements around the sought text, the innermost first, and what the page has read.
	 *
	 * @return array{found: bool, elements: array[], tables: array<string, string>, hosts: array<string, string>}
	 */
	private static function result() {
		$parts = preg_split( '/<!--' . self::$token . '([:;])([0-9]+)-->/', self::$made, -1, PREG_SPLIT_DELIM_CAPTURE );
		$clean = '';
		$marks = array();
		foreach ( array_chunk( (array) $parts, 3 ) as $part ) {
			$clean .= $part[0];
			if ( isset( $part[2] ) ) {
				$marks[] = array( strlen( $clean ), ':' === $part[1], (int) $part[2] );
			}
		}
		$at       = self::place( $clean );
		$elements = array();
		if ( null !== $at ) {
			foreach ( self::around( $marks, $at ) as $number ) {
				$element           = self::$elements[ $number ];
				$element['tables'] = array_keys( $element['tables'] );
				$element['hosts']  = array_keys( $element['hosts'] );
				$elements[]        = $element;
			}
		}
		return array(
			'found'    => null !== $at,
			'elements' => $elements,
			'tables'   => self::$read['tables'],
			'hosts'    => self::$read['hosts'],
		);
	}

	/**
	 * Returns the elements that contain a place, the innermost first.
	 *
	 * @param array[] $marks Markers in the order of the page: position, true at the start of an element, its number.
	 * @param int     $at    Position.
	 * @return int[]
	 */
	private static function around( $marks, $at ) {
		$open = array();
		foreach ( $marks as $mark ) {
			if ( $mark[0] > $at ) {
				break;
			}
			if ( $mark[1] ) {
				$open[] = $mark[2];
			} else {
				$place = array_search( $mark[2], $open, true );
				$open  = false === $place ? $open : array_slice( $open, 0, $place );
			}
		}
		return array_reverse( $open );
	}

	/**
	 * Returns the position of the sought text: after the text before it, or alone if it occurs only once.
	 *
	 * @param string $page Page.
	 * @return int|null
	 */
	private static function place( $page ) {
		list( $near, $after ) = array_map( array( __CLASS__, 'pattern' ), array( self::$sought[0], substr( self::$sought[1], 0, self::MOST_SOUGHT ) ) );

		$start = self::pattern( substr( self::$sought[1], 0, 16 ) );
		foreach ( array( "$near\\s*()$after", "$near\\s*()$start", "$near\\s*()", "()$after" ) as $pattern ) {
			$found = array();
			if ( strlen( $pattern ) > 20 && 1 === preg_match_all( '/' . $pattern . '/s', $page, $found, PREG_OFFSET_CAPTURE ) ) {
				return $found[1][0][1];
			}
		}
		return null;
	}

	/**
	 * Returns a regular expression for a text. White space may differ, and bytes that Myriad could not decode.
	 *
	 * @param string $text Text.
	 * @return string
	 */
	private static function pattern( $text ) {
		$words = array();
		foreach ( (array) preg_split( '/\s+/', trim( $text ) ) as $word ) {
			$words[] = str_replace( "\xEF\xBF\xBD", '.{0,4}?', preg_quote( (string) $word, '/' ) );
		}
		return implode( '\s+', $words );
	}
}
