<?php
/**
 * Moments in tables of plugins.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Finds the moments at which the result of SQL changes without any write: dates in the selected rows, and conditions that compare a column
 * with the current time.
 *
 * The rows of a query are read at the next query, because `wpdb` then still contains them. For a condition, the row that passes the current time
 * next is queried, and stored for an hour at most. A comparison of days limits the validity to the next midnight.
 */
class Myriad_Cache_Table_Times {

	/**
	 * List of `Myriad_Cache_Times` with the next moment of conditions, and the time of the next query for it, by table, column and distance.
	 */
	const LIST_NAME = 'conditions';

	/**
	 * Maximum number of rows of a result that are searched; of dates of a column that are parsed; of conditions of a page; seconds for which
	 * the next moment is stored.
	 */
	const MOST_ROWS       = 200;
	const MOST_DATES      = 4;
	const MOST_CONDITIONS = 20;
	const STORED          = HOUR_IN_SECONDS;

	/**
	 * Seconds by which a time in SQL may differ from the current time, and days by which a day may differ from today.
	 */
	const NEAR = 120;
	const DAYS = 400;

	/**
	 * Text without which SQL compares nothing with a time.
	 */
	const CLUE = '/20[0-9]{2}-[01]|\b[12][0-9]{9}\b|\b(?:NOW|CURDATE|CURRENT_|SYSDATE|LOCALTIME|UTC_|UNIX_TIMESTAMP)/i';

	/**
	 * Columns of WordPress's own tables with dates: fields of posts, comments, users and sites are noted elsewhere.
	 */
	const OF_CORE = '/^(?:post_(?:date|modified)|comment_date|user_registered|registered|last_updated)(?:_gmt)?$/Di';

	/**
	 * Functions that reduce a time to its day.
	 */
	const OF_DAY = '/(?<![\w$])DATE\s*\(|\bAS\s+DATE\b/i';

	/**
	 * Parts of conditions: a time, a sum with an interval, and a column, perhaps within a function.
	 */
	const TIME     = '(?:[\'"](?:20[0-9]{2}-[01][0-9]-[0-3][0-9](?:[ T][0-2][0-9]:[0-5][0-9](?::[0-5][0-9])?)?|[12][0-9]{9})[\'"]|[12][0-9]{9}\b|(?:NOW|SYSDATE|UTC_TIMESTAMP|UNIX_TIMESTAMP|CURDATE|UTC_DATE|CURRENT_DATE|CURRENT_TIMESTAMP|LOCALTIME(?:STAMP)?)\s*\(\s*\)|CURRENT_DATE\b|CURRENT_TIMESTAMP\b)';
	const INTERVAL = 'INTERVAL\s+[\'"]?[0-9]{1,6}[\'"]?\s+(?:SECOND|MINUTE|HOUR|DAY|WEEK|MONTH|QUARTER|YEAR)';
	const COLUMN   = '(?:(?:CAST|DATE|TIMESTAMP|UNIX_TIMESTAMP|DATE_FORMAT|CONVERT|IFNULL|COALESCE)\s*\(\s*)*((?:`?[\w$]+`?\.)?`?[A-Za-z_][\w$]*`?)(?:\s+AS\s+\w+)?[\s)]*';

	/**
	 * Conditions of this page, with stages as in `Myriad_Cache_Tags`: tables that may have the column, column, time, rounded distance and stage.
	 *
	 * @var array<string, array{0: string[], 1: string, 2: string, 3: int, 4: int}>
	 */
	private static $conditions = array();

	/**
	 * Notes SQL of the page.
	 *
	 * @param string   $sql    SQL.
	 * @param string[] $tables Its tables of plugins.
	 */
	public static function note( $sql, $tables ) {
		Myriad_Cache_Reads::$dated_sql = $sql;
		if ( preg_match( self::CLUE, $sql ) ) {
			self::note_conditions( $sql, $tables );
		}
	}

	/**
	 * Records the dates in the rows of the last query that was noted.
	 */
	public static function take_rows() {
		global $wpdb;
		$sql = Myriad_Cache_Reads::$dated_sql;

		Myriad_Cache_Reads::$dated_sql = null;
		if ( null === $sql || $wpdb->last_query !== $sql || ! is_array( $wpdb->last_result ) || ! isset( $wpdb->last_result[0] ) ) {
			return;
		}
		$floor = gmdate( 'Y-m-d', time() - DAY_IN_SECONDS );
		$now   = (string) time();
		foreach ( array_keys( get_object_vars( $wpdb->last_result[0] ) ) as $name ) {
			if ( ! Myriad_Cache_Times::is_name( (string) $name ) ) {
				continue;
			}
			$dates = array();
			foreach ( array_slice( $wpdb->last_result, 0, self::MOST_ROWS ) as $row ) {
				$text = isset( $row->$name ) ? (string) $row->$name : '';
				if ( isset( $text[7] ) && ( '-' === $text[4] ? $text >= $floor : isset( $text[9] ) && ! isset( $text[10] ) && ctype_digit( $text ) && $text > $now ) ) {
					$dates[ $text ] = true;
				}
			}
			ksort( $dates, SORT_STRING );
			foreach ( array_slice( array_keys( $dates ), 0, self::MOST_DATES ) as $text ) {
				Myriad_Cache_Times::note_text( (string) $text );
			}
		}
	}

