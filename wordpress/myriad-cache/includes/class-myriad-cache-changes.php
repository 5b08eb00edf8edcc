<?php
/**
 * Changes of the site, and the tags that they concern.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Listens to what changes. Each method is for one action of WordPress or WooCommerce.
 */
class Myriad_Cache_Changes {

	/**
	 * Options that are of the site as a whole.
	 */
	const SITE_OPTIONS = array(
		'siteurl',
		'home',
		'stylesheet',
		'template',
		'active_plugins',
		'show_on_front',
		'page_on_front',
		'page_for_posts',
		'posts_per_page',
		'permalink_structure',
		'category_base',
		'tag_base',
		'WPLANG',
		'timezone_string',
		'gmt_offset',
		'users_can_register',
		'blog_public',
		'blog_charset',
		'site_logo',
		'link_manager_enabled',
		'use_smilies',
		'thumbnail_size_w',
		'medium_size_w',
		'large_size_w',
	);

	/**
	 * Options that show nowhere: notes that WordPress and plugins keep for themselves.
	 */
	const INNER_OPTIONS = '/^(?:_transient_|_site_transient_|cron$|rewrite_rules$|recently_|auto_|can_compress|fresh_site$|db_|finished_|https_|nonce_|logged_in_|secure_auth_|user_count$|uninstall_plugins$|myriad_cache_|action_scheduler|theme_switch|theme_mods_|current_theme$|admin_email|new_admin_email|mailserver_|initial_db_version$|wp_user_roles$|recovery_|dismissed_|wp_force_|widget_|.*_children$|.*_user_roles$)/';

	/**
	 * Fields of posts that show nowhere.
	 */
	const INNER_META = '/^_(?:edit_|pingme$|encloseme$|wp_old_|wp_trash_|wp_desired_|oembed_|menu_item_)/';

	/**
	 * Terms before they change: slug, name and parent.
	 *
	 * @var array<int, WP_Term>
	 */
	private static $terms_before = array();

	/**
	 * How many posts terms had before they are counted, by term and taxonomy.
	 *
	 * @var array<int, int>
	 */
	private static $counts_before = array();

	/**
	 * Begins to listen.
	 */
	public static function start() {
		self::start_posts();
		self::start_terms();
		self::start_people();
		self::start_site();
		self::start_shop();
		add_action( 'admin_init', array( 'Myriad_Cache_Queue', 'retry' ) );
		add_action( 'wp_version_check', array( 'Myriad_Cache_Queue', 'retry' ) );
	}

	/**
	 * Posts of all types.
	 */
	private static function start_posts() {
		add_action( 'transition_post_status', array( __CLASS__, 'post_status' ), 10, 3 );
		add_action( 'post_updated', array( __CLASS__, 'post_updated' ), 10, 3 );
		add_action( 'before_delete_post', array( __CLASS__, 'post_deleted' ) );
		add_action( 'delete_attachment', array( __CLASS__, 'post_deleted' ) );
		add_action( 'add_attachment', array( __CLASS__, 'attachment' ) );
		add_action( 'edit_attachment', array( __CLASS__, 'attachment' ) );
		foreach ( array( 'added_post_meta', 'updated_post_meta', 'deleted_post_meta' ) as $action ) {
			add_action( $action, array( __CLASS__, 'post_meta' ), 10, 3 );
		}
	}

