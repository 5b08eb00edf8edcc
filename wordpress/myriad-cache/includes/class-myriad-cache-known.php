<?php
/**
 * Stored pages for known visitors: readers who are logged in, commenters, customers with a cart.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Marks the places of a page where WordPress shows data of the visitor.
 *
 * While the page is generated, each place is a word that survives escaping. It finally becomes an ESI tag, which Myriad
 * replaces by a part for known visitors (see Myriad_Cache_Parts), and by a text for others. Parts are the same on all
 * pages, so that they are requested once per visitor and then stored. If other code of the page reads the current user, known
 * visitors get the page only after a comparison with their own page (see Myriad_Cache_Comparison).
 */
class Myriad_Cache_Known {

	/**
	 * Argument with which Myriad requests parts.
	 */
	const ARGUMENT = 'myriad-esi';

	/**
	 * Maximum length of the name of a part.
	 */
	const MOST_NAME = 64;

	/**
	 * Capabilities of readers. Users with other capabilities get all pages from PHP.
	 */
	const OF_READERS = array( 'read', 'level_0', 'exist' );

	/**
	 * Capabilities of members of forums (bbPress). On other pages they are readers.
	 */
	const OF_MEMBERS = array( 'spectate', 'participate', 'read_private_forums', 'publish_topics', 'edit_topics', 'publish_replies', 'edit_replies', 'assign_topic_tags' );

	/**
	 * Mark of a place.
	 */
	const PLACE = '/mYr[0-9a-f]{12}n[0-9]{1,9}z/';

	/**
	 * Name of a place in which known visitors see nothing, either.
	 */
	const NOTHING = 'nothing';

	/**
	 * Word at the start of each mark of a place.
	 *
	 * @var string
	 */
	private static $mark = '';

	/**
	 * Places: the names of parts, and texts for other visitors.
	 *
	 * @var array<int, array{0: string, 1: string}>
	 */
	private static $places = array();

	/**
	 * Reason why known visitors must not get the page; empty if they may.
	 *
	 * @var string
	 */
	private static $reason = '';

	/**
	 * Marks of places that replace values in JSON, as keys.
	 *
	 * @var array<string, true>
	 */
	private static $values = array();

	/**
	 * Files that read the current user with an unknown effect, by the name of the caller.
	 *
	 * @var array<string, string>
	 */
	private static $callers = array();

	/**
	 * Files that may read the current user, as keys.
	 *
	 * @var array<string, true>
	 */
	private static $harmless = array();

	/**
	 * False if WooCommerce is not active, so that the callers of the code that reads the current user have no influence.
	 *
	 * @var bool
	 */
	private static $is_shop = true;

	/**
	 * Folders of WordPress and of this plugin.
	 *
	 * @var string[]
	 */
	private static $own_folders = array();

	/**
	 * Start of the addresses of parts; empty before the first ESI tag.
	 *
	 * @var string
	 */
	private static $address = '';

	/**
	 * Number of comment forms on the page. Each must contain a place for logged-in users.
	 *
	 * @var int
	 */
	private static $forms = 0;

	/**
	 * Returns whether Myriad replaces places.
	 *
	 * @return bool
	 */
	public static function is_offered() {
		return Myriad_Cache_Page::has_capability( 'ESI/1.0' );
	}

	/**
	 * Begins to mark places.
	 */
	public static function start() {
		self::$mark = 'mYr' . bin2hex( random_bytes( 6 ) ) . 'n';
		if ( function_exists( 'wp_get_current_user' ) ) {
			self::refuse( 'another plugin defines wp_get_current_user()' );
		} else {
			require __DIR__ . '/ask-for-user.php';
		}
		Myriad_Cache_Hooks::add( 'map_meta_cap', array( __CLASS__, 'note_capability' ), PHP_INT_MAX, 3 );
		Myriad_Cache_Hooks::add( 'body_class', array( __CLASS__, 'body_class' ), PHP_INT_MAX );
		Myriad_Cache_Bar::start( array( __CLASS__, 'place' ) );
		Myriad_Cache_Hooks::add( 'loginout', array( __CLASS__, 'log_in_link' ), PHP_INT_MAX );
		Myriad_Cache_Hooks::add( 'register', array( __CLASS__, 'register_link' ), PHP_INT_MAX );
		Myriad_Cache_Hooks::add( 'render_block_core/loginout', array( __CLASS__, 'log_in_block' ), PHP_INT_MAX );
		Myriad_Cache_Hooks::add( 'plugins_loaded', array( __CLASS__, 'check_shop' ), PHP_INT_MAX );
		self::start_comments();
		Myriad_Cache_Shop::start();
	}

