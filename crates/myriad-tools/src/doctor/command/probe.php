<?php
// Written by `myriad doctor` for one look at PHP and WordPress, and removed by it.
error_reporting( 0 );
$bytes = static function ( $name ) {
	$value = trim( (string) ini_get( $name ) );
	$units = array( 'k' => 10, 'm' => 20, 'g' => 30 );
	$unit  = strtolower( substr( $value, -1 ) );
	return (int) $value << ( isset( $units[ $unit ] ) ? $units[ $unit ] : 0 );
};
$found = array(
	'version' => PHP_VERSION,
	'upload'  => $bytes( 'upload_max_filesize' ),
	'post'    => $bytes( 'post_max_size' ),
	'memory'  => $bytes( 'memory_limit' ),
	'opcache' => function_exists( 'opcache_get_status' ) && ini_get( 'opcache.enable' ),
	'status'  => function_exists( 'opcache_get_status' ) ? opcache_get_status( false ) : null,
);
if ( isset( $_SERVER['MYRIAD_SITE'] ) ) {
	$found = array();
	require $_SERVER['MYRIAD_SITE'] . '/wp-load.php';
	global $wpdb;
	$value   = static function ( $query ) use ( $wpdb ) {
		$row = $wpdb->get_row( $query, ARRAY_N );
		return isset( $row[1] ) ? (int) $row[1] : 0;
	};
	$queries = (int) $wpdb->num_queries;
	$plugins = (array) get_option( 'active_plugins', array() );
	if ( is_multisite() ) {
		$plugins = array_merge( $plugins, array_keys( (array) get_site_option( 'active_sitewide_plugins', array() ) ) );
	}
	$active  = array( 'themes/' . get_stylesheet(), 'themes/' . get_template() );
	foreach ( $plugins as $plugin ) {
		$active[] = 'plugins/' . explode( '/', (string) $plugin )[0];
	}
	$found   = array(
		'version'          => (string) $GLOBALS['wp_version'],
		'home'             => home_url( '/' ),
		'database'         => method_exists( $wpdb, 'db_server_info' ) ? (string) $wpdb->db_server_info() : (string) $wpdb->db_version(),
		'object_cache'     => (bool) wp_using_ext_object_cache(),
		'plugins'          => array_values( array_map( 'dirname', array_map( 'strval', $plugins ) ) ),
		'active'           => array_values( array_unique( $active ) ),
		'nonce_life'       => (int) apply_filters( 'nonce_life', DAY_IN_SECONDS ),
		'queries'          => $queries,
		'autoload'         => (int) $wpdb->get_var( "SELECT SUM(LENGTH(option_value)) FROM $wpdb->options WHERE autoload IN ('yes', 'on', 'auto', 'auto-on')" ),
		'slow_queries'     => $value( "SHOW GLOBAL STATUS LIKE 'Slow_queries'" ),
		'uptime'           => $value( "SHOW GLOBAL STATUS LIKE 'Uptime'" ),
		'used_connections' => $value( "SHOW GLOBAL STATUS LIKE 'Max_used_connections'" ),
		'most_connections' => $value( "SHOW GLOBAL VARIABLES LIKE 'max_connections'" ),
		'differing'        => class_exists( 'Myriad_Cache_Callers' ) ? array_values( Myriad_Cache_Callers::lines() ) : array(),
		'shows_errors'     => defined( 'WP_DEBUG' ) && WP_DEBUG && defined( 'WP_DEBUG_DISPLAY' ) && WP_DEBUG_DISPLAY,
		'changes'          => class_exists( 'Myriad_Cache_Causes' ) ? Myriad_Cache_Causes::describe() : array(),
	);
}
header( 'Content-Type: application/json' );
echo "\nMYRIAD:", json_encode( $found, JSON_PARTIAL_OUTPUT_ON_ERROR ), "\n";