	/**
	 * Terms and menus.
	 */
	private static function start_terms() {
		add_action( 'set_object_terms', array( __CLASS__, 'terms_of_post' ), 10, 6 );
		add_action( 'deleted_term_relationships', array( __CLASS__, 'terms_lost' ), 10, 3 );
		add_action( 'created_term', array( __CLASS__, 'term_created' ), 10, 3 );
		add_action( 'edit_terms', array( __CLASS__, 'term_before' ), 10, 2 );
		add_action( 'edited_term', array( __CLASS__, 'term_edited' ), 10, 3 );
		add_action( 'delete_term', array( __CLASS__, 'term_deleted' ), 10, 5 );
		add_action( 'edit_term_taxonomy', array( __CLASS__, 'term_count_before' ), 10, 2 );
		add_action( 'edited_term_taxonomy', array( __CLASS__, 'term_counted' ), 10, 2 );
		foreach ( array( 'added_term_meta', 'updated_term_meta', 'deleted_term_meta' ) as $action ) {
			add_action( $action, array( __CLASS__, 'term_meta' ), 10, 2 );
		}
		foreach ( array( 'wp_update_nav_menu', 'wp_update_nav_menu_item', 'wp_delete_nav_menu' ) as $action ) {
			add_action( $action, array( __CLASS__, 'menu' ) );
		}
	}

	/**
	 * Comments and users.
	 */
	private static function start_people() {
		add_action( 'wp_insert_comment', array( __CLASS__, 'comment' ), 10, 2 );
		add_action( 'edit_comment', array( __CLASS__, 'comment' ) );
		add_action( 'delete_comment', array( __CLASS__, 'comment_gone' ), 10, 2 );
		add_action( 'transition_comment_status', array( __CLASS__, 'comment_status' ), 10, 3 );
		add_action( 'wp_update_comment_count', array( __CLASS__, 'comment_count' ), 10, 3 );
		add_action( 'profile_update', array( __CLASS__, 'user' ), 10, 2 );
		add_action( 'updated_user_meta', array( __CLASS__, 'user_meta' ), 10, 3 );
		add_action( 'deleted_user', array( __CLASS__, 'site' ) );
	}

	/**
	 * Options, widgets, themes, plugins.
	 */
	private static function start_site() {
		add_action( 'added_option', array( __CLASS__, 'option_added' ), 10, 2 );
		add_action( 'updated_option', array( __CLASS__, 'option' ), 10, 3 );
		add_action( 'deleted_option', array( __CLASS__, 'option' ) );
		foreach ( array( 'switch_theme', 'upgrader_process_complete', 'activated_plugin', 'deactivated_plugin', '_core_updated_successfully' ) as $action ) {
			add_action( $action, array( __CLASS__, 'site' ) );
		}
	}

	/**
	 * WooCommerce: what is in stock, and what it costs.
	 */
	private static function start_shop() {
		foreach ( array( 'woocommerce_product_set_stock', 'woocommerce_variation_set_stock', 'woocommerce_update_product', 'woocommerce_update_product_variation', 'woocommerce_delete_product_transients' ) as $action ) {
			add_action( $action, array( __CLASS__, 'product' ) );
		}
		foreach ( array( 'woocommerce_product_set_stock_status', 'woocommerce_variation_set_stock_status' ) as $action ) {
			add_action( $action, array( __CLASS__, 'product_in_stock' ) );
		}
	}

	/**
	 * Whether anybody sees posts of a status.
	 *
	 * @param string $status Status.
	 * @return bool
	 */
	private static function is_shown( $status ) {
		$known = get_post_status_object( $status );
		return 'inherit' === $status || ( $known && $known->public );
	}

