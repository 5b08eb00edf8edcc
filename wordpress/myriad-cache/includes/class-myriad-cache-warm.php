<?php
/**
 * Warm-up after all pages were purged.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Requests the pages that were stored before an administrator purged all of them, most hits first.
 *
 * Each run of cron requests pages one after another, for less than half of the time until the next run. Myriad's queue serves these
 * requests last.
 */
class Myriad_Cache_Warm {

	/**
	 * Option with the pages that are still to be requested: `address`, `port`, and `urls`.
	 */
	const PLAN = 'myriad_cache_warm';

	/**
	 * Maximum number of pages, and of answers of 100 pages that are searched for them.
	 */
	const MOST         = 500;
	const MOST_ANSWERS = 20;

	/**
	 * Seconds of each run of cron during which requests begin.
	 */
	const BUDGET = 7;

	/**
	 * Maximum time for a page, in seconds.
	 */
	const TIMEOUT = 30;

	/**
	 * Maximum number of attempts for a page, one in each run of cron.
	 */
	const ATTEMPTS = 3;

	/**
	 * Returns the plan of a warm-up: call it before the purge, and `store` after it. Without the address of Myriad, which requests by a browser contain, there is none.
	 *
	 * @return array{id: string, address: string, port: int, urls: string[], failed: int}|null `failed` is the number of failed attempts for the first page.
	 */
	public static function plan() {
		// phpcs:disable WordPress.Security.ValidatedSanitizedInput -- set by the server.
		$address = isset( $_SERVER['SERVER_ADDR'] ) ? (string) $_SERVER['SERVER_ADDR'] : '';
		$port    = isset( $_SERVER['SERVER_PORT'] ) ? (int) $_SERVER['SERVER_PORT'] : 0;
		// phpcs:enable
		if ( $port < 1 || ! filter_var( $address, FILTER_VALIDATE_IP ) ) {
			return null;
		}
		$urls = array();
		foreach ( (array) self::pages() as $url => $page ) {
			if ( 200 === $page['status'] ) {
				$urls[ $url ] = $page['hits'];
			}
		}
		arsort( $urls );
		$urls = array_slice( array_map( 'strval', array_keys( $urls ) ), 0, self::MOST );
		$home = home_url( '/' );
		return array(
			'id'      => uniqid( '', true ),
			'address' => $address,
			'port'    => $port,
			'urls'    => array_values( array_unique( array_merge( array( $home ), preg_grep( '#^' . preg_quote( $home, '#' ) . '#', $urls ) ) ) ),
			'failed'  => 0,
		);
	}

	/**
	 * Stores a plan. A run of cron between the storage and the purge would request pages that are still stored.
	 *
	 * @param array|null $plan Plan.
	 */
	public static function store( $plan ) {
		if ( null !== $plan ) {
			update_option( self::PLAN, $plan, false );
		}
	}

	/**
	 * Returns the stored pages of this site.
	 *
	 * @return array<string, array{status: int, hits: int, type: string, tags: string[]}>|null By URL, at most 100 times MOST_ANSWERS; null if Myriad cannot be
	 *                                                                           reached.
	 */
	public static function pages() {
		$pages = array();
		$after = '';
		for ( $answer = 0; $answer < self::MOST_ANSWERS; $answer++ ) {
			$told = Myriad_Cache_Client::ask( 'GET', 'cache/pages?limit=100' . ( '' === $after ? '' : '&after=' . rawurlencode( $after ) ) );
			if ( is_wp_error( $told ) || ! isset( $told['pages'] ) ) {
				return null;
			}
			foreach ( (array) $told['pages'] as $page ) {
				if ( isset( $page['url'], $page['status'] ) ) {
					$pages[ (string) $page['url'] ] = array(
						'status' => (int) $page['status'],
						'hits'   => isset( $page['hits'] ) ? (int) $page['hits'] : 0,
						'type'   => isset( $page['media_type'] ) ? (string) $page['media_type'] : '',
						'tags'   => isset( $page['tags'] ) ? (array) $page['tags'] : array(),
					);
				}
			}
			$after = isset( $told['next'] ) ? (string) $told['next'] : '';
			if ( '' === $after ) {
				return $pages;
			}
		}
		return $pages;
	}

