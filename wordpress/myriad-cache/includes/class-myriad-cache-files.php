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
 * plugins. The pages that contain it are unknown.
 *
 * The system counts the blocks that a process writes. Uploads, sessions and the error log contain no content of pages.
 */
class Myriad_Cache_Files {

	/**
	 * Maximum length of a body that PHP stores in memory, in bytes.
	 */
	const BODY_IN_MEMORY = 16384;

	/**
	 * Number of blocks (512 bytes) that this process had written before the request, or before the last check; null if the request is not observed.
	 *
	 * @var int|null
	 */
	private static $written = null;

	/**
	 * Length of the error log at that time, in bytes.
	 *
	 * @var int
	 */
	private static $log = 0;

	/**
	 * True if the written files were checked while the script ran. php-fpm writes its access log after the script, but before functions that run at shutdown.
	 *
	 * @var bool
	 */
	private static $is_checked = false;

	/**
	 * True if the request stores an upload.
	 *
	 * @var bool
	 */
	private static $is_upload = false;

	/**
	 * Starts to observe requests of logged-in users that may change something. A request of staff that changes settings is evaluated even if it writes nothing to the database.
	 */
	public static function start() {
		if ( ! Myriad_Cache_Page::cookies( '/^wordpress_logged_in_/' ) || ( 'GET' === Myriad_Cache_Page::method() && ! $_GET ) ) { // phpcs:ignore WordPress.Security.NonceVerification -- nothing is read.
			return;
		}
		self::$written = self::written();
		self::$log     = self::log_length();
		foreach ( array( 'wp_handle_upload', 'wp_update_attachment_metadata' ) as $filter ) {
			Myriad_Cache_Hooks::add( $filter, array( __CLASS__, 'note_upload' ) );
		}
		Myriad_Cache_Hooks::add( 'init', array( __CLASS__, 'arrange' ), PHP_INT_MAX );
	}

	/**
	 * Registers purges after a request of staff that changes settings, and checks of the written files before its response.
	 */
	public static function arrange() {
		if ( self::is_changing() ) {
			Myriad_Cache_Queue::arrange();
			foreach ( array( 'wp_redirect', 'rest_pre_echo_response', 'wp_die_ajax_handler', 'wp_die_json_handler' ) as $filter ) {
				Myriad_Cache_Hooks::add( $filter, array( __CLASS__, 'check_before_response' ), PHP_INT_MAX );
			}
		}
	}

	/**
	 * Checks before the response which files the request has written.
	 *
	 * @param mixed $value Value of the filter.
	 * @return mixed
	 */
	public static function check_before_response( $value ) {
		self::resolve();
		return $value;
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
	 * Returns whether staff changes settings with this request. Commands, scheduled tasks and programs that use the REST API with a key write
	 * backups, exports and logs.
	 *
	 * @return bool
	 */
	private static function is_changing() {
		return 'cli' !== PHP_SAPI && Myriad_Cache_Actor::changes_settings() && ( is_admin() || current_user_can( 'edit_posts' ) );
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
	 * Returns the length of PHP's error log.
	 *
	 * @return int Length in bytes; 0 without such a file.
	 */
	private static function log_length() {
		$log = (string) ini_get( 'error_log' );
		clearstatcache( true, $log );
		// phpcs:ignore WordPress.PHP.NoSilencedErrors -- open_basedir may forbid access to the file.
		return '' === $log ? 0 : (int) @filesize( $log );
	}

	/**
	 * Returns the maximum number of blocks that PHP writes for a number of bytes in one file.
	 *
	 * @param int $length Number of bytes.
	 * @return int
	 */
	private static function blocks( $length ) {
		return $length > 0 ? 8 * ( 1 + (int) ceil( $length / 4096 ) ) : 0;
	}

	/**
	 * Adds all pages of the site to the queue if the request has written files other than uploads, a session, the error log and the temporary
	 * file of its body.
	 */
	public static function resolve() {
		if ( null === self::$written || ! self::is_changing() || self::$is_upload || $_FILES || ( function_exists( 'session_id' ) && '' !== (string) session_id() ) ) { // phpcs:ignore WordPress.Security.NonceVerification -- nothing is read from the files.
			return;
		}
		$length  = isset( $_SERVER['CONTENT_LENGTH'] ) ? (int) $_SERVER['CONTENT_LENGTH'] : 0;
		$allowed = self::blocks( self::log_length() - self::$log ) + self::blocks( $length > self::BODY_IN_MEMORY ? $length : 0 );
		// A line of php-fpm's access log.
		$allowed += self::$is_checked && 'fpm-fcgi' === PHP_SAPI ? self::blocks( 1 ) : 0;
		$before   = self::$written;

		self::$is_checked = true;
		self::$written    = self::written();
		self::$log        = self::log_length();
		if ( self::$written > $before + $allowed ) {
			Myriad_Cache_Changes::site();
		}
	}
}
