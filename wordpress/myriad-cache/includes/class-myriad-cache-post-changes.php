<?php
/**
 * Changes of posts of all types, and the affected tags.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Each method handles one action of WordPress.
 */
class Myriad_Cache_Post_Changes {

	/**
	 * Fields of posts that appear on no page.
	 */
	const INNER_META = '/^_(?:edit_|pingme$|encloseme$|wp_old_|wp_trash_|wp_desired_|oembed_|menu_item_)/';

	/**
	 * Maximum number of changed fields whose values before the change are recorded.
	 */
	const MOST_META = 2000;

	/**
	 * Values of a field before the change that is in progress.
	 *
	 * @var array|null
	 */
	private static $meta_before = null;

	/**
	 * Changed fields: site, post, name, and values before the first change.
	 *
	 * @var array<string, array{0: int, 1: int, 2: string, 3: array}>
	 */
	private static $meta = array();

	/**
	 * Registers the actions.
	 */
	public static function start() {
		Myriad_Cache_Hooks::add( 'transition_post_status', array( __CLASS__, 'post_status' ), 10, 3 );
		Myriad_Cache_Hooks::add( 'post_updated', array( __CLASS__, 'post_updated' ), 10, 3 );
		Myriad_Cache_Hooks::add( 'add_attachment', array( __CLASS__, 'attachment' ) );
		Myriad_Cache_Hooks::add( 'edit_attachment', array( __CLASS__, 'attachment' ) );
		Myriad_Cache_Hooks::add( array( 'added_post_meta', 'updated_post_meta', 'deleted_post_meta' ), array( __CLASS__, 'post_meta' ), 10, 3 );
	}

	/**
	 * Returns whether posts of a status are visible.
	 *
	 * @param string $status Status.
	 * @return bool
	 */
	public static function is_shown( $status ) {
		$known = get_post_status_object( $status );
		return 'inherit' === $status || ( $known && $known->public );
	}

	/**
	 * Adds the tags of a part of the site that WordPress stores as a post.
	 *
	 * @param WP_Post $post Post.
	 * @return bool True if the post is such a part.
	 */
	public static function is_part( $post ) {
		switch ( $post->post_type ) {
			case 'wp_template':
				Myriad_Cache_Queue::add( 'tpl' . $post->post_name );
				return true;
			case 'wp_template_part':
				Myriad_Cache_Queue::add( 'part' . $post->post_name );
				return true;
			case 'wp_global_styles':
			case 'custom_css':
				Myriad_Cache_Queue::add( 's' );
				return true;
			case 'nav_menu_item':
				foreach ( (array) wp_get_object_terms( $post->ID, 'nav_menu', array( 'fields' => 'ids' ) ) as $menu_id ) {
					Myriad_Cache_Term_Changes::menu( $menu_id );
				}
				return true;
			default:
				return in_array( $post->post_type, Myriad_Cache_Tags::INNER_TYPES, true );
		}
	}

	/**
	 * Handles a status of a post, which may be unchanged.
	 *
	 * @param string  $status New status.
	 * @param string  $before Old status.
	 * @param WP_Post $post   Post.
	 */
	public static function post_status( $status, $before, $post ) {
		$is  = self::is_shown( $status );
		$was = self::is_shown( $before ) && 'new' !== $before;
		if ( ( ! $is && ! $was ) || self::is_part( $post ) ) {
			return;
		}
		if ( $status === $before ) {
			Myriad_Cache_Queue::add( 'p' . $post->ID );
		} else {
			Myriad_Cache_Queue::add_post( $post->ID ); // Class names contain the status.
		}
		if ( $is !== $was ) {
			Myriad_Cache_Queue::add_member( $post );
			Myriad_Cache_Queue::add( 'cp' . $post->ID );
		}
		if ( $is && ! $was ) {
			// Its comments appear in lists of comments of all posts, and feeds contain the time of the last change.
			self::last_change( $post );
			if ( $post->comment_count > 0 ) {
				Myriad_Cache_Queue::add( 'c' );
			}
		}
	}