	/**
	 * Requests the next pages of the plan, after a run of cron. A page remains in the plan until it is stored, or has failed in ATTEMPTS runs.
	 */
	public static function work() {
		$plan = get_option( self::PLAN );
		if ( ! is_array( $plan ) || empty( $plan['urls'] ) || ! isset( $plan['id'] ) ) {
			return;
		}
		$until = microtime( true ) + self::BUDGET;
		do {
			$is_done        = self::request( $plan['address'], $plan['port'], (string) $plan['urls'][0] );
			$plan['failed'] = $is_done ? 0 : $plan['failed'] + 1;
			if ( $is_done || $plan['failed'] >= self::ATTEMPTS ) {
				array_shift( $plan['urls'] );
				$plan['failed'] = 0;
			}
			wp_cache_delete( self::PLAN, 'options' );
			$stored = get_option( self::PLAN );
			if ( ! isset( $stored['id'] ) || $stored['id'] !== $plan['id'] ) {
				return; // Another purge has begun, or another run has finished.
			}
			$plan['urls'] ? update_option( self::PLAN, $plan, false ) : delete_option( self::PLAN );
			// After a failure, Myriad or PHP is probably overloaded: until the next run.
		} while ( $is_done && $plan['urls'] && microtime( true ) < $until );
	}

	/**
	 * Requests a page.
	 *
	 * @param string $address Address of Myriad.
	 * @param int    $port    Port, as visitors see it.
	 * @param string $url     URL.
	 * @return bool False if it failed, or was not received completely.
	 */
	private static function request( $address, $port, $url ) {
		$parts = wp_parse_url( $url );
		if ( ! isset( $parts['scheme'], $parts['host'] ) ) {
			return true;
		}
		$host   = $parts['host'] . ( isset( $parts['port'] ) ? ':' . $parts['port'] : '' );
		$target = ( isset( $parts['path'] ) ? $parts['path'] : '/' ) . ( isset( $parts['query'] ) ? '?' . $parts['query'] : '' );
		$at     = false === strpos( $address, ':' ) ? $address : '[' . $address . ']';
		$head   = "GET $target HTTP/1.1\r\nHost: $host\r\nUser-Agent: Myriad-Warm/" . MYRIAD_CACHE_VERSION . "\r\nAccept: text/html\r\nAccept-Encoding: gzip\r\nConnection: close\r\n";
		$tls    = stream_context_create(
			array(
				'ssl' => array(
					'peer_name'        => $parts['host'],
					'verify_peer'      => false, // It is this machine, or the address of the server that sent the request.
					'verify_peer_name' => false,
				),
			)
		);
		// phpcs:disable WordPress.WP.AlternativeFunctions, WordPress.PHP.NoSilencedErrors -- a socket is no file; after a failure, the run stops.
		if ( 'https' === $parts['scheme'] ) {
			$stream = @stream_socket_client( 'tls://' . $at . ':' . $port, $number, $why, 2, STREAM_CLIENT_CONNECT, $tls );
			if ( false === $stream ) {
				// A proxy terminates TLS.
				$stream = @stream_socket_client( 'tcp://' . $at . ':80', $number, $why, 2 );
				$head  .= "X-Forwarded-Proto: https\r\n";
			}
		} else {
			$stream = @stream_socket_client( 'tcp://' . $at . ':' . $port, $number, $why, 2 );
		}
		if ( false === $stream ) {
			return false;
		}
		stream_set_timeout( $stream, self::TIMEOUT );
		$status = array();
		@fwrite( $stream, $head . "\r\n" );
		preg_match( '#^HTTP/1\.[01] ([0-9]{3})#', (string) @fgets( $stream, 1024 ), $status );
		while ( ! feof( $stream ) && '' !== (string) @fread( $stream, 65536 ) ) {
			continue; // The page is stored when it is complete.
		}
		$is_complete = feof( $stream );
		fclose( $stream );
		// phpcs:enable
		return $is_complete && isset( $status[1] ) && ! in_array( $status[1], array( '429', '502', '503', '504' ), true );
	}
}
