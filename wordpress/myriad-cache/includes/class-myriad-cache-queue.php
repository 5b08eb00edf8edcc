<?php
/**
 * Tags and addresses that are purged after the request.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Collects changes, and purges them with one request to Myriad before the response is sent, and another one for later changes.
 */
class Myriad_Cache_Queue {

	/**
	 * Option with the tags and addresses that could not be purged yet.
	 */
	const PENDING = 'myriad_cache_pending';

	/**
	 * Option with the result of the last purge.
	 */
	const LAST = 'myriad_cache_last';

	/**
	 * Maximum number of tags and addresses; a larger number purges the whole site.
	 */
	const MOST = 5000;

	/**
	 * Maximum number of tags in one purge. A page with several of them is counted once.
	 */
	const AT_ONCE = 400;

	/**
	 * Seconds between two attempts to repeat a failed purge.
	 */
	const RETRY = 10;

	/**
	 * Tags in Myriad's format, as keys.
	 *
	 * @var array<string, true>
	 */
	private static $tags = array();

	/**
	 * Addresses, as keys.
	 *
	 * @var array<string, true>
	 */
	private static $urls = array();

	/**
	 * Posts that are added to lists or removed from them, by site and number: their data before and after the change.
	 *
	 * @var array<int, array<int, array>>
	 */
	private static $posts = array();

	/**
	 * True if pages are removed completely, and are not used when PHP fails.
	 *
	 * @var bool
	 */
	private static $is_hard = false;

	/**
	 * True if all pages of the zone are purged.
	 *
	 * @var bool
	 */
	private static $is_zone = false;

	/**
	 * Changed fields of posts, as keys, by site and number of the post. The names are those of tags of lists.
	 *
	 * @var array<int, array<int, array<string, true>>>
	 */
	private static $fields = array();

	/**
	 * True if the last purge of this request failed.
	 *
	 * @var bool
	 */
	private static $has_failed = false;

	/**
	 * True after the last purge of the request. Then PHP may have destroyed the connection to the database.
	 *
	 * @var bool
	 */
	private static $is_finished = false;

	/**
	 * True if the purges are registered.
	 *
	 * @var bool
	 */
	private static $is_arranged = false;

	/**
	 * Adds tags.
	 *
	 * @param string ...$tags Tags without the site number.
	 */
	public static function add( ...$tags ) {
		foreach ( $tags as $tag ) {
			$all = Myriad_Cache_Tags::of_all( $tag );

			self::$tags[ Myriad_Cache_Tags::named( $tag ) ] = true;
			// Lists of the titles of many objects contain only hierarchical posts. The type of a deleted post is unknown.
			$type = 'pt.all' === $all ? (string) get_post_type( (int) substr( $tag, 2 ) ) : '';
			if ( '' !== $all && ( '' === $type || is_post_type_hierarchical( $type ) ) ) {
				self::$tags[ Myriad_Cache_Tags::named( $all ) ] = true;
			}
		}
		self::arrange();
	}

	/**
	 * Adds the tags of a post whose class names may have changed: they contain its terms, for example.
	 *
	 * @param int $post_id Post.
	 */
	public static function add_post( $post_id ) {
		self::add( 'p' . (int) $post_id, 'pc' . (int) $post_id );
	}

	/**
	 * Adds a tag with its site number.
	 *
	 * @param string $tag Tag in Myriad's format.
	 */
	public static function add_named( $tag ) {
		self::$tags[ $tag ] = true;
		self::arrange();
	}

	/**
	 * Removes all pages of the site, because an administrator requested it: no stale page is shown afterwards, even if PHP fails.
	 */
	public static function add_all() {
		self::$is_hard = true;
		self::add( 's' );
		if ( ! is_multisite() ) {
			self::add_zone();
		}
	}

	/**
	 * Adds all pages of Myriad's zone, also those without tags. The sites of a network share a zone.
	 */
	public static function add_zone() {
		self::$is_zone = true;
		self::add( 's' );
	}

	/**
	 * Adds all pages of the network, or of the site if there is no network.
	 */
	public static function add_network() {
		self::$tags[ is_multisite() ? Myriad_Cache_Tags::NETWORK : Myriad_Cache_Tags::named( 's' ) ] = true;
		self::arrange();
	}

	/**
	 * Adds an address.
	 *
	 * @param string|WP_Error|false $url Address.
	 */
	public static function add_url( $url ) {
		if ( is_string( $url ) && '' !== $url ) {
			self::$urls[ self::plain( $url ) ] = true;
			self::arrange();
		}
	}

