<?php
/**
 * State of a page, as visitors get it.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Says what Myriad knows of one page: for how long it holds, and whether known visitors get it.
 */
class Myriad_Cache_State {

	/**
	 * Asks Myriad for a page.
	 *
	 * @param string $url Address of the page.
	 * @return array|WP_Error What is known of it; nothing where it is not stored.
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
	 * Lines that say it, for people.
	 *
	 * @param array|WP_Error $page What is known of the page.
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
	 * Why known visitors do not get the page.
	 *
	 * @param array|WP_Error $page What is known of the page.
	 * @return string Nothing where they get it, or where it is not known.
	 */
	public static function why( $page ) {
		$is_said = ! is_wp_error( $page ) && empty( $page['esi']['known'] ) && isset( $page['esi']['why'] );
		return $is_said ? (string) $page['esi']['why'] : '';
	}

	/**
	 * For how long the page holds.
	 *
	 * @param array $page What is known of the page.
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
			return sprintf( __( 'Visitors: stored %s ago, made anew at the next visit', 'myriad-cache' ), human_time_diff( $stored, $now ) );
		}
		/* translators: 1: how long ago, such as "5 minutes", 2: for how long, such as "1 day". */
		return sprintf( __( 'Visitors: stored %1$s ago, holds for %2$s', 'myriad-cache' ), human_time_diff( $stored, $now ), human_time_diff( $now, (int) ( $page['fresh_until_ms'] / 1000 ) ) );
	}

	/**
	 * Whether known visitors get the page.
	 *
	 * @param array $page What is known of the page.
	 * @return string Nothing where it is not stored.
	 */
	private static function known( $page ) {
		if ( ! $page ) {
			return '';
		}
		if ( ! empty( $page['esi']['known'] ) ) {
			$count = isset( $page['esi']['parts'] ) ? count( (array) $page['esi']['parts'] ) : 0;
			/* translators: %s: number of parts of a page, such as the admin bar and the form for comments. */
			return sprintf( _n( 'Known visitors: the same, with %s part of their own', 'Known visitors: the same, with %s parts of their own', $count, 'myriad-cache' ), number_format_i18n( $count ) );
		}
		$why = self::why( $page );
		/* translators: %s: a reason, such as "is_user_logged_in in themes/name/header.php". */
		return '' === $why ? __( 'Known visitors: from PHP', 'myriad-cache' ) : sprintf( __( 'Known visitors: from PHP (%s)', 'myriad-cache' ), $why );
	}
}
