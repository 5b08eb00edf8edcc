<?php
/**
 * Files that a request of staff writes.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Purges the pages of the site after staff changed something that is stored in files: templates in the editor of themes, settings of
 * plugins. Nobody knows which pages contain it.
 *
 * The system counts the blocks that a process writes. Uploads, sessions and the error log contain no content of pages.
 */
class Myriad_Cache_Files {

	/**
	 * Maximum length of a body that PHP stores in memory, in bytes.
	 */
	const BODY_IN_MEMORY = 16384;

	/**
	 * Number of blocks (512 bytes) that this process had written before the request, or at the last look.
	 *
	 * @var int
	 */
	private static $written = 0;

	/**
	 * True if the request stores an upload.
	 *
	 * @var bool
	 */
	private static $is_upload = false;

	/**
	 * Starts to observe. A request of staff that changes settings is evaluated even if it writes nothing to the database.
	 */
	public static function start() {
		self::$written = self::written();
		foreach ( array( 'wp_handle_upload', 'wp_update_attachment_metadata' ) as $filter ) {
			add_filter( $filter, array( __CLASS__, 'note_upload' ) );
		}
		add_action( 'init', array( __CLASS__, 'arrange' ), PHP_INT_MAX );
	}

	/**
	 * Registers the purges of a request of staff that changes settings.
	 */
	public static function arrange() {
		if ( self::is_changing() ) {
			Myriad_Cache_Queue::arrange();
		}
	}

	/**
	 * Records that the request stores an upload.
	 *
	 * @param mixed $value Value of the filter.
	 * @return mixed
	 */
	public static function note_upload( $value ) {
		self::$is_upload = true;
		return $value;
	}

	/**
	 * Returns whether staff changes settings with this request. Commands and scheduled tasks write backups, exports and caches.
	 *
	 * @return bool
	 */
	private static function is_changing() {
		return 'cli' !== PHP_SAPI && Myriad_Cache_Actor::changes_settings();
	}

	/**
	 * Returns the number of blocks that this process has written to files.
	 *
	 * @return int
	 */
	private static function written() {
		$usage = function_exists( 'getrusage' ) ? getrusage() : array();
		return isset( $usage['ru_oublock'] ) ? (int) $usage['ru_oublock'] : 0;
	}

	/**
	 * Returns the maximum number of blocks of the file in which PHP stores a long body of a request.
	 *
	 * @return int
	 */
	private static function of_body() {
		$length = isset( $_SERVER['CONTENT_LENGTH'] ) ? (int) $_SERVER['CONTENT_LENGTH'] : 0;
		return $length > self::BODY_IN_MEMORY ? (int) ceil( $length / 4096 ) * 8 : 0;
	}

	/**
	 * Adds all pages of the site to the queue if the request has written files.
	 */
	public static function resolve() {
		$before        = self::$written + self::of_body();
		self::$written = self::written();
		if ( self::$written > $before && self::is_changing() && ! self::is_explained() ) {
			Myriad_Cache_Changes::site();
		}
	}

	/**
	 * Returns whether the written files contain no content of pages.
	 *
	 * @return bool
	 */
	private static function is_explained() {
		$log   = (string) ini_get( 'error_log' );
		$began = isset( $_SERVER['REQUEST_TIME'] ) ? (int) $_SERVER['REQUEST_TIME'] : 0;
		clearstatcache( true, $log );
		return self::$is_upload || $_FILES || '' !== (string) session_id() || ( '' !== $log && is_file( $log ) && filemtime( $log ) >= $began ); // phpcs:ignore WordPress.Security -- nothing is read from the files.
	}
}
