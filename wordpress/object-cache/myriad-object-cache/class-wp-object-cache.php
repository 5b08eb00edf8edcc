<?php
/**
 * Object cache of WordPress.
 *
 * @package Myriad_Object_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Stores values in memory for the request, and in the pool for later requests.
 *
 * Names and behaviour are those of WordPress's own class.
 */
class WP_Object_Cache {

	/**
	 * TTL of the list of options that do not exist, in seconds. A request that did not find an option, and stores the
	 * list late, would otherwise hide an option that was added meanwhile.
	 */
	const NOTOPTIONS_TTL = 300;

	/**
	 * Number of reads that found a value.
	 *
	 * @var int
	 */
	public $cache_hits = 0;

	/**
	 * Number of reads that found no value.
	 *
	 * @var int
	 */
	public $cache_misses = 0;

	/**
	 * Values in the memory of this request, by group and key.
	 *
	 * @var array<string, array<string, mixed>>
	 */
	private $cache = array();

	/**
	 * Groups that all sites of a network share, as keys.
	 *
	 * @var array<string, true>
	 */
	private $global_groups = array();

	/**
	 * Groups that are stored for one request only, as keys.
	 *
	 * @var array<string, true>
	 */
	private $own_groups = array();

	/**
	 * Prefix of the keys of the current site.
	 *
	 * @var string
	 */
	private $blog_prefix = '';

	/**
	 * Pool.
	 *
	 * @var Myriad_Object_Cache_Pool
	 */
	private $pool;

	/**
	 * Function that is called after operations on values that later requests see; null for none.
	 *
	 * @var callable|null
	 */
	private $observer = null;

	/**
	 * Sets a function that is called when values are read from the pool, stored and deleted. Myriad's plugin finds out with it which pages
	 * depend on which values. Reads of values that are already in the memory of the request are not reported.
	 *
	 * @param callable $observer Function with three parameters: `get`, `set`, `delete` or `flush`; the group, empty for all groups; and an array
	 *                           with the keys, including the number of the site. Its values are true if the value exists (`get`), or differs from
	 *                           the one in memory (`set`).
	 */
	public function observe( $observer ) {
		$this->observer = $observer;
	}

	/**
	 * Calls the observer.
	 *
	 * @param string              $what  Operation.
	 * @param string              $group Group.
	 * @param array<string, bool> $ids   Keys.
	 */
	private function report( $what, $group, $ids ) {
		if ( null !== $this->observer && $ids && $this->is_shared( $group ) ) {
			call_user_func( $this->observer, $what, $group, $ids );
		}
	}

	/**
	 * Creates an empty cache.
	 */
	public function __construct() {
		$this->pool        = new Myriad_Object_Cache_Pool();
		$this->blog_prefix = is_multisite() ? get_current_blog_id() . ':' : '';
	}

	/**
	 * Returns whether a key is valid; reports an invalid key.
	 *
	 * @param mixed $key Key.
	 * @return bool
	 */
	private function is_key( $key ) {
		if ( is_int( $key ) || ( is_string( $key ) && '' !== trim( $key ) ) ) {
			return true;
		}
		_doing_it_wrong( 'WP_Object_Cache', esc_html( 'A cache key is an integer or a text that is not empty, not ' . gettype( $key ) . '.' ), '6.1.0' );
		return false;
	}

	/**
	 * Returns the name of a group. As in WordPress's own class, an empty name and `0` are the default group.
	 *
	 * @param mixed $group Group.
	 * @return string
	 */
	private static function group( $group ) {
		return empty( $group ) ? 'default' : (string) $group;
	}

	/**
	 * Returns the key in a group, with the site number unless all sites share the group.
	 *
	 * @param int|string $key   Key.
	 * @param string     $group Group.
	 * @return string
	 */
	private function id( $key, $group ) {
		return isset( $this->global_groups[ $group ] ) ? (string) $key : $this->blog_prefix . $key;
	}

	/**
	 * Returns whether a value is in the memory of this request.
	 *
	 * @param string $group Group.
	 * @param string $id    Key.
	 * @return bool
	 */
	private function knows( $group, $id ) {
		return isset( $this->cache[ $group ] ) && ( isset( $this->cache[ $group ][ $id ] ) || array_key_exists( $id, $this->cache[ $group ] ) );
	}

	/**
	 * Returns whether the values of a group are shared with other requests.
	 *
	 * @param string $group Group.
	 * @return bool
	 */
	private function is_shared( $group ) {
		return ! isset( $this->own_groups[ $group ] );
	}

	/**
	 * Returns a value, or a copy if it is an object, so that callers cannot change the stored object.
	 *
	 * @param mixed $value Value.
	 * @return mixed
	 */
	private static function copied( $value ) {
		return is_object( $value ) ? clone $value : $value;
	}