	/**
	 * Records the conditions of SQL that compare columns with the current time.
	 *
	 * @param string   $sql    SQL.
	 * @param string[] $tables Its tables of plugins.
	 */
	private static function note_conditions( $sql, $tables ) {
		$sql      = substr( $sql, 0, Myriad_Cache_Sql::MOST );
		$sum      = '(?:DATE_(ADD|SUB)\s*\(\s*)?(?:CAST\s*\(\s*|DATE\s*\(\s*|TIMESTAMP\s*\(\s*)?(' . self::TIME . ')(?:\s*(?:,|(\+|-))\s*(' . self::INTERVAL . '))?(?:\s+AS\s+\w+)?';
		$patterns = array(
			'~(?<![\w$`.])' . self::COLUMN . '(?:[<>]=?|=|\bBETWEEN\b)\s*' . $sum . '~i'                     => false,
			'~(?<![\w$`.])' . self::COLUMN . '\bBETWEEN\b[^<>]{1,120}?\bAND\s+' . $sum . '~i' => false,
			'~' . $sum . '[\s)]*(?:[<>]=?|=|\bBETWEEN\b)\s*' . self::COLUMN . '(?:AND\s+' . self::COLUMN . ')?~i' => true,
		);
		foreach ( $patterns as $pattern => $is_time_first ) {
			preg_match_all( $pattern, $sql, $found, PREG_SET_ORDER );
			foreach ( $found as $part ) {
				$part    += array_fill( 0, 7, '' );
				$columns  = $is_time_first ? array_filter( array( $part[5], $part[6] ) ) : array( $part[1] );
				$time     = $is_time_first ? array_slice( $part, 1, 4 ) : array_slice( $part, 2, 4 );
				$distance = preg_match( self::OF_DAY, $part[0] ) ? false : self::distance( $time );
				foreach ( null === $distance ? array() : $columns as $column ) {
					self::note_condition( $sql, $tables, $column, $time, $distance );
				}
			}
		}
	}

	/**
	 * Returns the seconds from the current time to a time in SQL, if it depends on the current time.
	 *
	 * @param string[] $time `ADD` or `SUB`, the time, `+` or `-`, and the interval.
	 * @return int|null|false Null if it is a constant time; false if it is a day.
	 */
	private static function distance( $time ) {
		$text = trim( $time[1], '\'"' );
		if ( ! preg_match( '/^[0-9]/', $text ) ) {
			$is_day   = (bool) preg_match( '/^(?:CURDATE|UTC_DATE|CURRENT_DATE)/i', $text );
			$interval = '' === $time[3] ? '' : ( 'SUB' === strtoupper( $time[0] ) || '-' === $time[2] ? '-' : '+' ) . preg_replace( '/^INTERVAL\s+|[\'"]/i', '', $time[3] );
			return $is_day ? false : (int) strtotime( '' === $interval ? 'now' : str_ireplace( 'quarter', 'month', $interval ) ) - time();
		}
		$distances = array();
		foreach ( array( wp_timezone(), new DateTimeZone( 'UTC' ) ) as $zone ) {
			$date = date_create_immutable( ctype_digit( $text ) ? '@' . $text : $text, $zone );
			if ( ! $date ) {
				return null;
			}
			$distance = $date->getTimestamp() - time();
			if ( in_array( $date->setTimezone( $zone )->format( 'H:i:s' ), array( '00:00:00', '23:59:59', '23:59:00' ), true ) ) {
				return abs( $distance ) <= self::DAYS * DAY_IN_SECONDS ? false : null;
			}
			$distances[ abs( $distance ) ] = $distance;
		}
		ksort( $distances );
		$distance = reset( $distances );
		$rest     = abs( $distance ) % HOUR_IN_SECONDS;
		return abs( $distance ) <= self::NEAR || min( $rest, HOUR_IN_SECONDS - $rest ) <= 2 || ( abs( $distance ) <= HOUR_IN_SECONDS && preg_match( '/:00(?::00)?$/', $text ) ) ? $distance : null;
	}

