<?php
/**
 * Output of the admin bar.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Passes each text that WordPress prints for the admin bar to a function: its styles, the bar, its scripts. Plugins such as BuddyPress show the
 * bar to all visitors.
 */
class Myriad_Cache_Bar {

	/**
	 * Function that receives the name of a part and the text, and returns the text to print.
	 *
	 * @var callable
	 */
	private static $enclose;

	/**
	 * Callbacks that print the style of the bar in the head: function and priority.
	 *
	 * @var array<int, array{0: callable, 1: int}>
	 */
	private static $in_head = array();

	/**
	 * True if the bar was printed, or its place.
	 *
	 * @var bool
	 */
	private static $is_printed = false;

	/**
	 * Registers the actions.
	 *
	 * @param callable $enclose Function that receives the name of a part and the text, and returns the text to print.
	 */
	public static function start( $enclose ) {
		self::$enclose = $enclose;
		if ( 0 === has_action( 'template_redirect', '_wp_admin_bar_init' ) ) {
			remove_action( 'template_redirect', '_wp_admin_bar_init', 0 );
			Myriad_Cache_Hooks::add( 'template_redirect', array( __CLASS__, 'init' ), 0 );
		}
		Myriad_Cache_Hooks::add( 'wp_head', array( __CLASS__, 'head' ), 7 );
		Myriad_Cache_Hooks::add( 'wp_footer', array( __CLASS__, 'footer' ), 19 );
	}

	/**
	 * Initializes the bar, and finds the callbacks that it adds to the head.
	 */
	public static function init() {
		$before = self::callbacks_of_head();
		_wp_admin_bar_init();
		$after = self::callbacks_of_head();

		self::$in_head = $after === $before ? array() : array_values( array_diff_key( self::by_priority( $after ), self::by_priority( $before ) ) );
	}

	/**
	 * Returns the callbacks of the head.
	 *
	 * @return array[] Callbacks, by priority.
	 */
	private static function callbacks_of_head() {
		return isset( $GLOBALS['wp_filter']['wp_head'] ) ? $GLOBALS['wp_filter']['wp_head']->callbacks : array();
	}

	/**
	 * Returns callbacks with their priorities.
	 *
	 * @param array[] $priorities Callbacks, by priority.
	 * @return array<string, array{0: callable, 1: int}> Callback and priority of each.
	 */
	private static function by_priority( $priorities ) {
		$all = array();
		foreach ( $priorities as $priority => $callbacks ) {
			foreach ( $callbacks as $id => $callback ) {
				$all[ $priority . '|' . $id ] = array( $callback['function'], (int) $priority );
			}
		}
		return $all;
	}

	/**
	 * Prints the styles, and prepares the bar, unless a plugin has removed it.
	 */
	public static function head() {
		if ( Myriad_Cache_Known::is_active() && wp_style_is( 'admin-bar', 'enqueued' ) ) {
			// All visitors have a bar: styles retain their order. WordPress prints them at the next priority.
			$queue = array_values( wp_styles()->queue );
			wp_styles()->do_items( array_slice( $queue, 0, (int) array_search( 'admin-bar', $queue, true ) ) );
		}
		$text = self::files( wp_styles(), wp_style_is( 'admin-bar', 'enqueued' ) );
		foreach ( self::$in_head as list( $callback, $priority ) ) {
			if ( has_action( 'wp_head', $callback ) === $priority ) {
				remove_action( 'wp_head', $callback, $priority );
				$text .= Myriad_Cache_Parts::printed( $callback );
			}
		}
		echo call_user_func( self::$enclose, 'head', $text ); // phpcs:ignore WordPress.Security.EscapeOutput -- WordPress has escaped it.
		foreach ( array( 'wp_body_open' => 0, 'wp_footer' => 1000 ) as $action => $priority ) { // phpcs:ignore WordPress.Arrays.ArrayDeclarationSpacing.AssociativeArrayFound
			if ( has_action( $action, 'wp_admin_bar_render' ) === $priority ) {
				remove_action( $action, 'wp_admin_bar_render', $priority );
				Myriad_Cache_Hooks::add( $action, array( __CLASS__, 'bar' ), $priority );
			}
		}
	}

	/**
	 * Prints the bar: at the start of the body, or at its bottom in old themes.
	 */
	public static function bar() {
		if ( ! self::$is_printed ) {
			self::$is_printed = true;
			echo call_user_func( self::$enclose, doing_action( 'wp_body_open' ) ? 'admin-bar' : 'admin-bar-below', Myriad_Cache_Parts::printed( 'wp_admin_bar_render' ) ); // phpcs:ignore WordPress.Security.EscapeOutput -- WordPress has escaped it.
		}
	}

	/**
	 * Prints the scripts.
	 */
	public static function footer() {
		echo call_user_func( self::$enclose, 'footer', self::files( wp_scripts(), wp_script_is( 'admin-bar', 'enqueued' ) ) ); // phpcs:ignore WordPress.Security.EscapeOutput -- WordPress has escaped it.
	}

	/**
	 * Returns the tags for the files of the bar. Files that they depend on are printed before if all visitors have a bar; in the page of one
	 * visitor, they are printed again where the page itself needs them.
	 *
	 * @param WP_Dependencies $list        List of styles or scripts.
	 * @param bool            $is_enqueued False if the bar has none.
	 * @return string
	 */
	private static function files( $list, $is_enqueued ) {
		if ( ! $is_enqueued || ! isset( $list->registered['admin-bar'] ) ) {
			return '';
		}
		if ( Myriad_Cache_Known::is_active() ) {
			$list->do_items( $list->registered['admin-bar']->deps );
		}
		$done = $list->done;
		$text = Myriad_Cache_Parts::printed(
			static function () use ( $list ) {
				$list->do_items( 'admin-bar' );
			}
		);

		$list->done = array_merge( $done, array( 'admin-bar' ) );
		return $text;
	}
}
