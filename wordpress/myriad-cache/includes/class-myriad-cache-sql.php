<?php
/**
 * Tables and columns in SQL.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Finds the tables that a statement reads or writes, and the columns that it writes.
 *
 * It is no complete parser. Where it is uncertain, it returns too many tables, which costs a purge. It misses names after the
 * first MOST bytes of a statement that writes, and after the first MOST_READ bytes of one that reads.
 */
class Myriad_Cache_Sql {

	/**
	 * Maximum number of bytes of a statement that are parsed. Names precede values in writes. Of a longer statement that reads, lists of values are
	 * removed first.
	 */
	const MOST      = 10000;
	const MOST_READ = 200000;

	/**
	 * List of numbers and text literals, after these were replaced by question marks.
	 */
	const VALUES = '/(?:\?|[0-9]+)(?:\s*,\s*(?:\?|[0-9]+))++/';

	/**
	 * Statements that change data. A procedure (`CALL`) and a prepared statement (`EXECUTE`) may change any table.
	 */
	const WRITE = '~^(?:[\s(]|/\*.*?\*/)*(?:WITH\b.*?\)\s*)?(INSERT|UPDATE|DELETE|REPLACE|TRUNCATE|LOAD|ALTER|DROP|RENAME|CALL|EXECUTE)\b~is';

	/**
	 * Statements that read data.
	 */
	const READ = '~^(?:[\s(]|/\*.*?\*/)*(?:SELECT|WITH)\b~is';

	/**
	 * Statements that read one table, which their other words leave no doubt about.
	 */
	const ONE_TABLE = '~^\s*SELECT\s[\w\s.,*`]*?\sFROM\s+`?([\w$]+)`?(?:\s+(?:AS\s+)?\w+)?\s+(?:WHERE|ORDER|LIMIT|GROUP)\b(?!.*\b(?:FROM|JOIN|STRAIGHT_JOIN|INTO|UPDATE|TABLE|TRUNCATE|INSERT|REPLACE)\b)~is';

	/**
	 * Start of a statement, as head() returns it, without lists of tables and functions.
	 */
	const HEAD = '~^SELECT\s[\w\s.,*]+?\sFROM\s[\w\s.=$]+(?:\((?:[\w\s.=]+)\)[\w\s.=$]*)*WHERE\s?$~D';

	/**
	 * Tables in it; empty before a parenthesis.
	 */
	const JOINED = '~\b(?:FROM|JOIN|STRAIGHT_JOIN)\s+([\w$.]*)~i';

	/**
	 * In place of columns: all columns of deleted rows, unknown columns, and a changed or emptied table; besides columns: new rows.
	 */
	const ROWS     = '-';
	const UNKNOWN  = '*';
	const TABLE    = '!';
	const NEW_ROWS = '+';

	/**
	 * Text literals and comments. The last literal may be cut off.
	 */
	const LITERALS = '~\'(?:[^\'\\\\]++|\\\\.|\'\')*+(?:\'|$)|"(?:[^"\\\\]++|\\\\.|"")*+(?:"|$)|/\*.*?\*/|(?:--\s|\#)[^\n]*~s';

	/**
	 * Words before a table.
	 */
	const BEFORE_TABLE = array(
		'FROM'          => true,
		'JOIN'          => true,
		'STRAIGHT_JOIN' => true,
		'INTO'          => true,
		'UPDATE'        => true,
		'TABLE'         => true,
		'TRUNCATE'      => true,
		'INSERT'        => true,
		'REPLACE'       => true,
	);

	/**
	 * Words between these words and the table.
	 */
	const MODIFIERS = array(
		'LOW_PRIORITY'  => true,
		'HIGH_PRIORITY' => true,
		'DELAYED'       => true,
		'QUICK'         => true,
		'IGNORE'        => true,
		'INTO'          => true,
		'FROM'          => true,
		'TABLE'         => true,
		'IF'            => true,
		'EXISTS'        => true,
		'LATERAL'       => true,
		'ONLY'          => true,
	);

	/**
	 * Words after a list of tables.
	 */
	const AFTER_TABLES = array(
		'WHERE'  => true,
		'SET'    => true,
		'VALUES' => true,
		'VALUE'  => true,
		'DUPLICATE' => true,
		'GROUP'  => true,
		'ORDER'  => true,
		'HAVING' => true,
		'LIMIT'  => true,
		'UNION'  => true,
		'SELECT' => true,
		'FOR'    => true,
		'WINDOW' => true,
	);

	/**
	 * Returns the words, names and separators of a statement, without literals and comments.
	 *
	 * @param string $sql Statement.
	 * @return string[]
	 */
	private static function tokens( $sql ) {
		$sql   = (string) preg_replace( self::LITERALS, ' ? ', $sql );
		$found = array();
		preg_match_all( '/`[^`]+`|[\w$]+|[(),.=]/', $sql, $found );
		return $found[0];
	}

