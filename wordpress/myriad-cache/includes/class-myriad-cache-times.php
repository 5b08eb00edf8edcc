<?php
/**
 * Moments at which a page changes without any write.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Limits the validity of a page to the next moment in the data that was read for it: start and finish of sales, events, memberships and
 * visible blocks.
 *
 * Dates are recognised by name and value in fields of posts, terms, users and comments, in options, and in attributes of blocks. Lists that
 * depend on a field with dates are limited by the next moment in this field of any post. A bound that is too early costs
 * one rendering.
 */
class Myriad_Cache_Times {

	/**
	 * Option with `options` (names of options with dates), `fields` (the next moment of fields of posts, 0 for none), and `conditions` (see
	 * `Myriad_Cache_Table_Times`).
	 */
	const OPTION = 'myriad_cache_times';

	/**
	 * Words in names of dates, after `endDate` was separated into `end_Date`.
	 */
	const NAMES = '/(?:^|[^a-z])(?:(?:start|begin|end|event|sale|open|close|valid|expir(?:y|ation|e)|publish)?(?:dates?|times?|datetime|timestamp)(?:gmt|utc)?|from|to|until|till|expir\w*|ends?|ended|ending|starts?|starting|begins?|deadline|schedul\w*|unpublish\w*|countdown|due)(?:$|[^a-z])/i';

	/**
	 * Pairs of a name and a date in serialized arrays and in JSON.
	 */
	const PAIRS = '/"([A-Za-z_][\w-]{1,60})"\s*[:;]\s*(?:s:[0-9]+:)?(?:"([^"\\\\]{5,40})"|(?:i:)?([0-9]{10,13})\b)/';

	/**
	 * Fields of products with the start and the finish of sales.
	 */
	const SALES = array( '_sale_price_dates_from', '_sale_price_dates_to' );

	/**
	 * Fields without dates that affect pages.
	 */
	const INNER = array(
		'session_tokens' => true,
		'_edit_lock'     => true,
		'_edit_last'     => true,
	);

	/**
	 * Namespace of classes that filter blocks without hiding any.
	 */
	const HIDES_NONE = 'Automattic\\WooCommerce\\Blocks\\BlockTypes\\';

	/**
	 * Maximum validity of a page, in seconds, if a plugin began to hide blocks while the page was generated.
	 */
	const LATE_VALIDITY = 300;

	/**
	 * Groups of the object cache with fields.
	 */
	const GROUPS = array( 'post_meta', 'term_meta', 'user_meta', 'comment_meta' );

	/**
	 * Time ahead within which moments are recorded, in seconds: the maximum validity of a page.
	 */
	const AHEAD = 2592000;

	/**
	 * Maximum number of dates that are parsed for a page, and of entries of arrays that are searched for them.
	 */
	const MOST = 500;

	/**
	 * Maximum number of entries in each list of the option.
	 */
	const MOST_STORED = 100;

	/**
	 * Future moments, as keys, with stages as in `Myriad_Cache_Tags`.
	 *
	 * @var array<int, int>
	 */
	private static $moments = array();

	/**
	 * Whether names are those of dates.
	 *
	 * @var array<string, bool>
	 */
	private static $names = array();

	/**
	 * Next moment of parsed texts; 0 for none.
	 *
	 * @var array<string, int>
	 */
	private static $parsed = array();

	/**
	 * True if moments in blocks that plugins hide are recorded.
	 *
	 * @var bool
	 */
	private static $notes_hidden = false;

	/**
	 * Number of entries that were searched.
	 *
	 * @var int
	 */
	private static $searched = 0;

	/**
	 * Fields of posts on which lists of this page depend, as keys, with stages.
	 *
	 * @var array<string, int>
	 */
	private static $fields = array();

	/**
	 * Starts to record moments, while a page is generated.
	 */
	public static function start() {
		Myriad_Cache_Hooks::add( 'wp', array( __CLASS__, 'start_hidden_blocks' ), PHP_INT_MAX );
	}

