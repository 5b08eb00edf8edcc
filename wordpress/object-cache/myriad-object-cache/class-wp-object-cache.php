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
 * Keeps what the request knows in its own memory, and what later requests need in the pool, too.
 *
 * Names and meanings are those of WordPress's own class.
 */
class WP_Object_Cache {

	/**
	 * Seconds that it is believed that an option does not exist. A request that found none, and says so late, would hide one that was
	 * added in between.
	 */
	const NOTOPTIONS_TTL = 300;

	/**
	 * Gets that found something.
	 *
	 * @var int
	 */
	public $cache_hits = 0;

	/**
	 * Gets that found nothing.
	 *
	 * @var int
	 */
	public $cache_misses = 0;

	/**
	 * What this request knows: values by group and key.
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
	 * Groups that are of one request, as keys.
	 *
	 * @var array<string, true>
	 */
	private $own_groups = array();

	/**
	 * What begins keys of the site at hand.
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
	 * Makes an empty one.
	 */
	public function __construct() {
		$this->pool        = new Myriad_Object_Cache_Pool();
		$this->blog_prefix = is_multisite() ? get_current_blog_id() . ':' : '';
	}

	/**
	 * Whether a key can be one; says so where it cannot.
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
	 * Key in a group, with the site's number where sites have values of their own.
	 *
	 * @param int|string $key   Key.
	 * @param string     $group Group.
	 * @return string
	 */
	private function id( $key, $group ) {
		return isset( $this->global_groups[ $group ] ) ? (string) $key : $this->blog_prefix . $key;
	}

	/**
	 * Whether this request knows a value.
	 *
	 * @param string $group Group.
	 * @param string $id    Key.
	 * @return bool
	 */
	private function knows( $group, $id ) {
		return isset( $this->cache[ $group ] ) && ( isset( $this->cache[ $group ][ $id ] ) || array_key_exists( $id, $this->cache[ $group ] ) );
	}

	/**
	 * Whether other requests share the values of a group.
	 *
	 * @param string $group Group.
	 * @return bool
	 */
	private function is_shared( $group ) {
		return ! isset( $this->own_groups[ $group ] );
	}

	/**
	 * A value that no caller changes by the one he has.
	 *
	 * @param mixed $value Value.
	 * @return mixed
	 */
	private static function copied( $value ) {
		return is_object( $value ) ? clone $value : $value;
	}

	/**
	 * Whether a value is an array of which processes change entries at the same time.
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
	 * Keeps a value where there is none.
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
	 * Keeps values where there are none.
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
		$kept = $new && $this->is_shared( $group ) ? $this->pool->add( $group, $new, $expire ) : array();
		foreach ( $new as $id => $value ) {
			if ( ! isset( $kept[ $id ] ) || $kept[ $id ] ) {
				$this->cache[ $group ][ $id ] = $value;

				$told[ $keys[ $id ] ] = true;
			}
		}
		return $told;
	}

	/**
	 * Keeps a value where there is one.
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
	 * Keeps a value.
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
	 * Keeps values.
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
			$shared[ $id ]                = self::copied( $value );
			$this->cache[ $group ][ $id ] = $shared[ $id ];
		}
		if ( $shared && $this->is_shared( $group ) ) {
			$this->pool->set( $group, $shared, $expire );
		}
		return $told;
	}

	/**
	 * Changes what differs from what this request has read: WordPress writes all options to change one, and two at once would each undo
	 * what the other has done.
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
	 * Gives a value.
	 *
	 * @param int|string $key   Key.
	 * @param string     $group Group.
	 * @param bool       $force Whether to ask the pool, whatever this request knows.
	 * @param bool       $found Whether there is one; not changed if the key is invalid, as in WordPress's own class.
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
	 * Gives values.
	 *
	 * @param array  $keys  Keys.
	 * @param string $group Group.
	 * @param bool   $force Whether to ask the pool, whatever this request knows.
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
	 * Asks the pool for what this request does not know.
	 *
	 * @param string   $group Group.
	 * @param string[] $ids   Keys.
	 * @param bool     $force Whether to ask for all.
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
		foreach ( null === $learnt ? array() : $asked as $id ) {
			if ( array_key_exists( $id, $learnt ) ) {
				$this->cache[ $group ][ $id ] = $learnt[ $id ];
			} else {
				unset( $this->cache[ $group ][ $id ] );
			}
		}
	}

	/**
	 * Forgets a value.
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
	 * @return bool[] Whether there was a value, by key.
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
			// The pool overwrites these values, and does not return whether there were any.
			$this->learn( $group, array_values( $ids ), false );
		}
		$were = $ids && $this->is_shared( $group ) ? $this->pool->delete( $group, array_values( $ids ) ) : array();
		$told = array();
		foreach ( $keys as $at => $key ) {
			$id           = isset( $ids[ $at ] ) ? $ids[ $at ] : null;
			$told[ $key ] = null !== $id && ( ! empty( $were[ $id ] ) || $this->knows( $group, $id ) );
			if ( null !== $id ) {
				// An equal key after this one finds nothing.
				unset( $this->cache[ $group ][ $id ], $were[ $id ] );
			}
		}
		return $told;
	}

	/**
	 * Adds to a number. What is not numeric counts as 0, and the result is at least 0.
	 *
	 * @param int|string $key    Key.
	 * @param int        $offset Number to add; less than 0 to subtract.
	 * @param string     $group  Group.
	 * @return int|float|false Result; false if there is no value.
	 */
	public function incr( $key, $offset = 1, $group = 'default' ) {
		return $this->add_number( $key, (int) $offset, $group );
	}

