<?php
/**
 * PHP sessions that contain nothing.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Removes a new PHP session from the response if it contains nothing of the visitor. Plugins start sessions on every page, and
 * a response that starts a session is not stored.
 *
 * A visitor with a session gets all pages from PHP, because Myriad regards the cookie as personal. Only the cookie with PHP's
 * default name is therefore removed.
 */
class Myriad_Cache_Session {

	/**
	 * Name of the cookie.
	 */
	const COOKIE = 'PHPSESSID';

	/**
	 * Keys of values that are equal for all visitors whose session is new.
	 */
	const HARMLESS = array( 'woocs_first_unique_visit', 'woocs_first_unique_geoip', 'woocs_default_currency' );

	/**
	 * Removes the session that this request has started, if it contains nothing and the page does not depend on it.
	 *
	 * @param string $page Page.
	 */
	public static function drop( $page ) {
		$cookie = '/^Set-Cookie:\s*' . self::COOKIE . '=/i';
		$fields = headers_list();
		if ( ! preg_grep( $cookie, $fields ) || isset( $_COOKIE[ self::COOKIE ] ) || ! isset( $_SESSION ) || self::has_data( $_SESSION ) ) {
			return;
		}
		$others = preg_grep( $cookie, $fields, PREG_GREP_INVERT );
		if ( self::shows_id( $page . "\n" . implode( "\n", $others ) ) ) {
			return;
		}
		header_remove( 'Set-Cookie' );
		foreach ( preg_grep( '/^Set-Cookie:/i', $others ) as $field ) {
			header( $field, false );
		}
		self::remove_limits( $others );
		if ( PHP_SESSION_ACTIVE === session_status() ) {
			session_destroy();
		}
	}

	/**
	 * Returns whether a session contains data of the visitor.
	 *
	 * @param array $session Session.
	 * @return bool
	 */
	private static function has_data( $session ) {
		/**
		 * Filters the keys of values in PHP sessions that are equal for all visitors whose session is new.
		 *
		 * @param string[] $keys Keys.
		 */
		$harmless = (array) apply_filters( 'myriad_cache_harmless_session', self::HARMLESS );
		if ( isset( $session['woocs_current_currency'], $session['woocs_default_currency'] ) && $session['woocs_current_currency'] === $session['woocs_default_currency'] ) {
			$harmless[] = 'woocs_current_currency';
		}
		foreach ( $session as $key => $value ) {
			if ( ! in_array( (string) $key, $harmless, true ) && ! self::is_empty( $value ) ) {
				return true;
			}
		}
		return false;
	}

	/**
	 * Returns whether a value is empty, or an array of empty values.
	 *
	 * @param mixed $value Value.
	 * @return bool
	 */
	private static function is_empty( $value ) {
		if ( ! is_array( $value ) ) {
			return empty( $value );
		}
		foreach ( $value as $item ) {
			if ( ! self::is_empty( $item ) ) {
				return false;
			}
		}
		return true;
	}

	/**
	 * Returns whether a text contains the identifier of the session, as it is or as a token made from it.
	 *
	 * @param string $text Text.
	 * @return bool
	 */
	private static function shows_id( $text ) {
		$id = (string) session_id();
		if ( '' === $id ) {
			return true; // The plugin has removed it, so that the page cannot be searched for it.
		}
		foreach ( array( $id, md5( $id ), sha1( $id ), hash( 'sha256', $id ) ) as $token ) {
			if ( false !== strpos( $text, $token ) ) {
				return true;
			}
		}
		return false;
	}

	/**
	 * Removes the header fields that PHP adds to a response when a session is started (`session.cache_limiter`). Fields with
	 * other values remain: a plugin has set them.
	 *
	 * @param string[] $fields Header fields.
	 */
	private static function remove_limits( $fields ) {
		$private = 'Cache-Control: private, max-age=' . 60 * (int) session_cache_expire();
		$limits  = array(
			'Expires: Thu, 19 Nov 1981 08:52:00 GMT',
			'Cache-Control: no-store, no-cache, must-revalidate',
			$private,
			'Pragma: no-cache',
		);
		foreach ( array_intersect( $limits, $fields ) as $field ) {
			header_remove( strtok( $field, ':' ) );
		}
	}
}
