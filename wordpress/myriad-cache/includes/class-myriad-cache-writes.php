<?php
/**
 * Writes to database tables outside WordPress core.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Purges the pages that read a table, after the table was written.
 *
 * Page views write as well: counters, statistics, sessions, logs. The columns that several of them write are learned, and later
 * writes of these columns by visits purge nothing; pages that read such a table have a short validity instead. Changes by staff, cron,
 * WP-CLI and checkouts, and writes of other columns, always purge.
 */
class Myriad_Cache_Writes {

	/**
	 * Option, of the network if there is one, with the columns and the fields of posts that visits write: `table.column` => points, at most LEARNED.
	 */
	const NOISE = 'myriad_cache_noise';

	/**
	 * Prefix of the names of fields of posts in the option NOISE.
	 */
	const FIELD = 'post field ';

	/**
	 * Points from which a column is learned.
	 */
	const LEARNED = 10;

	/**
	 * Points of a visit by kind: three page views or ten script requests teach a column, forms none.
	 */
	const POINTS = array(
		'view'   => 4,
		'script' => 1,
		'form'   => 0,
	);

	/**
	 * Maximum number of columns that are learned.
	 */
	const MOST = 300;

	/**
	 * Maximum validity of pages that read a table with such columns, in seconds.
	 */
	const NOISY_VALIDITY = 600;

	/**
	 * Columns written by this request, as keys, by table.
	 *
	 * @var array<string, array<string, true>>
	 */
	private static $written = array();

	/**
	 * True if this request wrote unknown tables.
	 *
	 * @var bool
	 */
	private static $is_unknown = false;

	/**
	 * Learned columns, as keys, by table; fields of posts without columns.
	 *
	 * @var array<string, array<string, true>>|null
	 */
	private static $noisy = null;

	/**
	 * True while a page is generated, whose reads are noted.
	 *
	 * @var bool
	 */
	private static $is_page = false;

	/**
	 * Starts to observe SQL.
	 */
	public static function start() {
		Myriad_Cache_Hooks::add( 'query', array( __CLASS__, 'note_sql' ), PHP_INT_MAX );
	}

	/**
	 * Passes SQL to `Myriad_Cache_Reads` as well. A second filter would cost as much for each statement as this one.
	 */
	public static function start_page() {
		self::$is_page = true;
	}

	/**
	 * Records the tables that SQL writes.
	 *
	 * @param string $sql SQL.
	 * @return string
	 */
	public static function note_sql( $sql ) {
		if ( ! is_string( $sql ) ) {
			return $sql;
		}
		if ( self::$is_page ) {
			Myriad_Cache_Reads::note_sql( $sql );
		}
		$write = 0 === strncasecmp( $sql, 'SELECT', 6 ) ? null : Myriad_Cache_Sql::write( $sql );
		if ( $write ) {
			Myriad_Cache_Changes::start_after();
			if ( ! $write['tables'] ) {
				self::$is_unknown = true;
				Myriad_Cache_Queue::arrange();
			}
			foreach ( $write['tables'] as $table ) {
				if ( '' !== Myriad_Cache_Tables::tag( (string) $table ) ) {
					$known = isset( self::$written[ $table ] ) ? self::$written[ $table ] : array();

					self::$written[ $table ] = $known + array_fill_keys( $write['columns'], true ) + ( $write['inserts'] ? array( Myriad_Cache_Sql::NEW_ROWS => true ) : array() );
					Myriad_Cache_Queue::arrange();
				} else {
					self::note_core( $sql, (string) $table, $write['columns'] );
				}
			}
		}
		return $sql;
	}

	/**
	 * Records a statement that writes a table of WordPress.
	 *
	 * @param string   $sql     SQL.
	 * @param string   $table   Name in the database.
	 * @param string[] $columns Written columns.
	 */
	private static function note_core( $sql, $table, $columns ) {
		$core = Myriad_Cache_Tables::core( $table );
		if ( $core ) {
			Myriad_Cache_Direct_Writes::note( $sql, $core[1], $core[0], $columns );
		}
	}

	/**
	 * Returns whether visits write a table.
	 *
	 * @param string $table Name in the database.
	 * @return bool
	 */
	public static function is_noisy( $table ) {
		if ( null === self::$noisy ) {
			self::$noisy = array();
			foreach ( self::noise() as $column => $count ) {
				if ( $count >= self::LEARNED ) {
					$end = 0 === strpos( $column, self::FIELD ) ? strlen( $column ) : (int) strrpos( $column, '.' );

					self::$noisy[ substr( $column, 0, $end ) ][ substr( $column, $end + 1 ) ] = true;
				}
			}
		}
		return isset( self::$noisy[ $table ] );
	}

