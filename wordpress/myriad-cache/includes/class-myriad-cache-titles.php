<?php
/**
 * Blocks that show only titles, links and dates of posts.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Tags the page with the titles and class names of posts in place of the posts (`pt12` and `pc12` in place of `p12`), if blocks of WordPress list them.
 *
 * Reads of `$post->post_content` cannot be observed. So a post counts as shown by its title only if no other code can have read it: the block
 * loaded it, only WordPress's own functions ran until the block was complete, and the post is then removed from the memory of the object
 * cache, so that a later read of it is found there by `Myriad_Cache_Reads`. In all other cases the page depends on the whole post.
 */
class Myriad_Cache_Titles {

	/**
	 * Blocks that list posts. Those with `true` contain other blocks.
	 */
	const LISTS = array(
		'core/post-template'        => true,
		'core/latest-posts'         => false,
		'core/post-navigation-link' => false,
	);

	/**
	 * Blocks in a list that show no other data of a post.
	 */
	const INNER = array(
		'core/null'       => true,
		'core/group'      => true,
		'core/columns'    => true,
		'core/column'     => true,
		'core/separator'  => true,
		'core/spacer'     => true,
		'core/paragraph'  => true,
		'core/heading'    => true,
		'core/post-title' => true,
		'core/post-date'  => true,
	);

	/**
	 * Filters that WordPress applies to other data of posts.
	 */
	const OTHER_DATA = array(
		'the_content'                        => true,
		'the_content_feed'                   => true,
		'get_the_excerpt'                    => true,
		'the_excerpt'                        => true,
		'get_the_modified_date'              => true,
		'get_the_modified_time'              => true,
		'get_post_modified_time'             => true,
		'get_comments_number'                => true,
		'wp_get_attachment_url'              => true,
		'wp_get_attachment_image_attributes' => true,
		'post_thumbnail_html'                => true,
	);

	/**
	 * Hooks whose callbacks do not receive posts, in plugins: of options and translations, among others.
	 */
	const WITHOUT_POSTS = '/^(?:(?:pre_|default_)?option_|pre_option$|n?gettext|(?:determine_|pre_determine_|plugin_|theme_)?locale$|query$|(?:home|site)_url$)/D';

	/**
	 * Name of the list that is being rendered; empty outside of lists.
	 *
	 * @var string
	 */
	public static $list = '';

	/**
	 * True if the list shows only titles so far.
	 *
	 * @var bool
	 */
	private static $is_plain = true;

	/**
	 * Posts in the memory of the object cache before the list, as keys.
	 *
	 * @var array<int, mixed>
	 */
	private static $before = array();

	/**
	 * Posts that were read in the list, as keys.
	 *
	 * @var array<int, true>
	 */
	private static $posts = array();

	/**
	 * Hooks that have run in the list, as keys.
	 *
	 * @var array<string, true>
	 */
	private static $hooks = array();

	/**
	 * Posts whose titles are shown, as keys.
	 *
	 * @var array<int, true>
	 */
	private static $titled = array();

	/**
	 * Registers the filters of blocks.
	 */
	public static function start() {
		self::observe_blocks();
		foreach ( array_keys( self::LISTS ) as $name ) {
			Myriad_Cache_Hooks::add( 'render_block_' . $name, array( __CLASS__, 'end' ), PHP_INT_MAX );
		}
	}

	/**
	 * Observes all blocks, before they are rendered. Has no effect if blocks are observed already.
	 */
	private static function observe_blocks() {
		Myriad_Cache_Hooks::add( 'render_block_data', array( __CLASS__, 'note_block' ), PHP_INT_MAX );
	}

	/**
	 * Stops observing hooks and blocks in a list that shows more than titles: its blocks run thousands of hooks. Must be called by a filter other
	 * than `all`: WordPress would not remove the name of the hook from its list of hooks in progress.
	 */
	private static function ignore_list() {
		remove_filter( 'all', array( __CLASS__, 'note_hook' ) );
		remove_filter( 'render_block_data', array( __CLASS__, 'note_block' ), PHP_INT_MAX );
	}

	/**
	 * Notes a block that is about to be rendered.
	 *
	 * @param array $block Block.
	 * @return array
	 */
	public static function note_block( $block ) {
		$name = isset( $block['blockName'] ) ? (string) $block['blockName'] : '';
		if ( '' !== self::$list ) {
			self::$is_plain = self::$is_plain && isset( self::INNER[ $name ] ) && self::LISTS[ self::$list ] && self::is_of_core( $name );
			if ( ! self::$is_plain ) {
				self::ignore_list();
			}
		} elseif ( isset( self::LISTS[ $name ] ) && empty( $GLOBALS['_wp_switched_stack'] ) ) {
			$args = isset( $block['attrs'] ) ? $block['attrs'] : array();
			if ( empty( $args['displayPostContent'] ) && empty( $args['displayFeaturedImage'] ) && self::is_of_core( $name ) ) {
				self::$list     = $name;
				self::$is_plain = true;
				self::$before   = Myriad_Cache_Reads::held( 'posts' );
				self::$posts    = array();
				self::$hooks    = array();
				add_filter( 'all', array( __CLASS__, 'note_hook' ) );
			}
		}
		return $block;
	}

