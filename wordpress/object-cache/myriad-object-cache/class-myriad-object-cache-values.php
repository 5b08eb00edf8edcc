<?php
/**
 * Serialization of values.
 *
 * @package Myriad_Object_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Serializes and deserializes values: with igbinary if it is available, else with `serialize()`. Integers are stored
 * unchanged, because servers add to them.
 */
class Myriad_Object_Cache_Values {

	/**
	 * First bytes of a text that igbinary has written.
	 */
	const IGBINARY = "\x00\x00\x00\x02";

	/**
	 * Text that is not a value, but marks a deleted value.
	 */
	const HELD = '';

	/**
	 * Adds to a number like WordPress's own object cache: a numeric text is a number, any other value that is not
	 * numeric is 0, and the result is at least 0. The result is a float if an operand is a float, or if it exceeds the
	 * range of integers.
	 *
	 * @param mixed     $value  Value.
	 * @param int|float $offset Number to add.
	 * @return int|float
	 */
	public static function sum( $value, $offset ) {
		$sum = ( is_numeric( $value ) ? $value : 0 ) + $offset;
		return $sum < 0 ? 0 : $sum;
	}

	/**
	 * Serializes a value.
	 *
	 * @param mixed $value Value.
	 * @return string|int|null Null if the value cannot be serialized, such as a function.
	 */
	public static function write( $value ) {
		if ( is_int( $value ) ) {
			return $value;
		}
		try {
			$text = function_exists( 'igbinary_serialize' ) ? igbinary_serialize( $value ) : serialize( $value ); // phpcs:ignore WordPress.PHP.DiscouragedPHPFunctions -- JSON does not support classes.
			return is_string( $text ) ? $text : null;
		} catch ( Throwable $refusal ) {
			return null;
		}
	}

	/**
	 * Deserializes values. Unreadable values are omitted: truncated texts, texts of other programs, and objects of
	 * classes that no longer exist.
	 *
	 * @param array<string, string|int> $texts Texts.
	 * @return array<string, mixed> Readable values.
	 */
	public static function read_all( $texts ) {
		$values = array();
		foreach ( $texts as $id => $text ) {
			$is_read = false;
			$value   = self::read( $text, $is_read );
			if ( $is_read ) {
				$values[ $id ] = $value;
			}
		}
		return $values;
	}

	/**
	 * Deserializes a value.
	 *
	 * @param string|int $text    Text.
	 * @param bool       $is_read Set to whether the text was readable.
	 * @return mixed
	 */
	public static function read( $text, &$is_read ) {
		$is_read = is_int( $text );
		if ( $is_read ) {
			return $text;
		}
		if ( ! is_string( $text ) || strlen( $text ) < 2 ) {
			return false;
		}
		try {
			// phpcs:disable WordPress.PHP.NoSilencedErrors, WordPress.PHP.DiscouragedPHPFunctions -- a failure is a miss; the text was written above.
			if ( 0 === strpos( $text, self::IGBINARY ) ) {
				$value   = function_exists( 'igbinary_unserialize' ) ? @igbinary_unserialize( $text ) : null;
				$is_read = null !== $value && ( false !== $value || self::write( false ) === $text );
				$is_read = $is_read || ( null === $value && self::write( null ) === $text );
			} else {
				$value   = @unserialize( $text );
				$is_read = false !== $value || 'b:0;' === $text;
			}
			// phpcs:enable
		} catch ( Throwable $refusal ) {
			$is_read = false;
			return false;
		}
		// An object of a class that is not loaded, or no longer exists.
		$is_read = $is_read && ! $value instanceof __PHP_Incomplete_Class;
		return $value;
	}
}
