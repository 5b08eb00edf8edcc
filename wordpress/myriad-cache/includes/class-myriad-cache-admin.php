<?php
/**
 * Settings and admin bar menu for administrators.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Settings screen and admin bar.
 */
class Myriad_Cache_Admin {

	/**
	 * Capability that is required to purge a page.
	 */
	const MAY_PURGE = 'edit_others_posts';

	/**
	 * Capability that is required to purge the site and to change settings.
	 */
	const MAY_MANAGE = 'manage_options';

	/**
	 * Maximum validity, in days.
	 */
	const MOST_DAYS = 30;

	/**
	 * Name of the screen.
	 */
	const SCREEN = 'myriad-cache';

	/**
	 * Value of the argument `myriad-purged` after a failed purge.
	 */
	const FAILED = 'failed';

	/**
	 * Registers the screen, the settings and the menu.
	 */
	public static function start() {
		add_action( 'admin_menu', array( __CLASS__, 'add_screen' ) );
		add_action( 'admin_init', array( __CLASS__, 'add_settings' ) );
		add_action( 'admin_bar_menu', array( __CLASS__, 'add_bar' ), 90 );
		add_action( 'admin_post_myriad_cache_purge', array( __CLASS__, 'purge' ) );
		add_action( 'init', array( __CLASS__, 'translate' ) );
	}

	/**
	 * Loads the translation.
	 */
	public static function translate() {
		load_plugin_textdomain( 'myriad-cache', false, dirname( plugin_basename( MYRIAD_CACHE_FILE ) ) . '/languages' );
	}

	/**
	 * Adds the screen.
	 */
	public static function add_screen() {
		add_options_page( __( 'Myriad Cache', 'myriad-cache' ), __( 'Myriad Cache', 'myriad-cache' ), self::MAY_MANAGE, self::SCREEN, array( __CLASS__, 'show_screen' ) );
	}

	/**
	 * Adds the settings.
	 */
	public static function add_settings() {
		register_setting(
			self::SCREEN,
			'myriad_cache_hours',
			array(
				'type'              => 'number',
				'default'           => Myriad_Cache_Page::HOURS,
				'sanitize_callback' => array( __CLASS__, 'clean_hours' ),
			)
		);
		register_setting(
			self::SCREEN,
			'myriad_cache_mode',
			array(
				'type'              => 'string',
				'default'           => 'invalidate',
				'sanitize_callback' => array( __CLASS__, 'clean_mode' ),
			)
		);
		add_settings_section( 'pages', '', '__return_null', self::SCREEN );
		add_settings_field( 'myriad_cache_hours', __( 'Pages are valid for', 'myriad-cache' ), array( __CLASS__, 'show_validity' ), self::SCREEN, 'pages', array( 'label_for' => 'myriad_cache_hours' ) );
		add_settings_field( 'myriad_cache_mode', __( 'After a change', 'myriad-cache' ), array( __CLASS__, 'show_mode' ), self::SCREEN, 'pages' );
	}

	/**
	 * Sanitizes a validity. The function is idempotent, because WordPress calls it twice for a new option.
	 *
	 * @param mixed $hours Hours, as entered.
	 * @return float
	 */
	public static function clean_hours( $hours ) {
		return round( min( max( is_numeric( $hours ) ? (float) $hours : Myriad_Cache_Page::HOURS, 0 ), 24 * self::MOST_DAYS ), 2 );
	}

	/**
	 * Sanitizes a mode.
	 *
	 * @param mixed $mode Mode, as selected.
	 * @return string
	 */
	public static function clean_mode( $mode ) {
		return 'stale' === $mode ? 'stale' : 'invalidate';
	}

	/**
	 * Shows the field of the validity.
	 */
	public static function show_validity() {
		printf(
			'<input type="number" class="small-text" id="myriad_cache_hours" name="myriad_cache_hours" min="0" max="%d" step="any" value="%s"> %s<p class="description">%s</p>',
			(int) ( 24 * self::MOST_DAYS ),
			esc_attr( (string) self::clean_hours( get_option( 'myriad_cache_hours', Myriad_Cache_Page::HOURS ) ) ),
			esc_html__( 'hours', 'myriad-cache' ),
			esc_html__( 'Changes are shown at once, independent of this time. A page with a nonce expires before the nonce.', 'myriad-cache' )
		);
	}

	/**
	 * Shows the choice of the mode.
	 */
	public static function show_mode() {
		$modes = array(
			'invalidate' => __( 'The next visitor gets the new page. The old page is sent only if PHP or the database fails.', 'myriad-cache' ),
			'stale'      => __( 'The next visitor gets the old page at once, while the new page is created.', 'myriad-cache' ),
		);
		$mode  = self::clean_mode( get_option( 'myriad_cache_mode', 'invalidate' ) );
		echo '<fieldset>';
		foreach ( $modes as $name => $text ) {
			printf( '<label><input type="radio" name="myriad_cache_mode" value="%s" %s> %s</label><br>', esc_attr( $name ), checked( $mode, $name, false ), esc_html( $text ) );
		}
		echo '</fieldset>';
	}

