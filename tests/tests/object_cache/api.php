<?php
// Tests every function of the object cache in a real WordPress: php api.php /path/of/the/site. Prints each wrong result, and the number
// of checks.

$_SERVER += array( 'HTTP_HOST' => 'localhost', 'REQUEST_METHOD' => 'GET', 'REQUEST_URI' => '/', 'SERVER_PROTOCOL' => 'HTTP/1.1' );
require $argv[1] . '/wp-load.php';

$checks = 0;

function is( $got, $wanted, $what ) {
	global $checks;
	++$checks;
	if ( $got !== $wanted ) {
		echo "$what: ", var_export( $got, true ), "\n";
	}
}

// Replaces the object cache as at the start of a later request: values of this request are lost.
function again() {
	wp_cache_init();
	wp_cache_add_global_groups( array( 'users', 'site-options' ) );
	wp_cache_add_non_persistent_groups( array( 'counts' ) );
}

function kept( $key, $group ) {
	again();
	return wp_cache_get( $key, $group );
}

function values() {
	is( wp_cache_add( 'a', array( 1, 'x' ), 'g' ), true, 'add' );
	is( wp_cache_add( 'a', 2, 'g' ), false, 'add twice' );
	again();
	is( wp_cache_add( 'a', 2, 'g' ), false, 'add twice, in another request' );
	is( wp_cache_get( 'a', 'g', false, $found ), array( 1, 'x' ), 'get' );
	is( $found, true, 'found' );
	is( wp_cache_get( 'none', 'g', false, $found ), false, 'miss' );
	is( $found, false, 'not found' );
	$all = array( null, false, true, 0, 1, -5, '', '0', '12', 'b:0;', 1.5, array(), str_repeat( 'y', 300000 ) );
	foreach ( $all as $number => $value ) {
		wp_cache_set( "v$number", $value, 'g' );
		is( kept( "v$number", 'g' ), $value, "value $number" );
		wp_cache_get( "v$number", 'g', false, $found );
		is( $found, true, "value $number is found" );
	}
	$object = (object) array( 'a' => 1 );
	wp_cache_set( 'o', $object, 'g' );
	$object->a = 2;
	is( wp_cache_get( 'o', 'g' )->a, 1, 'an object of the caller is not the one that is kept' );
	is( kept( 'o', 'g' ) == (object) array( 'a' => 1 ), true, 'object' );
	wp_cache_set( 'k', 'v' );
	is( kept( 'k', 'default' ), 'v', 'default group' );
	$long = str_repeat( 'long key ü ', 50 );
	wp_cache_set( $long, 'l', 'g' );
	wp_cache_set( $long . '2', 'l2', 'g' );
	is( kept( $long, 'g' ), 'l', 'long key' );
	is( kept( $long . '2', 'g' ), 'l2', 'another long key' );
	wp_cache_set( 'f', function () {}, 'g' );
	is( wp_cache_get( 'f', 'g' ) instanceof Closure, true, 'what cannot be written is kept for the request' );
	is( kept( 'f', 'g' ), false, 'and not for others' );
}

function several() {
	$true = array( 'm1' => true, 'm2' => true, 7 => true );
	is( wp_cache_set_multiple( array( 'm1' => 1, 'm2' => array( 2 ), 7 => 'seven' ), 'g' ), $true, 'set_multiple' );
	again();
	$all = array( 'm1' => 1, 'm2' => array( 2 ), 'm3' => false, 7 => 'seven' );
	is( wp_cache_get_multiple( array( 'm1', 'm2', 'm3', 7 ), 'g' ), $all, 'get_multiple' );
	is( wp_cache_add_multiple( array( 'm1' => 1, 'm4' => 4 ), 'g' ), array( 'm1' => false, 'm4' => true ), 'add_multiple' );
	is( wp_cache_delete_multiple( array( 'm1', 'm9' ), 'g' ), array( 'm1' => true, 'm9' => false ), 'delete_multiple' );
	is( kept( 'm1', 'g' ), false, 'deleted' );
	is( wp_cache_delete( 'm1', 'g' ), false, 'delete what is not there' );
	is( wp_cache_delete( 'm2', 'g' ), true, 'delete' );
	is( wp_cache_replace( 'm2', 1, 'g' ), false, 'replace what is not there' );
	is( wp_cache_replace( 'm4', 5, 'g' ), true, 'replace' );
	is( kept( 'm4', 'g' ), 5, 'replaced' );
	is( wp_cache_incr( 'm4', 3, 'g' ), 8, 'incr' );
	is( kept( 'm4', 'g' ), 8, 'kept' );
	is( wp_cache_decr( 'm4', 2, 'g' ), 6, 'decr' );
	is( wp_cache_decr( 'm4', 200, 'g' ), 0, 'decr ends at 0' );
	is( kept( 'm4', 'g' ), 0, 'kept at 0' );
	is( wp_cache_incr( 'nope', 1, 'g' ), false, 'incr what is not there' );
	wp_cache_set( 's', 'text', 'g' );
	is( wp_cache_incr( 's', 2, 'g' ), 2, 'incr a text' );
	foreach ( array( 5, '5', 2.5 ) as $number => $value ) {
		wp_cache_set( "counter$number", $value, 'g', 300 );
		is( wp_cache_incr( "counter$number", 2, 'g' ), 2 + $value, "incr $number" );
		is( kept( "counter$number", 'g' ), 2 + $value, "incr $number, in another request" );
		$left = left( "counter$number", 'g' );
		is( null === $left || ( $left > 200 && $left <= 300 ), true, "the time of $number stays" );
		is( wp_cache_decr( "counter$number", 100, 'g' ), 0, "decr $number" );
		$left = left( "counter$number", 'g' );
		is( null === $left || ( $left > 200 && $left <= 300 ), true, "the time of $number stays at 0" );
	}
}