	/**
	 * Returns whether a value is an array whose entries several processes change at the same time.
	 *
	 * @param string $group Group.
	 * @param string $id    Key.
	 * @param mixed  $value Value.
	 * @return bool
	 */
	private static function is_of_many( $group, $id, $value ) {
		return ( 'options' === $group || 'site-options' === $group ) && is_array( $value ) && preg_match( '/(?:^|:)(?:all|not)options$/', $id );
	}

	/**
	 * Stores a value if the key has none.
	 *
	 * @param int|string $key    Key.
	 * @param mixed      $data   Value.
	 * @param string     $group  Group.
	 * @param int        $expire Seconds.
	 * @return bool
	 */
	public function add( $key, $data, $group = 'default', $expire = 0 ) {
		if ( wp_suspend_cache_addition() || ! $this->is_key( $key ) ) {
			return false;
		}
		$told = $this->add_multiple( array( $key => $data ), $group, $expire );
		return reset( $told );
	}

	/**
	 * Stores values whose keys have no value yet.
	 *
	 * @param array  $data   Values by key.
	 * @param string $group  Group.
	 * @param int    $expire Seconds.
	 * @return bool[]
	 */
	public function add_multiple( array $data, $group = '', $expire = 0 ) {
		$group = self::group( $group );
		$told  = array_fill_keys( array_keys( $data ), false );
		$new   = array();
		$keys  = array();
		foreach ( wp_suspend_cache_addition() ? array() : $data as $key => $value ) {
			$id = $this->is_key( $key ) ? $this->id( $key, $group ) : '';
			if ( '' !== $id && ! $this->knows( $group, $id ) ) {
				$new[ $id ]  = self::copied( $value );
				$keys[ $id ] = $key;
			}
		}
		$kept  = $new && $this->is_shared( $group ) ? $this->pool->add( $group, $new, $expire ) : array();
		$added = array();
		foreach ( $new as $id => $value ) {
			if ( ! isset( $kept[ $id ] ) || $kept[ $id ] ) {
				$this->cache[ $group ][ $id ] = $value;

				$told[ $keys[ $id ] ] = true;
				$added[ $id ]         = false;
			}
		}
		$this->report( 'set', $group, $added );
		return $told;
	}

	/**
	 * Stores a value if the key already has one.
	 *
	 * @param int|string $key    Key.
	 * @param mixed      $data   Value.
	 * @param string     $group  Group.
	 * @param int        $expire Seconds.
	 * @return bool
	 */
	public function replace( $key, $data, $group = 'default', $expire = 0 ) {
		if ( ! $this->is_key( $key ) ) {
			return false;
		}
		$group = self::group( $group );
		$id    = $this->id( $key, $group );
		$this->learn( $group, array( $id ), false );
		return $this->knows( $group, $id ) && $this->set( $key, $data, $group, $expire );
	}

	/**
	 * Stores a value.
	 *
	 * @param int|string $key    Key.
	 * @param mixed      $data   Value.
	 * @param string     $group  Group.
	 * @param int        $expire Seconds.
	 * @return bool
	 */
	public function set( $key, $data, $group = 'default', $expire = 0 ) {
		$told = $this->is_key( $key ) ? $this->set_multiple( array( $key => $data ), $group, $expire ) : array( false );
		return reset( $told );
	}

	/**
	 * Stores values.
	 *
	 * @param array  $data   Values by key.
	 * @param string $group  Group.
	 * @param int    $expire Seconds.
	 * @return bool[]
	 */
	public function set_multiple( array $data, $group = '', $expire = 0 ) {
		$group  = self::group( $group );
		$told   = array();
		$shared = array();
		$is_new = array();
		foreach ( $data as $key => $value ) {
			$told[ $key ] = $this->is_key( $key );
			if ( ! $told[ $key ] ) {
				continue;
			}
			$id = $this->id( $key, $group );
			if ( $this->is_shared( $group ) && self::is_of_many( $group, $id, $value ) ) {
				$this->merge( $group, $id, $value );
				continue;
			}
			$is_new[ $id ] = null !== $this->observer && ( ! $this->knows( $group, $id ) || ! self::is_same( $this->cache[ $group ][ $id ], $value ) );
			$shared[ $id ] = self::copied( $value );

			$this->cache[ $group ][ $id ] = $shared[ $id ];
		}
		if ( $shared && $this->is_shared( $group ) ) {
			$this->pool->set( $group, $shared, $expire );
			$this->report( 'set', $group, $is_new );
		}
		return $told;
	}

	/**
	 * Returns whether two values are equal.
	 *
	 * @param mixed $one   Value.
	 * @param mixed $other Value.
	 * @return bool False for objects that are equal, but not the same.
	 */
	private static function is_same( $one, $other ) {
		return $one === $other;
	}

