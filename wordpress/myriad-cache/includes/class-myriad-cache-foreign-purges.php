<?php
/**
 * Purge requests that plugins make to other caches.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Handles the actions by which plugins purge other page caches.
 *
 * Functions of other caches, such as `rocket_clean_domain()`, are not defined: plugins use them to find out whether these caches
 * are active, and the activation of such a cache would fail.
 */
class Myriad_Cache_Foreign_Purges {

	/**
	 * Actions that purge the site.
	 */
	const SITE = array(
		'litespeed_purge_all',
		'w3tc_flush_all',
		'w3tc_flush_posts',
		'wpfc_clear_all_cache',
		'autoptimize_action_cachepurged',
		'cache_enabler_clear_complete_cache',
		'cache_enabler_clear_site_cache',
		'breeze_clear_all_cache',
		'kinsta_clear_all_cache',
		'wpo_cache_flush',
		'rt_nginx_helper_purge_all',
		'rocket_purge_cache',
		'siteground_optimizer_flush_cache',
	);

	/**
	 * Actions that purge the post in their first argument.
	 */
	const POST = array(
		'clean_post_cache',
		'litespeed_purge_post',
		'w3tc_flush_post',
		'wpfc_clear_post_cache_by_id',
		'cache_enabler_clear_page_cache_by_post',
	);

	/**
	 * Function of WordPress that changes the type of a post, for which WordPress has no specific action.
	 */
	const SET_TYPE = 'set_post_type';

	/**
	 * Name of a function of WordPress that could not be determined.
	 */
	const UNKNOWN = 'unknown';

	/**
	 * Actions that purge the post or the addresses in their argument, or the site without one.
	 */
	const ANY = array(
		'swcfpc_purge_cache',
		'wphb_clear_page_cache',
	);

	/**
	 * Actions that purge the address in their first argument.
	 */
	const URL = array(
		'litespeed_purge_url',
		'w3tc_flush_url',
		'cache_enabler_clear_page_cache_by_url',
	);

	/**
	 * Registers the actions.
	 */
	public static function start() {
		Myriad_Cache_Hooks::add( self::SITE, array( 'Myriad_Cache_Changes', 'site' ), 10, 0 );
		Myriad_Cache_Hooks::add( self::POST, array( __CLASS__, 'post' ), 10, 2 );
		Myriad_Cache_Hooks::add( self::ANY, array( __CLASS__, 'any' ) );
		Myriad_Cache_Hooks::add( self::URL, array( __CLASS__, 'url' ) );
	}

	/**
	 * Purges a post, if it is visible. WordPress's own calls of `clean_post_cache()` are ignored, except that of `set_post_type()`: other actions
	 * report these changes exactly.
	 *
	 * @param mixed $post_id Post, or its number.
	 * @param mixed $second  Number of the post if the first argument is false, as WP Fastest Cache sends it.
	 */
	public static function post( $post_id, $second = 0 ) {
		$post_id = false === $post_id ? $second : $post_id;
		$caller  = 'clean_post_cache' === current_action() ? self::core_caller() : '';
		if ( '' !== $caller && self::SET_TYPE !== $caller ) {
			return;
		}
		$number = $post_id instanceof WP_Post ? $post_id->ID : ( is_scalar( $post_id ) ? (int) $post_id : 0 );
		if ( $number > 0 && ! Myriad_Cache_Stock::is_sold( $number ) && Myriad_Cache_Post_Changes::is_shown( (string) get_post_status( $number ) ) ) {
			if ( self::SET_TYPE === $caller ) {
				Myriad_Cache_Changes::site(); // Lists of the type before, which is unknown, show the post.
			} else {
				Myriad_Cache_Queue::add_post( $number );
			}
		}
	}

	/**
	 * Purges a post, addresses or the site.
	 *
	 * @param mixed $selection Number of a post, addresses, or nothing.
	 */
	public static function any( $selection = null ) {
		if ( is_numeric( $selection ) && $selection > 0 ) {
			self::post( $selection );
		} elseif ( is_array( $selection ) && $selection ) {
			array_map( array( __CLASS__, 'url' ), $selection );
		} else {
			Myriad_Cache_Changes::site();
		}
	}

	/**
	 * Returns the function of WordPress itself that called `clean_post_cache()`.
	 *
	 * @return string Name; UNKNOWN if it could not be determined. Empty if a plugin or a theme called `clean_post_cache()`.
	 */
	private static function core_caller() {
		$function = new ReflectionFunction( 'clean_post_cache' );
		$includes = dirname( (string) $function->getFileName() );
		$admin    = dirname( $includes ) . DIRECTORY_SEPARATOR . 'wp-admin';
		$frames   = debug_backtrace( DEBUG_BACKTRACE_IGNORE_ARGS, 12 ); // phpcs:ignore WordPress.PHP.DevelopmentFunctions -- the action does not name the caller.
		foreach ( $frames as $at => $frame ) {
			if ( 'clean_post_cache' === $frame['function'] && isset( $frame['file'] ) ) {
				$is_core = 0 === strpos( $frame['file'], $includes . DIRECTORY_SEPARATOR ) || 0 === strpos( $frame['file'], $admin . DIRECTORY_SEPARATOR );
				return $is_core ? ( $frames[ $at + 1 ]['function'] ?? self::UNKNOWN ) : '';
			}
		}
		return self::UNKNOWN;
	}

	/**
	 * Purges an address.
	 *
	 * @param mixed $url Address.
	 */
	public static function url( $url ) {
		Myriad_Cache_Queue::add_url( is_string( $url ) ? $url : false );
	}
}
