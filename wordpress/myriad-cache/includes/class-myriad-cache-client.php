<?php
/**
 * Requests to Myriad.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Sends requests to Myriad's API over a unix socket or loopback, with the secret of the site.
 *
 * WordPress's own HTTP functions do not support unix sockets, and plugins change their behaviour.
 */
class Myriad_Cache_Client {

	/**
	 * Timeout for the connection and for the response, in seconds.
	 */
	const TIMEOUT = 5;

	/**
	 * Timeout for the connection of a request that stays open, in seconds. A change is not delayed longer if Myriad is unreachable.
	 */
	const WATCH_TIMEOUT = 0.5;

	/**
	 * Maximum length of a response, in bytes.
	 */
	const MOST = 1048576;

	/**
	 * Returns the address of Myriad, and the secret.
	 *
	 * @return array{api: string, secret: string} `api` is `unix:/path/plugin.sock:/site/` or
	 *                                            `http://127.0.0.1:8080/path/`; both are empty if they are not
	 *                                            configured.
	 */
	public static function connection() {
		if ( defined( 'MYRIAD_CACHE_API' ) && defined( 'MYRIAD_CACHE_SECRET' ) ) {
			return array(
				'api'    => (string) MYRIAD_CACHE_API,
				'secret' => (string) MYRIAD_CACHE_SECRET,
			);
		}
		$file = dirname( MYRIAD_CACHE_FILE ) . '/connection.php';
		$said = is_readable( $file ) ? include $file : array();
		return array(
			'api'    => isset( $said['api'] ) ? (string) $said['api'] : '',
			'secret' => isset( $said['secret'] ) ? (string) $said['secret'] : '',
		);
	}

	/**
	 * Sends a request to Myriad.
	 *
	 * @param string     $method Method.
	 * @param string     $path   Path below the API, such as `purge`.
	 * @param array|null $body   Body, sent as JSON.
	 * @return array|WP_Error Decoded response.
	 */
	public static function ask( $method, $path, $body = null ) {
		$connection = self::connection();
		$place      = self::place( $connection );
		if ( '' === $connection['api'] || '' === $connection['secret'] ) {
			return new WP_Error( 'myriad_cache_unconnected', __( 'The plugin has no address of Myriad: run "myriad wordpress --install-plugin --root DIR" with the folder of this site, or define MYRIAD_CACHE_API and MYRIAD_CACHE_SECRET in wp-config.php.', 'myriad-cache' ) );
		}
		if ( ! $place ) {
			return new WP_Error( 'myriad_cache_address', __( 'The address of Myriad is invalid. Its format is unix:/path/to/plugin.sock:/site/ or http://127.0.0.1:PORT/path/.', 'myriad-cache' ) );
		}
		$text = null === $body ? '' : (string) wp_json_encode( $body );
		$head = self::head( $method, $place[1] . '/' . $path, $connection['secret'] );
		if ( '' !== $text ) {
			$head .= "Content-Type: application/json\r\nContent-Length: " . strlen( $text ) . "\r\n";
		}
		$answer = self::exchange( $place[0], $head . "\r\n" . $text );
		return is_wp_error( $answer ) ? $answer : self::read( $answer );
	}

	/**
	 * Returns the beginning of the header of a request.
	 *
	 * @param string $method Method.
	 * @param string $path   Path and query.
	 * @param string $secret Secret of the site.
	 * @return string
	 */
	private static function head( $method, $path, $secret ) {
		return $method . ' ' . $path . " HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer " . $secret . "\r\n";
	}

	/**
	 * Sends the header of a request with an empty body. The request remains open until close() sends the final chunk.
	 *
	 * @param string $path Path below the API, and query.
	 * @return resource|false Connection; false if Myriad cannot be reached.
	 */
	public static function open( $path ) {
		$connection = self::connection();
		$place      = self::place( $connection );
		if ( ! $place || '' === $connection['secret'] ) {
			return false;
		}
		// phpcs:disable WordPress.WP.AlternativeFunctions, WordPress.PHP.NoSilencedErrors -- a socket is no file; a failed purge is reported.
		$stream = @stream_socket_client( $place[0], $number, $why, self::WATCH_TIMEOUT );
		if ( $stream ) {
			@fwrite( $stream, self::head( 'POST', $place[1] . '/' . $path, $connection['secret'] ) . "Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n" );
		}
		// phpcs:enable
		return $stream;
	}

