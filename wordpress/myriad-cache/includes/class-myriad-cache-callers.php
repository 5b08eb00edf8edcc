<?php
/**
 * Code that reads the visitor while a page is generated.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Stores for which classes of visitors a caller has had no effect on the page.
 *
 * A caller is a place in a file that reads the visitor, on a kind of page (a post, the home page). For a class of visitors it is without effect
 * after MIN_EQUAL comparisons of pages without a difference, by MIN_VISITORS visitors (or SINGLE_VISITOR comparisons for one visitor). After a
 * difference, no page with the same callers is compared any more for this class, until the code of the site changes.
 */
class Myriad_Cache_Callers {

	/**
	 * Options: names of callers, comparisons without and with a difference.
	 */
	const NAMES     = 'myriad_cache_callers';
	const EQUAL     = 'myriad_cache_equal';
	const DIFFERENT = 'myriad_cache_different';

	/**
	 * Option: a word that changes when earlier comparisons become invalid.
	 */
	const EPOCH = 'myriad_cache_epoch';

	/**
	 * Number of comparisons without a difference, and of visitors, after which a caller is without effect.
	 */
	const MIN_EQUAL    = 3;
	const MIN_VISITORS = 2;

	/**
	 * Number of comparisons that suffices if a class has only one visitor.
	 */
	const SINGLE_VISITOR = 10;

	/**
	 * Maximum number of callers of a page, of stored callers, of classes, and of stored differences.
	 */
	const MOST_OF_PAGE   = 40;
	const MOST_NAMES     = 300;
	const MOST_CLASSES   = 50;
	const MOST_DIFFERENT = 500;

	/**
	 * Deletes all results.
	 */
	public static function reset() {
		self::begin_epoch();
		foreach ( array( self::NAMES, self::EQUAL, self::DIFFERENT ) as $option ) {
			delete_option( $option );
		}
	}

	/**
	 * Makes earlier comparisons invalid for pages that are generated from now on.
	 */
	private static function begin_epoch() {
		update_option( self::EPOCH, time() . bin2hex( random_bytes( 4 ) ), true );
	}

	/**
	 * Makes earlier comparisons invalid, if the last time is at least a minute ago.
	 *
	 * @return bool False if it is not.
	 */
	public static function begin_epoch_at_most_each_minute() {
		if ( time() - (int) substr( (string) Myriad_Cache_Options::stored( self::EPOCH ), 0, 10 ) < MINUTE_IN_SECONDS ) {
			return false;
		}
		self::begin_epoch();
		return true;
	}

	/**
	 * Returns the value of an option, which is an array.
	 *
	 * @param string $name Name.
	 * @return array
	 */
	private static function stored( $name ) {
		$value = Myriad_Cache_Options::stored( $name );
		return is_array( $value ) ? $value : array();
	}

	/**
	 * Tags the current page with its callers.
	 *
	 * @param array<string, string> $callers Files, by name of the caller.
	 * @return string Word that changes with the callers, and when earlier comparisons become invalid. Empty if there are too many callers.
	 */
	public static function tag( $callers ) {
		if ( count( $callers ) > self::MOST_OF_PAGE ) {
			return '';
		}
		$ids   = array();
		$kind  = self::kind();
		$names = self::stored( self::NAMES );
		$new   = array();
		foreach ( $callers as $name => $file ) {
			// Another content of the file is another caller.
			$is_file = '' !== $file && is_file( $file );
			$id      = substr( md5( implode( '|', array( $name, $kind, $is_file ? filemtime( $file ) : 0, $is_file ? filesize( $file ) : 0 ) ) ), 0, 12 );
			$ids[]   = $id;
			Myriad_Cache_Tags::add( 'ask.' . $id );
			if ( ! isset( $names[ $id ] ) ) {
				$new[ $id ] = $name . ' (' . $kind . ')';
			}
		}
		if ( $new ) {
			update_option( self::NAMES, array_slice( $names + $new, -self::MOST_NAMES, null, true ), false );
		}
		sort( $ids );
		return substr( md5( implode( $ids ) . (string) Myriad_Cache_Options::stored( self::EPOCH ) ), 0, 16 );
	}

	/**
	 * Returns the kind of the current page: a caller may affect one kind only.
	 *
	 * @return string
	 */
	private static function kind() {
		global $wp_query;
		foreach ( array( 'is_404', 'is_search', 'is_front_page', 'is_home', 'is_author', 'is_date' ) as $is ) {
			if ( $wp_query instanceof WP_Query && $wp_query->$is() ) {
				return substr( $is, 3 );
			}
		}
		$object = get_queried_object();
		if ( $object instanceof WP_Term ) {
			return 'terms of ' . $object->taxonomy;
		}
		return $object instanceof WP_Post ? $object->post_type : 'other';
	}

	/**
	 * Returns the callers among the tags of a page.
	 *
	 * @param string[] $tags Tags.
	 * @return string[] Empty if they are unknown.
	 */
	public static function in_tags( $tags ) {
		$prefix  = Myriad_Cache_Tags::named( 'ask.' );
		$callers = array();
		foreach ( $tags as $tag ) {
			if ( 0 === strpos( (string) $tag, $prefix ) ) {
				$callers[] = substr( (string) $tag, strlen( $prefix ) );
			}
		}
		// Tags beyond this number are not stored.
		return count( $tags ) < Myriad_Cache_Tags::MOST && array_sum( array_map( 'strlen', $tags ) ) < Myriad_Cache_Tags::MOST_BYTES ? $callers : array();
	}