	/**
	 * Returns an address without query and fragment, which covers all queries.
	 *
	 * @param string $url Address.
	 * @return string
	 */
	private static function plain( $url ) {
		$url = preg_replace( '/#.*$/', '', $url );
		// Without permalinks, the query selects the page.
		return preg_match( '/[?&](?:p|page_id|attachment_id|cat|author|tag|m)=/', $url ) ? $url : preg_replace( '/\?.*$/', '', $url );
	}

	/**
	 * Adds a post that is added to lists or removed from them. It may be called before and after a change.
	 *
	 * @param WP_Post $post  Post.
	 * @param int[]   $terms Additional terms, which it may have lost.
	 */
	public static function add_member( $post, $terms = array() ) {
		$known = isset( self::$posts[ get_current_blog_id() ][ $post->ID ] ) ? self::$posts[ get_current_blog_id() ][ $post->ID ] : array(
			'type'    => $post->post_type,
			'terms'   => array(),
			'authors' => array(),
			'dates'   => array(),
		);

		$known['terms']     = array_unique( array_merge( $known['terms'], $terms, self::terms_of( $post ) ) );
		$known['authors'][] = (int) $post->post_author;
		$known['dates'][]   = $post->post_date;

		self::$posts[ get_current_blog_id() ][ $post->ID ] = $known;
		self::add( 'lc' . $post->post_parent );
	}

	/**
	 * Adds changed fields of a post, for the lists that depend on them.
	 *
	 * @param int    $post_id   Post.
	 * @param string ...$fields Fields, by their names in tags of lists.
	 */
	public static function add_fields( $post_id, ...$fields ) {
		foreach ( $fields as $field ) {
			self::$fields[ get_current_blog_id() ][ (int) $post_id ][ $field ] = true;
		}
		self::arrange();
	}

	/**
	 * Registers the purges: before the header of the response is sent, so that a client that has the response finds no older page, and
	 * during shutdown, for later changes.
	 */
	public static function arrange() {
		Myriad_Cache_Watch::begin();
		if ( ! self::$is_arranged ) {
			self::$is_arranged = true;
			add_action( 'shutdown', array( __CLASS__, 'finish' ), PHP_INT_MAX );
			Myriad_Cache_Header::before( array( __CLASS__, 'before_header' ) );
		}
	}

	/**
	 * Purges before the header of the response is sent. Changes after it are purged during shutdown.
	 */
	public static function before_header() {
		if ( did_action( 'init' ) && ! self::$is_finished && self::may_send() ) {
			self::flush();
		}
	}

	/**
	 * Purges before cron runs the next task, which may take minutes.
	 *
	 * @param mixed $result Result of the filter.
	 * @return mixed
	 */
	public static function before_job( $result ) {
		if ( self::$is_arranged && self::may_send() ) {
			self::flush();
		}
		return $result;
	}

	/**
	 * Repeats a failed purge, if the last attempt is at least RETRY seconds old.
	 */
	public static function retry() {
		$pending = get_option( self::PENDING );
		if ( is_array( $pending ) && isset( $pending['tried'] ) && time() - $pending['tried'] >= self::RETRY ) {
			self::arrange();
		}
	}

	/**
	 * Purges during shutdown. The response is complete only afterwards.
	 */
	public static function finish() {
		if ( self::may_send() ) {
			self::flush();
		}
		Myriad_Cache_Watch::finish();
		self::$is_finished = true;
	}

	/**
	 * Returns whether the queue may be sent now. A visitor waits for a failed purge only once in RETRY seconds.
	 *
	 * @return bool False if the last attempt has just failed, and the request only writes what visits write. Then the tags are stored.
	 */
	private static function may_send() {
		$pending = get_option( self::PENDING );
		$is_down = is_array( $pending ) && isset( $pending['tried'] ) && time() - $pending['tried'] < self::RETRY;
		if ( ! $is_down || ( ! self::$has_failed && '' === Myriad_Cache_Actor::visit() ) ) {
			return true;
		}
		list( $pending['tags'], $pending['urls'] ) = self::take( $pending );

		$pending['hard'] = self::$is_hard || ! empty( $pending['hard'] );
		$pending['zone'] = self::$is_zone || ! empty( $pending['zone'] );
		update_option( self::PENDING, $pending, true );
		return false;
	}

	/**
	 * Purges all collected tags and addresses.
	 *
	 * @return array|WP_Error Result: `pages`, the number of purged pages; `receipts`, the nodes of a cluster that have confirmed the purge
	 *                        (empty without a cluster); `id`, which distinguishes purges.
	 */
	public static function flush() {
		$pending = get_option( self::PENDING );
		$pending = is_array( $pending ) ? $pending : array();

		list( $tags, $urls ) = self::take( $pending );

		self::$is_hard = self::$is_hard || ! empty( $pending['hard'] );
		self::$is_zone = self::$is_zone || ! empty( $pending['zone'] );
		if ( ! $tags && ! $urls ) {
			return array(
				'pages'    => 0,
				'receipts' => '',
				'id'       => '',
			);
		}
		$told = self::send( $tags, $urls );

		self::$has_failed = is_wp_error( $told );
		self::keep( $told, $tags, $urls, (bool) $pending );
		self::$is_hard = false;
		self::$is_zone = false;
		return $told;
	}