	/**
	 * Completes a request that open() has begun. Does not wait for the response.
	 *
	 * @param resource $stream Connection.
	 */
	public static function close( $stream ) {
		// phpcs:disable WordPress.WP.AlternativeFunctions, WordPress.PHP.NoSilencedErrors -- a socket is no file.
		@fwrite( $stream, "0\r\n\r\n" );
		fclose( $stream );
		// phpcs:enable
	}

	/**
	 * Requests that Myriad runs the due cron events of a site of a network.
	 *
	 * @param string $host Host of the site.
	 * @param string $path Folder of the site, `/` or `/second/`.
	 */
	public static function tick( $host, $path ) {
		$place = self::place( self::connection() );
		if ( $place && preg_match( '#^[0-9A-Za-z.:-]+$#D', $host ) && preg_match( '#^/(?:[0-9A-Za-z_./-]*/)?$#D', $path ) ) {
			self::exchange( $place[0], 'GET ' . $place[1] . '/clock?site=' . $path . " HTTP/1.1\r\nHost: " . $host . "\r\nConnection: close\r\n\r\n" );
		}
	}

	/**
	 * Returns the location of the API.
	 *
	 * @param array{api: string, secret: string} $connection Configured connection.
	 * @return array{0: string, 1: string}|null Address for a socket, and the path without its last slash; null if the
	 *                                          address is invalid.
	 */
	private static function place( $connection ) {
		if ( ! preg_match( '#^(?:(unix):([^:]+):|http://([^/]+))(/.*)$#', $connection['api'], $part ) ) {
			return null;
		}
		$address = 'unix' === $part[1] ? 'unix://' . $part[2] : 'tcp://' . $part[3] . ( preg_match( '/:[0-9]+$/', $part[3] ) ? '' : ':80' );
		return array( $address, rtrim( $part[4], '/' ) );
	}

	/**
	 * Sends a request and reads the response, up to MOST bytes.
	 *
	 * @param string $address Address.
	 * @param string $request Request.
	 * @return string|WP_Error
	 */
	private static function exchange( $address, $request ) {
		// phpcs:disable WordPress.WP.AlternativeFunctions, WordPress.PHP.NoSilencedErrors -- a socket is no file; failures are reported below.
		$stream = @stream_socket_client( $address, $number, $why, self::TIMEOUT );
		if ( false === $stream ) {
			/* translators: 1: an address, 2: the system's reason. */
			return new WP_Error( 'myriad_cache_unreachable', sprintf( __( 'Cannot connect to Myriad at %1$s: %2$s. Check that it is running, and that PHP has access to this address.', 'myriad-cache' ), $address, $why ) );
		}
		stream_set_timeout( $stream, self::TIMEOUT );
		$answer = '';
		$length = strlen( $request );
		$sent   = 0;
		do {
			$count = (int) @fwrite( $stream, substr( $request, $sent ) );
			$sent += $count;
		} while ( $count > 0 && $sent < $length );
		if ( $sent === $length ) {
			$answer = (string) stream_get_contents( $stream, self::MOST );
		}
		fclose( $stream );
		// phpcs:enable
		return $answer;
	}

	/**
	 * Parses a response.
	 *
	 * @param string $answer Response, as received.
	 * @return array|WP_Error
	 */
	private static function read( $answer ) {
		$parts = explode( "\r\n\r\n", $answer, 2 );
		if ( 2 !== count( $parts ) || ! preg_match( '#^HTTP/1\.[01] ([0-9]{3})#', $answer, $status ) ) {
			return new WP_Error( 'myriad_cache_answer', __( 'Myriad did not respond in time.', 'myriad-cache' ) );
		}
		$told = json_decode( $parts[1], true );
		if ( '200' === $status[1] && is_array( $told ) ) {
			return $told;
		}
		$why = is_array( $told ) && isset( $told['error'] ) && is_string( $told['error'] ) ? $told['error'] : '';
		if ( '403' === $status[1] ) {
			$why = __( 'the secret of the plugin is wrong. Run "myriad wordpress --install-plugin --root DIR" again, and then "myriad wordpress reload"', 'myriad-cache' );
		}
		/* translators: 1: a status such as 403, 2: the reason. */
		return new WP_Error( 'myriad_cache_status_' . $status[1], sprintf( __( 'Myriad responded with status %1$s: %2$s', 'myriad-cache' ), $status[1], $why ) );
	}
}
