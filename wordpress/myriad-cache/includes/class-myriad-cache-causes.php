<?php
/**
 * Causes of changes that no purge announced.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Describes the last changes that Myriad found when it refreshed pages, with the block, shortcode, widget, plugin or table they came from.
 */
class Myriad_Cache_Causes {

	/**
	 * Maximum age of the changes that are described, in seconds.
	 */
	const MAX_AGE = WEEK_IN_SECONDS;

	/**
	 * Maximum number of changes that are described, and of entries of the log of purges that are searched for them.
	 */
	const MOST     = 3;
	const MOST_LOG = 1000;

	/**
	 * Timeout for a request for a page, in seconds.
	 */
	const TIMEOUT = 5;

	/**
	 * Maximum number of possible causes of a change.
	 */
	const MOST_CAUSES = 5;

	/**
	 * Returns descriptions of the last changes, one for each page, the newest first.
	 *
	 * @return string[]
	 */
	public static function describe() {
		$texts   = array();
		$answers = true;
		foreach ( self::changes() as $change ) {
			$trace = $answers ? self::trace( $change ) : null;
			// Without a response, further requests would only take time.
			$answers = null !== $trace;
			$texts[] = self::text( $change, $trace );
		}
		return $texts;
	}

	/**
	 * Returns the last changes of pages of this site.
	 *
	 * @return array[] `url`, `at` (Unix time), `near`, `before` and `after` (texts).
	 */
	private static function changes() {
		$log  = Myriad_Cache_Client::ask( 'GET', 'purges?limit=' . self::MOST_LOG );
		$home = home_url( '/' );
		$host = strtolower( (string) wp_parse_url( $home, PHP_URL_HOST ) );
		$base = (string) preg_replace( '#(^[a-z]+://[^/]+).*#is', '$1', $home );
		$list = array();
		foreach ( is_wp_error( $log ) || ! isset( $log['purges'] ) ? array() : (array) $log['purges'] as $entry ) {
			$page = isset( $entry['change']['page'], $entry['at_ms'] ) ? (string) $entry['change']['page'] : '';
			$path = (string) strstr( $page, '/' );
			$url  = $base . $path;
			$at   = '' === $page ? 0 : (int) ( $entry['at_ms'] / 1000 );
			$is_ours = strtolower( (string) preg_replace( '#(?::[0-9]+)?/.*#s', '', $page ) ) === $host && 0 === strpos( $url, $home );
			if ( $at >= time() - self::MAX_AGE && $is_ours && ! isset( $list[ $url ] ) && count( $list ) < self::MOST ) {
				$list[ $url ] = array_map( 'strval', $entry['change'] ) + array(
					'url' => $url,
					'at'  => $at,
				);
			}
		}
		return array_values( $list );
	}

	/**
	 * Searches the page for the changed text.
	 *
	 * @param array $change Change.
	 * @return array|null Result of `Myriad_Cache_Trace`; null if the site does not respond.
	 */
	private static function trace( $change ) {
		$address = Myriad_Cache_Trace::address( $change['url'], $change['near'], $change['after'] );
		$answer  = '' === $address ? null : wp_remote_get(
			$address,
			array(
				'timeout'     => self::TIMEOUT,
				'redirection' => 0,
				/** This filter is documented in wp-includes/class-wp-http-streams.php */
				'sslverify'   => apply_filters( 'https_local_ssl_verify', false ), // phpcs:ignore WordPress.NamingConventions.PrefixAllGlobals -- WordPress's own.
			)
		);
		$found = null === $answer || is_wp_error( $answer ) ? null : json_decode( wp_remote_retrieve_body( $answer ), true );
		return isset( $found['elements'], $found['tables'], $found['hosts'] ) ? $found : null;
	}

	/**
	 * Returns the description of a change.
	 *
	 * @param array      $change Change.
	 * @param array|null $trace  Result of the search.
	 * @return string
	 */
	private static function text( $change, $trace ) {
		/* translators: 1: address of a page, 2: date and time, 3: text of the page before the change, 4: after it. */
		$text = sprintf( __( '%1$s changed at %2$s without a purge: "%3$s" is now "%4$s".', 'myriad-cache' ), $change['url'], wp_date( 'Y-m-d H:i', $change['at'] ), self::shown( $change['before'] ), self::shown( $change['after'] ) );
		if ( null === $trace ) {
			return $text . ' ' . __( 'The cause is unknown, because the site did not respond to a request for the page.', 'myriad-cache' );
		}
		$element = self::suspect( (array) $trace['elements'] );
		if ( $element ) {
			/* translators: %s: such as 'the shortcode "table" of the plugin "TablePress"'. */
			$text .= ' ' . sprintf( __( 'The text is part of %s.', 'myriad-cache' ), self::element( $element ) );
			$read  = array_merge( (array) $element['tables'], (array) $element['hosts'] );
			if ( $read ) {
				/* translators: %s: list of database tables and hosts. */
				$text .= ' ' . sprintf( __( 'It reads %s.', 'myriad-cache' ), implode( ', ', array_slice( array_map( 'strval', $read ), 0, self::MOST_CAUSES ) ) );
			}
			return $text;
		}
		$causes = self::candidates( $trace );
		if ( 1 === count( $causes ) ) {
			/* translators: %s: such as 'the table "wp_events", which the plugin "Events" reads'. */
			return $text . ' ' . sprintf( __( 'Probable cause: %s.', 'myriad-cache' ), $causes[0] );
		}
		if ( $causes ) {
			/* translators: %s: list of causes. */
			return $text . ' ' . sprintf( __( 'Possible causes: %s.', 'myriad-cache' ), implode( '; ', array_slice( $causes, 0, self::MOST_CAUSES ) ) );
		}
		return $text . ' ' . __( 'No plugin, table or external host was found as its cause. Possible causes are a file of the theme, the current time, or a change of the database by another program.', 'myriad-cache' );
	}