	/**
	 * Removes all tags and addresses from the queue.
	 *
	 * @param array $pending Failed purge, whose tags and addresses are added.
	 * @return array{0: string[], 1: string[]} Tags and addresses; only the tag of the site or network if there are more than MOST.
	 */
	private static function take( $pending ) {
		Myriad_Cache_Files::resolve();
		Myriad_Cache_Writes::resolve();
		Myriad_Cache_Direct_Writes::resolve();
		Myriad_Cache_Values::resolve();
		Myriad_Cache_Post_Changes::resolve();
		self::resolve();
		$tags = array_map( 'strval', array_keys( self::$tags ) );
		$urls = array_map( 'strval', array_keys( self::$urls ) );
		if ( $tags ) {
			Myriad_Cache_Options::forget_pages();
		}
		$tags = array_unique( array_merge( $tags, isset( $pending['tags'] ) ? (array) $pending['tags'] : array() ) );
		$urls = array_unique( array_merge( $urls, isset( $pending['urls'] ) ? (array) $pending['urls'] : array() ) );

		self::$tags = array();
		self::$urls = array();
		if ( count( $tags ) + count( $urls ) > self::MOST ) {
			return array( array( is_multisite() ? Myriad_Cache_Tags::NETWORK : Myriad_Cache_Tags::named( 's' ) ), array() );
		}
		return array( array_values( $tags ), array_values( $urls ) );
	}

	/**
	 * Sends a purge to Myriad.
	 *
	 * @param string[] $tags Tags.
	 * @param string[] $urls Addresses.
	 * @return array|WP_Error
	 */
	private static function send( $tags, $urls ) {
		$body = array(
			'urls' => $urls,
			'tags' => array(),
		);
		foreach ( array_chunk( $tags, self::AT_ONCE ) as $some ) {
			$body['tags'][] = implode( ' ', $some );
		}
		if ( self::$is_zone ) {
			$body['all'] = true; // The tags count the pages.
		}
		if ( ! self::$is_hard ) {
			// The pages remain for failures of PHP; with `soft`, the next visitor also gets the old page.
			$body[ get_option( 'myriad_cache_mode', 'invalidate' ) === 'stale' ? 'soft' : 'invalidate' ] = true;
		}

		$told = Myriad_Cache_Client::ask( 'POST', 'purge', $body );
		if ( is_wp_error( $told ) ) {
			return $told;
		}
		$purges = isset( $told['purges'] ) ? (array) $told['purges'] : array();
		$pages  = 0;
		foreach ( $purges as $purge ) {
			$pages += isset( $purge['purged'] ) ? (int) $purge['purged'] : 0;
		}
		return array(
			'pages'    => $pages,
			'receipts' => self::receipts( $purges ),
			'id'       => wp_generate_uuid4(),
		);
	}

	/**
	 * Returns the receipts of the nodes of a cluster for purges that were sent together, such as "applied on 3 of 3 nodes in 4 ms".
	 *
	 * @param array[] $purges Results of the purges.
	 * @return string Receipts of the purge with the fewest; empty without a cluster.
	 */
	private static function receipts( $purges ) {
		$fewest = array();
		foreach ( array_column( $purges, 'cluster' ) as $receipts ) {
			if ( isset( $receipts['applied'], $receipts['text'] ) && ( ! $fewest || count( $receipts['applied'] ) < count( $fewest['applied'] ) ) ) {
				$fewest = $receipts;
			}
		}
		return $fewest ? sanitize_text_field( $fewest['text'] ) : '';
	}

	/**
	 * Stores the result of a purge, and its tags and addresses if it failed.
	 *
	 * @param array|WP_Error $result      Result.
	 * @param string[]       $tags        Tags.
	 * @param string[]       $urls        Addresses.
	 * @param bool           $was_pending True if an earlier purge was pending.
	 */
	private static function keep( $result, $tags, $urls, $was_pending ) {
		$last = array(
			'time'     => time(),
			'pages'    => is_wp_error( $result ) ? 0 : $result['pages'],
			'error'    => is_wp_error( $result ) ? $result->get_error_message() : '',
			'receipts' => is_wp_error( $result ) ? '' : $result['receipts'],
			'id'       => is_wp_error( $result ) ? '' : $result['id'],
		);
		update_option( self::LAST, $last, false );
		if ( is_wp_error( $result ) && 'myriad_cache_unconnected' !== $result->get_error_code() ) {
			$pending = array(
				'tags'  => $tags,
				'urls'  => $urls,
				'hard'  => self::$is_hard,
				'zone'  => self::$is_zone,
				'tried' => time(),
			);
			update_option( self::PENDING, $pending, true );
		} elseif ( $was_pending ) {
			delete_option( self::PENDING );
		}
	}

