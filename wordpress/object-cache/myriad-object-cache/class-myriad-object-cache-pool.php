<?php
/**
 * Values that are stored from one request to the next.
 *
 * @package Myriad_Object_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Stores values on the server, under keys that begin with the salt of the site and a generation.
 *
 * Generations invalidate all values, or those of a group, at once: a new generation begins, and the keys of the old one
 * are never read again and expire. All generations are one value on the server. If it is lost, a new generation begins.
 * After a failure the request does not read from the server again, and all methods behave as if the server were empty.
 */
class Myriad_Object_Cache_Pool {

	/**
	 * TTL of a value without a bound, in seconds.
	 */
	const MOST_TTL = 86400;

	/**
	 * Seconds after which a running request reads the generations again.
	 */
	const GENERATIONS_TTL = 0.25;

	/**
	 * Maximum length of a key; memcached allows 250 bytes.
	 */
	const MOST_KEY = 200;

	/**
	 * Seconds during which a deleted value of HELD_GROUPS cannot be added. A request that read the value from the
	 * database before the change would otherwise restore it.
	 */
	const HOLD = 2;

	/**
	 * Groups that WordPress fills from the database and never uses as locks.
	 */
	const HELD_GROUPS = '/^(?:options|site-options|posts|terms|users|comment|blog-details|site-details|sites|.*_meta|.*_relationships)$/D';

	/**
	 * Store; null before its first use, false after a failure.
	 *
	 * @var Myriad_Object_Cache_Store|false|null
	 */
	private $store = null;

	/**
	 * Generations by group; the key for all groups is `''`. Processed outages have the key `@` followed by the host
	 * name.
	 *
	 * @var array<string, string>
	 */
	private $generations = array();

	/**
	 * Time at which the generations were read.
	 *
	 * @var float
	 */
	private $read = 0.0;

	/**
	 * Number of requests to the server.
	 *
	 * @var int
	 */
	public $questions = 0;

	/**
	 * Calls a function with the store.
	 *
	 * @param callable $question Receives the store.
	 * @param mixed    $without  Result without a store.
	 * @param bool     $changes  True if the function changes a value.
	 * @return mixed
	 */
	private function ask( $question, $without, $changes = true ) {
		if ( ! $this->store && ! $this->connects( $changes ) ) {
			return $without;
		}
		try {
			if ( microtime( true ) - $this->read > self::GENERATIONS_TTL ) {
				$this->read_generations();
			}
			++$this->questions;
			return $question( $this->store );
		} catch ( RuntimeException $failure ) {
			$this->store = false;
			Myriad_Object_Cache_Connection::failed( $failure->getMessage() );
			return $without;
		}
	}

	/**
	 * Connects, unless the server is in its rest period.
	 *
	 * A request that began during the rest period connects again before it changes a value after that period. If it
	 * only recorded a missed change, another rest period would begin, and on a busy site the server would never be used
	 * again.
	 *
	 * @param bool $changes True if the caller changes a value.
	 * @return bool True if a store is available.
	 */
	private function connects( $changes ) {
		if ( false === $this->store && ! $changes ) {
			return false;
		}
		$is_at_rest  = Myriad_Object_Cache_Connection::is_at_rest();
		$store       = $is_at_rest ? null : Myriad_Object_Cache_Connection::open();
		$this->store = $store ? $store : false;
		$this->read  = 0.0;
		if ( ! $store && $changes && ! $is_at_rest ) {
			Myriad_Object_Cache_Connection::remember();
		}
		return (bool) $store;
	}

	/**
	 * Returns the key of the generations.
	 *
	 * @return string
	 */
	private static function generations_key() {
		return Myriad_Object_Cache_Connection::salt() . ':generations';
	}

