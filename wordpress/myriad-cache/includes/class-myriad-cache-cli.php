<?php
/**
 * Commands of WP-CLI.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Purges pages of the Myriad web accelerator, and shows its state.
 */
class Myriad_Cache_CLI {

	/**
	 * Purges pages.
	 *
	 * ## OPTIONS
	 *
	 * [<url>...]
	 * : URLs of pages.
	 *
	 * [--post=<id>]
	 * : Pages that show this post.
	 *
	 * [--all]
	 * : All pages of the site.
	 *
	 * ## EXAMPLES
	 *
	 *     wp myriad purge https://example.com/about/
	 *     wp myriad purge --post=12
	 *
	 * @param string[] $args    Addresses.
	 * @param array    $options Options.
	 */
	public function purge( $args, $options ) {
		if ( ! $args && ! $options ) {
			WP_CLI::error( __( 'Specify URLs, --post=<id> or --all.', 'myriad-cache' ) );
		}
		foreach ( $args as $url ) {
			Myriad_Cache_Queue::add_url( $url );
		}
		if ( isset( $options['post'] ) ) {
			Myriad_Cache_Queue::add( 'p' . absint( $options['post'] ) );
		}
		if ( isset( $options['all'] ) ) {
			Myriad_Cache_Callers::reset();
			Myriad_Cache_Queue::add_all();
		}
		$told = Myriad_Cache_Queue::flush();
		if ( is_wp_error( $told ) ) {
			WP_CLI::error( $told->get_error_message() );
		}
		/* translators: %s: number of pages. */
		$text = sprintf( _n( '%s page was purged.', '%s pages were purged.', $told['pages'], 'myriad-cache' ), number_format_i18n( $told['pages'] ) );
		WP_CLI::success( Myriad_Cache_Queue::with_receipts( $text, $told['receipts'] ) );
	}

	/**
	 * Shows the state of the connection and of the last purge.
	 */
	public function status() {
		foreach ( Myriad_Cache_Admin::state() as $name => $value ) {
			WP_CLI::line( $name . ': ' . $value );
		}
	}
}