function private_of( $object, $name ) {
	$property = new ReflectionProperty( $object, $name );
	$property->setAccessible( true );
	return $property->getValue( $object );
}

// Returns the remaining lifetime of a value in seconds; null if the server does not report it.
function left( $key, $group ) {
	$pool   = private_of( $GLOBALS['wp_object_cache'], 'pool' );
	$method = new ReflectionMethod( $pool, 'key' );
	$method->setAccessible( true );
	$id    = $method->invoke( $pool, $group, $key );
	$store = private_of( $pool, 'store' );
	if ( $store instanceof Myriad_Object_Cache_Redis ) {
		return private_of( $store, 'redis' )->ttl( $id );
	}
	if ( $store instanceof Myriad_Object_Cache_APCu ) {
		// APCu's clock may differ from the system clock.
		apcu_store( 'now', 1 );
		$told = apcu_key_info( $id );
		return $told['creation_time'] + $told['ttl'] - apcu_key_info( 'now' )['creation_time'];
	}
	return null;
}

function groups() {
	again();
	wp_cache_set( 'c', 1, 'counts' );
	is( wp_cache_get( 'c', 'counts' ), 1, 'a group of the request' );
	is( kept( 'c', 'counts' ), false, 'is gone with it' );
	wp_cache_set( 'x', 1, 'g1' );
	wp_cache_set( 'x', 2, 'g2' );
	is( wp_cache_flush_group( 'g1' ), true, 'flush_group' );
	is( wp_cache_get( 'x', 'g1' ), false, 'the group is empty' );
	is( kept( 'x', 'g1' ), false, 'for others, too' );
	is( kept( 'x', 'g2' ), 2, 'another group is not' );
	wp_cache_set( 'x', 3, 'g1' );
	is( kept( 'x', 'g1' ), 3, 'it is filled again' );
	wp_cache_flush_runtime();
	is( wp_cache_get( 'x', 'g1' ), 3, 'flush_runtime leaves what is kept' );
	$told = 0;
	add_action( 'doing_it_wrong_run', function () use ( &$told ) { ++$told; } );
	is( wp_cache_set( '', 1 ), false, 'empty key' );
	is( wp_cache_get( null ), false, 'no key' );
	is( $told, 2, 'told' );
	foreach ( array( 'add_multiple', 'set_multiple', 'get_multiple', 'delete_multiple', 'flush_runtime', 'flush_group' ) as $feature ) {
		is( wp_cache_supports( $feature ), true, $feature );
	}
	is( wp_cache_supports( 'else' ), false, 'else' );
	is( kept( 'x', 'g2' ), 2, 'before flush' );
	is( wp_cache_flush(), true, 'flush' );
	is( kept( 'x', 'g2' ), false, 'after flush' );
}

function changes_at_once() {
	wp_cache_add( 'p', 'old', 'posts' );
	wp_cache_delete( 'p', 'posts' );
	is( wp_cache_get( 'p', 'posts' ), false, 'deleted' );
	is( wp_cache_add( 'p', 'read before', 'posts' ), true, 'for this request' );
	is( kept( 'p', 'posts' ), false, 'what was read before a change is not brought back' );
	wp_cache_set( 'p', 'new', 'posts' );
	is( kept( 'p', 'posts' ), 'new', 'set' );
	wp_cache_add( 'alloptions', array( 'a' => 1, 'b' => 1, 'c' => 1 ), 'options' );
	again();
	$one = $GLOBALS['wp_object_cache'];
	again();
	$two    = $GLOBALS['wp_object_cache'];
	$of_two = $two->get( 'alloptions', 'options', true );
	$of_one = $one->get( 'alloptions', 'options', true );

	$of_one['a'] = 2;
	$one->set( 'alloptions', $of_one, 'options' );
	unset( $of_two['c'] );
	$of_two['d'] = 4;
	$two->set( 'alloptions', $of_two, 'options' );
	is( kept( 'alloptions', 'options' ), array( 'a' => 2, 'b' => 1, 'd' => 4 ), 'the changes of both' );
	again();
	wp_cache_set( 'alloptions', array( 'z' => 1 ), 'options' );
	is( kept( 'alloptions', 'options' ), false, 'who has not read it says nothing' );
	wp_cache_set( 'notoptions', array(), 'options' );
	wp_cache_set( 'notoptions', array( 'x' => true ), 'options' );
	is( kept( 'notoptions', 'options' ), array( 'x' => true ), 'notoptions' );
}

function unreadable() {
	foreach ( array( '', 'x', 'a:1:{i:0', 'O:8:"NotThere":0:{}', "\x00\x00\x00\x02\xff", str_repeat( "\x00", 9 ), 'no value' ) as $text ) {
		Myriad_Object_Cache_Values::read( $text, $is_read );
		is( $is_read, false, 'unreadable: ' . bin2hex( $text ) );
	}
	Myriad_Object_Cache_Values::read( serialize( array( 1 ) ), $is_read );
	is( $is_read, true, 'written without igbinary' );
}

again();
is( get_class( $GLOBALS['wp_object_cache'] ) . wp_using_ext_object_cache(), 'WP_Object_Cache1', 'used' );
is( wp_cache_flush(), true, 'flush' );
values();
several();
groups();
changes_at_once();
unreadable();
wp_cache_flush();
echo "$checks checks";