	/**
	 * Shows the screen.
	 */
	public static function show_screen() {
		if ( ! current_user_can( self::MAY_MANAGE ) ) {
			return;
		}
		echo '<div class="wrap"><h1>' . esc_html__( 'Myriad Cache', 'myriad-cache' ) . '</h1>';
		self::show_purged();
		echo '<h2>' . esc_html__( 'State', 'myriad-cache' ) . '</h2><table class="widefat striped" style="max-width: 50em"><tbody>';
		foreach ( self::state() as $name => $value ) {
			printf( '<tr><th scope="row" style="width: 12em">%s</th><td>%s</td></tr>', esc_html( $name ), esc_html( $value ) );
		}
		echo '</tbody></table><p>';
		printf( '<a class="button" href="%s">%s</a></p>', esc_url( self::purge_link( '' ) ), esc_html__( 'Purge all pages', 'myriad-cache' ) );
		echo '<h2>' . esc_html__( 'Settings', 'myriad-cache' ) . '</h2><form action="options.php" method="post">';
		settings_fields( self::SCREEN );
		do_settings_sections( self::SCREEN );
		submit_button();
		echo '</form></div>';
	}

	/**
	 * Returns the state of the cache.
	 *
	 * @return array<string, string>
	 */
	public static function state() {
		$told  = Myriad_Cache_Client::ask( 'GET', 'cache' );
		$state = array( __( 'Connection', 'myriad-cache' ) => is_wp_error( $told ) ? $told->get_error_message() : __( 'Myriad responds.', 'myriad-cache' ) );
		if ( ! is_wp_error( $told ) && isset( $told['zones'][0] ) ) {
			$zone = $told['zones'][0];

			$state[ __( 'Pages', 'myriad-cache' ) ] = number_format_i18n( isset( $zone['disk']['files'] ) ? max( (int) $zone['disk']['files'], (int) $zone['memory']['pages'] ) : 0 );
		}
		$last = get_option( Myriad_Cache_Queue::LAST );
		if ( is_array( $last ) && isset( $last['time'], $last['pages'], $last['error'] ) ) {
			$text = sprintf(
				/* translators: 1: number of pages, 2: how long ago, such as "5 minutes". */
				_n( '%1$s page, %2$s ago', '%1$s pages, %2$s ago', (int) $last['pages'], 'myriad-cache' ),
				number_format_i18n( (int) $last['pages'] ),
				human_time_diff( (int) $last['time'] )
			);

			$state[ __( 'Last purge', 'myriad-cache' ) ] = '' !== $last['error'] ? $last['error'] : Myriad_Cache_Queue::with_receipts( $text, isset( $last['receipts'] ) ? (string) $last['receipts'] : '' );
		}
		if ( get_option( Myriad_Cache_Queue::PENDING ) ) {
			$state[ __( 'Pending purges', 'myriad-cache' ) ] = __( 'Some changes could not be sent. They are sent as soon as Myriad responds.', 'myriad-cache' );
		}
		return $state;
	}

	/**
	 * Shows the result of the purge that redirected to this page.
	 */
	private static function show_purged() {
		$purged = self::purged();
		if ( '' !== $purged ) {
			printf( '<div class="notice notice-%s is-dismissible"><p>%s</p></div>', self::FAILED === self::purged_count() ? 'error' : 'success', esc_html( $purged ) );
		}
	}

	/**
	 * Returns the result of the purge that redirected to this page; empty if there was none.
	 *
	 * @return string
	 */
	private static function purged() {
		$count = self::purged_count();
		if ( '' === $count ) {
			return '';
		}
		if ( self::FAILED === $count ) {
			return __( 'The purge failed. The settings of Myriad Cache show the reason.', 'myriad-cache' );
		}
		/* translators: %s: number of pages. */
		$text = sprintf( _n( '%s page was purged.', '%s pages were purged.', absint( $count ), 'myriad-cache' ), number_format_i18n( absint( $count ) ) );
		return Myriad_Cache_Queue::with_receipts( $text, self::receipts() );
	}

	/**
	 * Returns the nodes of a cluster that have confirmed the purge that redirected to this page; empty without a cluster, and after a later purge.
	 *
	 * @return string
	 */
	private static function receipts() {
		$last = get_option( Myriad_Cache_Queue::LAST );
		// phpcs:ignore WordPress.Security.NonceVerification -- it is only compared.
		$id = isset( $_GET['myriad-purge'] ) ? sanitize_key( wp_unslash( $_GET['myriad-purge'] ) ) : '';
		return '' !== $id && isset( $last['id'], $last['receipts'] ) && $last['id'] === $id ? (string) $last['receipts'] : '';
	}