	/**
	 * Adds the receipts of the nodes of a cluster to the text about a purge.
	 *
	 * @param string $text     Text.
	 * @param string $receipts Receipts; empty without a cluster.
	 * @return string
	 */
	public static function with_receipts( $text, $receipts ) {
		return '' === $receipts ? $text : $text . ' (' . $receipts . ')';
	}

	/**
	 * Adds the tags of lists that posts were added to, removed from or moved in.
	 */
	private static function resolve() {
		$posts        = self::$posts;
		$fields       = self::$fields;
		self::$posts  = array();
		self::$fields = array();
		foreach ( array_unique( array_merge( array_keys( $posts ), array_keys( $fields ) ) ) as $blog_id ) {
			$is_other = is_multisite() && get_current_blog_id() !== $blog_id;
			if ( $is_other ) {
				switch_to_blog( $blog_id );
			}
			foreach ( isset( $posts[ $blog_id ] ) ? $posts[ $blog_id ] : array() as $post_id => $known ) {
				self::resolve_post( $post_id, $known );
			}
			foreach ( isset( $fields[ $blog_id ] ) ? $fields[ $blog_id ] : array() as $post_id => $changed ) {
				self::resolve_fields( $post_id, array_keys( $changed ) );
			}
			if ( $is_other ) {
				restore_current_blog();
			}
		}
	}

	/**
	 * Adds the tags of lists that depend on fields of a post.
	 *
	 * @param int      $post_id Post.
	 * @param string[] $fields  Changed fields.
	 */
	private static function resolve_fields( $post_id, $fields ) {
		$post = get_post( $post_id );
		if ( $post && Myriad_Cache_Post_Changes::is_shown( $post->post_status ) ) {
			$known = array(
				'type'    => $post->post_type,
				'terms'   => self::terms_of( $post ),
				'authors' => array( (int) $post->post_author ),
				'dates'   => array( $post->post_date ),
			);
			self::add( ...Myriad_Cache_Lists::of_fields( array_map( 'strval', $fields ), $known ) );
		}
	}

	/**
	 * Returns the terms of a post.
	 *
	 * @param WP_Post $post Post.
	 * @return int[]
	 */
	private static function terms_of( $post ) {
		$terms = wp_get_object_terms( $post->ID, get_object_taxonomies( $post->post_type ), array( 'fields' => 'ids' ) );
		return is_array( $terms ) ? $terms : array();
	}

	/**
	 * Adds the tags of one post.
	 *
	 * @param int   $post_id Post.
	 * @param array $known   Data of the post before the change.
	 */
	private static function resolve_post( $post_id, $known ) {
		$post = get_post( $post_id );
		if ( $post ) {
			$known['terms']     = array_unique( array_merge( $known['terms'], self::terms_of( $post ) ) );
			$known['authors'][] = (int) $post->post_author;
			$known['dates'][]   = $post->post_date;
			if ( 'publish' === $post->post_status ) {
				self::add_url( get_permalink( $post ) );
				self::add_url( get_post_comments_feed_link( $post_id ) );
			}
		}
		self::add( ...Myriad_Cache_Lists::of_change( $post_id, $known ) );
		self::add( 'p' . $post_id, 'pt' . $post_id, 'adj' );
		foreach ( array_unique( $known['dates'] ) as $date ) {
			foreach ( Myriad_Cache_Lists::neighbours( $post_id, $known['type'], $date ) as $neighbour ) {
				self::add( 'adj' . $neighbour );
			}
		}
		self::add( ...self::sitemaps( $known ) );
	}

	/**
	 * Returns the tags of sitemaps that contain the post, of the sitemap of authors if it may be an author's only post,
	 * and of the index if a sitemap may be added or removed.
	 *
	 * @param array $known Data of the post.
	 * @return string[]
	 */
	private static function sitemaps( $known ) {
		$counts = wp_count_posts( $known['type'] );
		$count  = isset( $counts->publish ) ? (int) $counts->publish : 0;
		$tags   = array( 'smposts' . $known['type'] );
		if ( $count % 2000 <= 1 ) {
			$tags[] = 'smindex';
		}
		foreach ( array_unique( $known['authors'] ) as $author ) {
			if ( count_user_posts( $author, array( 'post', 'page' ), true ) <= 1 ) {
				$tags[] = 'smusers';
				$tags[] = 'smindex';
			}
		}
		return $tags;
	}
}
