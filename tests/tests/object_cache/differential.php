<?php
// Compares the object cache with that of WordPress: php differential.php /path/of/the/site FIRST LAST. Random calls of the functions,
// with the seeds FIRST to LAST, must have the same results in both. Prints the first difference and its seed, or the number of calls.
//
// Three intended differences are not compared: values outlive the request and `wp_cache_flush_runtime()`; a value that is added to a group
// that WordPress fills from the database applies to the request, regardless of the stored value, and is not stored for two seconds after it
// was deleted; `alloptions` and `notoptions` are merged.

$_SERVER += array( 'HTTP_HOST' => getenv( 'SITE_HOST' ) ?: 'localhost', 'REQUEST_METHOD' => 'GET', 'REQUEST_URI' => '/', 'SERVER_PROTOCOL' => 'HTTP/1.1' );
require $argv[1] . '/wp-load.php';

// Loads the object cache of WordPress with other names.
foreach ( array( 'class-wp-object-cache.php', 'cache.php' ) as $file ) {
	$source = file_get_contents( ABSPATH . WPINC . "/$file" );
	$source = preg_replace( '/^<\?php/', 'namespace Core;', $source );
	$source = preg_replace( '/^require_once.*$/m', '', $source );
	$source = str_replace( 'wp_object_cache', 'core_object_cache', $source );
	eval( $source );
}

const HELD_GROUPS = array( 'posts', 'options', 'post_meta' );
const OTHERS      = array( '', 'default', 'g', 'g:x', 'shared', 'counts', '0', 0, 7, null, 'ä b' );
const KEYS        = array( 'a', 'b', 'x:c', 'c', 1, 2, '3', -1, '05', '1.5', ' d', 'ü', "new\nline", '0', 0 );
const NO_KEYS     = array( '', '  ', null, 1.5, true, false );
const VALUES      = array( null, false, true, 0, 1, 5, -5, '', '0', '5', '-3', '2.5', '1e3', ' 7', '7 ', '0x1a', 'text', 2.5, -2.5, 1e300, PHP_INT_MAX, PHP_INT_MIN, array(), array( 1, 'a' => array( null ) ) );
const OFFSETS     = array( 0, 1, 2, 10, -1, -10, '2', '2.7', 2.7, 'x', null, PHP_INT_MAX, -PHP_INT_MAX );
const EXPIRES     = array( 0, 60, 86400, 1e6, '60', null );

class Counted {
	public $number;
	public $other;

	public function __construct( $number ) {
		$this->number = $number;
		$this->other  = array( 'deep' => $number );
	}
}

class Differential {

	private $groups;
	private $is_held;
	private $wrong = 0;
	private $is_suspended = false;

	public function __construct( $seed ) {
		mt_srand( $seed );
		// With few groups, more calls have the same key.
		$this->is_held = 0 === mt_rand( 0, 3 );
		$this->groups  = $this->is_held ? HELD_GROUPS : OTHERS;
		shuffle( $this->groups );
		$this->groups = array_slice( $this->groups, 0, mt_rand( 1, count( $this->groups ) ) );
		add_action( 'doing_it_wrong_run', array( $this, 'count_wrong' ) );
		add_filter( 'doing_it_wrong_trigger_error', '__return_false' );
		add_filter( 'deprecated_function_trigger_error', '__return_false' );
	}

	public function count_wrong() {
		++$this->wrong;
	}

	private function one( $of ) {
		return $of[ mt_rand( 0, count( $of ) - 1 ) ];
	}

	private function key() {
		return 0 === mt_rand( 0, 24 ) ? $this->one( NO_KEYS ) : $this->one( KEYS );
	}

	private function keys() {
		$keys = array();
		for ( $left = mt_rand( 0, 5 ); $left > 0; $left-- ) {
			$keys[] = $this->key();
		}
		return $keys;
	}

	private function value() {
		return 0 === mt_rand( 0, 9 ) ? new Counted( mt_rand( 0, 9 ) ) : $this->one( VALUES );
	}

	private function values() {
		$values = array();
		foreach ( $this->keys() as $key ) {
			// The keys of an array are integers or strings.
			$values[ is_string( $key ) || is_int( $key ) ? $key : '' ] = $this->value();
		}
		return $values;
	}

	// Returns a function and its arguments; null after another action, whose result is not compared.
	private function call() {
		$group = $this->one( $this->groups );
		switch ( mt_rand( 0, 19 ) ) {
			case 0:
				return array( 'wp_cache_add', array( $this->key(), $this->value(), $group, $this->one( EXPIRES ) ) );
			case 1:
				return array( 'wp_cache_add_multiple', array( $this->values(), $group, $this->one( EXPIRES ) ) );
			case 2:
				return array( 'wp_cache_replace', array( $this->key(), $this->value(), $group, $this->one( EXPIRES ) ) );
			case 3:
			case 4:
				return array( 'wp_cache_set', array( $this->key(), $this->value(), $group, $this->one( EXPIRES ) ) );
			case 5:
				return array( 'wp_cache_set_multiple', array( $this->values(), $group, $this->one( EXPIRES ) ) );
			case 6:
			case 7:
				return array( 'wp_cache_get', array( $this->key(), $group, ! $this->is_held && mt_rand( 0, 1 ) ) );
			case 8:
				return array( 'wp_cache_get_multiple', array( $this->keys(), $group, ! $this->is_held && mt_rand( 0, 1 ) ) );
			case 9:
				return array( 'wp_cache_delete', array( $this->key(), $group ) );
			case 10:
				return array( 'wp_cache_delete_multiple', array( $this->keys(), $group ) );
			case 11:
			case 12:
				return array( 'wp_cache_incr', array( $this->key(), $this->one( OFFSETS ), $group ) );
			case 13:
			case 14:
				return array( 'wp_cache_decr', array( $this->key(), $this->one( OFFSETS ), $group ) );
			case 15:
				return 0 === mt_rand( 0, 9 ) ? array( 'wp_cache_flush', array() ) : array( 'wp_cache_supports', array( $this->one( array( 'flush_group', 'add_multiple', 'more' ) ) ) );
			case 16:
				return 0 === mt_rand( 0, 2 ) ? array( 'wp_cache_flush_group', array( $group ) ) : array( 'wp_cache_close', array() );
			case 17:
				return array( 'wp_cache_switch_to_blog', array( mt_rand( 1, 3 ) ) );
			case 18:
				$this->is_suspended = 0 === mt_rand( 0, 4 );
				wp_suspend_cache_addition( $this->is_suspended );
				return null;
			default:
				return $this->is_held ? null : $this->later();
		}
	}