	/**
	 * Parts of the site that are kept as posts.
	 *
	 * @param WP_Post $post Post.
	 * @return bool Whether it is such.
	 */
	private static function is_part( $post ) {
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
					self::menu( $menu_id );
				}
				return true;
			default:
				return in_array( $post->post_type, Myriad_Cache_Tags::INNER_TYPES, true );
		}
	}

	/**
	 * A post got a status, perhaps the one it had.
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
		Myriad_Cache_Queue::add( 'p' . $post->ID );
		if ( $is !== $was ) {
			Myriad_Cache_Queue::add_member( $post );
			Myriad_Cache_Queue::add( 'cp' . $post->ID );
		}
		if ( $is && ! $was ) {
			// Its comments show where the newest of all posts do, and feeds say when something was changed.
			self::last_change( $post );
			if ( $post->comment_count > 0 ) {
				Myriad_Cache_Queue::add( 'c' );
			}
		}
	}

	/**
	 * A post was changed.
	 *
	 * @param int     $post_id Post.
	 * @param WP_Post $after   As it is.
	 * @param WP_Post $before  As it was.
	 */
	public static function post_updated( $post_id, $after, $before ) {
		if ( ! self::is_shown( $before->post_status ) || in_array( $after->post_type, Myriad_Cache_Tags::INNER_TYPES, true ) ) {
			return;
		}
		if ( ! self::is_shown( $after->post_status ) ) {
			self::last_change( $before );
			return;
		}
		Myriad_Cache_Queue::add( 'pt' . $post_id );
		self::last_change( $before );
		self::last_change( $after );
		if ( $after->post_date !== $before->post_date || $after->post_author !== $before->post_author || $after->post_type !== $before->post_type || $after->post_password !== $before->post_password ) {
			Myriad_Cache_Queue::add_member( $before );
			Myriad_Cache_Queue::add_member( $after );
		}
		$is_moved = $after->post_name !== $before->post_name || $after->post_parent !== $before->post_parent;
		if ( $is_moved ) {
			Myriad_Cache_Queue::add_url( get_permalink( $after ) );
			Myriad_Cache_Queue::add( 'smposts' . $after->post_type );
		} elseif ( version_compare( get_bloginfo( 'version' ), '6.5', '>=' ) ) {
			// From 6.5 on a sitemap says when a post was changed.
			Myriad_Cache_Queue::add( 'smposts' . $after->post_type );
		}
		if ( is_post_type_hierarchical( $after->post_type ) && ( $is_moved || $after->post_title !== $before->post_title || $after->menu_order !== $before->menu_order ) ) {
			Myriad_Cache_Queue::add( 'l' . $after->post_type, 'lany', 'lc' . $before->post_parent, 'lc' . $after->post_parent );
			foreach ( $is_moved ? get_pages( array( 'child_of' => $post_id, 'post_type' => $after->post_type ) ) : array() as $below ) { // phpcs:ignore WordPress.Arrays.ArrayDeclarationSpacing.AssociativeArrayFound
				Myriad_Cache_Queue::add( 'p' . $below->ID );
			}
		}
	}

	/**
	 * A post is about to be deleted.
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
	 * A post comes or goes that is perhaps the last one that was changed.
	 *
	 * @param WP_Post $post Post, as it is or was.
	 */
	private static function last_change( $post ) {
		global $wpdb;
		// phpcs:ignore WordPress.DB -- what WordPress keeps of it is older than the change.
		$last = (string) $wpdb->get_var( $wpdb->prepare( "SELECT MAX(post_modified_gmt) FROM {$wpdb->posts} WHERE post_status = 'publish' AND ID <> %d", $post->ID ) );
		if ( max( $post->post_modified_gmt, $post->post_date_gmt ) >= $last ) {
			Myriad_Cache_Queue::add( 'mod' );
		}
	}

	/**
	 * A file of the library.
	 *
	 * @param int $post_id Post.
	 */
	public static function attachment( $post_id ) {
		Myriad_Cache_Queue::add( 'p' . (int) $post_id );
	}

	/**
	 * A field of a post.
	 *
	 * @param int|int[] $meta_id Field.
	 * @param int       $post_id Post.
	 * @param string    $name    Name of the field.
	 */
	public static function post_meta( $meta_id, $post_id, $name ) {
		if ( ! preg_match( self::INNER_META, $name ) && self::is_shown( (string) get_post_status( $post_id ) ) ) {
			Myriad_Cache_Queue::add( 'p' . (int) $post_id );
		}
	}

	/**
	 * A post got terms.
	 *
	 * @param int    $object_id Post.
	 * @param array  $terms     Terms as they were given.
	 * @param int[]  $now       Terms and taxonomies that it has.
	 * @param string $taxonomy  Taxonomy.
	 * @param bool   $append    Whether they were added.
	 * @param int[]  $before    Terms and taxonomies that it had.
	 */
	public static function terms_of_post( $object_id, $terms, $now, $taxonomy, $append, $before ) {
		if ( ! $append ) {
			self::terms_lost( $object_id, array_diff( $before, $now ), $taxonomy );
		}
		self::terms_lost( $object_id, array_diff( $now, $before ), $taxonomy );
	}

	/**
	 * A post got terms, or lost them.
	 *
	 * @param int    $object_id Post.
	 * @param int[]  $ids       Terms and taxonomies.
	 * @param string $taxonomy  Taxonomy.
	 */
	public static function terms_lost( $object_id, $ids, $taxonomy ) {
		$ids = array_map( 'intval', (array) $ids );
		if ( ! $ids ) {
			return;
		}
		$terms = array();
		foreach ( $ids as $id ) {
			$term = get_term_by( 'term_taxonomy_id', $id, $taxonomy );
			if ( $term ) {
				$terms[] = $term->term_id;
			}
		}
		if ( 'nav_menu' === $taxonomy ) {
			array_map( array( __CLASS__, 'menu' ), $terms );
			return;
		}
		$post = get_post( $object_id );
		if ( ! $post || ! is_object_in_taxonomy( $post->post_type, $taxonomy ) || ! self::is_shown( $post->post_status ) || in_array( $post->post_type, Myriad_Cache_Tags::INNER_TYPES, true ) ) {
			return;
		}
		Myriad_Cache_Queue::add( 'p' . $post->ID );
		foreach ( $terms as $term_id ) {
			Myriad_Cache_Queue::add( 'lt' . $term_id, 'lt' . $term_id . '.x', 'lt' . $term_id . '-any' );
			foreach ( get_ancestors( $term_id, $taxonomy, 'taxonomy' ) as $above ) {
				Myriad_Cache_Queue::add( 'lt' . $above, 'lt' . $above . '.x', 'lt' . $above . '-any' );
			}
		}
	}

	/**
	 * A term is new.
	 *
	 * @param int    $term_id  Term.
	 * @param int    $tt_id    Term and taxonomy.
	 * @param string $taxonomy Taxonomy.
	 */
	public static function term_created( $term_id, $tt_id, $taxonomy ) {
		if ( is_taxonomy_viewable( $taxonomy ) ) {
			Myriad_Cache_Queue::add( 'tx' . $taxonomy );
			Myriad_Cache_Queue::add_url( get_term_link( (int) $term_id, $taxonomy ) );
		}
	}

	/**
	 * A term is about to change.
	 *
	 * @param int    $term_id  Term.
	 * @param string $taxonomy Taxonomy.
	 */
	public static function term_before( $term_id, $taxonomy ) {
		$term = get_term( $term_id, $taxonomy );
		if ( $term instanceof WP_Term ) {
			self::$terms_before[ $term_id ] = clone $term;
		}
	}

	/**
	 * A term has changed.
	 *
	 * @param int    $term_id  Term.
	 * @param int    $tt_id    Term and taxonomy.
	 * @param string $taxonomy Taxonomy.
	 */
	public static function term_edited( $term_id, $tt_id, $taxonomy ) {
		$after  = get_term( $term_id, $taxonomy );
		$before = isset( self::$terms_before[ $term_id ] ) ? self::$terms_before[ $term_id ] : null;
		if ( ! $before || ! $after instanceof WP_Term || $before->name !== $after->name || $before->description !== $after->description || $before->parent !== $after->parent ) {
			Myriad_Cache_Queue::add( 't' . $term_id );
		}
		if ( 'nav_menu' === $taxonomy ) {
			self::menu( $term_id );
		}
		if ( ! $after instanceof WP_Term || ( $before && $before->slug === $after->slug && $before->parent === $after->parent ) ) {
			return;
		}
		Myriad_Cache_Queue::add( 'ts' . $term_id, 'smtaxonomies' . $taxonomy );
		Myriad_Cache_Queue::add_url( get_term_link( $after ) );
		// Its posts came into the lists of those above it, or went; links of those below it name it.
		foreach ( array( $before, $after ) as $term ) {
			foreach ( $term && $term->parent ? array_merge( array( $term->parent ), get_ancestors( $term->parent, $taxonomy, 'taxonomy' ) ) : array() as $above ) {
				Myriad_Cache_Queue::add( 'lt' . $above, 'lt' . $above . '.x', 'lt' . $above . '-any' );
			}
		}
		$below = get_term_children( $term_id, $taxonomy );
		foreach ( is_array( $below ) ? $below : array() as $child ) {
			Myriad_Cache_Queue::add( 't' . $child, 'ts' . $child );
		}
	}

	/**
	 * A term is gone.
	 *
	 * @param int     $term_id    Term.
	 * @param int     $tt_id      Term and taxonomy.
	 * @param string  $taxonomy   Taxonomy.
	 * @param WP_Term $term       As it was.
	 * @param int[]   $object_ids Posts that had it.
	 */
	public static function term_deleted( $term_id, $tt_id, $taxonomy, $term, $object_ids ) {
		Myriad_Cache_Queue::add( 't' . $term_id, 'ts' . $term_id, 'lt' . $term_id, 'lt' . $term_id . '.x', 'lt' . $term_id . '-any', 'tx' . $taxonomy, 'smtaxonomies' . $taxonomy );
		foreach ( (array) $object_ids as $post_id ) {
			Myriad_Cache_Queue::add( 'p' . (int) $post_id );
		}
	}

	/**
	 * The posts of a term are about to be counted again.
	 *
	 * @param int           $tt_id    Term and taxonomy.
	 * @param string|object $taxonomy Taxonomy; before WordPress 6.1 an object.
	 */
	public static function term_count_before( $tt_id, $taxonomy ) {
		$term = get_term_by( 'term_taxonomy_id', (int) $tt_id, is_object( $taxonomy ) ? $taxonomy->name : $taxonomy );
		if ( $term ) {
			self::$counts_before[ (int) $tt_id ] = (int) $term->count;
		}
	}

	/**
	 * The posts of a term were counted again.
	 *
	 * @param int           $tt_id    Term and taxonomy.
	 * @param string|object $taxonomy Taxonomy; before WordPress 6.1 an object.
	 */
	public static function term_counted( $tt_id, $taxonomy ) {
		global $wpdb;
		$taxonomy = is_object( $taxonomy ) ? $taxonomy->name : $taxonomy;
		$before   = isset( self::$counts_before[ (int) $tt_id ] ) ? self::$counts_before[ (int) $tt_id ] : -1;
		// phpcs:ignore WordPress.DB -- what WordPress keeps of the term is forgotten after this.
		$after = (int) $wpdb->get_var( $wpdb->prepare( "SELECT count FROM {$wpdb->term_taxonomy} WHERE term_taxonomy_id = %d", (int) $tt_id ) );
		if ( ! is_taxonomy_viewable( $taxonomy ) || $after === $before ) {
			return;
		}
		Myriad_Cache_Queue::add( 'tx' . $taxonomy );
		// A sitemap has terms that have posts, and the index has sitemaps that have terms.
		if ( 0 === $before || 0 === $after || -1 === $before ) {
			Myriad_Cache_Queue::add( 'smtaxonomies' . $taxonomy );
			$with_posts = wp_count_terms(
				array(
					'taxonomy'   => $taxonomy,
					'hide_empty' => true,
				)
			);
			if ( ! is_numeric( $with_posts ) || (int) $with_posts % 2000 <= 1 ) {
				Myriad_Cache_Queue::add( 'smindex' );
			}
		}
	}

	/**
	 * A field of a term.
	 *
	 * @param int|int[] $meta_id Field.
	 * @param int       $term_id Term.
	 */
	public static function term_meta( $meta_id, $term_id ) {
		Myriad_Cache_Queue::add( 't' . (int) $term_id );
	}

	/**
	 * A menu, or one of its items.
	 *
	 * @param int $menu_id Menu.
	 */
	public static function menu( $menu_id ) {
		Myriad_Cache_Queue::add( 'm' . (int) $menu_id );
	}

	/**
	 * A comment that shows has come, or has changed.
	 *
	 * @param int             $comment_id Comment.
	 * @param WP_Comment|null $comment    The same.
	 */
	public static function comment( $comment_id, $comment = null ) {
		$comment = $comment instanceof WP_Comment ? $comment : get_comment( $comment_id );
		if ( $comment && '1' === (string) $comment->comment_approved ) {
			self::comments_of( $comment->comment_post_ID );
		}
	}

	/**
	 * A comment is about to go.
	 *
	 * @param int             $comment_id Comment.
	 * @param WP_Comment|null $comment    The same.
	 */
	public static function comment_gone( $comment_id, $comment = null ) {
		$comment = $comment instanceof WP_Comment ? $comment : get_comment( $comment_id );
		if ( $comment && '1' === (string) $comment->comment_approved ) {
			self::fewer_comments_of( $comment->comment_post_ID );
		}
	}

	/**
	 * A comment was approved, or no longer is.
	 *
	 * @param string     $status  New status.
	 * @param string     $before  Old status.
	 * @param WP_Comment $comment Comment.
	 */
	public static function comment_status( $status, $before, $comment ) {
		if ( 'approved' === $status ) {
			self::comments_of( $comment->comment_post_ID );
		} elseif ( 'approved' === $before ) {
			self::fewer_comments_of( $comment->comment_post_ID );
		}
	}

	/**
	 * The comments of a post were counted.
	 *
	 * @param int $post_id Post.
	 * @param int $count   How many there are.
	 * @param int $before  How many there were.
	 */
	public static function comment_count( $post_id, $count, $before ) {
		if ( (int) $count !== (int) $before ) {
			self::fewer_comments_of( $post_id );
		}
	}

	/**
	 * Comments of a post that show no more: also where those of all posts are listed, if some of it were among them.
	 *
	 * @param int|string $post_id Post.
	 */
	private static function fewer_comments_of( $post_id ) {
		Myriad_Cache_Queue::add( 'c' . (int) $post_id, 'cp' . (int) $post_id );
	}

	/**
	 * Comments of a post that are new.
	 *
	 * @param int|string $post_id Post.
	 */
	private static function comments_of( $post_id ) {
		if ( self::is_shown( (string) get_post_status( (int) $post_id ) ) ) {
			Myriad_Cache_Queue::add( 'c' . (int) $post_id, 'c' );
		}
	}

	/**
	 * A user.
	 *
	 * @param int          $user_id User.
	 * @param WP_User|null $before  As it was.
	 */
	public static function user( $user_id, $before = null ) {
		$after = get_userdata( $user_id );
		foreach ( array( 'display_name', 'user_nicename', 'user_url', 'user_email' ) as $field ) {
			if ( ! $after || ! $before || $after->$field !== $before->$field ) {
				Myriad_Cache_Queue::add( 'u' . (int) $user_id );
				return;
			}
		}
	}

	/**
	 * A field of a user.
	 *
	 * @param int    $meta_id Field.
	 * @param int    $user_id User.
	 * @param string $name    Name of the field.
	 */
	public static function user_meta( $meta_id, $user_id, $name ) {
		if ( in_array( $name, array( 'first_name', 'last_name', 'nickname', 'description' ), true ) ) {
			Myriad_Cache_Queue::add( 'u' . (int) $user_id );
		}
	}

	/**
	 * An option is new.
	 *
	 * @param string $option Name.
	 * @param mixed  $value  Value.
	 */
	public static function option_added( $option, $value ) {
		self::option( $option, null, $value );
	}

	/**
	 * An option has changed.
	 *
	 * @param string $option Name.
	 * @param mixed  $before Old value.
	 * @param mixed  $after  New value.
	 */
	public static function option( $option, $before = null, $after = null ) {
		if ( in_array( $option, Myriad_Cache_Tags::OPTIONS, true ) ) {
			Myriad_Cache_Queue::add( 'o' . $option );
		} elseif ( 'sticky_posts' === $option ) {
			Myriad_Cache_Queue::add( 'lpost', 'lpost.x' );
			foreach ( array_merge( array_diff( (array) $before, (array) $after ), array_diff( (array) $after, (array) $before ) ) as $post_id ) {
				Myriad_Cache_Queue::add( 'p' . (int) $post_id );
			}
		} elseif ( 'sidebars_widgets' === $option ) {
			Myriad_Cache_Queue::add( 'sb' );
		} elseif ( 0 === strpos( $option, 'widget_' ) ) {
			Myriad_Cache_Queue::add( 'w' . substr( $option, 7 ) );
		} elseif ( 'theme_mods_' . get_option( 'stylesheet' ) === $option ) {
			if ( self::shown_of_theme( $before ) !== self::shown_of_theme( $after ) ) {
				Myriad_Cache_Queue::add( 's' );
			}
		} elseif ( in_array( $option, self::SITE_OPTIONS, true ) ) {
			Myriad_Cache_Queue::add( 's' );
		} elseif ( ! preg_match( self::INNER_OPTIONS, $option ) && self::is_administrator_at_work() ) {
			// What it shows nobody knows but the plugin that has it.
			Myriad_Cache_Queue::add( 's' );
		}
	}

	/**
	 * Settings of a theme, without those in which WordPress keeps what it has looked for, also while visitors read.
	 *
	 * @param mixed $settings Settings.
	 * @return array
	 */
	private static function shown_of_theme( $settings ) {
		$settings = is_array( $settings ) ? $settings : array();
		unset( $settings[0], $settings['custom_css_post_id'], $settings['wp_classic_sidebars'], $settings['sidebars_widgets'] );
		return $settings;
	}

	/**
	 * Whether somebody changes settings: not a visitor, nor WordPress's clock.
	 *
	 * @return bool
	 */
	private static function is_administrator_at_work() {
		if ( defined( 'WP_CLI' ) && WP_CLI ) {
			return true;
		}
		$method = isset( $_SERVER['REQUEST_METHOD'] ) ? $_SERVER['REQUEST_METHOD'] : ''; // phpcs:ignore WordPress.Security.ValidatedSanitizedInput -- it is compared, and never shown.
		return 'POST' === $method && function_exists( 'current_user_can' ) && did_action( 'init' ) && current_user_can( 'manage_options' );
	}

	/**
	 * The site as a whole.
	 */
	public static function site() {
		Myriad_Cache_Queue::add( 's' );
	}

	/**
	 * A product.
	 *
	 * @param WC_Product|int $product Product.
	 */
	public static function product( $product ) {
		$post_id = is_object( $product ) && method_exists( $product, 'get_id' ) ? (int) $product->get_id() : (int) $product;
		if ( $post_id > 0 ) {
			Myriad_Cache_Queue::add( 'p' . $post_id );
			$parent = wp_get_post_parent_id( $post_id );
			if ( $parent ) {
				Myriad_Cache_Queue::add( 'p' . $parent );
			}
		}
	}

	/**
	 * A product came into stock or went out of it: shops leave out what they do not have.
	 *
	 * @param int $post_id Product.
	 */
	public static function product_in_stock( $post_id ) {
		self::product( $post_id );
		$post = get_post( $post_id );
		if ( $post && self::is_shown( $post->post_status ) ) {
			Myriad_Cache_Queue::add_member( 'product_variation' === $post->post_type && $post->post_parent ? get_post( $post->post_parent ) : $post );
		}
	}
}
