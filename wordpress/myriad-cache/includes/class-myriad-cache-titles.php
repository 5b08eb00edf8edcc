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
	 * Name of the list that is being rendered; empty outside of lists that may show only titles.
	 *
	 * @var string
	 */
	public static $list = '';

	/**
	 * Functions of WordPress that render the lists, by name of the block.
	 *
	 * @var array<string, callable>
	 */
	private static $renderers = array();

	/**
	 * Functions in place of them, by name of the block.
	 *
	 * @var array<string, Closure>
	 */
	private static $wrappers = array();

	/**
	 * State before the list: posts in the memory of the object cache, as keys; how often each filter and each action has run; functions of each
	 * hook.
	 *
	 * @var array{0: array<int, mixed>, 1: array<string, int>, 2: array<string, int>, 3: array<string, array>}
	 */
	private static $before = array( array(), array(), array(), array() );

	/**
	 * Posts that were read in the list, as keys.
	 *
	 * @var array<int, true>
	 */
	private static $posts = array();

	/**
	 * Posts whose titles are shown, as keys.
	 *
	 * @var array<int, true>
	 */
	private static $titled = array();

	/**
	 * True for functions of WordPress, of this plugin or of PHP, by name.
	 *
	 * @var array<string, bool>
	 */
	private static $functions = array();

	/**
	 * Registers the action after which lists are observed.
	 */
	public static function start() {
		Myriad_Cache_Hooks::add( 'wp', array( __CLASS__, 'observe_lists' ), PHP_INT_MAX );
	}

	/**
	 * Replaces the functions that render the lists. A filter of all blocks would be called hundreds of times for a page.
	 */
	public static function observe_lists() {
		if ( ! isset( $GLOBALS['wp_filters'] ) ) {
			return; // Before WordPress 6.1, filters that have run are not counted.
		}
		foreach ( array_keys( self::LISTS ) as $name ) {
			$type = WP_Block_Type_Registry::get_instance()->get_registered( $name );
			if ( null === $type || ! self::is_function_of_core( $type->render_callback ) ) {
				continue;
			}
			self::$renderers[ $name ] = $type->render_callback;
			self::$wrappers[ $name ]  = static function ( ...$args ) use ( $name ) {
				return self::render( $name, $args );
			};
			$type->render_callback    = self::$wrappers[ $name ];
		}
	}

	/**
	 * Renders a list, and adds the tags of its posts.
	 *
	 * @param string $name Block.
	 * @param array  $args Arguments of the function that renders it: attributes, content and the instance of the block.
	 * @return mixed HTML.
	 */
	private static function render( $name, $args ) {
		if ( '' !== self::$list || ! self::may_be_plain( $name, $args ) ) {
			return call_user_func_array( self::$renderers[ $name ], $args );
		}
		global $wp_filter, $wp_filters, $wp_actions;
		self::$list   = $name;
		self::$posts  = array();
		self::$before = array( Myriad_Cache_Memory::objects( 'posts' ), $wp_filters, $wp_actions, self::callbacks() );
		$is_plain     = false;
		try {
			$html     = call_user_func_array( self::$renderers[ $name ], $args );
			$is_plain = self::is_plain();
			return $html;
		} finally {
			self::finish_list( $is_plain );
		}
	}

	/**
	 * Returns whether a list shows only titles, links and dates, unless other code than that of WordPress runs in it.
	 *
	 * @param string $name Block.
	 * @param array  $args Arguments of the function that renders it.
	 * @return bool
	 */
	private static function may_be_plain( $name, $args ) {
		$type = WP_Block_Type_Registry::get_instance()->get_registered( $name );
		if ( ! empty( $GLOBALS['_wp_switched_stack'] ) || ! empty( $args[0]['displayPostContent'] ) || ! empty( $args[0]['displayFeaturedImage'] ) ) {
			return false;
		}
		// A plugin that replaces the function later calls this one.
		if ( null === $type || self::$wrappers[ $name ] !== $type->render_callback ) {
			return false;
		}
		return ! self::LISTS[ $name ] || ( isset( $args[2]->parsed_block['innerBlocks'] ) && self::are_plain( $args[2]->parsed_block['innerBlocks'] ) );
	}

	/**
	 * Returns whether blocks show only titles, links and dates of posts.
	 *
	 * @param array[] $blocks Blocks.
	 * @return bool
	 */
	private static function are_plain( $blocks ) {
		foreach ( $blocks as $block ) {
			$name = isset( $block['blockName'] ) ? (string) $block['blockName'] : '';
			if ( ! isset( self::INNER[ $name ] ) || ! self::is_of_core( $name ) || ( ! empty( $block['innerBlocks'] ) && ! self::are_plain( $block['innerBlocks'] ) ) ) {
				return false;
			}
		}
		return true;
	}

	/**
	 * Returns the functions of each hook.
	 *
	 * @return array<string, array> Empty if one of the hooks has another form than WordPress's.
	 */
	private static function callbacks() {
		global $wp_filter;
		$all = array_column( $wp_filter, 'callbacks' );
		return count( $all ) === count( $wp_filter ) ? array_combine( array_keys( $wp_filter ), $all ) : array();
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
	 * Returns whether only code of WordPress has read the posts of the list, and only titles, links and dates of them: no hook for other data has
	 * run, and no function of a plugin was registered for a hook that has run, neither before the list nor after it.
	 *
	 * @return bool
	 */
	private static function is_plain() {
		global $wp_filter, $wp_filters, $wp_actions;
		if ( ! self::$before[3] || isset( $wp_filter['all'] ) || isset( self::$before[3]['all'] ) ) {
			return false;
		}
		foreach ( array( array( $wp_filters, self::$before[1] ), array( $wp_actions, self::$before[2] ) ) as list( $counts, $before ) ) {
			foreach ( $counts as $name => $count ) {
				if ( isset( $before[ $name ] ) && $before[ $name ] === $count ) {
					continue;
				}
				if ( isset( self::OTHER_DATA[ $name ] ) || ( ( isset( $wp_filter[ $name ] ) || isset( self::$before[3][ $name ] ) ) && ! self::is_hook_of_core( (string) $name ) ) ) {
					return false;
				}
			}
		}
		return true;
	}

	/**
	 * Completes a list if the request stopped while the list was rendered: the page depends on its whole posts.
	 */
	public static function finish() {
		if ( '' !== self::$list ) {
			self::finish_list( false );
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
	 *
	 * @param bool $is_plain True if it shows only titles, links and dates.
	 */
	private static function finish_list( $is_plain ) {
		self::$list = '';
		$loaded     = array_diff_key( Myriad_Cache_Memory::objects( 'posts' ), self::$before[0] );
		foreach ( array_keys( self::$posts + $loaded ) as $post_id ) {
			$type = isset( $loaded[ $post_id ]->post_type ) ? (string) $loaded[ $post_id ]->post_type : '';
			if ( in_array( $type, Myriad_Cache_Tags::INNER_TYPES, true ) ) {
				continue;
			}
			if ( $is_plain && self::is_covered( $type ) && ! Myriad_Cache_Tags::has( 'p' . $post_id ) && Myriad_Cache_Memory::forget_post( $post_id ) ) {
				self::$titled[ $post_id ] = true;
				Myriad_Cache_Tags::add( 'pt' . $post_id );
				Myriad_Cache_Tags::add( 'pc' . $post_id );
			} else {
				Myriad_Cache_Tags::add( 'p' . $post_id );
			}
		}
		self::$before = array( array(), array(), array(), array() );
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
	 * Returns whether only functions of WordPress and of this plugin are registered for a hook, now and before the list, or no function of a plugin
	 * receives posts.
	 *
	 * @param string $name Hook.
	 * @return bool
	 */
	private static function is_hook_of_core( $name ) {
		global $wp_filter;
		if ( preg_match( self::WITHOUT_POSTS, $name ) ) {
			return true;
		}
		$before = isset( self::$before[3][ $name ] ) ? self::$before[3][ $name ] : array();
		$now    = isset( $wp_filter[ $name ] ) ? $wp_filter[ $name ]->callbacks : array();
		return self::are_functions_of_core( $now ) && ( $now === $before || self::are_functions_of_core( $before ) );
	}

	/**
	 * Returns whether all functions of a hook are those of WordPress, of this plugin or of PHP.
	 *
	 * @param array[] $priorities Functions, by priority.
	 * @return bool
	 */
	private static function are_functions_of_core( $priorities ) {
		foreach ( $priorities as $callbacks ) {
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
		$name = is_string( $callback ) ? $callback : ( is_array( $callback ) && is_string( $callback[1] ) ? ( is_object( $callback[0] ) ? get_class( $callback[0] ) : $callback[0] ) . '::' . $callback[1] : '' );
		if ( '' === $name ) {
			return self::is_defined_by_core( $callback );
		}
		if ( ! isset( self::$functions[ $name ] ) ) {
			self::$functions[ $name ] = 0 === strncmp( $name, 'Myriad_Cache_', 13 ) || self::is_defined_by_core( $callback );
		}
		return self::$functions[ $name ];
	}

	/**
	 * Returns whether the file of a function belongs to WordPress, to this plugin or to PHP.
	 *
	 * @param callable $callback Function.
	 * @return bool
	 */
	private static function is_defined_by_core( $callback ) {
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