	// Simulates a later request, or deletes the values of this request. The object cache of WordPress, which would lose its values, is not
	// changed, except for the group of the request.
	private function later() {
		if ( mt_rand( 0, 1 ) ) {
			wp_cache_flush_runtime();
		} else {
			$figures = array( $GLOBALS['wp_object_cache']->cache_hits, $GLOBALS['wp_object_cache']->cache_misses );
			self::prepare( 'wp_cache' );
			wp_cache_switch_to_blog( self::blog() );
			list( $GLOBALS['wp_object_cache']->cache_hits, $GLOBALS['wp_object_cache']->cache_misses ) = $figures;
		}
		Core\wp_cache_flush_group( 'counts' );
		return null;
	}

	private static function blog() {
		$prefix = new ReflectionProperty( 'Core\WP_Object_Cache', 'blog_prefix' );
		$prefix->setAccessible( true );
		return (int) $prefix->getValue( $GLOBALS['core_object_cache'] );
	}

	public static function prepare( $functions ) {
		call_user_func( $functions . '_init' );
		call_user_func( $functions . '_add_global_groups', array( 'shared', 'posts' ) );
		call_user_func( $functions . '_add_non_persistent_groups', array( 'counts' ) );
	}

	private function result( $function, $arguments, $cache ) {
		$this->wrong = 0;
		$found       = 'untouched';
		$arguments   = array_map(
			static function ( $argument ) {
				return is_object( $argument ) ? clone $argument : $argument;
			},
			$arguments
		);
		if ( 'wp_cache_get' === substr( $function, -12 ) ) {
			$arguments[] = &$found;
		}
		$result = call_user_func_array( $function, $arguments );
		foreach ( is_array( $result ) ? $result : array( $result ) as $object ) {
			if ( $object instanceof Counted ) {
				// A change of a returned object must not change the stored one.
				$written        = serialize( $result );
				$object->number = 'changed';
				$result         = unserialize( $written );
			}
		}
		return array(
			'result' => $result,
			'found'  => $found,
			'wrong'  => $this->wrong,
			'hits'   => $GLOBALS[ $cache ]->cache_hits,
			'misses' => $GLOBALS[ $cache ]->cache_misses,
		);
	}

	private static function text( $value ) {
		// Distinguishes 1, 1.0 and "1"; objects with the same properties are equal.
		return serialize( $value );
	}

	public function run( $calls ) {
		wp_suspend_cache_addition( false );
		self::prepare( 'wp_cache' );
		self::prepare( 'Core\wp_cache' );
		wp_cache_flush();
		$history = array();
		for ( $call = 0; $call < $calls; $call++ ) {
			$this_call = $this->call();
			$history[] = null === $this_call ? 'later, or suspended' : $this_call[0] . '(' . implode( ', ', array_map( 'json_encode', $this_call[1] ) ) . ')';
			if ( null === $this_call ) {
				continue;
			}
			list( $function, $arguments ) = $this_call;
			$core = $this->result( 'Core\\' . $function, $arguments, 'core_object_cache' );
			$ours = $this->result( $function, $arguments, 'wp_object_cache' );
			if ( self::text( $core ) !== self::text( $ours ) ) {
				$difference = var_export( array( 'core' => $core, 'ours' => $ours ), true );
				return implode( "\n", array_slice( $history, -12 ) ) . "\n" . $difference . "\n";
			}
		}
		remove_action( 'doing_it_wrong_run', array( $this, 'count_wrong' ) );
		return '';
	}
}

error_reporting( E_ALL & ~E_DEPRECATED & ~E_WARNING & ~E_NOTICE );
set_error_handler( '__return_true', E_DEPRECATED | E_WARNING | E_NOTICE | E_USER_NOTICE | E_USER_DEPRECATED );
$calls = 0;
for ( $seed = (int) $argv[2]; $seed <= (int) $argv[3]; $seed++ ) {
	$difference = ( new Differential( $seed ) )->run( 80 );
	if ( '' !== $difference ) {
		echo "seed $seed:\n", $difference;
		exit( 1 );
	}
	$calls += 80;
}
$failed = new ReflectionProperty( 'Myriad_Object_Cache_Pool', 'store' );
$failed->setAccessible( true );
$pool = new ReflectionProperty( 'WP_Object_Cache', 'pool' );
$pool->setAccessible( true );
if ( ! $failed->getValue( $pool->getValue( $GLOBALS['wp_object_cache'] ) ) ) {
	exit( 'the server failed' );
}
echo "$calls calls";