	/**
	 * Notes a post that is read in a list.
	 *
	 * @param int $post_id Post.
	 */
	public static function note_post( $post_id ) {
		self::$posts[ $post_id ] = true;
	}

	/**
	 * Notes a hook that runs in a list.
	 *
	 * @param string $name Name.
	 */
	public static function note_hook( $name ) {
		if ( ! isset( self::$hooks[ $name ] ) ) {
			self::$hooks[ $name ] = true;
			if ( isset( self::OTHER_DATA[ $name ] ) || ( self::$is_plain && ! self::is_hook_of_core( (string) $name ) ) ) {
				self::$is_plain = false;
			}
		}
	}

	/**
	 * Notes that a list is complete.
	 *
	 * @param mixed $content HTML.
	 * @return mixed
	 */
	public static function end( $content ) {
		if ( '' !== self::$list && 'render_block_' . self::$list === current_filter() ) {
			self::finish_list();
		}
		return $content;
	}

	/**
	 * Completes a list whose rendering an exception has stopped: the page depends on its whole posts.
	 */
	public static function finish() {
		if ( '' !== self::$list ) {
			self::$is_plain = false;
			self::finish_list();
		}
	}

	/**
	 * Returns whether the page shows the title of a post. Then a post in the memory of the object cache was read again later.
	 *
	 * @param int $post_id Post.
	 * @return bool
	 */
	public static function has( $post_id ) {
		return isset( self::$titled[ $post_id ] );
	}

	/**
	 * Returns whether the page shows titles in lists.
	 *
	 * @return bool
	 */
	public static function are_shown() {
		return (bool) self::$titled;
	}

	/**
	 * Adds the tags of the posts in a list.
	 */
	private static function finish_list() {
		remove_filter( 'all', array( __CLASS__, 'note_hook' ) );
		self::$list = '';
		self::observe_blocks();
		$loaded = array_diff_key( Myriad_Cache_Reads::held( 'posts' ), self::$before );
		foreach ( array_keys( self::$posts + $loaded ) as $post_id ) {
			$type = isset( $loaded[ $post_id ]->post_type ) ? (string) $loaded[ $post_id ]->post_type : '';
			if ( in_array( $type, Myriad_Cache_Tags::INNER_TYPES, true ) ) {
				continue;
			}
			if ( self::$is_plain && self::is_covered( $type ) && ! Myriad_Cache_Tags::has( 'p' . $post_id ) && Myriad_Cache_Reads::forget_post( $post_id ) ) {
				self::$titled[ $post_id ] = true;
				Myriad_Cache_Tags::add( 'pt' . $post_id );
				Myriad_Cache_Tags::add( 'pc' . $post_id );
			} else {
				Myriad_Cache_Tags::add( 'p' . $post_id );
			}
		}
		self::$before = array();
		self::$posts  = array();
	}

	/**
	 * Returns whether the tags for the title and the class names of a post cover all changes of what these lists show of it.
	 *
	 * @param string $type Type of the post.
	 * @return bool
	 */
	private static function is_covered( $type ) {
		return '' !== $type && 'attachment' !== $type && ! is_post_type_hierarchical( $type );
	}

	/**
	 * Returns whether WordPress itself renders a block.
	 *
	 * @param string $name Block.
	 * @return bool
	 */
	private static function is_of_core( $name ) {
		$type = WP_Block_Type_Registry::get_instance()->get_registered( $name );
		return null === $type || empty( $type->render_callback ) || self::is_function_of_core( $type->render_callback );
	}

	/**
	 * Returns whether only functions of WordPress and of this plugin are registered for a hook, or no function of a plugin receives posts.
	 *
	 * @param string $name Hook.
	 * @return bool
	 */
	private static function is_hook_of_core( $name ) {
		$hook = isset( $GLOBALS['wp_filter'][ $name ] ) ? $GLOBALS['wp_filter'][ $name ] : null;
		if ( ! $hook instanceof WP_Hook || preg_match( self::WITHOUT_POSTS, $name ) ) {
			return true;
		}
		foreach ( $hook->callbacks as $callbacks ) {
			foreach ( $callbacks as $callback ) {
				if ( ! self::is_function_of_core( $callback['function'] ) ) {
					return false;
				}
			}
		}
		return true;
	}

	/**
	 * Returns whether a function is one of WordPress, of this plugin or of PHP.
	 *
	 * @param callable $callback Function.
	 * @return bool
	 */
	private static function is_function_of_core( $callback ) {
		try {
			if ( is_array( $callback ) ) {
				$function = new ReflectionMethod( $callback[0], $callback[1] );
			} elseif ( is_object( $callback ) && ! $callback instanceof Closure ) {
				$function = new ReflectionMethod( $callback, '__invoke' );
			} elseif ( is_string( $callback ) && strpos( $callback, '::' ) ) {
				$function = new ReflectionMethod( ...explode( '::', $callback, 2 ) );
			} else {
				$function = new ReflectionFunction( $callback );
			}
		} catch ( ReflectionException $error ) {
			return false; // It calls another one by `__call()`.
		}
		return $function->isInternal() || Myriad_Cache_Reads::is_own_file( (string) $function->getFileName() );
	}
}