	/**
	 * Starts to record moments in blocks that plugins hide, if a plugin may hide any: Myriad_Cache_Notes::note_block() handles visible blocks.
	 */
	public static function start_hidden_blocks() {
		if ( self::has_hidden_blocks() ) {
			self::$notes_hidden = true;
			Myriad_Cache_Hooks::add( 'pre_render_block', array( __CLASS__, 'note_hidden_block' ), PHP_INT_MIN, 2 );
		}
	}

	/**
	 * Returns whether a plugin may hide blocks.
	 *
	 * @return bool
	 */
	private static function has_hidden_blocks() {
		global $wp_filter;
		foreach ( isset( $wp_filter['pre_render_block'] ) ? $wp_filter['pre_render_block']->callbacks : array() as $callbacks ) {
			foreach ( $callbacks as $callback ) {
				$function = $callback['function'];
				$class    = is_array( $function ) && is_object( $function[0] ) ? get_class( $function[0] ) : '';
				if ( '_wp_add_block_level_preset_styles' !== $function && 0 !== strpos( $class, self::HIDES_NONE ) ) {
					return true;
				}
			}
		}
		return false;
	}

	/**
	 * Records moments in the attributes of a block, also of one that a plugin hides.
	 *
	 * @param mixed $content Content that replaces the block.
	 * @param array $block   Block.
	 * @return mixed
	 */
	public static function note_hidden_block( $content, $block ) {
		self::note_block( $block );
		return $content;
	}

	/**
	 * Records moments in the attributes of a block.
	 *
	 * @param array $block Block.
	 */
	public static function note_block( $block ) {
		if ( ! empty( $block['attrs'] ) ) {
			self::note( '', $block['attrs'] );
		}
	}

	/**
	 * Records the fields with dates that a query selects or sorts by, and those of sales if it selects products.
	 *
	 * @param WP_Query $query Query.
	 */
	public static function note_query( $query ) {
		$vars = $query->query_vars;
		if ( ! empty( $vars['meta_query'] ) || ! empty( $vars['meta_key'] ) ) {
			$is_date = (bool) preg_match( '/"(?:type|meta_type)":"(?:DATE|TIME)/i', (string) wp_json_encode( array_intersect_key( $vars, array_flip( array( 'meta_query', 'meta_type' ) ) ) ) );
			foreach ( Myriad_Cache_Lists::meta_keys( $vars ) as $key ) {
				if ( Myriad_Cache_Writes::is_noisy_field( (string) $key ) ) {
					// Visits change the order of the list, which purges nothing.
					Myriad_Cache_Page::limit( Myriad_Cache_Writes::NOISY_VALIDITY );
				}
				if ( $is_date || self::is_name( $key ) ) {
					self::$fields[ $key ] = Myriad_Cache_Tags::$stage;
				}
			}
		}
		$types = isset( $vars['post_type'] ) ? (array) $vars['post_type'] : array();
		$terms = isset( $query->tax_query->queried_terms ) ? array_keys( $query->tax_query->queried_terms ) : array();
		if ( in_array( 'product', $types, true ) || preg_grep( '/^product_(?:cat|tag|brand)$/', $terms ) ) {
			self::$fields = array_fill_keys( self::SALES, Myriad_Cache_Tags::$stage ) + self::$fields;
		}
	}

	/**
	 * Returns whether a name is that of a date.
	 *
	 * @param string $name Name.
	 * @return bool
	 */
	public static function is_name( $name ) {
		if ( ! isset( self::$names[ $name ] ) ) {
			self::$names[ $name ] = strlen( $name ) <= 100 && (bool) preg_match( self::NAMES, (string) preg_replace( '/(?<=[a-z])(?=[A-Z])/', '_', $name ) );
		}
		return self::$names[ $name ];
	}