	/**
	 * Returns whether a page with some of these callers, or all, differed for a class of visitors.
	 *
	 * @param string   $class   Class of visitors.
	 * @param string[] $callers Callers.
	 * @return bool
	 */
	public static function is_different( $class, $callers ) {
		$different = self::stored( self::DIFFERENT );
		foreach ( $different as $found ) {
			if ( $found['class'] === $class && ! array_diff( $found['callers'], $callers ) ) {
				return true;
			}
		}
		return count( $different ) >= self::MOST_DIFFERENT;
	}

	/**
	 * Records a page without a difference.
	 *
	 * @param array    $facts   Properties of the visitor.
	 * @param string[] $callers Callers of the page.
	 * @param string   $visitor Number of the visitor.
	 * @return bool True if all of them are without effect for the class of the visitor.
	 */
	public static function add_equal( $facts, $callers, $visitor ) {
		$class   = Myriad_Cache_Visitor::class_of( $facts );
		$equal   = self::stored( self::EQUAL );
		$before  = isset( $equal[ $class ] ) ? $equal[ $class ] : array(
			'name'    => Myriad_Cache_Visitor::name_of( $facts ),
			'callers' => array(),
		);
		$after   = $before;
		$is_done = true;
		foreach ( $callers as $caller ) {
			list( $count, $visitors ) = isset( $after['callers'][ $caller ] ) ? $after['callers'][ $caller ] : array( 0, array() );
			if ( ! self::suffices( $count, $visitors ) ) {
				$visitors = array_slice( array_unique( array_merge( $visitors, array( $visitor ) ) ), 0, self::MIN_VISITORS );

				$after['callers'][ $caller ] = array( $count + 1, $visitors );
			}
			$is_done = $is_done && self::is_done( array( $class => $after ), $class, $caller );
		}
		if ( $after !== $before ) {
			unset( $equal[ $class ] );
			$after['callers'] = array_slice( $after['callers'], -self::MOST_NAMES, null, true );
			update_option( self::EQUAL, array_slice( $equal, 1 - self::MOST_CLASSES, null, true ) + array( $class => $after ), false );
		}
		return $is_done;
	}

	/**
	 * Returns whether comparisons suffice.
	 *
	 * @param int      $count    Number of comparisons without a difference.
	 * @param string[] $visitors Different visitors of these.
	 * @return bool
	 */
	private static function suffices( $count, $visitors ) {
		return $count >= self::SINGLE_VISITOR || ( $count >= self::MIN_EQUAL && count( $visitors ) >= self::MIN_VISITORS );
	}

	/**
	 * Returns whether a caller is without effect for a class of visitors.
	 *
	 * @param array  $equal  Comparisons without a difference.
	 * @param string $class  Class of visitors.
	 * @param string $caller Caller.
	 * @return bool
	 */
	private static function is_done( $equal, $class, $caller ) {
		return isset( $equal[ $class ]['callers'][ $caller ] ) && self::suffices( ...$equal[ $class ]['callers'][ $caller ] );
	}

	/**
	 * Records a page with a difference, which must be purged. If all of its callers were without effect, other pages were permitted
	 * because of that: these are purged, too, and the comparisons start again.
	 *
	 * @param array    $facts   Properties of the visitor.
	 * @param string[] $callers Callers of the page.
	 * @param string   $text    Text of the stored page at the difference.
	 */
	public static function add_different( $facts, $callers, $text ) {
		wp_cache_delete( self::DIFFERENT, 'options' );
		$class     = Myriad_Cache_Visitor::class_of( $facts );
		$different = self::stored( self::DIFFERENT );
		$equal     = self::stored( self::EQUAL );
		$unknown   = array();
		foreach ( $callers as $caller ) {
			if ( ! self::is_done( $equal, $class, $caller ) ) {
				$unknown[] = $caller;
			}
		}
		sort( $callers );
		$different[ md5( $class . implode( $callers ) ) ] = array(
			'class'   => $class,
			'name'    => Myriad_Cache_Visitor::name_of( $facts ),
			'callers' => $callers,
			'shown'   => array_slice( $unknown ? $unknown : $callers, 0, 3 ),
			'text'    => $text,
		);
		update_option( self::DIFFERENT, $different, false );
		self::begin_epoch();
		if ( ! $unknown ) {
			$equal[ $class ]['callers'] = array_diff_key( $equal[ $class ]['callers'], array_flip( $callers ) );
			update_option( self::EQUAL, $equal, false );
			foreach ( $callers as $caller ) {
				Myriad_Cache_Queue::add( 'ask.' . $caller );
			}
		}
	}

	/**
	 * Returns lines about callers with an effect, for administrators.
	 *
	 * @param int $most Maximum number of lines.
	 * @return string[]
	 */
	public static function lines( $most = 10 ) {
		$names = self::stored( self::NAMES );
		$lines = array();
		foreach ( self::stored( self::DIFFERENT ) as $found ) {
			$known = array_intersect_key( $names, array_flip( $found['shown'] ) );
			if ( $known ) {
				/* translators: 1: places in files, such as "is_user_logged_in in themes/name/header.php:12 (post)", 2: a kind of visitors, such as "subscriber", 3: text of a page. */
				$lines[] = sprintf( __( '%1$s: the page differs for %2$s, at "%3$s"', 'myriad-cache' ), implode( ', ', $known ), $found['name'], $found['text'] );
			}
		}
		return array_slice( array_values( array_unique( $lines ) ), 0, $most );
	}
}