	/**
	 * Records whether WooCommerce is active.
	 */
	public static function check_shop() {
		self::$is_shop = function_exists( 'WC' );
	}

	/**
	 * Stops marking places: the visitor is logged in, by other means than a cookie.
	 */
	public static function stop() {
		self::$mark   = '';
		self::$places = array();
	}

	/**
	 * Returns whether places are marked.
	 *
	 * @return bool
	 */
	public static function is_active() {
		return '' !== self::$mark;
	}

	/**
	 * Registers the filters of the comment form.
	 */
	private static function start_comments() {
		Myriad_Cache_Hooks::add( 'wp_get_current_commenter', array( __CLASS__, 'commenter' ), PHP_INT_MAX );
		Myriad_Cache_Hooks::add( 'comment_form_defaults', array( __CLASS__, 'comment_form' ), PHP_INT_MAX );
		Myriad_Cache_Hooks::add( 'comment_form_fields', array( __CLASS__, 'comment_fields' ), PHP_INT_MAX );
		Myriad_Cache_Hooks::add( 'comment_form_field_cookies', array( __CLASS__, 'consent' ), PHP_INT_MAX );
		Myriad_Cache_Hooks::add( 'comment_form_before_fields', array( __CLASS__, 'begin_guest' ), PHP_INT_MIN );
		Myriad_Cache_Hooks::add( 'comment_form_after_fields', array( __CLASS__, 'end_guest' ), PHP_INT_MAX );
		Myriad_Cache_Hooks::add( 'comment_form_must_log_in_after', array( __CLASS__, 'members_only' ) );
	}

	/**
	 * Records that known visitors must not get this page; the first reason is used.
	 *
	 * @param string $reason Reason.
	 */
	public static function refuse( $reason ) {
		self::$reason = '' === self::$reason ? $reason : self::$reason;
	}

	/**
	 * Marks a place.
	 *
	 * @param string $name Name of the part.
	 * @param string $text Text for other visitors.
	 * @return string Mark.
	 */
	public static function place( $name, $text = '' ) {
		if ( '' === self::$mark ) {
			return $text;
		}
		self::$places[] = array( $name, $text );
		return self::$mark . ( count( self::$places ) - 1 ) . 'z';
	}

	/**
	 * Marks a place that replaces a value in JSON, with the quotation marks around it.
	 *
	 * @param string $name Name of the part.
	 * @param string $text Text for other visitors, in JSON.
	 * @return string Mark; it must be printed as a string in JSON.
	 */
	public static function place_value( $name, $text ) {
		$mark = self::place( $name, $text );

		self::$values[ $mark ] = true;
		return $mark;
	}

	/**
	 * Records the caller that reads the current user, unless it is WordPress itself.
	 */
	public static function note_caller() {
		// phpcs:ignore WordPress.PHP.DevelopmentFunctions -- only the backtrace contains the caller.
		$frames = debug_backtrace( DEBUG_BACKTRACE_IGNORE_ARGS, self::$is_shop ? 4 : 3 );
		$at     = isset( $frames[2]['function'], $frames[2]['file'] ) && in_array( $frames[2]['function'], array( 'is_user_logged_in', 'get_current_user_id' ), true ) ? 2 : 1;
		$caller = isset( $frames[ $at + 1 ]['function'] ) ? $frames[ $at + 1 ]['function'] : '';
		if ( ! isset( $frames[ $at ]['file'], self::$harmless[ $frames[ $at ]['file'] ] ) && ! isset( Myriad_Cache_Shop::HARMLESS_FUNCTIONS[ $caller ] ) ) {
			self::note( $frames[ $at ], $frames[ $at ]['function'] );
		}
	}