	/**
	 * Stores only the entries that differ from the value that this request has read. WordPress writes all options to
	 * change one; without this, two concurrent requests would undo each other's changes.
	 *
	 * @param string $group Group.
	 * @param string $id    Key.
	 * @param array  $now   Value.
	 */
	private function merge( $group, $id, $now ) {
		$before = $this->knows( $group, $id ) && is_array( $this->cache[ $group ][ $id ] ) ? $this->cache[ $group ][ $id ] : null;
		$is_not = 'notoptions' === substr( $id, -10 );
		if ( null === $before && $is_not && $now ) {
			$before = array();
		}
		$after = $this->pool->merge( $group, $id, $now, $before, $is_not ? self::NOTOPTIONS_TTL : 0 );

		$this->cache[ $group ][ $id ] = null === $after ? $now : $after;
	}

	/**
	 * Returns a value.
	 *
	 * @param int|string $key   Key.
	 * @param string     $group Group.
	 * @param bool       $force True to read from the pool even if the value is in memory.
	 * @param bool       $found Set to whether the value exists; not changed if the key is invalid, as in WordPress's
	 *                          own class.
	 * @return mixed Value, or false.
	 */
	public function get( $key, $group = 'default', $force = false, &$found = null ) {
		if ( ! $this->is_key( $key ) ) {
			return false;
		}
		$group = self::group( $group );
		$id    = $this->id( $key, $group );
		$this->learn( $group, array( $id ), $force );
		$found = $this->knows( $group, $id );
		$found ? ++$this->cache_hits : ++$this->cache_misses;
		return $found ? self::copied( $this->cache[ $group ][ $id ] ) : false;
	}

	/**
	 * Returns values.
	 *
	 * @param array  $keys  Keys.
	 * @param string $group Group.
	 * @param bool   $force True to read from the pool even if the value is in memory.
	 * @return array
	 */
	public function get_multiple( $keys, $group = 'default', $force = false ) {
		$group = self::group( $group );
		$ids   = array();
		foreach ( $keys as $at => $key ) {
			if ( $this->is_key( $key ) ) {
				$ids[ $at ] = $this->id( $key, $group );
			}
		}
		$this->learn( $group, array_values( $ids ), $force );
		$values = array();
		foreach ( $keys as $at => $key ) {
			$values[ $key ] = false;
			if ( isset( $ids[ $at ] ) ) {
				$found = $this->knows( $group, $ids[ $at ] );
				$found ? ++$this->cache_hits : ++$this->cache_misses;
				$values[ $key ] = $found ? self::copied( $this->cache[ $group ][ $ids[ $at ] ] ) : false;
			}
		}
		return $values;
	}

	/**
	 * Reads values that are not in the memory of this request from the pool.
	 *
	 * @param string   $group Group.
	 * @param string[] $ids   Keys.
	 * @param bool     $force True to read all of them.
	 */
	private function learn( $group, $ids, $force ) {
		if ( ! $this->is_shared( $group ) ) {
			return;
		}
		$asked = array();
		foreach ( $ids as $id ) {
			if ( $force || ! $this->knows( $group, $id ) ) {
				$asked[] = $id;
			}
		}
		$learnt = $asked ? $this->pool->get( $group, $asked ) : null;
		$found  = array();
		foreach ( null === $learnt ? array() : $asked as $id ) {
			$found[ $id ] = array_key_exists( $id, $learnt );
			if ( $found[ $id ] ) {
				$this->cache[ $group ][ $id ] = $learnt[ $id ];
			} else {
				unset( $this->cache[ $group ][ $id ] );
			}
		}
		$this->report( 'get', $group, $found );
	}

	/**
	 * Deletes a value.
	 *
	 * @param int|string $key   Key.
	 * @param string     $group Group.
	 * @return bool
	 */
	public function delete( $key, $group = 'default' ) {
		$told = $this->is_key( $key ) ? $this->delete_multiple( array( $key ), $group ) : array( false );
		return reset( $told );
	}