	/**
	 * Returns a text of a page as visible text, with its tags only if it contains nothing else.
	 *
	 * @param string $text Text.
	 * @return string
	 */
	private static function shown( $text ) {
		$plain = trim( wp_strip_all_tags( (string) preg_replace( '/^[^<>]*>|<[^<>]*$/', '', $text ), true ) );
		return '' === $plain ? trim( $text ) : $plain;
	}

	/**
	 * Returns the innermost element of a plugin or theme; if there is none, the innermost element.
	 *
	 * @param array[] $elements Elements, the innermost first.
	 * @return array|null
	 */
	private static function suspect( $elements ) {
		foreach ( $elements as $element ) {
			if ( '' !== $element['origin'] && 'core' !== $element['origin'] ) {
				return $element;
			}
		}
		return $elements ? $elements[0] : null;
	}

	/**
	 * Returns the description of an element.
	 *
	 * @param array $element Element.
	 * @return string
	 */
	private static function element( $element ) {
		$names = array(
			/* translators: %s: name. */
			'block'     => __( 'the block "%s"', 'myriad-cache' ),
			/* translators: %s: name. */
			'shortcode' => __( 'the shortcode "%s"', 'myriad-cache' ),
			/* translators: %s: name. */
			'widget'    => __( 'the widget "%s"', 'myriad-cache' ),
			/* translators: %s: name of an action or filter. */
			'callback'  => __( 'the output for "%s"', 'myriad-cache' ),
		);
		$text   = sprintf( isset( $names[ $element['type'] ] ) ? $names[ $element['type'] ] : '%s', $element['name'] );
		$origin = self::origin( $element['origin'] );
		/* translators: 1: an element of a page, 2: such as 'the plugin "TablePress"'. */
		return '' === $origin ? $text : sprintf( __( '%1$s of %2$s', 'myriad-cache' ), $text, $origin );
	}

	/**
	 * Returns what the page reads from tables of plugins and from other hosts.
	 *
	 * @param array $trace Result of the search.
	 * @return string[]
	 */
	private static function candidates( $trace ) {
		$names = array(
			/* translators: %s: name of a database table. */
			'tables' => __( 'the table "%s"', 'myriad-cache' ),
			/* translators: %s: name of a host. */
			'hosts'  => __( 'the host "%s"', 'myriad-cache' ),
		);
		$found = array();
		foreach ( $names as $list => $name ) {
			foreach ( (array) $trace[ $list ] as $what => $origin ) {
				$text   = sprintf( $name, $what );
				$origin = self::origin( (string) $origin );
				/* translators: 1: a table or host, 2: such as 'the plugin "TablePress"'. */
				$found[] = '' === $origin ? $text : sprintf( __( '%1$s, which %2$s reads', 'myriad-cache' ), $text, $origin );
			}
		}
		return $found;
	}

	/**
	 * Returns the readable form of an origin.
	 *
	 * @param string $origin Origin as in `Myriad_Cache_Trace::origin`.
	 * @return string Empty if it is unknown.
	 */
	private static function origin( $origin ) {
		list( $kind, $name ) = array_pad( explode( ':', $origin, 2 ), 2, '' );
		if ( 'core' === $kind ) {
			return 'WordPress';
		}
		if ( 'theme' === $kind ) {
			/* translators: %s: name of a theme. */
			return sprintf( __( 'the theme "%s"', 'myriad-cache' ), wp_get_theme( $name )->exists() ? wp_get_theme( $name )->get( 'Name' ) : $name );
		}
		if ( 'plugin' === $kind || 'must-use' === $kind ) {
			if ( ! function_exists( 'get_plugins' ) ) {
				require_once ABSPATH . 'wp-admin/includes/plugin.php';
			}
			foreach ( 'plugin' === $kind ? get_plugins() : get_mu_plugins() as $file => $plugin ) {
				if ( explode( '/', $file )[0] === $name && '' !== $plugin['Name'] ) {
					$name = $plugin['Name'];
					break;
				}
			}
			/* translators: %s: name of a plugin. */
			return sprintf( __( 'the plugin "%s"', 'myriad-cache' ), $name );
		}
		return '';
	}
}