	/**
	 * Records the caller that checks a capability which readers have and anonymous visitors do not have.
	 *
	 * @param string[] $caps    Required capabilities.
	 * @param string   $cap     Checked capability.
	 * @param int      $user_id User; 0 for none.
	 * @return string[]
	 */
	public static function note_capability( $caps, $cap, $user_id ) {
		if ( 0 === (int) $user_id && array_diff( (array) $caps, array( 'exist' ) ) && ! array_diff( (array) $caps, self::OF_READERS, self::OF_MEMBERS ) ) {
			// phpcs:ignore WordPress.PHP.DevelopmentFunctions -- only the backtrace contains the caller.
			foreach ( debug_backtrace( DEBUG_BACKTRACE_IGNORE_ARGS, 12 ) as $frame ) {
				if ( 'current_user_can' === $frame['function'] && isset( $frame['file'] ) ) {
					self::note( $frame, 'current_user_can( ' . $cap . ' )' );
				}
			}
		}
		return $caps;
	}

	/**
	 * Records a place that reads the current user.
	 *
	 * @param array  $frame Frame of the backtrace.
	 * @param string $asked Function.
	 */
	private static function note( $frame, $asked ) {
		$file = isset( $frame['file'] ) ? $frame['file'] : '';
		if ( isset( self::$harmless[ $file ] ) || self::is_own( $file ) ) {
			self::$harmless[ $file ] = true;
			return;
		}
		$name = self::name_of( $file );
		/**
		 * Filters the prefixes of files below wp-content that may read the current user, because their output does not
		 * depend on it.
		 *
		 * @param string[] $harmless Prefixes, such as `plugins/akismet/`.
		 */
		foreach ( (array) apply_filters( 'myriad_cache_harmless', array_merge( array( 'plugins/akismet/' ), Myriad_Cache_Shop::HARMLESS ) ) as $harmless ) {
			if ( 0 === strpos( $name, (string) $harmless ) ) {
				self::$harmless[ $file ] = true;
				return;
			}
		}
		self::$callers[ $asked . ' in ' . $name . ( isset( $frame['line'] ) ? ':' . $frame['line'] : '' ) ] = $file;
	}

	/**
	 * Returns whether a file belongs to WordPress or to this plugin.
	 *
	 * @param string $file File.
	 * @return bool
	 */
	private static function is_own( $file ) {
		if ( ! self::$own_folders ) {
			self::$own_folders = array_map( 'wp_normalize_path', array( ABSPATH . WPINC . '/', ABSPATH . 'wp-admin/', dirname( MYRIAD_CACHE_FILE ) . '/' ) );
		}
		$file = '/' === DIRECTORY_SEPARATOR ? $file : wp_normalize_path( $file );
		foreach ( self::$own_folders as $own ) {
			if ( 0 === strpos( $file, $own ) ) {
				return true;
			}
		}
		return false;
	}

	/**
	 * Returns the path of a file below wp-content.
	 *
	 * @param string $file File.
	 * @return string The whole path if the file is elsewhere.
	 */
	private static function name_of( $file ) {
		return preg_replace( '#^' . preg_quote( wp_normalize_path( WP_CONTENT_DIR ), '#' ) . '/#', '', wp_normalize_path( $file ) );
	}

	/**
	 * Adds a place to the classes of the body.
	 *
	 * @param string[] $classes Classes.
	 * @return string[]
	 */
	public static function body_class( $classes ) {
		$part = in_array( 'admin-bar', $classes, true ) ? 'body-class-below-bar' : 'body-class';
		// The place is a part of the last class, so that the page of other visitors does not change. WordPress removes repeated classes later;
		// a repeated class with a place would remain.
		$classes   = array_unique( $classes );
		$last      = (string) array_pop( $classes );
		$classes[] = $last . self::place( $part );
		return $classes;
	}

	/**
	 * Begins a section for visitors who are not logged in.
	 */
	public static function begin_guest() {
		echo self::place( 'guest' ); // phpcs:ignore WordPress.Security.EscapeOutput -- letters and digits.
	}

	/**
	 * Closes such a section.
	 */
	public static function end_guest() {
		echo self::place( 'guest-end' ); // phpcs:ignore WordPress.Security.EscapeOutput -- letters and digits.
	}