	/**
	 * Records the moments in a value, and in the entries of an array, down to the fourth level.
	 *
	 * @param string $name  Name of the value.
	 * @param mixed  $value Value.
	 * @param int    $level Level of the array.
	 * @return bool True if it contains a date, which may be in the past.
	 */
	private static function note( $name, $value, $level = 0 ) {
		if ( is_array( $value ) || $value instanceof stdClass ) {
			$found = false;
			foreach ( $level > 3 ? array() : (array) $value as $key => $entry ) {
				if ( ++self::$searched > self::MOST ) {
					break;
				}
				// Entries of lists have the name of the list.
				$found = self::note( is_int( $key ) ? $name : (string) $key, $entry, $level + 1 ) || $found;
			}
			return $found;
		}
		if ( is_int( $value ) ) {
			return $value > 1000000000 && self::is_name( $name ) && self::note_text( (string) $value );
		}
		if ( ! is_string( $value ) || strlen( $value ) < 4 ) {
			return false;
		}
		if ( '{' === $value[1] || ':' === $value[1] || '{' === $value[0] ) {
			return self::note_packed( $value );
		}
		return strlen( $value ) <= 40 && self::is_name( $name ) && self::note_text( $value );
	}

	/**
	 * Records the moments in a serialized array, or in JSON.
	 *
	 * @param string $text Text.
	 * @return bool True if it contains a date.
	 */
	private static function note_packed( $text ) {
		$pairs = array();
		$found = false;
		if ( preg_match_all( self::PAIRS, substr( $text, 0, 20000 ), $pairs, PREG_SET_ORDER ) ) {
			foreach ( array_slice( $pairs, 0, self::MOST ) as $pair ) {
				$found = ( self::is_name( $pair[1] ) && self::note_text( isset( $pair[3] ) ? $pair[3] : $pair[2] ) ) || $found;
			}
		}
		return $found;
	}

	/**
	 * Records the next moment of a text with a date or a time.
	 *
	 * @param string $text Text.
	 * @return bool True if it is a date or a time.
	 */
	public static function note_text( $text ) {
		if ( ! isset( self::$parsed[ $text ] ) ) {
			if ( count( self::$parsed ) >= self::MOST ) {
				return false;
			}
			self::$parsed[ $text ] = self::next_of( self::moments( $text ) );
		}
		if ( self::$parsed[ $text ] > 0 ) {
			self::$moments[ self::$parsed[ $text ] ] = Myriad_Cache_Tags::$stage;
		}
		return self::$parsed[ $text ] >= 0;
	}

	/**
	 * Returns the first future moment.
	 *
	 * @param int[] $moments Moments.
	 * @return int 0 if there is none; -1 if the list is empty.
	 */
	private static function next_of( $moments ) {
		$now    = time();
		$future = array_filter(
			$moments,
			static function ( $moment ) use ( $now ) {
				return $moment > $now;
			}
		);
		return $future ? min( $future ) : ( $moments ? 0 : -1 );
	}

	/**
	 * Returns the moments that a text may mean: in the zone of the site and in UTC; start and end of a day.
	 *
	 * @param string $text Text: a Unix time in seconds or milliseconds, a date, or a time of the day.
	 * @return int[]
	 */
	private static function moments( $text ) {
		if ( preg_match( '/^[0-9]{10}(?:[0-9]{3})?$/D', $text ) ) {
			return array( (int) substr( $text, 0, 10 ) );
		}
		$is_time = (bool) preg_match( '/^(?:[01]?[0-9]|2[0-4]):[0-5][0-9](?::[0-5][0-9])?(?: ?[ap]m)?$/iD', $text );
		if ( ! $is_time && ! preg_match( '/^20[0-9]{6}$|^\w{1,9}[-\/., ].*(?<![0-9])20[0-9]{2}(?![0-9])|^20[0-9]{2}[-\/.]/D', $text ) ) {
			return array();
		}
		$is_day  = ! $is_time && false === strpos( $text, ':' );
		$moments = array();
		foreach ( array( wp_timezone(), new DateTimeZone( 'UTC' ) ) as $zone ) {
			$date = date_create_immutable( $is_day ? $text . ' 00:00' : $text, $zone );
			if ( ! $date ) {
				// Day before month.
				$date = date_create_immutable( (string) preg_replace( '/^([0-9]{1,2})\/([0-9]{1,2})\//', '$2/$1/', $text ), $zone );
			}
			if ( $date ) {
				$moments[] = $date->getTimestamp();
				if ( $is_day || $is_time ) {
					$moments[] = $date->modify( '+1 day' )->getTimestamp();
				}
			}
		}
		return $moments;
	}

