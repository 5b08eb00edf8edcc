<?php
/**
 * Values as texts.
 *
 * @package Myriad_Object_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Writes and reads values: by igbinary where it is there, else as PHP does. Integers stay what they are, since servers add to them.
 */
class Myriad_Object_Cache_Values {

	/**
	 * First bytes of what igbinary writes.
	 */
	const IGBINARY = "\x00\x00\x00\x02";

	/**
	 * A text that is no value: what was deleted a moment ago.
	 */
	const HELD = '';

	/**
	 * Adds to a number as WordPress's own object cache does: a numeric text is a number, what is not numeric is 0, and the result is at
	 * least 0. It is a float where one of both is, or where integers end.
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
	 * Writes a value.
	 *
	 * @param mixed $value Value.
	 * @return string|int|null Nothing where it cannot be written, as a function cannot.
	 */
	public static function write( $value ) {
		if ( is_int( $value ) ) {
			return $value;
		}
		try {
			$text = function_exists( 'igbinary_serialize' ) ? igbinary_serialize( $value ) : serialize( $value ); // phpcs:ignore WordPress.PHP.DiscouragedPHPFunctions -- JSON knows no classes.
			return is_string( $text ) ? $text : null;
		} catch ( Throwable $refusal ) {
			return null;
		}
	}

	/**
	 * Reads values. One that cannot be read is as one that is not there: half a text, a class that is no more, another program's.
	 *
	 * @param array<string, string|int> $texts Texts.
	 * @return array<string, mixed> Those that can be read.
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
	 * Reads a value.
	 *
	 * @param string|int $text    Text.
	 * @param bool       $is_read Whether it could be read.
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
			// phpcs:disable WordPress.PHP.NoSilencedErrors, WordPress.PHP.DiscouragedPHPFunctions -- what fails is a miss; what is read was written above.
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
		// An object of a class that is not loaded yet, or no more.
		$is_read = $is_read && ! $value instanceof __PHP_Incomplete_Class;
		return $value;
	}
}
