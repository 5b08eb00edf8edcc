<?php
/**
 * Page caches of other plugins.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Prevents other plugins from storing pages that are generated for Myriad. Such a copy would contain tags that only Myriad replaces, and
 * after a change Myriad would get it again instead of the new page.
 */
class Myriad_Cache_Other_Caches {

	/**
	 * Filters of plugins that move scripts of a page into files; each filters a list of texts that a script in place contains.
	 */
	const SCRIPTS = array( 'autoptimize_filter_js_dontmove', 'litespeed_optimize_js_excludes', 'rocket_excluded_inline_js_content' );

	/**
	 * Prevents that scripts with a nonce are moved into files: all visitors would get the nonce of one page.
	 */
	public static function start() {
		foreach ( self::SCRIPTS as $filter ) {
			Myriad_Cache_Hooks::add( $filter, array( __CLASS__, 'exclude_nonces' ), PHP_INT_MAX );
		}
	}

	/**
	 * Adds the marks of nonces to a list, and the tags that replace them.
	 *
	 * @param mixed $texts Texts.
	 * @return mixed
	 */
	public static function exclude_nonces( $texts ) {
		return is_array( $texts ) ? array_merge( $texts, Myriad_Cache_Nonces::marks(), array( 'esi:include' ) ) : $texts;
	}

	/**
	 * Returns whether another plugin stores pages in PHP.
	 *
	 * @return bool
	 */
	public static function is_active() {
		return self::has_drop_in() || has_action( 'wpfc_exclude_current_page' );
	}

	/**
	 * Returns whether WordPress loads a page cache before its plugins. LiteSpeed Cache leaves the caching to the server.
	 *
	 * @return bool
	 */
	private static function has_drop_in() {
		return defined( 'WP_CACHE' ) && WP_CACHE && ! defined( 'LSCWP_V' ) && file_exists( WP_CONTENT_DIR . '/advanced-cache.php' );
	}

	/**
	 * Prevents other plugins from storing the page. Their output buffers are completed later than the one of this plugin.
	 */
	public static function refuse() {
		// WP Fastest Cache has no constant; W3 Total Cache reads it at the start of a request only.
		if ( function_exists( 'wpfc_exclude_current_page' ) ) {
			wpfc_exclude_current_page();
		}
		if ( defined( 'W3TC' ) ) {
			add_filter( 'w3tc_can_cache', '__return_false', PHP_INT_MAX );
		}
		if ( self::has_drop_in() && ! defined( 'DONOTCACHEPAGE' ) ) {
			define( 'DONOTCACHEPAGE', true ); // phpcs:ignore WordPress.NamingConventions.PrefixAllGlobals -- common to all caches.
		}
	}
}