	/**
	 * Returns the tables that a statement names.
	 *
	 * @param string $sql Statement.
	 * @return string[] Names as in the database, without the name of the database.
	 */
	public static function tables( $sql ) {
		$found = array();
		if ( preg_match( self::HEAD, $sql ) && preg_match_all( self::JOINED, $sql, $found ) && ! preg_grep( '/^$|\.|^lateral$/i', $found[1] ) ) {
			return array_unique( $found[1] );
		}
		if ( preg_match( self::ONE_TABLE, $sql, $found ) && ! isset( self::MODIFIERS[ strtoupper( $found[1] ) ] ) ) {
			return array( $found[1] );
		}
		if ( strlen( $sql ) > self::MOST ) {
			$sql = (string) preg_replace( array( self::LITERALS, self::VALUES ), array( '?', '?' ), substr( $sql, 0, self::MOST_READ ) );
		}
		return array_keys( self::tables_in( self::tokens( $sql ) ) );
	}

	/**
	 * Returns the start of a `SELECT` up to `WHERE`, if the rest names no table. Many statements differ only in the rest.
	 *
	 * @param string $sql Statement.
	 * @return string The whole statement if the rest may name a table, or if `WHERE` may be a part of a name, a text or a comment.
	 */
	public static function head( $sql ) {
		$length = strpos( $sql, 'WHERE' );
		if ( ! $length || 0 !== strncmp( $sql, 'SELECT', 6 ) || ! isset( $sql[ $length + 5 ] ) || ! ctype_space( $sql[ $length - 1 ] . $sql[ $length + 5 ] ) ) {
			return $sql;
		}
		$head = substr( $sql, 0, $length + 5 );
		return preg_match( '~[\'"`#/\\\\-]~', $head ) || false !== stripos( $sql, 'SELECT', 6 ) || false !== stripos( $sql, 'TABLE', $length ) ? $sql : $head;
	}

	/**
	 * Returns whether a statement is one of those with which WordPress reads options, and reads no other table.
	 *
	 * @param string $sql     Statement.
	 * @param string $options Name of the table of options.
	 * @return bool False if it is uncertain.
	 */
	public static function reads_options( $sql, $options ) {
		$one   = 'SELECT option_value FROM ' . $options . " WHERE option_name = '";
		$start = strlen( $one );
		if ( 0 === strncmp( $sql, $one, $start ) ) {
			return "' LIMIT 1" === substr( $sql, -9 ) && strpos( $sql, "'", $start ) === strlen( $sql ) - 9 && false === strpos( $sql, '\\', $start );
		}
		$several = 'SELECT option_name, option_value FROM ' . $options . ' WHERE option_name IN (';
		$start   = strlen( $several );
		// A subquery has parentheses.
		return 0 === strncmp( $sql, $several, $start ) && false === strpos( $sql, '(', $start ) && strpos( $sql, ')', $start ) === strlen( $sql ) - 1;
	}

	/**
	 * Returns the tables in tokens.
	 *
	 * @param string[] $tokens Tokens of a statement.
	 * @return array<string, true> Names as keys.
	 */
	private static function tables_in( $tokens ) {
		$tables    = array();
		$is_before = false; // A table or a subquery is next.
		$is_list   = array( false ); // By depth of parentheses: a comma precedes another table.
		$depth     = 0;
		$count     = count( $tokens );
		$last      = '';
		for ( $at = 0; $at < $count; $at++ ) {
			$token = $tokens[ $at ];
			$word  = isset( $token[1] ) ? strtoupper( $token ) : $token;
			if ( '(' === $token ) {
				// `INSERT INTO t (a, b)` has a list of columns, `FROM (a, b)` a list of tables.
				$is_list[ ++$depth ] = $is_before;
			} elseif ( ')' === $token ) {
				$depth     = max( 0, $depth - 1 );
				$is_before = false;
			} elseif ( ',' === $token ) {
				$is_before = ! empty( $is_list[ $depth ] );
			} elseif ( isset( self::BEFORE_TABLE[ $word ] ) && ! self::is_no_table( $word, $last, isset( $tokens[ $at + 1 ] ) ? $tokens[ $at + 1 ] : '' ) ) {
				$is_before         = true;
				$is_list[ $depth ] = true;
			} elseif ( isset( self::AFTER_TABLES[ $word ] ) ) {
				$is_before         = false;
				$is_list[ $depth ] = false;
			} elseif ( $is_before && ! isset( self::MODIFIERS[ $word ] ) && '.' !== $token && '=' !== $token ) {
				$name = $token;
				if ( isset( $tokens[ $at + 2 ] ) && '.' === $tokens[ $at + 1 ] ) {
					$at  += 2;
					$name = $tokens[ $at ];
				}
				$tables[ trim( $name, '`' ) ] = true;

				$is_before = false;
			}
			$last = $word;
		}
		return $tables;
	}