	/**
	 * Handles a changed post.
	 *
	 * @param int     $post_id Post.
	 * @param WP_Post $after   State after the change.
	 * @param WP_Post $before  State before the change.
	 */
	public static function post_updated( $post_id, $after, $before ) {
		if ( ! self::is_shown( $before->post_status ) || in_array( $after->post_type, Myriad_Cache_Tags::INNER_TYPES, true ) ) {
			return;
		}
		if ( ! self::is_shown( $after->post_status ) ) {
			self::last_change( $before );
			return;
		}
		foreach ( array( 'post_title', 'post_name', 'post_parent', 'post_date', 'post_author', 'post_type', 'post_status', 'post_password', 'menu_order' ) as $field ) {
			if ( $after->$field !== $before->$field ) {
				Myriad_Cache_Queue::add( 'pt' . $post_id );
				break;
			}
		}
		foreach ( Myriad_Cache_Lists::COLUMNS as $column => $field ) {
			if ( (string) $after->$column !== (string) $before->$column ) {
				Myriad_Cache_Queue::add_fields( $post_id, $field );
			}
		}
		self::last_change( $before );
		self::last_change( $after );
		if ( $after->post_date !== $before->post_date || $after->post_author !== $before->post_author || $after->post_type !== $before->post_type ) {
			Myriad_Cache_Queue::add_member( $before );
			Myriad_Cache_Queue::add_member( $after );
		}
		if ( $after->post_password !== $before->post_password ) {
			// Its comments are no longer listed, or are listed again.
			Myriad_Cache_Queue::add( '' === $after->post_password ? 'c' : 'cp' . $post_id );
		}
		$is_moved = $after->post_name !== $before->post_name || $after->post_parent !== $before->post_parent;
		if ( $is_moved ) {
			Myriad_Cache_Queue::add_url( get_permalink( $after ) );
			Myriad_Cache_Queue::add( 'smposts' . $after->post_type );
		} elseif ( version_compare( get_bloginfo( 'version' ), '6.5', '>=' ) ) {
			// Since WordPress 6.5, sitemaps contain the time of the last change.
			Myriad_Cache_Queue::add( 'smposts' . $after->post_type );
		}
		if ( is_post_type_hierarchical( $after->post_type ) && ( $is_moved || $after->post_title !== $before->post_title || $after->menu_order !== $before->menu_order ) ) {
			Myriad_Cache_Queue::add( 'l' . $after->post_type, 'lany', 'lc' . $before->post_parent, 'lc' . $after->post_parent );
			foreach ( $is_moved ? get_pages( array( 'child_of' => $post_id, 'post_type' => $after->post_type ) ) : array() as $below ) { // phpcs:ignore WordPress.Arrays.ArrayDeclarationSpacing.AssociativeArrayFound
				Myriad_Cache_Queue::add( 'p' . $below->ID, 'pt' . $below->ID );
			}
		}
	}

	/**
	 * Handles a post that is about to be deleted.
	 *
	 * @param int $post_id Post.
	 */
	public static function post_deleted( $post_id ) {
		$post = get_post( $post_id );
		if ( $post && self::is_shown( $post->post_status ) && ! self::is_part( $post ) ) {
			self::last_change( $post );
			Myriad_Cache_Queue::add_member( $post );
		}
	}

	/**
	 * Adds the tag for the time of the last change, if the post may be the last changed post.
	 *
	 * @param WP_Post $post Post, before or after the change.
	 */
	private static function last_change( $post ) {
		global $wpdb;
		// phpcs:ignore WordPress.DB -- WordPress's cached value is older than the change.
		$last = (string) $wpdb->get_var( $wpdb->prepare( "SELECT MAX(post_modified_gmt) FROM {$wpdb->posts} WHERE post_status = 'publish' AND ID <> %d", $post->ID ) );
		if ( max( $post->post_modified_gmt, $post->post_date_gmt ) >= $last ) {
			Myriad_Cache_Queue::add( 'mod' );
		}
	}

	/**
	 * Handles a file of the media library.
	 *
	 * @param int $post_id Post.
	 */
	public static function attachment( $post_id ) {
		Myriad_Cache_Queue::add( 'p' . (int) $post_id );
	}