	/**
	 * Subtracts from a number. What is not numeric counts as 0, and the result is at least 0.
	 *
	 * @param int|string $key    Key.
	 * @param int        $offset Number to subtract.
	 * @param string     $group  Group.
	 * @return int|float|false Result; false if there is no value.
	 */
	public function decr( $key, $offset = 1, $group = 'default' ) {
		return $this->add_number( $key, 0 - (int) $offset, $group );
	}

	/**
	 * Adds to a number.
	 *
	 * @param int|string $key    Key.
	 * @param int|float  $offset Number to add; a float only where it is not in the range of integers.
	 * @param string     $group  Group.
	 * @return int|float|false Result; false if there is no value.
	 */
	private function add_number( $key, $offset, $group ) {
		if ( ! $this->is_key( $key ) ) {
			return false;
		}
		$group = self::group( $group );
		$id    = $this->id( $key, $group );
		$now   = $this->is_shared( $group ) ? $this->pool->add_number( $group, $id, $offset ) : null;
		// A value that was added a moment after it was deleted is held back from the pool.
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
		}
		return $now;
	}

	/**
	 * Forgets all values.
	 *
	 * @return bool
	 */
	public function flush() {
		$this->cache = array();
		return $this->pool->flush( '' );
	}

	/**
	 * Forgets what this request knows.
	 *
	 * @return bool
	 */
	public function flush_runtime() {
		$this->cache = array();
		return true;
	}

	/**
	 * Forgets the values of a group.
	 *
	 * @param string $group Group.
	 * @return bool
	 */
	public function flush_group( $group ) {
		$group = (string) $group;
		unset( $this->cache[ $group ] );
		// Values without a group are in the default one, so that none are in the group without a name, as in WordPress's own class.
		return '' === $group || ! $this->is_shared( $group ) || $this->pool->flush( $group );
	}

	/**
	 * Names groups that all sites of a network share.
	 *
	 * @param string|string[] $groups Groups.
	 */
	public function add_global_groups( $groups ) {
		$this->global_groups += array_fill_keys( (array) $groups, true );
	}

	/**
	 * Names groups that are kept for one request.
	 *
	 * @param string|string[] $groups Groups.
	 */
	public function add_non_persistent_groups( $groups ) {
		$this->own_groups += array_fill_keys( (array) $groups, true );
	}

	/**
	 * Goes to another site of the network.
	 *
	 * @param int $blog_id Site.
	 */
	public function switch_to_blog( $blog_id ) {
		$this->blog_prefix = is_multisite() ? (int) $blog_id . ':' : '';
	}

	/**
	 * Tells what was done, as debugging plugins show it.
	 */
	public function stats() {
		printf( '<p>Hits: %d<br>Misses: %d<br>Questions to the server: %d</p>', (int) $this->cache_hits, (int) $this->cache_misses, (int) $this->pool->questions );
	}
}
