<?php
/**
 * State of a page for visitors.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Describes the state of a page in Myriad: its validity, and whether known visitors get it.
 */
class Myriad_Cache_State {

	/**
	 * Requests the state of a page from Myriad.
	 *
	 * @param string $url Address of the page.
	 * @return array|WP_Error State; empty if the page is not stored.
	 */
	public static function of( $url ) {
		$told = Myriad_Cache_Client::ask( 'GET', 'cache/page?page=' . rawurlencode( $url ) );
		if ( is_wp_error( $told ) ) {
			return 'myriad_cache_status_404' === $told->get_error_code() ? array() : $told;
		}
		$page = isset( $told['pages'][0] ) ? $told['pages'][0] : array();
		return isset( $page['stored_ms'], $page['now_ms'], $page['fresh_until_ms'] ) ? $page : array();
	}

	/**
	 * Returns lines that describe the state.
	 *
	 * @param array|WP_Error $page State of the page.
	 * @return array<string, string>
	 */
	public static function lines( $page ) {
		if ( is_wp_error( $page ) ) {
			return array( 'state' => $page->get_error_message() );
		}
		$lines = array( 'state' => self::validity( $page ) );
		$known = self::known( $page );
		return '' === $known ? $lines : $lines + array( 'known' => $known );
	}

	/**
	 * Returns the reason why known visitors do not get the page.
	 *
	 * @param array|WP_Error $page State of the page.
	 * @return string Reason; empty if they get it, possibly after a comparison, or if the reason is unknown.
	 */
	public static function why( $page ) {
		$is_said = ! is_wp_error( $page ) && empty( $page['esi']['known'] ) && empty( $page['esi']['compared'] ) && isset( $page['esi']['why'] );
		return $is_said ? (string) $page['esi']['why'] : '';
	}

	/**
	 * Returns the validity of the page.
	 *
	 * @param array $page State of the page.
	 * @return string
	 */
	private static function validity( $page ) {
		if ( ! $page ) {
			return __( 'Visitors: not stored', 'myriad-cache' );
		}
		$stored = (int) ( $page['stored_ms'] / 1000 );
		$now    = (int) ( $page['now_ms'] / 1000 );
		if ( $page['fresh_until_ms'] <= $page['now_ms'] ) {
			/* translators: %s: how long ago, such as "5 minutes". */
			return sprintf( __( 'Visitors: stored %s ago, expired, created again at the next visit', 'myriad-cache' ), human_time_diff( $stored, $now ) );
		}
		/* translators: 1: how long ago, such as "5 minutes", 2: for how long, such as "1 day". */
		return sprintf( __( 'Visitors: stored %1$s ago, valid for %2$s', 'myriad-cache' ), human_time_diff( $stored, $now ), human_time_diff( $now, (int) ( $page['fresh_until_ms'] / 1000 ) ) );
	}

	/**
	 * Returns whether known visitors get the page, as a text.
	 *
	 * @param array $page State of the page.
	 * @return string Text; empty if the page is not stored.
	 */
	private static function known( $page ) {
		if ( ! $page ) {
			return '';
		}
		if ( ! empty( $page['esi']['known'] ) ) {
			$count = isset( $page['esi']['parts'] ) ? count( (array) $page['esi']['parts'] ) : 0;
			/* translators: %s: number of private fragments of a page, such as the admin bar and the comment form. */
			return sprintf( _n( 'Known visitors: the same, with %s private fragment', 'Known visitors: the same, with %s private fragments', $count, 'myriad-cache' ), number_format_i18n( $count ) );
		}
		if ( ! empty( $page['esi']['compared'] ) ) {
			/* translators: %s: a reason, such as "is_user_logged_in in themes/name/header.php:12". */
			return sprintf( __( 'Known visitors: the same after comparisons with their own pages (%s)', 'myriad-cache' ), (string) $page['esi']['why'] );
		}
		$why = self::why( $page );
		/* translators: %s: a reason, such as "is_user_logged_in in themes/name/header.php". */
		return '' === $why ? __( 'Known visitors: from PHP', 'myriad-cache' ) : sprintf( __( 'Known visitors: from PHP (%s)', 'myriad-cache' ), $why );
	}
}