	/**
	 * Returns the number of pages of the purge that redirected to this page, FAILED if it failed, or an empty string.
	 *
	 * @return string
	 */
	private static function purged_count() {
		// phpcs:ignore WordPress.Security.NonceVerification -- it is a number that is only shown.
		return isset( $_GET['myriad-purged'] ) ? sanitize_key( wp_unslash( $_GET['myriad-purged'] ) ) : '';
	}

	/**
	 * Returns a link that purges.
	 *
	 * @param string $path Path and query of a page; empty for all pages.
	 * @return string
	 */
	private static function purge_link( $path ) {
		$link = add_query_arg(
			array(
				'action' => 'myriad_cache_purge',
				'path'   => rawurlencode( $path ),
			),
			admin_url( 'admin-post.php' )
		);
		return wp_nonce_url( $link, 'myriad_cache_purge' . $path );
	}

	/**
	 * Returns the path and query of the current page.
	 *
	 * @return string
	 */
	private static function path() {
		$path = isset( $_SERVER['REQUEST_URI'] ) ? esc_url_raw( wp_unslash( $_SERVER['REQUEST_URI'] ) ) : '/';
		return remove_query_arg( array( 'myriad-purged', 'myriad-purge' ), $path );
	}

	/**
	 * Returns the address of a path of this site.
	 *
	 * @param string $path Path and query.
	 * @return string
	 */
	private static function url( $path ) {
		$home = wp_parse_url( home_url( '/' ) );
		$port = isset( $home['port'] ) ? ':' . $home['port'] : '';
		return $home['scheme'] . '://' . $home['host'] . $port . '/' . ltrim( $path, '/' );
	}

	/**
	 * Adds the menu to the admin bar.
	 *
	 * @param WP_Admin_Bar $bar Admin bar.
	 */
	public static function add_bar( $bar ) {
		if ( ! current_user_can( self::MAY_PURGE ) ) {
			return;
		}
		$purged = self::purged();
		$bar->add_node(
			array(
				'id'    => 'myriad-cache',
				'title' => esc_html( '' === $purged ? __( 'Myriad', 'myriad-cache' ) : $purged ),
				'href'  => current_user_can( self::MAY_MANAGE ) ? admin_url( 'options-general.php?page=' . self::SCREEN ) : false,
			)
		);
		$items = array();
		if ( ! is_admin() ) {
			foreach ( Myriad_Cache_State::lines( Myriad_Cache_State::of( self::url( self::path() ) ) ) as $id => $line ) {
				$items[ $id ] = array( $line, false );
			}
			$items['page'] = array( __( 'Purge this page', 'myriad-cache' ), self::purge_link( self::path() ) );
		}
		if ( current_user_can( self::MAY_MANAGE ) ) {
			$items['site'] = array( __( 'Purge all pages', 'myriad-cache' ), self::purge_link( '' ) );
		}
		foreach ( $items as $id => $item ) {
			$bar->add_node(
				array(
					'parent' => 'myriad-cache',
					'id'     => 'myriad-cache-' . $id,
					'title'  => esc_html( $item[0] ),
					'href'   => $item[1],
				)
			);
		}
	}

	/**
	 * Purges a page, or all pages, and redirects back.
	 */
	public static function purge() {
		$path = isset( $_GET['path'] ) ? esc_url_raw( wp_unslash( $_GET['path'] ) ) : ''; // phpcs:ignore WordPress.Security.NonceVerification -- the nonce depends on it.
		check_admin_referer( 'myriad_cache_purge' . $path );
		if ( ! current_user_can( '' === $path ? self::MAY_MANAGE : self::MAY_PURGE ) ) {
			wp_die( esc_html__( 'Sorry, you are not allowed to purge this.', 'myriad-cache' ), '', array( 'response' => 403 ) );
		}
		$plan = null;
		if ( '' === $path ) {
			Myriad_Cache_Callers::reset();
			$plan = Myriad_Cache_Warm::plan();
			Myriad_Cache_Queue::add_all();
		} else {
			Myriad_Cache_Queue::add_url( self::url( $path ) );
		}
		$told = Myriad_Cache_Queue::flush();
		Myriad_Cache_Warm::store( $plan );
		$back = wp_get_referer();
		$back = $back ? $back : admin_url( 'options-general.php?page=' . self::SCREEN );
		$result = array( 'myriad-purged' => is_wp_error( $told ) ? self::FAILED : (string) $told['pages'] );
		if ( ! is_wp_error( $told ) && '' !== $told['receipts'] ) {
			$result['myriad-purge'] = $told['id'];
		}
		wp_safe_redirect( add_query_arg( $result, $back ) );
		exit;
	}
}
