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
	 * Option: a word that changes when earlier comparisons become invalid. In a network, its last part is the word of NETWORK at that time.
	 */
	const EPOCH = 'myriad_cache_epoch';

	/**
	 * Option of the network: a word that changes when the code of all sites changes.
	 */
	const NETWORK = 'myriad_cache_code';

	/**
	 * Option: callers whose pages must be purged, because they have an effect. Name of the scheduled event that purges them.
	 */
	const REVOKED = 'myriad_cache_revoked';
	const REVOKE  = 'myriad_cache_revoke';

	/**
	 * Maximum number of differences recorded in a minute, except those because of which pages must be purged. Without the
	 * limit, a visitor could cause any number, because each country or tax region that is entered in the cart is another class.
	 */
	const MOST_EACH_MINUTE = 10;

	/**
	 * Maximum number of seconds for which a request waits for another one that changes these options.
	 */
	const LOCK_TIMEOUT = 2;

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
	 * Deletes all results of the site.
	 */
	public static function reset() {
		self::begin_epoch();
		foreach ( array( self::NAMES, self::EQUAL, self::DIFFERENT, self::REVOKED ) as $option ) {
			delete_option( $option );
		}
	}

	/**
	 * Makes the results of all sites invalid. Each site of a network deletes its own when it records the next one.
	 */
	public static function reset_network() {
		if ( is_multisite() ) {
			update_site_option( self::NETWORK, bin2hex( random_bytes( 4 ) ) );
		} else {
			self::reset();
		}
	}

	/**
	 * Makes results invalid after a plugin was activated or deactivated.
	 *
	 * @param string $plugin     Plugin.
	 * @param bool   $is_network True for all sites of the network.
	 */
	public static function reset_after_plugin( $plugin, $is_network = false ) {
		if ( $is_network ) {
			self::reset_network();
		} else {
			self::reset();
		}
	}

	/**
	 * Returns the word of the network.
	 *
	 * @return string Empty without a network.
	 */
	private static function network() {
		return is_multisite() ? (string) get_site_option( self::NETWORK, '' ) : '';
	}

	/**
	 * Returns whether the results of the site are of the present code of the network.
	 *
	 * @return bool
	 */
	private static function is_current() {
		$parts = explode( '-', (string) Myriad_Cache_Options::stored( self::EPOCH ) );
		return ( isset( $parts[1] ) ? $parts[1] : '' ) === self::network();
	}

	/**
	 * Makes earlier comparisons invalid for pages that are generated from now on.
	 */
	private static function begin_epoch() {
		$network = self::network();
		update_option( self::EPOCH, time() . bin2hex( random_bytes( 4 ) ) . ( '' === $network ? '' : '-' . $network ), true );
	}

	/**
	 * Makes earlier comparisons invalid, if the last time is at least a minute ago.
	 *
	 * @return bool False if it is not.
	 */
	public static function begin_epoch_at_most_each_minute() {
		return self::locked(
			static function ( $is_locked ) {
				global $wpdb;
				// phpcs:ignore WordPress.DB -- another request may have changed it.
				$epoch = (string) $wpdb->get_var( $wpdb->prepare( "SELECT option_value FROM {$wpdb->options} WHERE option_name = %s", self::EPOCH ) );
				if ( ! $is_locked || time() - (int) substr( $epoch, 0, 10 ) < MINUTE_IN_SECONDS ) {
					return false;
				}
				self::begin_epoch();
				return true;
			}
		);
	}

	/**
	 * Runs a function while no other request changes the options of this class.
	 *
	 * @param callable(bool): mixed $run Function; its argument is false if the database has not granted the lock.
	 * @return mixed Result of the function.
	 */
	private static function locked( $run ) {
		global $wpdb;
		$lock    = 'myriad-' . md5( DB_NAME . $wpdb->prefix );
		$noting  = Myriad_Cache_Reads::pause_noting();
		$granted = '1' === (string) $wpdb->get_var( $wpdb->prepare( 'SELECT GET_LOCK(%s, %d)', $lock, self::LOCK_TIMEOUT ) ); // phpcs:ignore WordPress.DB -- there is no function for it.
		try {
			foreach ( array( self::EQUAL, self::DIFFERENT, self::REVOKED, 'notoptions' ) as $option ) {
				wp_cache_delete( $option, 'options' );
			}
			if ( ! self::is_current() ) {
				self::reset();
			}
			return $run( $granted );
		} finally {
			if ( $granted ) {
				$wpdb->get_var( $wpdb->prepare( 'SELECT RELEASE_LOCK(%s)', $lock ) ); // phpcs:ignore WordPress.DB -- as above.
			}
			Myriad_Cache_Reads::continue_noting( $noting );
		}
	}

	/**
	 * Returns the value of an option, which is an array.
	 *
	 * @param string $name Name.
	 * @return array Empty also if its results are of an earlier code of the network.
	 */
	private static function stored( $name ) {
		$value = self::is_current() ? Myriad_Cache_Options::stored( $name ) : null;
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
		return substr( md5( implode( $ids ) . (string) Myriad_Cache_Options::stored( self::EPOCH ) . self::network() ), 0, 16 );
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
		$class = Myriad_Cache_Visitor::class_of( $facts );
		$equal = self::stored( self::EQUAL );
		foreach ( $callers as $caller ) {
			if ( ! self::is_done( $equal, $class, $caller ) ) {
				return self::locked(
					static function ( $is_locked ) use ( $facts, $callers, $visitor ) {
						return $is_locked && self::store_equal( $facts, $callers, $visitor );
					}
				);
			}
		}
		return true;
	}

	/**
	 * Stores a page without a difference; see add_equal().
	 *
	 * @param array    $facts   Properties of the visitor.
	 * @param string[] $callers Callers of the page.
	 * @param string   $visitor Number of the visitor.
	 * @return bool
	 */
	private static function store_equal( $facts, $callers, $visitor ) {
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
	 * Records a page with a difference. If all of its callers were without effect, other pages were permitted because of that: these are purged,
	 * too, and the comparisons start again. Both happen at most each minute, because visitors can cause differences.
	 *
	 * @param array    $facts   Properties of the visitor.
	 * @param string[] $callers Callers of the page.
	 * @param string   $text    Text of the stored page at the difference.
	 * @return bool True if the page must be purged; false if too many differences were recorded within the last minute.
	 */
	public static function add_different( $facts, $callers, $text ) {
		$is_added = self::locked(
			static function () use ( $facts, $callers, $text ) {
				return self::store_different( $facts, $callers, $text );
			}
		);
		if ( ! $is_added ) {
			return false;
		}
		if ( self::begin_epoch_at_most_each_minute() ) {
			self::purge_revoked();
		} elseif ( ! wp_next_scheduled( self::REVOKE ) ) {
			wp_schedule_single_event( time() + MINUTE_IN_SECONDS, self::REVOKE );
		}
		return true;
	}

	/**
	 * Stores a page with a difference.
	 *
	 * @param array    $facts   Properties of the visitor.
	 * @param string[] $callers Callers of the page.
	 * @param string   $text    Text of the stored page at the difference.
	 * @return bool False if too many differences were recorded within the last minute.
	 */
	private static function store_different( $facts, $callers, $text ) {
		$class     = Myriad_Cache_Visitor::class_of( $facts );
		$different = self::stored( self::DIFFERENT );
		$equal     = self::stored( self::EQUAL );
		$unknown   = array();
		foreach ( $callers as $caller ) {
			if ( ! self::is_done( $equal, $class, $caller ) ) {
				$unknown[] = $caller;
			}
		}
		$recent = array_filter(
			$different,
			static function ( $found ) {
				return isset( $found['at'] ) && time() - $found['at'] < MINUTE_IN_SECONDS;
			}
		);
		if ( $unknown && count( $recent ) >= self::MOST_EACH_MINUTE ) {
			return false;
		}
		sort( $callers );
		$different[ md5( $class . implode( $callers ) ) ] = array(
			'class'   => $class,
			'name'    => Myriad_Cache_Visitor::name_of( $facts ),
			'callers' => $callers,
			'shown'   => array_slice( $unknown ? $unknown : $callers, 0, 3 ),
			'text'    => $text,
			'at'      => time(),
		);
		update_option( self::DIFFERENT, $different, false );
		if ( ! $unknown ) {
			$equal[ $class ]['callers'] = array_diff_key( $equal[ $class ]['callers'], array_flip( $callers ) );
			update_option( self::EQUAL, $equal, false );
			update_option( self::REVOKED, array_values( array_unique( array_merge( self::stored( self::REVOKED ), $callers ) ) ), false );
		}
		return true;
	}

	/**
	 * Purges the pages with callers that have an effect, and makes earlier comparisons invalid: a scheduled event, if this happened less than a
	 * minute before the difference.
	 */
	public static function revoke() {
		self::begin_epoch();
		self::purge_revoked();
	}

	/**
	 * Purges the pages with callers that have an effect.
	 */
	private static function purge_revoked() {
		$callers = self::locked(
			static function () {
				$revoked = self::stored( self::REVOKED );
				delete_option( self::REVOKED );
				return $revoked;
			}
		);
		foreach ( $callers as $caller ) {
			Myriad_Cache_Queue::add( 'ask.' . $caller );
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