	/**
	 * Reads the generations. If the server has not recorded the last outage yet, a new generation begins.
	 */
	private function read_generations() {
		$key    = self::generations_key();
		$outage = Myriad_Object_Cache_Connection::outage();
		$name   = '@' . gethostname();
		++$this->questions;
		$told = $this->store->get( array( $key ) );
		$all  = isset( $told[ $key ] ) ? json_decode( (string) $told[ $key ], true ) : null;
		$seen = $outage ? array( $name => (string) $outage ) : array();
		if ( ! self::knows( $all, $seen ) ) {
			$all = $this->begin( '', $seen, true );
		}
		$this->generations = $all;
		$this->read        = microtime( true );
	}

	/**
	 * Returns whether generations are valid and contain the last outage.
	 *
	 * @param mixed                 $all  Generations, as read from the server.
	 * @param array<string, string> $seen Last outage, if any.
	 * @return bool
	 */
	private static function knows( $all, $seen ) {
		return is_array( $all ) && isset( $all[''] ) && ! array_diff_assoc( $seen, $all );
	}

	/**
	 * Begins a generation.
	 *
	 * @param string                $group     Group; empty for all groups.
	 * @param array<string, string> $seen      Last outage, if any.
	 * @param bool                  $if_needed True to use valid generations that another request has written.
	 * @return array<string, string> Generations after the change.
	 * @throws RuntimeException If the generation cannot be stored.
	 */
	private function begin( $group, $seen = array(), $if_needed = false ) {
		$all    = array();
		$change = static function ( $text ) use ( $group, $seen, $if_needed, &$all ) {
			$before = null === $text ? null : json_decode( (string) $text, true );
			$all    = is_array( $before ) ? $before : array();
			if ( $if_needed && self::knows( $before, $seen ) ) {
				return $text;
			}
			if ( '' === $group ) {
				$is_outage = static function ( $name ) {
					return '@' === substr( (string) $name, 0, 1 );
				};

				$all = array_merge( array_filter( $all, $is_outage, ARRAY_FILTER_USE_KEY ), $seen );
			} elseif ( ! isset( $all[''] ) ) {
				$all[''] = bin2hex( random_bytes( 4 ) );
			}
			$all[ $group ] = bin2hex( random_bytes( 4 ) );
			return (string) json_encode( $all ); // phpcs:ignore WordPress.WP.AlternativeFunctions -- the WordPress function is not loaded yet.
		};
		if ( ! $this->store->change( self::generations_key(), 30 * self::MOST_TTL, $change ) ) {
			throw new RuntimeException( 'too many concurrent changes of the generations' );
		}
		return $all;
	}

	/**
	 * Key on the server.
	 *
	 * @param string $group Group.
	 * @param string $id    Key in the group, with the site number.
	 * @return string
	 */
	private function key( $group, $id ) {
		$generation = $this->generations[''] . ( isset( $this->generations[ $group ] ) ? '.' . $this->generations[ $group ] : '' );
		$start      = Myriad_Object_Cache_Connection::salt() . ':' . $generation . ':';
		// Group `a` with key `b:c` must differ from group `a:b` with key `c`.
		$end        = str_replace( array( '%', ':' ), array( '%25', '%3A' ), $group ) . ':' . $id;
		$is_plain   = strlen( $start . $end ) <= self::MOST_KEY && ! preg_match( '/[^\x21-\x7e]/', $start . $end );
		return $is_plain ? $start . $end : substr( preg_replace( '/[^\x21-\x7e]/', '_', $start ), 0, 100 ) . '#' . hash( 'sha256', $start . $end );
	}

	/**
	 * Returns keys on the server.
	 *
	 * @param string   $group Group.
	 * @param string[] $ids   Keys in the group.
	 * @return array<string, string> Keys on the server, by key in the group.
	 */
	private function keys( $group, $ids ) {
		$keys = array();
		foreach ( $ids as $id ) {
			$keys[ $id ] = $this->key( $group, (string) $id );
		}
		return $keys;
	}

	/**
	 * Returns the TTL for the server.
	 *
	 * @param int $expire Seconds; 0 for MOST_TTL.
	 * @return int
	 */
	private static function ttl( $expire ) {
		return 0 === $expire ? self::MOST_TTL : max( 1, $expire );
	}

