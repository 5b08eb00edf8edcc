<?php
/**
 * Tests of Site Health, and the notice about a broken connection.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Reports faults of the connection to Myriad, and pages that are not shared.
 */
class Myriad_Cache_Health {

	/**
	 * Namespace of the routes in WordPress's REST API.
	 */
	const API = 'myriad-cache/v1';

	/**
	 * Maximum number of findings of the leak guard that are listed.
	 */
	const MOST_LEAKS = 5;

	/**
	 * Registers the tests and the notice.
	 */
	public static function start() {
		add_filter( 'site_status_tests', array( __CLASS__, 'add' ) );
		add_action( 'rest_api_init', array( __CLASS__, 'add_route' ) );
		add_action( 'admin_notices', array( __CLASS__, 'show_failure' ) );
		add_action( 'network_admin_notices', array( __CLASS__, 'show_failure' ) );
	}

	/**
	 * Adds the tests to WordPress's own.
	 *
	 * @param array $tests Tests.
	 * @return array
	 */
	public static function add( $tests ) {
		$tests['direct']['myriad_cache_connection'] = array(
			'label' => __( 'Myriad receives changes', 'myriad-cache' ),
			'test'  => array( __CLASS__, 'connection' ),
		);
		$tests['direct']['myriad_cache_others']     = array(
			'label' => __( 'Only Myriad caches pages', 'myriad-cache' ),
			'test'  => array( __CLASS__, 'others' ),
		);
		$tests['direct']['myriad_cache_known']      = array(
			'label' => __( 'Known visitors get stored pages', 'myriad-cache' ),
			'test'  => array( __CLASS__, 'known' ),
		);
		$tests['direct']['myriad_cache_leaks']      = array(
			'label' => __( 'Stored pages contain no data of visitors', 'myriad-cache' ),
			'test'  => array( __CLASS__, 'leaks' ),
		);
		$tests['async']['myriad_cache_changes']     = array(
			'label'             => __( 'Purges announce all changes', 'myriad-cache' ),
			'test'              => rest_url( self::API . '/changes' ),
			'has_rest'          => true,
			'async_direct_test' => array( __CLASS__, 'changes' ),
		);
		return $tests;
	}

	/**
	 * Adds the route of the test that requests pages.
	 */
	public static function add_route() {
		register_rest_route(
			self::API,
			'/changes',
			array(
				'methods'             => 'GET',
				'callback'            => array( __CLASS__, 'changes' ),
				'permission_callback' => static function () {
					return current_user_can( 'view_site_health_checks' );
				},
			)
		);
	}

	/**
	 * Tests whether pages changed without a purge.
	 *
	 * @return array
	 */
	public static function changes() {
		$changes = Myriad_Cache_Causes::describe();
		if ( ! $changes ) {
			return self::result( 'changes', 'good', __( 'Purges announce all changes', 'myriad-cache' ), __( 'Myriad has found no page that changed without a purge.', 'myriad-cache' ) );
		}
		$changes[] = __( 'Such changes are seen when the validity of a page is over. If the plugin has an action for them, it should purge the page; otherwise, shorten the validity of the pages with the filter myriad_cache_validity.', 'myriad-cache' );
		return self::result( 'changes', 'recommended', __( 'Some pages changed without a purge', 'myriad-cache' ), $changes );
	}

	/**
	 * Tests whether the leak guard of Myriad has found pages of this site with data of a visitor.
	 *
	 * @return array
	 */
	public static function leaks() {
		$answer = Myriad_Cache_Client::ask( 'GET', 'leaks' );
		if ( is_wp_error( $answer ) ) {
			return self::result( 'leaks', 'recommended', __( 'The findings of the leak guard are unknown', 'myriad-cache' ), $answer->get_error_message() );
		}
		$host   = strtolower( (string) wp_parse_url( home_url( '/' ), PHP_URL_HOST ) );
		$lines  = array();
		foreach ( isset( $answer['leaks'] ) ? (array) $answer['leaks'] : array() as $leak ) {
			$page = isset( $leak['page'], $leak['what'], $leak['state'] ) ? (string) $leak['page'] : '';
			if ( '' === $page || 'coincidence' === $leak['state'] || (string) strstr( $page . '/', '/', true ) !== $host || count( $lines ) >= self::MOST_LEAKS ) {
				continue;
			}
			/* translators: 1: host and path of a page, 2: kind and place of the data, 3: state, such as "confirmed". */
			$lines[] = sprintf( __( '%1$s: %2$s (%3$s)', 'myriad-cache' ), $page, (string) $leak['what'], (string) $leak['state'] );
		}
		if ( ! $lines ) {
			return self::result( 'leaks', 'good', __( 'Stored pages contain no data of visitors', 'myriad-cache' ), __( 'The leak guard of Myriad has found no page of this site with data of a visitor.', 'myriad-cache' ) );
		}
		$lines[] = __( 'Responses with such data are not shared. The plugin or theme that shows it should send "Cache-Control: private", or the server should treat the cookie as personal.', 'myriad-cache' );
		return self::result( 'leaks', 'recommended', __( 'Some pages contain data of a visitor', 'myriad-cache' ), $lines );
	}

	/**
	 * Tests the connection to Myriad.
	 *
	 * @return array
	 */
	public static function connection() {
		$failure = self::failure();
		if ( '' !== $failure ) {
			return self::result( 'connection', 'critical', self::headline(), $failure );
		}
		return self::result( 'connection', 'good', __( 'Myriad receives changes', 'myriad-cache' ), __( 'Pages are stored, and pages that show a change are replaced at once.', 'myriad-cache' ) );
	}

