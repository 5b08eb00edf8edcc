<?php
/**
 * Values in the memory of the object cache.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Lists and removes values in the memory of the object cache, that of WordPress or of a drop-in, without calls of its functions.
 */
class Myriad_Cache_Memory {

	/**
	 * Property of the object cache with the values in its memory.
	 *
	 * @var ReflectionProperty|null
	 */
	private static $property = null;

	/**
	 * Returns the number of posts in memory, or of all values if the class of the cache has one array for all groups.
	 *
	 * @return int
	 */
	public static function number_of_posts() {
		$values = self::values();
		if ( isset( $values['posts'] ) || isset( $values['options'] ) ) {
			$values = isset( $values['posts'] ) ? (array) $values['posts'] : array();
		}
		return count( $values );
	}

	/**
	 * Returns whether the values in the memory of the object cache can be listed.
	 *
	 * @return bool
	 */
	public static function is_readable() {
		return (bool) self::values();
	}

	/**
	 * Returns the objects of a group in the memory of the object cache.
	 *
	 * @param string $group Group, such as `posts` or `post_meta`.
	 * @param int    $from  Number of values of the group, or of all groups if the class of the cache has one array for all, that are skipped.
	 * @return array<int, mixed> Objects by number.
	 */
	public static function objects( $group, $from = 0 ) {
		$values  = self::values();
		$site    = is_multisite() && 'user_meta' !== $group ? get_current_blog_id() . ':' : '';
		$found   = array();
		$objects = array();
		if ( isset( $values['posts'] ) || isset( $values['options'] ) ) {
			$group = isset( $values[ $group ] ) && is_array( $values[ $group ] ) ? $values[ $group ] : array();
			foreach ( $from > 0 ? array_slice( $group, $from, null, true ) : $group as $key => $object ) {
				if ( is_int( $key ) ) {
					if ( '' === $site ) {
						$objects[ $key ] = $object;
					}
					continue;
				}
				$number = '' === $site || 0 === strpos( $key, $site ) ? substr( $key, strlen( $site ) ) : '';
				if ( ctype_digit( $number ) ) {
					$objects[ (int) $number ] = $object;
				}
			}
			return $objects;
		}
		// Other drop-ins have one array with keys such as `wp:posts:12`.
		foreach ( $from > 0 ? array_slice( $values, $from, null, true ) : $values as $key => $object ) {
			if ( preg_match( '/(?:^|[^a-z_])' . $site . $group . ':([0-9]{1,18})$/D', (string) $key, $found ) ) {
				$objects[ (int) $found[1] ] = $object;
			}
		}
		return $objects;
	}

	/**
	 * Removes a post from the memory of the object cache, so that a later read loads it again. A persistent cache retains it.
	 *
	 * @param int $post_id Post.
	 * @return bool False if it could not be removed.
	 */
	public static function forget_post( $post_id ) {
		$values = self::values();
		$key    = is_multisite() ? get_current_blog_id() . ':' . $post_id : $post_id;
		if ( ! isset( $values['posts'] ) || ! is_array( $values['posts'] ) || ! isset( $values['posts'][ $key ] ) ) {
			return false;
		}
		unset( $values['posts'][ $key ] );
		self::$property->setValue( $GLOBALS['wp_object_cache'], $values );
		return true;
	}

	/**
	 * Returns whether the memory of the object cache contains values of other groups than those of WordPress.
	 *
	 * @param string $core Regular expression for the names of WordPress's groups.
	 * @return bool True also if the contents are unknown.
	 */
	public static function holds_groups_other_than( $core ) {
		$values = self::values();
		$groups = array_map( 'strval', array_keys( $values ) );
		$found  = array();
		if ( ! isset( $values['options'] ) ) {
			// One array with keys such as `PREFIX:1:post_meta:12`.
			if ( ! preg_match( '/^(|\S*?:)(?:[0-9]+:)?options:alloptions$/m', implode( "\n", $groups ), $found ) ) {
				return true;
			}
			$groups = preg_replace( '/^' . preg_quote( $found[1], '/' ) . '(?:[0-9]+:)?([^:]*):.*$/s', '$1', $groups );
		}
		return (bool) preg_grep( $core, $groups, PREG_GREP_INVERT );
	}

	/**
	 * Returns whether the memory of the object cache contains a value whose key contains a text.
	 *
	 * @param string[] $groups Groups with such keys.
	 * @param string   $text   Text.
	 * @return bool
	 */
	public static function holds_key( $groups, $text ) {
		$values = self::values();
		$keys   = array( array_keys( $values ) );
		if ( isset( $values['options'] ) ) {
			$keys = array_map( 'array_keys', array_filter( array_intersect_key( $values, array_flip( $groups ) ), 'is_array' ) );
		}
		foreach ( $keys as $of_group ) {
			if ( false !== strpos( implode( "\n", $of_group ), $text ) ) {
				return true;
			}
		}
		return false;
	}

	/**
	 * Returns the values in the memory of the object cache: that of WordPress or of a drop-in.
	 *
	 * @return array Values; empty if the class has no array of them.
	 */
	private static function values() {
		$cache = isset( $GLOBALS['wp_object_cache'] ) ? $GLOBALS['wp_object_cache'] : null;
		if ( ! is_object( $cache ) ) {
			return array();
		}
		if ( null === self::$property || self::$property->class !== get_class( $cache ) ) {
			if ( ! property_exists( $cache, 'cache' ) ) {
				return array();
			}
			self::$property = new ReflectionProperty( $cache, 'cache' );
			if ( PHP_VERSION_ID < 80100 ) {
				self::$property->setAccessible( true );
			}
		}
		$values = self::$property->isInitialized( $cache ) ? self::$property->getValue( $cache ) : array();
		return is_array( $values ) ? $values : array();
	}
}
