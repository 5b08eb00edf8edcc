<?php
/**
 * Parser of blocks.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Parses blocks as WordPress does, and records whether their attributes may contain dates.
 */
class Myriad_Cache_Block_Parser extends WP_Block_Parser {

	/**
	 * Returns the blocks of a text.
	 *
	 * @param string $document Text with blocks.
	 * @return array[]
	 */
	public function parse( $document ) {
		Myriad_Cache_Times::note_document( $document );
		return parent::parse( $document );
	}
}