	/**
	 * Records a moment of a transient that the page reads.
	 *
	 * @param int $moment Unix time.
	 */
	public static function add( $moment ) {
		if ( $moment > time() ) {
			self::$moments[ $moment ] = Myriad_Cache_Tags::$stage;
		}
	}

	/**
	 * Records the moments of tables, if the page has read any of a plugin.
	 *
	 * @param int $mark Number of the stage.
	 */
	private static function add_of_tables( $mark ) {
		if ( class_exists( 'Myriad_Cache_Table_Times', false ) ) {
			array_map( array( __CLASS__, 'add' ), Myriad_Cache_Table_Times::since( $mark ) );
		}
	}

	/**
	 * Returns the next moment that was recorded after a stage, also in fields of posts.
	 *
	 * @param int   $mark  Number of the stage.
	 * @param int[] $posts Posts that were read since.
	 * @return int Unix time; 0 for none.
	 */
	public static function since( $mark, $posts ) {
		self::add_of_tables( $mark );
		$before        = self::$moments;
		self::$moments = array();
		$fields        = Myriad_Cache_Reads::held( 'post_meta' );
		foreach ( $posts as $post_id ) {
			if ( isset( $fields[ $post_id ] ) && is_array( $fields[ $post_id ] ) ) {
				self::note_fields( $fields[ $post_id ] );
			}
		}
		foreach ( self::$fields as $field => $number ) {
			if ( $number > $mark ) {
				self::add( self::next_of_field( (string) $field ) );
			}
		}
		$found = array_keys( self::$moments );
		foreach ( $before as $moment => $number ) {
			if ( $number > $mark ) {
				$found[] = $moment;
			}
		}
		self::$moments += $before;
		return max( 0, self::next_of( $found ) );
	}

	/**
	 * Records the moments in the fields of an object.
	 *
	 * @param array $fields Values of fields by name, as in the object cache.
	 */
	private static function note_fields( $fields ) {
		foreach ( $fields as $name => $values ) {
			if ( ! is_array( $values ) || isset( self::INNER[ $name ] ) ) {
				continue;
			}
			$is_name = isset( self::$names[ $name ] ) ? self::$names[ $name ] : self::is_name( (string) $name );
			foreach ( $values as $value ) {
				// Most values are short texts without a date.
				if ( $is_name || ! is_string( $value ) || ( isset( $value[3] ) && ( '{' === $value[1] || ':' === $value[1] || '{' === $value[0] ) ) ) {
					self::note( (string) $name, $value );
				}
			}
		}
	}

	/**
	 * Limits the validity of the page to the next moment.
	 */
	public static function finish() {
		if ( ! self::$notes_hidden && self::has_hidden_blocks() ) {
			Myriad_Cache_Page::limit( self::LATE_VALIDITY );
		}
		self::$searched = 0;
		foreach ( self::GROUPS as $group ) {
			foreach ( Myriad_Cache_Reads::held( $group ) as $fields ) {
				if ( is_array( $fields ) ) {
					self::note_fields( $fields );
				}
			}
		}
		$stored = self::stored();
		foreach ( $stored['options'] as $name ) {
			self::$searched = 0;
			self::note( (string) $name, Myriad_Cache_Options::stored( (string) $name ) );
		}
		foreach ( array_keys( self::$fields ) as $field ) {
			self::add( self::next_of_field( (string) $field ) );
		}
		self::add_of_tables( 0 );
		$next = self::next_of( array_keys( self::$moments ) );
		if ( $next > 0 && $next - time() <= self::AHEAD ) {
			Myriad_Cache_Page::limit( max( 1, $next - time() ) );
		}
	}

	/**
	 * Records which options that were read contain dates.
	 *
	 * @param string[] $names Names of options.
	 */
	public static function store_options( $names ) {
		$found = array();
		foreach ( $names as $name ) {
			self::$searched = 0;
			if ( self::note( $name, Myriad_Cache_Options::stored( $name ) ) ) {
				$found[] = $name;
			}
		}
		self::store( 'options', $found );
	}