	/**
	 * Returns values.
	 *
	 * @param string   $group Group.
	 * @param string[] $ids   Keys.
	 * @return array|null Existing values, by key; null without a server.
	 */
	public function get( $group, $ids ) {
		$texts = $this->ask(
			function ( $store ) use ( $group, $ids ) {
				$keys = $this->keys( $group, $ids );
				$told = $store->get( array_values( $keys ) );
				$ours = array();
				foreach ( $keys as $id => $key ) {
					if ( isset( $told[ $key ] ) ) {
						$ours[ $id ] = $told[ $key ];
					}
				}
				return $ours;
			},
			null,
			false
		);
		return null === $texts ? null : Myriad_Object_Cache_Values::read_all( $texts );
	}

	/**
	 * Stores values.
	 *
	 * @param string $group  Group.
	 * @param array  $values Values by key.
	 * @param int    $expire Seconds.
	 */
	public function set( $group, $values, $expire ) {
		$this->ask(
			function ( $store ) use ( $group, $values, $expire ) {
				list( $texts, $unwritten ) = $this->written( $group, $values );
				if ( $texts ) {
					$store->set( $texts, self::ttl( $expire ) );
				}
				if ( $unwritten ) {
					$store->delete( $unwritten );
				}
			},
			null
		);
	}

	/**
	 * Serialization of values.
	 *
	 * @param string $group  Group.
	 * @param array  $values Values by key.
	 * @return array Texts by key on the server, and the keys of values that cannot be serialized.
	 */
	private function written( $group, $values ) {
		$texts     = array();
		$unwritten = array();
		foreach ( $values as $id => $value ) {
			$key  = $this->key( $group, (string) $id );
			$text = Myriad_Object_Cache_Values::write( $value );
			if ( null === $text ) {
				$unwritten[] = $key;
			} else {
				$texts[ $key ] = $text;
			}
		}
		return array( $texts, $unwritten );
	}

	/**
	 * Stores values whose keys have no value yet.
	 *
	 * @param string $group  Group.
	 * @param array  $values Values by key.
	 * @param int    $expire Seconds.
	 * @return array<string, bool> True for each value that the request may use, by key.
	 */
	public function add( $group, $values, $expire ) {
		return $this->ask(
			function ( $store ) use ( $group, $values, $expire ) {
				list( $texts ) = $this->written( $group, $values );
				$kept          = $texts ? $store->add( $texts, self::ttl( $expire ) ) : array();
				$is_held       = self::is_held( $group );
				$told          = array();
				foreach ( $values as $id => $value ) {
					$key = $this->key( $group, (string) $id );
					// This request uses the values that it read from the database, whether or not they were stored.
					$told[ $id ] = $is_held || ! isset( $kept[ $key ] ) || $kept[ $key ];
				}
				return $told;
			},
			array_fill_keys( array_keys( $values ), true )
		);
	}

	/**
	 * Returns whether values of a group cannot be added for HOLD seconds after their deletion.
	 *
	 * @param string $group Group.
	 * @return bool
	 */
	public static function is_held( $group ) {
		return 1 === preg_match( self::HELD_GROUPS, $group );
	}

	/**
	 * Deletes values.
	 *
	 * @param string   $group Group.
	 * @param string[] $ids   Keys.
	 * @return array<string, bool> True for each key that had a value; empty for held groups.
	 */
	public function delete( $group, $ids ) {
		return $this->ask(
			function ( $store ) use ( $group, $ids ) {
				$keys = $this->keys( $group, $ids );
				if ( self::is_held( $group ) ) {
					$store->set( array_fill_keys( array_values( $keys ), Myriad_Object_Cache_Values::HELD ), self::HOLD );
					return array();
				}
				$were = $store->delete( array_values( $keys ) );
				return array_map(
					static function ( $key ) use ( $were ) {
						return $were[ $key ];
					},
					$keys
				);
			},
			array_fill_keys( $ids, false )
		);
	}

