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
	 * Frequent names of attributes of blocks, and of fields of products, pictures and users, which are not those of dates: the expressions in
	 * is_name() would be evaluated for each of them on each page.
	 */
	const OTHER_NAMES = array(
		'_backorders' => false, '_crosssell_ids' => false, '_default_attributes' => false, '_download_limit' => false, '_downloadable' => false,
		'_edit_last' => false, '_edit_lock' => false, '_featured' => false, '_height' => false, '_length' => false, '_low_stock_amount' => false,
		'_manage_stock' => false, '_menu_item_classes' => false, '_menu_item_menu_item_parent' => false, '_menu_item_object' => false,
		'_menu_item_object_id' => false, '_menu_item_target' => false, '_menu_item_type' => false, '_menu_item_url' => false,
		'_menu_item_xfn' => false, '_price' => false, '_product_attributes' => false, '_product_image_gallery' => false, '_product_url' => false,
		'_product_version' => false, '_purchase_note' => false, '_regular_price' => false, '_sale_price' => false, '_sku' => false,
		'_sold_individually' => false, '_stock' => false, '_stock_status' => false, '_tax_class' => false, '_tax_status' => false,
		'_thumbnail_id' => false, '_upsell_ids' => false, '_virtual' => false, '_wc_average_rating' => false, '_wc_rating_count' => false,
		'_wc_review_count' => false, '_weight' => false, '_width' => false, '_wp_attached_file' => false, '_wp_attachment_image_alt' => false,
		'_wp_attachment_metadata' => false, '_wp_old_slug' => false, '_wp_page_template' => false, 'align' => false, 'alignment' => false,
		'allowedBlocks' => false, 'alt' => false, 'anchor' => false, 'aspectRatio' => false, 'backgroundColor' => false, 'blockGap' => false,
		'border' => false, 'bottom' => false, 'categories' => false, 'className' => false, 'color' => false, 'columns' => false,
		'content' => false, 'contentSize' => false, 'default' => false, 'description' => false, 'displayLayout' => false,
		'display_type' => false, 'elements' => false, 'exclude' => false, 'filter' => false, 'flexWrap' => false, 'fontFamily' => false,
		'fontSize' => false, 'fontStyle' => false, 'fontWeight' => false, 'format' => false, 'gradient' => false, 'height' => false,
		'href' => false, 'icon' => false, 'id' => false, 'inherit' => false, 'isLink' => false, 'isStackedOnMobile' => false,
		'justifyContent' => false, 'label' => false, 'lastItem' => false, 'layout' => false, 'left' => false, 'letterSpacing' => false,
		'level' => false, 'lineHeight' => false, 'link' => false, 'linkTarget' => false, 'lock' => false, 'margin' => false, 'metadata' => false,
		'minHeight' => false, 'moreText' => false, 'name' => false, 'navigation' => false, 'offset' => false, 'openSubmenusOnClick' => false,
		'opensInNewTab' => false, 'order' => false, 'orderBy' => false, 'orientation' => false, 'overlayMenu' => false,
		'overlayTextColor' => false, 'padding' => false, 'pages' => false, 'parents' => false, 'patternName' => false, 'perPage' => false,
		'placeholder' => false, 'postType' => false, 'productId' => false, 'query' => false, 'queryId' => false, 'radius' => false,
		'right' => false, 'search' => false, 'selfAlign' => false, 'showAuthor' => false, 'showLabel' => false, 'size' => false,
		'sizeSlug' => false, 'slug' => false, 'sort' => false, 'spacing' => false, 'sticky' => false, 'style' => false, 'tagName' => false,
		'taxQuery' => false, 'term' => false, 'textAlign' => false, 'textColor' => false, 'textDecoration' => false, 'textTransform' => false,
		'theme' => false, 'thumbnail_id' => false, 'title' => false, 'top' => false, 'total_sales' => false, 'type' => false,
		'admin_color' => false, 'comment_shortcuts' => false, 'dismissed_wp_pointers' => false, 'first_name' => false, 'last_name' => false, 'locale' => false,
		'nickname' => false, 'rich_editing' => false, 'show_admin_bar_front' => false, 'show_welcome_panel' => false, 'syntax_highlighting' => false,
		'use_ssl' => false, 'wp_capabilities' => false, 'wp_user_level' => false,
		'typography' => false, 'underline' => false, 'url' => false, 'verticalAlign' => false, 'width' => false,
	);

	/**
	 * Pairs of a name and a date in serialized arrays and in JSON.
	 */
	const PAIRS = '/"([A-Za-z_][\w-]{1,60})"\s*[:;]\s*(?:s:[0-9]+:)?(?:"([^"\\\\]{5,40})"|(?:i:)?([0-9]{10,13})\b)/';

	/**
	 * Fields of products with the start and the finish of sales.
	 */
	const SALES = array( '_sale_price_dates_from', '_sale_price_dates_to' );

	/**
	 * Block whose attributes may contain a date or a time: digits that begin one. The expression begins with a rare text, which PHP finds fast.
	 */
	const DATED_BLOCK = '/wp:[^<>{]*+\{[^<>0-9]*+(?:(?!20[0-9]{2}|1[0-9]{9}|[0-9]{1,2}:[0-5][0-9])[0-9]++[^<>0-9]*+)*+[0-9]/';

	/**
	 * Taxonomies of products, as keys.
	 */
	const SHOP_TAXONOMIES = array(
		'product_cat'   => true,
		'product_tag'   => true,
		'product_brand' => true,
	);

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
	 * True for names of dates, by name.
	 *
	 * @var array<string, bool>
	 */
	private static $names = self::OTHER_NAMES;

	/**
	 * Next moment of parsed texts; 0 for none.
	 *
	 * @var array<string, int>
	 */
	private static $parsed = array();

	/**
	 * True if moments in all blocks are recorded.
	 *
	 * @var bool
	 */
	private static $notes_blocks = false;

	/**
	 * Last text that was searched for dates in blocks.
	 *
	 * @var string
	 */
	private static $document = '';

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
		Myriad_Cache_Hooks::add( 'block_parser_class', array( __CLASS__, 'parser' ), PHP_INT_MAX );
	}

	/**
	 * Replaces the parser of blocks by one that searches them for dates: a filter of all blocks would be called hundreds of times for a page.
	 *
	 * @param string $name Class of the parser.
	 * @return string
	 */
	public static function parser( $name ) {
		if ( 'WP_Block_Parser' === $name ) {
			return 'Myriad_Cache_Block_Parser';
		}
		self::start_blocks();
		return $name;
	}

	/**
	 * Begins to record moments in attributes of blocks if a text may contain any.
	 *
	 * @param mixed $document Text with blocks.
	 */
	public static function note_document( $document ) {
		// WordPress parses most texts twice.
		if ( ! self::$notes_blocks && is_string( $document ) && $document !== self::$document ) {
			self::$document = $document;
			if ( preg_match( self::DATED_BLOCK, $document ) ) {
				self::start_blocks();
			}
		}
	}

	/**
	 * Begins to record moments in the attributes of all blocks.
	 */
	private static function start_blocks() {
		if ( ! self::$notes_blocks ) {
			self::$notes_blocks = true;
			Myriad_Cache_Hooks::add( 'render_block_data', array( __CLASS__, 'note_visible_block' ), PHP_INT_MAX, 2 );
		}
	}

	/**
	 * Records the moments in the attributes of a block.
	 *
	 * @param array $block  Block.
	 * @param array $source The same before plugins changed it.
	 * @return array
	 */
	public static function note_visible_block( $block, $source = array() ) {
		if ( ! empty( $source['attrs'] ) && ( ! isset( $block['attrs'] ) || $source['attrs'] !== $block['attrs'] ) ) {
			self::note_block( $source );
		}
		self::note_block( $block );
		return $block;
	}

	/**
	 * Starts to record moments in blocks that plugins hide, if a plugin may hide any: note_visible_block() handles visible blocks.
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
		$types = isset( $vars['post_type'] ) ? $vars['post_type'] : '';
		$terms = isset( $query->tax_query->queried_terms ) ? $query->tax_query->queried_terms : array();
		if ( 'product' === $types || ( is_array( $types ) && in_array( 'product', $types, true ) ) || ( $terms && array_intersect_key( $terms, self::SHOP_TAXONOMIES ) ) ) {
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
			$words = strtolower( $name ) === $name ? $name : (string) preg_replace( '/(?<=[a-z])(?=[A-Z])/', '_', $name );

			self::$names[ $name ] = strlen( $name ) <= 100 && (bool) preg_match( self::NAMES, $words );
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
				$key = is_int( $key ) ? $name : (string) $key;
				// Most entries are short texts without a date, or no texts.
				if ( is_string( $entry ) ? isset( self::$names[ $key ] ) && ! self::$names[ $key ] && ( ! isset( $entry[3] ) || ( '{' !== $entry[1] && ':' !== $entry[1] && '{' !== $entry[0] ) ) : is_bool( $entry ) ) {
					continue;
				}
				$found = self::note( $key, $entry, $level + 1 ) || $found;
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
		$fields        = Myriad_Cache_Memory::objects( 'post_meta' );
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
			foreach ( Myriad_Cache_Memory::objects( $group ) as $fields ) {
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