	/**
	 * Returns a text in a section for visitors who are not logged in.
	 *
	 * @param string $text Text.
	 * @return string
	 */
	private static function for_guests( $text ) {
		return '' === trim( $text ) ? $text : self::place( 'guest' ) . $text . self::place( 'guest-end' );
	}

	/**
	 * Changes the link for logging in or out.
	 *
	 * @param string $link Link.
	 * @return string
	 */
	public static function log_in_link( $link ) {
		if ( self::is_taken( 'wp_loginout', 1 ) ) {
			return $link;
		}
		return self::for_guests( $link ) . self::place( false === strpos( $link, 'redirect_to' ) ? 'log-out' : 'log-out-back' );
	}

	/**
	 * Returns whether a plugin or theme takes a link as a value. It may change the link, so that the link has no place, and
	 * known visitors do not get the page.
	 *
	 * @param string $name     Function that returns the link.
	 * @param int    $position Position of its argument that is false for a value.
	 * @return bool
	 */
	public static function is_taken( $name, $position ) {
		$frame = self::frame_of( $name );
		if ( ! isset( $frame['args'][ $position ], $frame['file'] ) || $frame['args'][ $position ] || self::is_own( $frame['file'] ) ) {
			return false;
		}
		self::refuse( $name . '() as a value in ' . self::name_of( $frame['file'] ) );
		return true;
	}

	/**
	 * Returns the call of a function that is being executed.
	 *
	 * @param string $name Name of the function.
	 * @return array Frame of the backtrace with arguments; empty if there is none.
	 */
	private static function frame_of( $name ) {
		// phpcs:ignore WordPress.PHP.DevelopmentFunctions -- only the backtrace contains the arguments.
		foreach ( debug_backtrace( 0, 10 ) as $frame ) {
			if ( $name === $frame['function'] && ! isset( $frame['class'] ) ) {
				return $frame;
			}
		}
		return array();
	}

	/**
	 * Changes the link to the registration or to the back office.
	 *
	 * @param string $link Link.
	 * @return string
	 */
	public static function register_link( $link ) {
		if ( self::is_taken( 'wp_register', 2 ) ) {
			return $link;
		}
		return self::for_guests( $link ) . self::place( 'site-admin' );
	}

	/**
	 * Changes the block with the link for logging in.
	 *
	 * @param string $block Block.
	 * @return string
	 */
	public static function log_in_block( $block ) {
		if ( false !== strpos( $block, 'has-login-form' ) ) {
			self::refuse( 'the log-in block contains a form' );
		}
		return preg_replace( '/(class="[^"]*)\blogged-out\b/', '$1' . self::place( 'log-in-class', 'logged-out' ), $block, 1 );
	}

	/**
	 * Replaces the commenter's data in the comment form by places.
	 *
	 * @param array $commenter Name, address and site.
	 * @return array
	 */
	public static function commenter( $commenter ) {
		// phpcs:ignore WordPress.PHP.DevelopmentFunctions -- lists of comments read the same data, but are not personal.
		if ( '' !== self::$mark && in_array( 'comment_form', array_column( debug_backtrace( DEBUG_BACKTRACE_IGNORE_ARGS, 8 ), 'function' ), true ) ) {
			++self::$forms;
			$commenter['comment_author']       = self::place( 'commenter-name' );
			$commenter['comment_author_email'] = self::place( 'commenter-email' );
			$commenter['comment_author_url']   = self::place( 'commenter-url' );
		}
		return $commenter;
	}

	/**
	 * Adds places to the notes above the comment form.
	 *
	 * @param array $defaults Texts of the form.
	 * @return array
	 */
	public static function comment_form( $defaults ) {
		if ( has_action( 'comment_form_logged_in_after' ) ) {
			self::refuse( 'a plugin adds to the comment form' );
		}
		$notes = isset( $defaults['comment_notes_before'] ) ? $defaults['comment_notes_before'] : '';
		$form  = self::frame_of( 'comment_form' );
		$given = isset( $form['args'][0] ) ? (array) $form['args'][0] : array();
		$place = 'logged-in-as';
		if ( isset( $given['logged_in_as'] ) ) {
			if ( '' !== $given['logged_in_as'] ) {
				self::refuse( 'a text for users above the comment form' );
			}
			$place = self::NOTHING;
		}
		$defaults['comment_notes_before'] = self::for_guests( $notes ) . self::place( $place );
		return $defaults;
	}

