<?php
/**
 * What is kept from one request to the next.
 *
 * @package Myriad_Object_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Values on the server, under keys that begin with the salt of the site and a generation.
 *
 * Generations are how all values, or those of a group, are forgotten at once: a new one begins, and nobody asks for the keys of
 * the old one again; they go when their time is over. They are one value on the server. If that is lost, a new generation begins.
 * A server that fails is not asked again in this request, and all methods do as if it were empty.
 */
class Myriad_Object_Cache_Pool {

	/**
	 * Seconds that a value without a bound is kept.
	 */
	const MOST_TTL = 86400;

	/**
	 * Seconds after which generations are read anew by a request that still runs.
	 */
	const GENERATIONS_TTL = 0.25;

	/**
	 * Longest key; memcached takes 250 bytes.
	 */
	const MOST_KEY = 200;

	/**
	 * Seconds in which nobody adds a value of HELD_GROUPS that was deleted: who read it from the database before the change would
	 * bring it back.
	 */
	const HOLD = 2;

	/**
	 * Groups that WordPress fills by reading the database, and never uses as locks.
	 */
	const HELD_GROUPS = '/^(?:options|site-options|posts|terms|users|comment|blog-details|site-details|sites|.*_meta|.*_relationships)$/D';

	/**
	 * Store, null before it is asked for the first time, false where it has failed.
	 *
	 * @var Myriad_Object_Cache_Store|false|null
	 */
	private $store = null;

	/**
	 * Generations by group; that of all groups is `''`. Outages that were seen are `@` and the name of the machine.
	 *
	 * @var array<string, string>
	 */
	private $generations = array();

	/**
	 * When they were read.
	 *
	 * @var float
	 */
	private $read = 0.0;

	/**
	 * Questions to the server.
	 *
	 * @var int
	 */
	public $questions = 0;

	/**
	 * Asks the store.
	 *
	 * @param callable $question Is given the store.
	 * @param mixed    $without  What it comes to without a store.
	 * @param bool     $changes  Whether it changes something.
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
	 * Connects, where the server may be asked.
	 *
	 * A request that began while the server was left alone asks again before it changes something after that. If it only remembered
	 * that the server was not told, the server would be left alone once more, and on a busy site that would never end.
	 *
	 * @param bool $changes Whether something is to be changed.
	 * @return bool Whether there is a store.
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
	 * Key of the generations.
	 *
	 * @return string
	 */
	private static function generations_key() {
		return Myriad_Object_Cache_Connection::salt() . ':generations';
	}

	/**
	 * Reads the generations. After an outage of which the server does not know yet, a new one begins.
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
	 * Whether generations are such, of a server that knows of the last outage.
	 *
	 * @param mixed                 $all  Generations, as they were read.
	 * @param array<string, string> $seen Outage, if there was one.
	 * @return bool
	 */
	private static function knows( $all, $seen ) {
		return is_array( $all ) && isset( $all[''] ) && ! array_diff_assoc( $seen, $all );
	}

	/**
	 * Begins a generation.
	 *
	 * @param string                $group     Group; nothing for all.
	 * @param array<string, string> $seen      Outage, if there was one.
	 * @param bool                  $if_needed Whether another request may have begun it.
	 * @return array<string, string> Generations after that.
	 * @throws RuntimeException Where nobody knows of it.
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
			return (string) json_encode( $all ); // phpcs:ignore WordPress.WP.AlternativeFunctions -- WordPress's own is not there yet.
		};
		if ( ! $this->store->change( self::generations_key(), 30 * self::MOST_TTL, $change ) ) {
			throw new RuntimeException( 'it is too busy to begin a generation' );
		}
		return $all;
	}

	/**
	 * Key on the server.
	 *
	 * @param string $group Group.
	 * @param string $id    Key in the group, with the site's number.
	 * @return string
	 */
	private function key( $group, $id ) {
		$generation = $this->generations[''] . ( isset( $this->generations[ $group ] ) ? '.' . $this->generations[ $group ] : '' );
		$start      = Myriad_Object_Cache_Connection::salt() . ':' . $generation . ':';
		// Group `a` with key `b:c` is not group `a:b` with key `c`.
		$end        = str_replace( array( '%', ':' ), array( '%25', '%3A' ), $group ) . ':' . $id;
		$is_plain   = strlen( $start . $end ) <= self::MOST_KEY && ! preg_match( '/[^\x21-\x7e]/', $start . $end );
		return $is_plain ? $start . $end : substr( preg_replace( '/[^\x21-\x7e]/', '_', $start ), 0, 100 ) . '#' . hash( 'sha256', $start . $end );
	}

	/**
	 * Keys on the server.
	 *
	 * @param string   $group Group.
	 * @param string[] $ids   Keys in the group.
	 * @return array<string, string> By key in the group.
	 */
	private function keys( $group, $ids ) {
		$keys = array();
		foreach ( $ids as $id ) {
			$keys[ $id ] = $this->key( $group, (string) $id );
		}
		return $keys;
	}

	/**
	 * Time for the server.
	 *
	 * @param int $expire Seconds, 0 for no bound.
	 * @return int
	 */
	private static function ttl( $expire ) {
		return 0 === $expire ? self::MOST_TTL : max( 1, $expire );
	}

	/**
	 * Gives values.
	 *
	 * @param string   $group Group.
	 * @param string[] $ids   Keys.
	 * @return array|null Those that are there, by key; null without a server.
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
	 * Keeps values.
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
	 * Values as texts.
	 *
	 * @param string $group  Group.
	 * @param array  $values Values by key.
	 * @return array Texts by key on the server, and keys of values that cannot be written.
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
	 * Keeps values where there are none.
	 *
	 * @param string $group  Group.
	 * @param array  $values Values by key.
	 * @param int    $expire Seconds.
	 * @return array<string, bool> Whether the request may go on with each, by key.
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
					// What was read from the database serves this request, whatever the others keep.
					$told[ $id ] = $is_held || ! isset( $kept[ $key ] ) || $kept[ $key ];
				}
				return $told;
			},
			array_fill_keys( array_keys( $values ), true )
		);
	}

	/**
	 * Whether values of a group are held back for HOLD seconds after they were deleted.
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
	 * @return array<string, bool> Whether each was there; nothing for groups whose values are held.
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
	 * @param int|float $offset Number to add; a float only where it is not in the range of integers.
	 * @return int|float|false|null Result, false if there is no value, null without a server.
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
	 * @return int|float|false Result; false if there is no value.
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
	 * Changes entries of an array, and leaves those as they are that other processes have changed since.
	 *
	 * @param string     $group  Group.
	 * @param string     $id     Key.
	 * @param array      $now    As this request would have it.
	 * @param array|null $before As it was when this request read it; nothing where it did not.
	 * @param int        $expire Seconds.
	 * @return array|null As it is now; nothing where it is not kept, and the next who needs it reads the database.
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
			// Where nobody knows what has changed, the database does; a hold stays as it is.
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
	 * An array with the changes between two others.
	 *
	 * @param array $theirs Array.
	 * @param array $before The one.
	 * @param array $now    The other.
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
	 * Forgets all values, or those of a group.
	 *
	 * @param string $group Group; nothing for all.
	 * @return bool Whether the server knows it.
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