	/**
	 * Returns the next moment in a field of all posts.
	 *
	 * @param string $field Name of the field.
	 * @return int Unix time; 0 for none.
	 */
	private static function next_of_field( $field ) {
		global $wpdb;
		$stored = self::stored();
		if ( isset( $stored['fields'][ $field ] ) && ( 0 === $stored['fields'][ $field ] || $stored['fields'][ $field ] > time() ) ) {
			return $stored['fields'][ $field ];
		}
		// Yesterday in UTC precedes today in every zone. Dates of each format are in the order of their texts.
		$sql = "SELECT MIN(CASE WHEN meta_value LIKE '20__-%%' AND meta_value >= %s THEN meta_value END),
			MIN(CASE WHEN LENGTH(meta_value) = 8 AND meta_value >= %s THEN meta_value END),
			MIN(CASE WHEN LENGTH(meta_value) = 10 AND meta_value NOT LIKE '%%-%%' AND meta_value > %s THEN meta_value END)
			FROM {$wpdb->postmeta} WHERE meta_key = %s AND meta_value > '1'";
		$day = time() - DAY_IN_SECONDS;
		$row = Myriad_Cache_Reads::unnoted(
			static function () use ( $wpdb, $sql, $day, $field ) {
				// phpcs:ignore WordPress.DB -- prepared, and stored until the field changes.
				return $wpdb->get_row( $wpdb->prepare( $sql, gmdate( 'Y-m-d', $day ), gmdate( 'Ymd', $day ), (string) time(), $field ), ARRAY_N );
			}
		);
		$moments = array();
		foreach ( array_filter( (array) $row ) as $text ) {
			$moments = array_merge( $moments, self::moments( (string) $text ) );
		}
		$next = max( 0, self::next_of( $moments ) );
		self::store( 'fields', array( $field => $next ) );
		return $next;
	}

	/**
	 * Forgets the next moment of a field of posts, after the field has changed.
	 *
	 * @param string $field Name of the field.
	 */
	public static function forget_field( $field ) {
		self::forget( 'fields', '/^' . preg_quote( $field, '/' ) . '$/D' );
	}

	/**
	 * Removes entries from a stored list.
	 *
	 * @param string $list    Name of the list.
	 * @param string $pattern Regular expression for the keys of the entries.
	 */
	public static function forget( $list, $pattern ) {
		$stored = self::stored();
		$found  = preg_grep( $pattern, array_map( 'strval', array_keys( $stored[ $list ] ) ) );
		if ( $found ) {
			$stored[ $list ] = array_diff_key( $stored[ $list ], array_fill_keys( $found, true ) );
			update_option( self::OPTION, $stored, true );
		}
	}

	/**
	 * Returns a stored list.
	 *
	 * @param string $list Name of the list.
	 * @return array
	 */
	public static function stored_of( $list ) {
		return self::stored()[ $list ];
	}

	/**
	 * Returns the stored lists.
	 *
	 * @return array{options: string[], fields: array<string, int>, conditions: array<string, int[]>}
	 */
	private static function stored() {
		$stored = get_option( self::OPTION );
		return ( is_array( $stored ) ? $stored : array() ) + array(
			'options'    => array(),
			'fields'     => array(),
			'conditions' => array(),
		);
	}

	/**
	 * Adds entries to a stored list.
	 *
	 * @param string $list    Name of the list.
	 * @param array  $entries Entries; those of `options` have no keys.
	 */
	public static function store( $list, $entries ) {
		$stored = self::stored();
		$before = $stored[ $list ];
		if ( 'options' !== $list ) {
			$stored[ $list ] = array_slice( $entries + $before, 0, self::MOST_STORED );
		} elseif ( array_diff( $entries, $before ) ) {
			$all = array_unique( array_merge( $before, $entries ) );
			$stored[ $list ] = array_slice( $all, 0, self::MOST_STORED );
		}
		if ( $stored[ $list ] !== $before ) {
			update_option( self::OPTION, $stored, true );
		}
	}
}