	/**
	 * Handles a changed field of a post.
	 *
	 * @param int|int[] $meta_id Field.
	 * @param int       $post_id Post.
	 * @param string    $name    Name of the field.
	 */
	public static function post_meta( $meta_id, $post_id, $name ) {
		Myriad_Cache_Times::forget_field( (string) $name );
		$before = self::$meta_before;

		self::$meta_before = null;
		if ( ! $post_id || preg_match( self::INNER_META, $name ) || ! self::is_shown( (string) get_post_status( $post_id ) ) || Myriad_Cache_Stock::is_field( $post_id, $name ) ) {
			return;
		}
		if ( null === $before || count( self::$meta ) >= self::MOST_META ) {
			self::meta_changed( $post_id, $name );
			return;
		}
		$key = get_current_blog_id() . ' ' . $post_id . ' ' . $name;
		if ( ! isset( self::$meta[ $key ] ) ) {
			self::$meta[ $key ] = array( get_current_blog_id(), (int) $post_id, $name, $before );
		}
		Myriad_Cache_Queue::arrange();
	}

	/**
	 * Records the values of a field before it changes.
	 *
	 * @param int    $post_id Post.
	 * @param string $name    Name of the field.
	 */
	private static function note_before( $post_id, $name ) {
		self::$meta_before = get_post_meta( $post_id, $name, false );
	}

	/**
	 * Records the values of a field before one is added.
	 *
	 * @param int    $post_id Post.
	 * @param string $name    Name of the field.
	 */
	public static function before_meta_added( $post_id, $name ) {
		self::note_before( $post_id, $name );
	}

	/**
	 * Records the values of a field before one changes or is deleted.
	 *
	 * @param int|int[] $meta_id Field.
	 * @param int       $post_id Post; 0 if the field of several posts is deleted.
	 * @param string    $name    Name of the field.
	 */
	public static function before_meta( $meta_id, $post_id, $name ) {
		if ( $post_id ) {
			self::note_before( $post_id, $name );
		} elseif ( ! preg_match( self::INNER_META, $name ) ) {
			self::before_meta_of_posts( $meta_id, $name );
		}
	}

	/**
	 * Records the values of a field before it is deleted from several posts, and its changes: the action after that names no post. WordPress
	 * deletes pictures of posts in this way, together with the file.
	 *
	 * @param int|int[] $meta_ids Fields.
	 * @param string    $name     Name of the field.
	 */
	private static function before_meta_of_posts( $meta_ids, $name ) {
		$post_ids = Myriad_Cache_Changes::objects_of_meta( 'post', $meta_ids );
		update_meta_cache( 'post', $post_ids );
		foreach ( $post_ids as $post_id ) {
			self::note_before( $post_id, $name );
			self::post_meta( 0, $post_id, $name );
		}
	}

	/**
	 * Adds the tags of a changed field.
	 *
	 * @param int    $post_id Post.
	 * @param string $name    Name of the field.
	 */
	private static function meta_changed( $post_id, $name ) {
		// Class names of posts contain whether there is a picture.
		if ( '_thumbnail_id' === $name ) {
			Myriad_Cache_Queue::add_post( $post_id );
		} else {
			Myriad_Cache_Queue::add( 'p' . (int) $post_id );
		}
		Myriad_Cache_Queue::add_fields( $post_id, 'meta', 'meta-' . Myriad_Cache_Tags::field( $name ) );
	}

	/**
	 * Adds the tags of the fields whose values differ from those before the request. Plugins delete fields and add them again with the same
	 * values.
	 */
	public static function resolve() {
		$meta       = self::$meta;
		self::$meta = array();
		$visit      = $meta ? Myriad_Cache_Actor::visit() : '';
		foreach ( $meta as list( $blog_id, $post_id, $name, $before ) ) {
			$is_other = is_multisite() && get_current_blog_id() !== $blog_id;
			if ( $is_other ) {
				switch_to_blog( $blog_id );
			}
			if ( maybe_serialize( get_post_meta( $post_id, $name, false ) ) !== maybe_serialize( $before ) && ! Myriad_Cache_Writes::is_noise( $name, $visit ) ) {
				self::meta_changed( $post_id, $name );
			}
			if ( $is_other ) {
				restore_current_blog();
			}
		}
	}
}