	/**
	 * Records a condition.
	 *
	 * @param string    $sql      SQL.
	 * @param string[]  $tables   Its tables of plugins.
	 * @param string    $column   Column, perhaps with the name of its table before it.
	 * @param string[]  $time     As for distance().
	 * @param int|false $distance As returned by distance().
	 */
	private static function note_condition( $sql, $tables, $column, $time, $distance ) {
		$names  = explode( '.', str_replace( '`', '', $column ) );
		$name   = (string) end( $names );
		$tables = 2 === count( $names ) ? self::table( $sql, $names[0], $tables ) : $tables;
		if ( ! $tables || preg_match( self::OF_CORE, $name ) ) {
			return;
		}
		if ( count( self::$conditions ) >= self::MOST_CONDITIONS ) {
			Myriad_Cache_Page::limit( Myriad_Cache_Writes::NOISY_VALIDITY );
			return;
		}
		if ( false === $distance ) {
			foreach ( array( wp_timezone(), new DateTimeZone( 'UTC' ) ) as $zone ) {
				Myriad_Cache_Times::add( date_create_immutable( 'tomorrow', $zone )->getTimestamp() );
			}
			return;
		}
		// Rounded, because each page has another time.
		$rounded = (int) round( $distance / 60 );

		self::$conditions[ implode( ',', $tables ) . '.' . $name . ' ' . $rounded ] = array( $tables, $name, self::expression( $time ), $rounded, Myriad_Cache_Tags::$stage );
	}

	/**
	 * Returns the tables that a name in SQL may denote.
	 *
	 * @param string   $sql    SQL.
	 * @param string   $name   Name of a table, or an alias.
	 * @param string[] $tables Tables of plugins in the SQL.
	 * @return string[] Empty if it denotes a table of WordPress.
	 */
	private static function table( $sql, $name, $tables ) {
		foreach ( Myriad_Cache_Sql::tables( $sql ) as $table ) {
			$table = (string) $table;
			if ( $table === $name || preg_match( '/(?<![\w$])`?' . preg_quote( $table, '/' ) . '`?\s+(?:AS\s+)?`?' . preg_quote( $name, '/' ) . '`?(?![\w$])/i', $sql ) ) {
				return in_array( $table, $tables, true ) ? array( $table ) : array();
			}
		}
		return $tables;
	}

	/**
	 * Returns the time of a condition as SQL. It consists only of text that TIME and INTERVAL match.
	 *
	 * @param string[] $time As for distance().
	 * @return string
	 */
	private static function expression( $time ) {
		return '' === $time[3] ? $time[1] : $time[1] . ( 'SUB' === strtoupper( $time[0] ) || '-' === $time[2] ? ' - ' : ' + ' ) . $time[3];
	}

	/**
	 * Returns the next moments of the conditions that were recorded after a stage.
	 *
	 * @param int $mark Number of the stage.
	 * @return int[] Unix times.
	 */
	public static function since( $mark ) {
		self::take_rows();
		$moments = array();
		foreach ( self::$conditions as $condition ) {
			if ( $condition[4] > $mark ) {
				$moments[] = self::next_of( $condition );
			}
		}
		return $moments;
	}

	/**
	 * Returns the moment at which a condition selects other rows. If no table has the column, it is computed in a way that is unknown.
	 *
	 * @param array $condition Condition.
	 * @return int Unix time; 0 for none.
	 */
	private static function next_of( $condition ) {
		list( $tables, $column, $time, $rounded ) = $condition;

		$stored = Myriad_Cache_Times::stored_of( self::LIST_NAME );
		foreach ( $tables as $table ) {
			$key = "$table.$column $rounded";
			if ( isset( $stored[ $key ][1] ) && $stored[ $key ][1] > time() && ( 0 === $stored[ $key ][0] || $stored[ $key ][0] > time() ) ) {
				return $stored[ $key ][0];
			}
		}
		foreach ( $tables as $table ) {
			$seconds = self::seconds_to_next( $table, $column, $time );
			if ( null !== $seconds ) {
				$moment = '' === $seconds ? 0 : time() + max( 1, (int) $seconds );
				Myriad_Cache_Times::store( self::LIST_NAME, array( "$table.$column $rounded" => array( $moment, time() + self::STORED ) ) );
				return $moment;
			}
		}
		Myriad_Cache_Page::limit( Myriad_Cache_Writes::NOISY_VALIDITY );
		return 0;
	}

	/**
	 * Returns the seconds until a time reaches the next value of a column. Both may be in any zone.
	 *
	 * @param string $table  Table.
	 * @param string $column Column.
	 * @param string $time   Time, as SQL.
	 * @return string|null Empty if there is no later value; null if the table does not have the column.
	 */
	private static function seconds_to_next( $table, $column, $time ) {
		global $wpdb;
		$is_number = (bool) preg_match( '/^[\'"]?[0-9]{10}|^UNIX/i', $time );
		$distance  = $is_number ? "MIN(`$column`) - $time" : "TIMESTAMPDIFF(SECOND, $time, MIN(`$column`))";
		return Myriad_Cache_Reads::unnoted(
			static function () use ( $wpdb, $table, $column, $time, $distance ) {
				$shows = $wpdb->hide_errors();
				$quiet = $wpdb->suppress_errors();
				// phpcs:ignore WordPress.DB -- names and times consist of word characters, and are those of a query.
				$seconds = $wpdb->get_var( "SELECT $distance FROM `$table` WHERE `$column` >= $time" );
				$failed  = '' !== $wpdb->last_error;
				$wpdb->suppress_errors( $quiet );
				$wpdb->show_errors( $shows );
				return $failed ? null : (string) $seconds;
			}
		);
	}
}