	/**
	 * Limits the validity of the page if its SQL reads a column that visits write. Numbers in the page count as counters only if the SQL selects
	 * the column, and not if it only sorts or compares by it.
	 *
	 * @param string $table Name in the database.
	 * @param string $sql   SQL that reads the table.
	 */
	public static function limit_for_columns( $table, $sql ) {
		if ( ! self::is_noisy( $table ) ) {
			return;
		}
		$columns = self::$noisy[ $table ];
		// New and deleted rows change results whatever columns they have.
		$is_any  = isset( $columns[ Myriad_Cache_Sql::ROWS ] ) || isset( $columns[ Myriad_Cache_Sql::NEW_ROWS ] ) || isset( $columns[ Myriad_Cache_Sql::UNKNOWN ] );
		$pattern = $is_any ? '//' : '/\*|(?<![\w$])(?:' . implode( '|', array_map( 'preg_quote', array_map( 'strval', array_keys( $columns ) ) ) ) . ')(?![\w$])/i';
		if ( ! preg_match( $pattern, $sql ) ) {
			return;
		}
		$parts = preg_split( '/\bFROM\b/i', $sql, 2 );
		if ( preg_match( $pattern, $parts[0] ) || ( isset( $parts[1] ) && preg_match( '/\bSELECT\b/i', $parts[1] ) ) ) {
			Myriad_Cache_Page::limit_for_counters();
		} else {
			Myriad_Cache_Page::limit( self::NOISY_VALIDITY );
		}
	}

	/**
	 * Returns the learned columns.
	 *
	 * @return array<string, int>
	 */
	private static function noise() {
		$noise = get_site_option( self::NOISE );
		return is_array( $noise ) ? $noise : array();
	}

	/**
	 * Adds the tags of the written tables to the queue.
	 */
	public static function resolve() {
		$written    = self::$written;
		$is_unknown = self::$is_unknown;

		self::$written    = array();
		self::$is_unknown = false;
		if ( $is_unknown && '' === Myriad_Cache_Actor::visit() ) {
			Myriad_Cache_Changes::site();
		}
		if ( ! $written ) {
			return;
		}
		$visit = Myriad_Cache_Actor::visit();
		$noise = '' === $visit ? array() : self::noise();
		$known = $noise;
		foreach ( $written as $table => $columns ) {
			Myriad_Cache_Times::forget( 'conditions', '/^' . preg_quote( $table . '.', '/' ) . '/' );
			$is_noise = '' !== $visit;
			foreach ( array_keys( '' === $visit ? array() : $columns ) as $column ) {
				$is_column = Myriad_Cache_Sql::TABLE !== (string) $column;
				$is_noise  = $is_column && self::learn( $noise, $table . '.' . $column, $visit ) && $is_noise;
			}
			if ( ! $is_noise ) {
				Myriad_Cache_Queue::add_named( Myriad_Cache_Tables::tag( (string) $table ) );
			}
		}
		self::store( $noise, $known );
	}

	/**
	 * Learns a column or field that a visit writes.
	 *
	 * @param array<string, int> $noise Columns and their points.
	 * @param string             $name  Name in this list.
	 * @param string             $visit Kind of visit.
	 * @return bool True if it was learned before. The write that teaches it purges as well: pages stored before have a long validity.
	 */
	private static function learn( &$noise, $name, $visit ) {
		$before = isset( $noise[ $name ] ) ? (int) $noise[ $name ] : 0;
		$points = min( self::LEARNED, $before + self::POINTS[ $visit ] );
		if ( $points > 0 && ( isset( $noise[ $name ] ) || count( $noise ) < self::MOST ) ) {
			$noise[ $name ] = $points;
		}
		return $before >= self::LEARNED;
	}

	/**
	 * Stores learned columns, if they have changed.
	 *
	 * @param array<string, int> $noise Columns and their points.
	 * @param array<string, int> $known The same before the change.
	 */
	private static function store( $noise, $known ) {
		if ( $noise !== $known ) {
			update_site_option( self::NOISE, $noise );
			self::$noisy = null;
		}
	}

	/**
	 * Learns a field of posts that a visit writes, such as a number of views.
	 *
	 * @param string $field Name of the field.
	 * @param string $visit Kind of visit; empty for changes that always purge.
	 * @return bool True if the write purges nothing.
	 */
	public static function is_noise( $field, $visit ) {
		if ( '' === $visit ) {
			return false;
		}
		$noise    = self::noise();
		$known    = $noise;
		$is_noise = self::learn( $noise, self::FIELD . $field, $visit );
		self::store( $noise, $known );
		return $is_noise;
	}

	/**
	 * Returns whether visits write a field of posts.
	 *
	 * @param string $field Name of the field.
	 * @return bool
	 */
	public static function is_noisy_field( $field ) {
		self::is_noisy( '' );
		return isset( self::$noisy[ self::FIELD . $field ] );
	}
}
