<?php
/**
 * Tags of cached values.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Converts the tags of the objects from which a transient, or a value of the object cache, was computed: to the text that is stored next to the
 * value, and back to tags of a page that reads the value.
 */
class Myriad_Cache_Value_Tags {

	/**
	 * Maximum validity of a page that reads a value with more than MOST tags, in seconds.
	 */
	const UNTAGGED_VALIDITY = 300;

	/**
	 * Maximum number of tags of a value. One with more limits the validity of pages to UNTAGGED_VALIDITY.
	 */
	const MOST = 200;

	/**
	 * Returns the tags of a value as they are stored.
	 *
	 * @param string[] $tags Tags, from `Myriad_Cache_Reads::since()`.
	 * @return string|null Null if there are too many; the validity of the page is limited then.
	 */
	public static function text( $tags ) {
		if ( count( $tags ) > self::MOST ) {
			Myriad_Cache_Page::limit( self::UNTAGGED_VALIDITY );
			return null;
		}
		return implode( ' ', $tags );
	}

	/**
	 * Tags the page with the tags of a value.
	 *
	 * @param string $text Tags as they are stored.
	 */
	public static function add( $text ) {
		foreach ( preg_split( '/ /', $text, -1, PREG_SPLIT_NO_EMPTY ) as $tag ) {
			if ( 0 === strpos( $tag, 'at.' ) ) {
				Myriad_Cache_Times::add( (int) substr( $tag, 3 ) );
			} else {
				Myriad_Cache_Tags::add_named( $tag );
				self::limit_noisy( $tag );
			}
		}
	}

	/**
	 * Limits the validity of the page if a value was computed from a table or field that visits write, because such writes purge
	 * nothing.
	 *
	 * @param string $tag Tag of the value.
	 */
	private static function limit_noisy( $tag ) {
		global $wpdb;
		$found = array();
		if ( preg_match( '/-db\.(.+)$/', $tag, $found ) ) {
			foreach ( array( $wpdb->prefix, $wpdb->base_prefix, '' ) as $prefix ) {
				if ( Myriad_Cache_Writes::is_noisy( $prefix . $found[1] ) ) {
					Myriad_Cache_Page::limit_for_counters(); // The columns are unknown.
				}
			}
		} elseif ( preg_match( '/\.by-meta-(.+)$/', $tag, $found ) && Myriad_Cache_Writes::is_noisy_field( $found[1] ) ) {
			Myriad_Cache_Page::limit( Myriad_Cache_Writes::NOISY_VALIDITY ); // Visits change the order of a list, but no text.
		}
	}
}