	/**
	 * Returns whether a word of BEFORE_TABLE does not precede a table: `ON DUPLICATE KEY UPDATE`, `FOR UPDATE`, the functions `REPLACE()`
	 * and `INSERT()`.
	 *
	 * @param string $word Word, in capitals.
	 * @param string $last Word before it, in capitals.
	 * @param string $next Token after it.
	 * @return bool
	 */
	private static function is_no_table( $word, $last, $next ) {
		if ( 'UPDATE' === $word ) {
			return 'KEY' === $last || 'FOR' === $last;
		}
		return '(' === $next && in_array( $word, array( 'REPLACE', 'INSERT', 'TRUNCATE' ), true );
	}

	/**
	 * Returns the tables and columns that a statement writes.
	 *
	 * @param string $sql Statement.
	 * @return array{tables: string[], columns: string[], inserts: bool}|null Null if it writes nothing; no tables if they are unknown. The only
	 *                                                                        column is ROWS, UNKNOWN or TABLE if the statement names none.
	 */
	public static function write( $sql ) {
		$verb = array();
		if ( ! preg_match( self::WRITE, $sql, $verb ) ) {
			return null;
		}
		$tokens  = self::tokens( substr( $sql, 0, self::MOST ) );
		$columns = strlen( $sql ) > self::MOST ? array() : self::columns( strtoupper( $verb[1] ), $tokens );
		return array(
			'tables'  => in_array( strtoupper( $verb[1] ), array( 'CALL', 'EXECUTE' ), true ) ? array() : array_keys( self::tables_in( self::targets( strtoupper( $verb[1] ), $tokens ) ) ),
			'columns' => $columns ? $columns : array( self::UNKNOWN ),
			'inserts' => in_array( strtoupper( $verb[1] ), array( 'INSERT', 'REPLACE', 'LOAD' ), true ),
		);
	}

	/**
	 * Returns the part of a statement that names the tables that it writes.
	 *
	 * @param string   $verb   First word, in capitals.
	 * @param string[] $tokens Tokens.
	 * @return string[] Tokens.
	 */
	private static function targets( $verb, $tokens ) {
		$ends  = array(
			'INSERT'  => array( '(', 'SELECT', 'VALUES', 'VALUE', 'SET', 'WITH' ),
			'REPLACE' => array( '(', 'SELECT', 'VALUES', 'VALUE', 'SET', 'WITH' ),
			'UPDATE'  => array( 'SET' ),
			'DELETE'  => array( 'WHERE' ),
		);
		$words = array_map( 'strtoupper', $tokens );
		$start = (int) array_search( $verb, $words, true );
		$depth = 0;
		foreach ( isset( $ends[ $verb ] ) ? array_slice( $words, $start, null, true ) : array() as $at => $word ) {
			if ( 0 === $depth && in_array( $word, $ends[ $verb ], true ) ) {
				return array_slice( $tokens, $start, $at - $start );
			}
			$depth += '(' === $word ? 1 : ( ')' === $word ? -1 : 0 );
		}
		return array_slice( $tokens, $start );
	}

	/**
	 * Returns the columns that a statement sets.
	 *
	 * @param string   $verb   First word, in capitals.
	 * @param string[] $tokens Tokens.
	 * @return string[] Names, ROWS or TABLE; empty if they are unknown.
	 */
	private static function columns( $verb, $tokens ) {
		if ( ! in_array( $verb, array( 'INSERT', 'UPDATE', 'REPLACE' ), true ) ) {
			return array( 'DELETE' === $verb ? self::ROWS : self::TABLE );
		}
		$columns = array();
		$is_set  = false;
		$depth   = 0;
		foreach ( $tokens as $at => $token ) {
			$word = strtoupper( $token );
			if ( '(' === $token || ')' === $token ) {
				$depth += '(' === $token ? 1 : -1;
			} elseif ( 'SET' === $word || ( 'UPDATE' === $word && 'UPDATE' !== $verb ) ) {
				$is_set = true;
			} elseif ( 0 === $depth && ( 'WHERE' === $word || 'LIMIT' === $word ) ) {
				$is_set = false;
			} elseif ( '=' === $token && $is_set && 0 === $depth && $at > 0 ) {
				$columns[ trim( $tokens[ $at - 1 ], '`' ) ] = true;
			}
		}
		if ( 'UPDATE' !== $verb ) {
			$columns += self::inserted( $tokens );
		}
		return array_map( 'strval', array_keys( $columns ) );
	}

	/**
	 * Returns the columns in the list of an `INSERT` or `REPLACE`.
	 *
	 * @param string[] $tokens Tokens.
	 * @return array<string, true> Names as keys.
	 */
	private static function inserted( $tokens ) {
		$open = array_search( '(', $tokens, true );
		if ( false === $open || array_intersect( array( 'VALUES', 'VALUE', 'SELECT' ), array_map( 'strtoupper', array_slice( $tokens, 0, $open ) ) ) ) {
			return array();
		}
		$columns = array();
		foreach ( array_slice( $tokens, $open + 1 ) as $token ) {
			if ( ')' === $token ) {
				break;
			}
			if ( ',' !== $token ) {
				$columns[ trim( $token, '`' ) ] = true;
			}
		}
		return $columns;
	}
}