	/**
	 * Deletes values.
	 *
	 * @param array  $keys  Keys.
	 * @param string $group Group.
	 * @return bool[] True for each key that had a value, by key.
	 */
	public function delete_multiple( array $keys, $group = '' ) {
		$group = self::group( $group );
		$ids   = array();
		foreach ( $keys as $at => $key ) {
			if ( $this->is_key( $key ) ) {
				$ids[ $at ] = $this->id( $key, $group );
			}
		}
		if ( Myriad_Object_Cache_Pool::is_held( $group ) ) {
			// The pool overwrites these values, and does not return whether they existed.
			$this->learn( $group, array_values( $ids ), false );
		}
		$were = $ids && $this->is_shared( $group ) ? $this->pool->delete( $group, array_values( $ids ) ) : array();
		$told = array();
		$gone = array();
		foreach ( $keys as $at => $key ) {
			$id           = isset( $ids[ $at ] ) ? $ids[ $at ] : null;
			$told[ $key ] = null !== $id && ( ! empty( $were[ $id ] ) || $this->knows( $group, $id ) );
			if ( $told[ $key ] ) {
				$gone[ $id ] = true;
			}
			if ( null !== $id ) {
				// A later duplicate of this key finds no value.
				unset( $this->cache[ $group ][ $id ], $were[ $id ] );
			}
		}
		$this->report( 'delete', $group, $gone );
		return $told;
	}

	/**
	 * Adds to a number. A value that is not numeric counts as 0, and the result is at least 0.
	 *
	 * @param int|string $key    Key.
	 * @param int        $offset Number to add; less than 0 to subtract.
	 * @param string     $group  Group.
	 * @return int|float|false Result; false if the key has no value.
	 */
	public function incr( $key, $offset = 1, $group = 'default' ) {
		return $this->add_number( $key, (int) $offset, $group );
	}

	/**
	 * Subtracts from a number. A value that is not numeric counts as 0, and the result is at least 0.
	 *
	 * @param int|string $key    Key.
	 * @param int        $offset Number to subtract.
	 * @param string     $group  Group.
	 * @return int|float|false Result; false if the key has no value.
	 */
	public function decr( $key, $offset = 1, $group = 'default' ) {
		return $this->add_number( $key, 0 - (int) $offset, $group );
	}

	/**
	 * Adds to a number.
	 *
	 * @param int|string $key    Key.
	 * @param int|float  $offset Number to add; a float only if it is outside the range of integers.
	 * @param string     $group  Group.
	 * @return int|float|false Result; false if the key has no value.
	 */
	private function add_number( $key, $offset, $group ) {
		if ( ! $this->is_key( $key ) ) {
			return false;
		}
		$group = self::group( $group );
		$id    = $this->id( $key, $group );
		$now   = $this->is_shared( $group ) ? $this->pool->add_number( $group, $id, $offset ) : null;
		// A value that was added shortly after its deletion is not in the pool.
		if ( null === $now || ( false === $now && Myriad_Object_Cache_Pool::is_held( $group ) ) ) {
			if ( ! $this->knows( $group, $id ) ) {
				return false;
			}
			$now = Myriad_Object_Cache_Values::sum( $this->cache[ $group ][ $id ], $offset );
		}
		if ( false === $now ) {
			unset( $this->cache[ $group ][ $id ] );
		} else {
			$this->cache[ $group ][ $id ] = $now;
			$this->report( 'set', $group, array( $id => true ) );
		}
		return $now;
	}

	/**
	 * Deletes all values.
	 *
	 * @return bool
	 */
	public function flush() {
		$this->cache = array();
		$this->report( 'flush', '', array( '' => true ) );
		return $this->pool->flush( '' );
	}

	/**
	 * Deletes the values in the memory of this request.
	 *
	 * @return bool
	 */
	public function flush_runtime() {
		$this->cache = array();
		return true;
	}

	/**
	 * Deletes the values of a group.
	 *
	 * @param string $group Group.
	 * @return bool
	 */
	public function flush_group( $group ) {
		$group = (string) $group;
		unset( $this->cache[ $group ] );
		$this->report( 'flush', $group, array( '' => true ) );
		// Values without a group are in the default group, so that the group with an empty name has none, as in
		// WordPress's own class.
		return '' === $group || ! $this->is_shared( $group ) || $this->pool->flush( $group );
	}

	/**
	 * Adds groups that all sites of a network share.
	 *
	 * @param string|string[] $groups Groups.
	 */
	public function add_global_groups( $groups ) {
		$this->global_groups += array_fill_keys( (array) $groups, true );
	}

	/**
	 * Adds groups that are stored for one request only.
	 *
	 * @param string|string[] $groups Groups.
	 */
	public function add_non_persistent_groups( $groups ) {
		$this->own_groups += array_fill_keys( (array) $groups, true );
	}

	/**
	 * Switches to another site of the network.
	 *
	 * @param int $blog_id Site.
	 */
	public function switch_to_blog( $blog_id ) {
		$this->blog_prefix = is_multisite() ? (int) $blog_id . ':' : '';
	}

	/**
	 * Prints statistics, as shown by debugging plugins.
	 */
	public function stats() {
		printf( '<p>Hits: %d<br>Misses: %d<br>Questions to the server: %d</p>', (int) $this->cache_hits, (int) $this->cache_misses, (int) $this->pool->questions );
	}
}