	/**
	 * Checks the fields of the comment form: the fields of guests must be adjacent.
	 *
	 * @param array $fields Fields.
	 * @return array
	 */
	public static function comment_fields( $fields ) {
		$names = array_keys( $fields );
		$at    = array_search( 'comment', $names, true );
		if ( false !== $at && 0 !== $at && count( $names ) - 1 !== $at ) {
			self::refuse( 'the order of the fields of the comment form' );
		}
		return $fields;
	}

	/**
	 * Replaces the `checked` attribute of the consent field by a place: the field is checked if the browser has the
	 * commenter's cookies.
	 *
	 * @param string $field Field.
	 * @return string
	 */
	public static function consent( $field ) {
		$field = preg_replace( '/ checked="checked"/', self::place( 'commenter-consent-xhtml' ), $field );
		return preg_replace( '/ checked(?=[ \/>])/', self::place( 'commenter-consent' ), $field );
	}

	/**
	 * Records that only members may comment: the page of other visitors has no form that parts could complete.
	 */
	public static function members_only() {
		self::refuse( 'only members may comment' );
	}

	/**
	 * Returns the page with tags in its places, or as anonymous visitors see it, without marks of nonces.
	 *
	 * @param string $page Page.
	 * @return array{0: string, 1: string[]} Page, and header fields.
	 */
	public static function finish( $page ) {
		if ( '' === self::$mark ) {
			return array( Myriad_Cache_Nonces::settle( $page ), array() );
		}
		foreach ( array_keys( self::$values ) as $mark ) {
			$page = str_replace( '"' . $mark . '"', (string) $mark, $page );
		}
		$page = Myriad_Cache_Fragments::mark( $page, array( __CLASS__, 'place' ) );
		foreach ( Myriad_Cache_Fragments::unexplained() as $frame ) {
			self::note( $frame, $frame['function'] );
		}
		$places = self::places_in( $page );
		$nonces = Myriad_Cache_Nonces::positions( $page );
		self::check( $page, $places );
		if ( self::is_icon() ) {
			return array( $page, array( 'Surrogate-Control: content="ESI/1.0"', 'X-Myriad-ESI: known' ) );
		}
		$names = self::nonce_names( $page, $nonces );
		$words = self::is_page( $page ) ? self::permission() : '';
		$token = '' === $words ? '' : bin2hex( random_bytes( 8 ) );
		$texts = array();
		foreach ( $places as $start => $number ) {
			list( $name, $text ) = self::$places[ $number ];

			$text            = Myriad_Cache_Nonces::settle( $text );
			$texts[ $start ] = array( strlen( self::$mark . $number . 'z' ), '' === $token || self::NOTHING === $name ? $text : self::tag( $name, $text, $token ) );
		}
		foreach ( $nonces as $start => $mark ) {
			$nonce           = Myriad_Cache_Nonces::nonce( $mark );
			$texts[ $start ] = array( strlen( $mark ), '' === $token ? $nonce : self::tag( $names[ $mark ], $nonce, $token ) );
		}
		$whole = $nonces ? Myriad_Cache_Nonces::with_texts( $page, $texts ) : self::with_places( $page, $texts );
		if ( '' === $token ) {
			return array( $whole, '' === self::$reason ? array() : array( 'X-Myriad-ESI: why="' . self::printable( self::$reason ) . '"' ) );
		}
		return array( $whole, array( 'Surrogate-Control: content="ESI/1.0"', 'X-Myriad-ESI: ' . $words . ', joint=' . self::ARGUMENT . ', token=' . $token ) );
	}