	/**
	 * Shows administrators a notice on every screen while the connection to Myriad is broken.
	 */
	public static function show_failure() {
		$failure = current_user_can( Myriad_Cache_Admin::MAY_MANAGE ) ? self::failure() : '';
		if ( '' !== $failure ) {
			printf( '<div class="notice notice-error"><p><strong>%s</strong></p><p>%s</p></div>', esc_html( self::headline() ), esc_html( $failure ) );
		}
	}

	/**
	 * Returns the summary of a broken connection.
	 *
	 * @return string
	 */
	private static function headline() {
		return __( 'Myriad Cache: Myriad does not receive changes, so visitors may see outdated pages', 'myriad-cache' );
	}

	/**
	 * Returns the reason why Myriad does not receive changes; an empty string if it does.
	 *
	 * @return string
	 */
	private static function failure() {
		$answer = Myriad_Cache_Client::ask( 'GET', 'cache' );
		if ( is_wp_error( $answer ) ) {
			return $answer->get_error_message();
		}
		if ( ! get_option( Myriad_Cache_Queue::PENDING ) ) {
			return '';
		}
		$last = get_option( Myriad_Cache_Queue::LAST );
		return ! empty( $last['error'] ) ? $last['error'] : __( 'Some changes have not been sent to Myriad yet.', 'myriad-cache' );
	}

	/**
	 * Tests whether another plugin also caches pages: after a purge, Myriad would store that plugin's outdated copy
	 * again.
	 *
	 * @return array
	 */
	public static function others() {
		if ( Myriad_Cache_Other_Caches::is_active() ) {
			return self::result( 'others', 'recommended', __( 'Another plugin also caches pages', 'myriad-cache' ), __( 'The file wp-content/advanced-cache.php exists and WP_CACHE is true, or WP Fastest Cache stores pages. Myriad prevents it from storing the pages of visitors, but copies from an earlier time may be outdated. Turn off the page cache of the other plugin, and delete its files.', 'myriad-cache' ) );
		}
		return self::result( 'others', 'good', __( 'No other plugin caches pages', 'myriad-cache' ), __( 'Myriad gets each page directly from WordPress.', 'myriad-cache' ) );
	}

	/**
	 * Tests whether readers, commenters and customers get stored pages, for the home page and the newest posts and
	 * pages.
	 *
	 * @return array
	 */
	public static function known() {
		$reasons = array();
		$parts   = 0;
		foreach ( self::samples() as $url ) {
			$page = Myriad_Cache_State::of( $url );
			$why  = Myriad_Cache_State::why( $page );
			if ( '' !== $why ) {
				$reasons[ $why ] = $url;
			}
			$parts += is_wp_error( $page ) || empty( $page['esi']['known'] ) ? 0 : 1;
		}
		$told = array();
		foreach ( Myriad_Cache_Callers::lines() as $line ) {
			/* translators: %s: a place in a file, and a kind of visitors. */
			$told[] = sprintf( __( 'Pages come from PHP because of %s.', 'myriad-cache' ), $line );
		}
		if ( $reasons || $told ) {
			foreach ( $reasons as $why => $url ) {
				/* translators: 1: address of a page, 2: a reason, such as "is_user_logged_in in themes/name/header.php". */
				$told[] = sprintf( __( '%1$s comes from PHP for visitors who are logged in, have commented or have a cart: %2$s.', 'myriad-cache' ), $url, $why );
			}
			$told[] = __( 'If the output of such a file does not depend on the visitor, add the file to the list of the filter myriad_cache_harmless.', 'myriad-cache' );
			return self::result( 'known', 'recommended', __( 'Known visitors get some pages from PHP', 'myriad-cache' ), implode( ' ', $told ) );
		}
		$text = $parts > 0 ? __( 'Readers, commenters and customers get stored pages with private fragments.', 'myriad-cache' ) : __( 'None of the tested pages is stored at the moment.', 'myriad-cache' );
		return self::result( 'known', 'good', __( 'Known visitors get stored pages', 'myriad-cache' ), $text );
	}

	/**
	 * Returns the addresses of the tested pages.
	 *
	 * @return string[]
	 */
	private static function samples() {
		$urls = array( home_url( '/' ) );
		foreach ( array( 'post', 'page' ) as $type ) {
			foreach ( get_posts(
				array(
					'post_type'   => $type,
					'numberposts' => 3,
					'fields'      => 'ids',
				)
			) as $id ) {
				$urls[] = (string) get_permalink( $id );
			}
		}
		return array_unique( $urls );
	}

	/**
	 * Returns the result of a test.
	 *
	 * @param string $test   Test.
	 * @param string $status Status: `good`, `recommended` or `critical`.
	 * @param string $label  Summary.
	 * @param string|string[] $text Reason, and advice; one or several paragraphs.
	 * @return array
	 */
	private static function result( $test, $status, $label, $text ) {
		return array(
			'label'       => $label,
			'status'      => $status,
			'badge'       => array(
				'label' => __( 'Performance', 'myriad-cache' ),
				'color' => 'blue',
			),
			'description' => '<p>' . implode( '</p><p>', array_map( 'esc_html', (array) $text ) ) . '</p>',
			'actions'     => '',
			'test'        => 'myriad_cache_' . $test,
		);
	}
}