	/**
	 * Adds to a number.
	 *
	 * @param string    $group  Group.
	 * @param string    $id     Key.
	 * @param int|float $offset Number to add; a float only if it is outside the range of integers.
	 * @return int|float|false|null Result; false if the key has no value; null without a server.
	 */
	public function add_number( $group, $id, $offset ) {
		return $this->ask(
			function ( $store ) use ( $group, $id, $offset ) {
				$key = $this->key( $group, $id );
				$now = is_int( $offset ) ? $store->add_integer( $key, $offset ) : null;
				return null === $now ? self::added( $store, $key, $offset ) : $now;
			},
			null
		);
	}

	/**
	 * Adds to a value of any type.
	 *
	 * @param Myriad_Object_Cache_Store $store  Store.
	 * @param string                    $key    Key on the server.
	 * @param int|float                 $offset Number to add.
	 * @return int|float|false Result; false if the key has no value.
	 */
	private static function added( $store, $key, $offset ) {
		$now    = false;
		$change = static function ( $text ) use ( $offset, &$now ) {
			$is_read = false;
			$value   = null === $text ? null : Myriad_Object_Cache_Values::read( $text, $is_read );
			$now     = $is_read ? Myriad_Object_Cache_Values::sum( $value, $offset ) : false;
			return $is_read ? Myriad_Object_Cache_Values::write( $now ) : $text;
		};
		return $store->change( $key, null, $change ) ? $now : false;
	}

	/**
	 * Changes entries of an array without overwriting entries that other processes have changed meanwhile.
	 *
	 * @param string     $group  Group.
	 * @param string     $id     Key.
	 * @param array      $now    New value of this request.
	 * @param array|null $before Value that this request has read; null if it has read none.
	 * @param int        $expire Seconds.
	 * @return array|null Merged value; null if it is not stored, in which case the next request that needs it reads the
	 *                    database.
	 */
	public function merge( $group, $id, $now, $before, $expire ) {
		$merged  = null;
		$change  = static function ( $text ) use ( $now, $before, &$merged ) {
			$is_there = false;
			$theirs   = null === $text ? null : Myriad_Object_Cache_Values::read( $text, $is_there );
			$merged   = null;
			if ( $is_there && is_array( $theirs ) && null !== $before ) {
				$merged = self::changed( $theirs, $before, $now );
			} elseif ( null === $text && null === $before ) {
				$merged = $now;
			}
			if ( null !== $merged ) {
				return Myriad_Object_Cache_Values::write( $merged );
			}
			// If the changes are unknown, the value is deleted, so that it is read from the database; a hold remains.
			return Myriad_Object_Cache_Values::HELD === $text ? $text : null;
		};
		$is_done = $this->ask(
			function ( $store ) use ( $group, $id, $change, $expire ) {
				return $store->change( $this->key( $group, $id ), self::ttl( $expire ), $change );
			},
			null
		);
		if ( false === $is_done ) {
			$this->delete( $group, array( $id ) );
			return null;
		}
		return $merged;
	}

	/**
	 * Applies the difference between two arrays to a third array.
	 *
	 * @param array $theirs Array to change.
	 * @param array $before Old array.
	 * @param array $now    New array.
	 * @return array
	 */
	private static function changed( $theirs, $before, $now ) {
		foreach ( $now as $name => $value ) {
			if ( ! array_key_exists( $name, $before ) || $before[ $name ] !== $value ) {
				$theirs[ $name ] = $value;
			}
		}
		return array_diff_key( $theirs, array_diff_key( $before, $now ) );
	}

	/**
	 * Invalidates all values, or those of a group.
	 *
	 * @param string $group Group; empty for all groups.
	 * @return bool True on success.
	 */
	public function flush( $group ) {
		return $this->ask(
			function () use ( $group ) {
				$this->generations = $this->begin( $group );
				return true;
			},
			false
		);
	}
}
