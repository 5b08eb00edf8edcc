<?php
/**
 * Tags of database tables outside WordPress core.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Maps tables of plugins to tags: a page has the tags of all tables that were read while it was generated.
 *
 * The tag of a table is `db.NAME` of the site that it belongs to. Tables without the prefix of a site belong to the main site.
 */
class Myriad_Cache_Tables {

	/**
	 * Tables of WordPress, without prefix. Filters and actions report what is read and written in them.
	 */
	const CORE = array(
		'posts'              => true,
		'postmeta'           => true,
		'terms'              => true,
		'termmeta'           => true,
		'term_taxonomy'      => true,
		'term_relationships' => true,
		'users'              => true,
		'usermeta'           => true,
		'comments'           => true,
		'commentmeta'        => true,
		'options'            => true,
		'links'              => true,
		'blogs'              => true,
		'blogmeta'           => true,
		'blog_versions'      => true,
		'site'               => true,
		'sitemeta'           => true,
		'signups'            => true,
		'registration_log'   => true,
	);

	/**
	 * Tables of WooCommerce that are copies of products, whose own actions report changes, or that appear on no shared page.
	 */
	const SHOP = '/^(?:wc_product_(?:meta|attributes)_lookup|wc_(?:reserved_stock|category_lookup|customer_lookup|webhooks|download_log|rate_limits)|wc_orders\w*|wc_order_\w+|wc_admin_\w+|woocommerce_(?:sessions|api_keys|log|order_item\w*|payment_token\w*|downloadable_product_permissions)|actionscheduler_\w+)$/D';

	/**
	 * Tags of tables, by prefix of the site and name in the database.
	 *
	 * @var array<string, array<string, string>>
	 */
	private static $tags = array();

	/**
	 * Returns whether a table of WordPress or WooCommerce has no tag, because actions report its changes.
	 *
	 * @param string $name Name without prefix.
	 * @return bool
	 */
	private static function is_reported( $name ) {
		return isset( self::CORE[ $name ] ) || preg_match( self::SHOP, $name );
	}

	/**
	 * Returns the site of a table, its name without the prefix of the site, and true if it has such a prefix.
	 *
	 * @param string $table Name in the database.
	 * @return array{0: int, 1: string, 2: bool}
	 */
	private static function split( $table ) {
		global $wpdb;
		$base  = is_multisite() ? $wpdb->base_prefix : $wpdb->prefix;
		$name  = 0 === strncasecmp( $table, $base, strlen( $base ) ) ? substr( $table, strlen( $base ) ) : $table;
		$found = array();
		if ( ! is_multisite() ) {
			return array( get_current_blog_id(), $name, $name !== $table || '' === $base );
		}
		if ( $name !== $table && preg_match( '/^([0-9]+)_(.+)$/D', $name, $found ) ) {
			return array( (int) $found[1], $found[2], true );
		}
		return array( get_main_site_id(), $name, $name !== $table );
	}

	/**
	 * Returns the site of a table of WordPress, and its name without prefix.
	 *
	 * @param string $table Name in the database.
	 * @return array{0: int, 1: string}|null Null for other tables.
	 */
	public static function core( $table ) {
		global $wpdb;
		if ( $table === $wpdb->users || $table === $wpdb->usermeta ) {
			return array( get_current_blog_id(), $table === $wpdb->users ? 'users' : 'usermeta' );
		}
		list( $site, $name, $is_ours ) = self::split( $table );
		return $is_ours && isset( self::CORE[ $name ] ) ? array( $site, $name ) : null;
	}

	/**
	 * Returns the tag of a table.
	 *
	 * @param string $table Name in the database.
	 * @return string Tag with the site number; empty for tables without tags.
	 */
	public static function tag( $table ) {
		global $wpdb;
		if ( ! isset( self::$tags[ $wpdb->prefix ] ) && ! is_multisite() ) {
			// Most statements read these tables only.
			self::$tags[ $wpdb->prefix ] = array_fill_keys( array( $wpdb->posts, $wpdb->postmeta, $wpdb->terms, $wpdb->term_taxonomy, $wpdb->term_relationships, $wpdb->users, $wpdb->usermeta, $wpdb->options ), '' );
		}
		if ( isset( self::$tags[ $wpdb->prefix ][ $table ] ) ) {
			return self::$tags[ $wpdb->prefix ][ $table ];
		}
		list( $site, $name, $is_ours ) = self::split( $table );

		// `DUAL` is no table. Tables of users may have other names.
		$is_reported = 0 === strcasecmp( $table, 'dual' ) || $table === $wpdb->users || $table === $wpdb->usermeta;
		$has_no_tag  = $is_reported || ( $is_ours && self::is_reported( $name ) );

		self::$tags[ $wpdb->prefix ][ $table ] = $has_no_tag ? '' : Myriad_Cache_Tags::of_site( $site, 'db.' . Myriad_Cache_Tags::field( strtolower( $name ) ) );
		return self::$tags[ $wpdb->prefix ][ $table ];
	}

	/**
	 * Returns the tables in SQL that have tags.
	 *
	 * @param string $sql SQL.
	 * @return array<string, string> Tags by names of tables.
	 */
	public static function tags( $sql ) {
		$tags = array();
		foreach ( Myriad_Cache_Sql::tables( $sql ) as $table ) {
			$tags[ $table ] = self::tag( (string) $table );
		}
		return array_diff( $tags, array( '' ) );
	}

	/**
	 * Tags the page with tables that SQL reads, and notes the dates in them.
	 *
	 * @param string                $sql  SQL.
	 * @param array<string, string> $tags Tags by names of tables.
	 */
	public static function note( $sql, $tags ) {
		$dated = array();
		foreach ( $tags as $table => $tag ) {
			Myriad_Cache_Tags::add_named( $tag );
			Myriad_Cache_Writes::limit_for_columns( (string) $table, $sql );
			if ( ! Myriad_Cache_Writes::is_noisy( (string) $table ) ) {
				$dated[] = (string) $table;
			}
		}
		if ( $dated ) {
			Myriad_Cache_Table_Times::note( $sql, $dated );
		}
	}
}