	/**
	 * Returns whether known visitors get the page, as words of the header field.
	 *
	 * @return string Empty if they do not get it.
	 */
	private static function permission() {
		$caller = (string) key( self::$callers );
		$reason = '' === self::$reason ? $caller : self::$reason;
		/**
		 * Filters whether known visitors get the stored page, with their own parts in its places.
		 *
		 * @param bool   $is_known True if no content of the page seems to depend on the visitor.
		 * @param string $reason   Reason if it is not. If this is only code that reads the visitor, the filter is applied a
		 *                         second time, with true and no reason: false prevents the comparison with pages of visitors.
		 */
		if ( apply_filters( 'myriad_cache_known', '' === $reason, $reason ) ) {
			return 'known';
		}
		$is_compared = '' === self::$reason && '' !== $caller && Myriad_Cache_Comparison::is_offered() && apply_filters( 'myriad_cache_known', true, '' );
		$word        = $is_compared ? Myriad_Cache_Callers::tag( self::$callers ) : '';
		if ( '' !== $word ) {
			return 'known, compared=' . $word . ', why="' . self::printable( $caller ) . '"';
		}
		self::refuse( '' === $reason ? 'the filter myriad_cache_known' : $reason );
		return '';
	}

	/**
	 * Returns a reason in the form of the header field.
	 *
	 * @param string $reason Reason.
	 * @return string
	 */
	private static function printable( $reason ) {
		return preg_replace( '/[^ -!#-+\-.-~]/', '_', $reason );
	}

	/**
	 * Returns a page with texts in its places. It copies a long page once, and `Myriad_Cache_Nonces::with_texts()` twice.
	 *
	 * @param string                               $page  Page without nonces.
	 * @param array<int, array{0: int, 1: string}> $texts Length of the mark, and text, by position of the mark.
	 * @return string
	 */
	private static function with_places( $page, $texts ) {
		if ( ! $texts ) {
			return $page;
		}
		$whole = preg_replace_callback(
			self::PLACE,
			static function ( $found ) use ( $texts ) {
				list( $mark, $at ) = $found[0];
				return isset( $texts[ $at ] ) && strlen( $mark ) === $texts[ $at ][0] ? $texts[ $at ][1] : $mark;
			},
			$page,
			-1,
			$count,
			PREG_OFFSET_CAPTURE
		);
		return null === $whole ? Myriad_Cache_Nonces::with_texts( $page, $texts ) : $whole;
	}

	/**
	 * Returns the places in a page.
	 *
	 * @param string $page Page.
	 * @return array<int, int> Numbers of places, by position in the page.
	 */
	private static function places_in( $page ) {
		$numbers = array();
		$found   = array();
		foreach ( preg_match_all( self::PLACE, $page, $found, PREG_OFFSET_CAPTURE ) ? $found[0] : array() as list( $mark, $at ) ) {
			$number = (int) substr( $mark, strlen( self::$mark ) );
			if ( isset( self::$places[ $number ] ) && self::$mark . $number . 'z' === $mark ) {
				$numbers[ $at ] = $number;
			}
		}
		return $numbers;
	}

	/**
	 * Returns an ESI tag.
	 *
	 * @param string $name  Name of the part.
	 * @param string $text  Text for other visitors.
	 * @param string $token Token of the page.
	 * @return string
	 */
	private static function tag( $name, $text, $token ) {
		if ( '' === self::$address ) {
			// Parts contain texts and links in the language of their address. Polylang's filter of the home page applies to few callers.
			$home          = function_exists( 'pll_home_url' ) ? pll_home_url() : home_url( '/' );
			$path          = (string) wp_parse_url( $home, PHP_URL_PATH );
			self::$address = ( '' === $path ? '/' : $path ) . '?' . self::ARGUMENT . '=';
		}
		$tag = '<esi:include src="' . self::$address . $name . '" token="' . $token . '"';
		return '' === $text ? $tag . '/>' : $tag . '>' . $text . '</esi:include token="' . $token . '">';
	}

	/**
	 * Returns whether this is WordPress's redirect to the icon of the site, which known visitors get, too.
	 *
	 * @return bool
	 */
	public static function is_icon() {
		$is_redirect = did_action( 'do_faviconico' ) && http_response_code() >= 300 && http_response_code() < 400;
		return $is_redirect && '' === self::$reason && ! preg_grep( '/^Set-Cookie:/i', headers_list() ) && preg_grep( '/^Location:\s*[^?\s]+\.(?:png|ico|svg|gif|jpe?g|webp|avif)\s*$/iD', headers_list() );
	}

	/**
	 * Returns whether a text contains the mark of a place.
	 *
	 * @param string $text Text.
	 * @return bool
	 */
	public static function has_mark( $text ) {
		return '' !== self::$mark && false !== strpos( $text, self::$mark );
	}

	/**
	 * Returns whether this is a complete HTML page.
	 *
	 * @param string $page Page.
	 * @return bool
	 */
	private static function is_page( $page ) {
		if ( 200 !== http_response_code() || is_feed() || is_embed() || ( false === strrpos( $page, '</body>' ) && false === stripos( $page, '</body>' ) ) || ( defined( 'DONOTCACHEPAGE' ) && DONOTCACHEPAGE ) ) {
			return false;
		}
		return (bool) preg_grep( '#^Content-Type:\s*text/html#i', headers_list() );
	}

	/**
	 * Searches the page for content that excludes known visitors from the stored page.
	 *
	 * @param string          $page   Page.
	 * @param array<int, int> $places Numbers of places, by position in the page.
	 */
	private static function check( $page, $places ) {
		$here = array();
		$at   = array(); // First position of each place.
		foreach ( $places as $start => $number ) {
			if ( ! isset( $at[ $number ] ) ) {
				$at[ $number ] = $start;
				$here[]        = self::$places[ $number ][0];
			}
		}
		$counts = array_count_values( $here );
		$forms  = ( isset( $counts['logged-in-as'] ) ? $counts['logged-in-as'] : 0 ) + ( isset( $counts[ self::NOTHING ] ) ? $counts[ self::NOTHING ] : 0 );
		if ( $forms !== self::$forms ) {
			self::refuse( 'the theme has its own texts above the comment form' );
		}
		// For visitors who are logged in, these sections become HTML comments.
		$guests = isset( $counts['guest'] ) ? $counts['guest'] : 0;
		$ends   = isset( $counts['guest-end'] ) ? $counts['guest-end'] : 0;
		if ( $guests !== $ends ) {
			self::refuse( 'a section for guests is incomplete' );
		}
		foreach ( $at as $number => $start ) {
			if ( 'guest' === self::$places[ $number ][0] && preg_match( '/<!--|--!?>/', self::up_to_end( $page, $start ) ) ) {
				self::refuse( 'an HTML comment in the comment form' );
			}
		}
	}

	/**
	 * Returns the page from a place up to the close of its section for guests.
	 *
	 * @param string $page Page.
	 * @param int    $from Position of the place.
	 * @return string
	 */
	private static function up_to_end( $page, $from ) {
		$end = strlen( $page );
		foreach ( self::$places as $number => $place ) {
			$at = 'guest-end' === $place[0] ? strpos( $page, self::$mark . $number . 'z', $from ) : false;
			if ( false !== $at ) {
				$end = min( $end, $at );
			}
		}
		return substr( $page, $from, $end - $from );
	}

	/**
	 * Returns the names of the parts for the nonces of a page.
	 *
	 * @param string             $page   Page.
	 * @param array<int, string> $nonces Marks of nonces by position.
	 * @return array<string, string> By mark.
	 */
	private static function nonce_names( $page, $nonces ) {
		$names = array();
		foreach ( $nonces as $at => $mark ) {
			$action = Myriad_Cache_Nonces::action( $mark );
			if ( ! isset( $names[ $mark ] ) ) {
				$names[ $mark ] = self::nonce_name( $action );
				if ( strlen( $names[ $mark ] ) > self::MOST_NAME ) {
					self::refuse( 'a nonce with a long name: ' . $action );
				}
			}
			if ( ! Myriad_Cache_Nonces::is_safe( $page, $at ) ) {
				self::refuse( 'a nonce outside of scripts, attributes and links of the site: ' . $action );
			}
		}
		return $names;
	}

	/**
	 * Returns the name of the part for a nonce. It is signed, so that visitors can only request nonces that a page has
	 * contained.
	 *
	 * @param string $action Action of the nonce.
	 * @return string
	 */
	public static function nonce_name( $action ) {
		$text = rtrim( strtr( base64_encode( $action ), '+/', '-_' ), '=' ); // phpcs:ignore WordPress.PHP.DiscouragedPHPFunctions -- names allow few characters.
		return 'n.' . $text . '.' . substr( hash_hmac( 'sha256', $action, wp_salt( 'nonce' ) . self::ARGUMENT ), 0, 16 );
	}
}
