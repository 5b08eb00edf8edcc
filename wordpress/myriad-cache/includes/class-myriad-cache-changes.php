<?php
/**
 * Changes of the site, and the affected tags.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Handles changes. Each method handles one action of WordPress or WooCommerce.
 */
class Myriad_Cache_Changes {

	/**
	 * Options that affect the whole site.
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
	 * Options that appear on no page: internal data of WordPress and plugins.
	 */
	const INNER_OPTIONS = '/^(?:_transient_|_site_transient_|cron$|rewrite_rules$|recently_|auto_|can_compress|fresh_site$|db_|finished_|https_|nonce_|logged_in_|secure_auth_|user_count$|uninstall_plugins$|myriad_cache_|action_scheduler|theme_switch|theme_mods_|current_theme$|admin_email|new_admin_email|mailserver_|initial_db_version$|wp_user_roles$|recovery_|dismissed_|wp_force_|widget_|.*_children$|.*_user_roles$)/';

	/**
	 * Fields of users that appear on no page: settings of the back office and sessions.
	 */
	const INNER_USER_META = '/^(?:session_tokens|.*(?:user-settings(?:-time)?|capabilities|user_level|persisted_preferences|dashboard_quick_press_last_post_id)|community-events-location|dismissed_wp_pointers|(?:meta-box-order|metaboxhidden|closedpostboxes|screen_layout|manage.*columnshidden)_?.*|_new_email|default_password_nag|rich_editing|syntax_highlighting|comment_shortcuts|admin_color|use_ssl|show_admin_bar_front|show_welcome_panel|wporg_favorites|primary_blog|source_domain)$/D';

	/**
	 * Fields of comments that appear on no page.
	 */
	const INNER_COMMENT_META = '/^(?:akismet_|_wp_trash_)/';

	/**
	 * True if all actions are registered.
	 *
	 * @var bool
	 */
	private static $is_complete = false;

	/**
	 * Registers the actions and filters.
	 */
	public static function start() {
		self::start_before();
		if ( ! Myriad_Cache_Page::is_view() ) {
			self::start_after();
		}
		Myriad_Cache_Options::load();
		Myriad_Cache_Writes::start();
		Myriad_Cache_Files::start();
		Myriad_Cache_Transients::load();
		Myriad_Cache_Values::load();
		Myriad_Cache_Foreign_Purges::start();
		if ( wp_doing_cron() ) {
			Myriad_Cache_Hooks::add( 'init', array( 'Myriad_Cache_Queue', 'retry' ) );
			register_shutdown_function( array( 'Myriad_Cache_Warm', 'work' ) );
			Myriad_Cache_Hooks::add( 'myriad_cache_revoke', array( 'Myriad_Cache_Callers', 'revoke' ), 10, 0 );
			Myriad_Cache_Hooks::add( 'pre_unschedule_event', array( 'Myriad_Cache_Queue', 'before_job' ) );
		}
	}

	/**
	 * Registers the actions that run before a change is written to the database.
	 */
	private static function start_before() {
		Myriad_Cache_Hooks::add( array( 'before_delete_post', 'delete_attachment' ), array( 'Myriad_Cache_Post_Changes', 'post_deleted' ) );
		Myriad_Cache_Hooks::add( 'add_post_meta', array( 'Myriad_Cache_Post_Changes', 'before_meta_added' ), 10, 2 );
		Myriad_Cache_Hooks::add( array( 'update_post_meta', 'delete_post_meta' ), array( 'Myriad_Cache_Post_Changes', 'before_meta' ), 10, 3 );
		Myriad_Cache_Hooks::add( 'edit_terms', array( 'Myriad_Cache_Term_Changes', 'term_before' ), 10, 2 );
		Myriad_Cache_Hooks::add( 'edit_term_taxonomy', array( 'Myriad_Cache_Term_Changes', 'term_count_before' ), 10, 2 );
		Myriad_Cache_Hooks::add( 'delete_comment', array( __CLASS__, 'comment_gone' ), 10, 2 );
		Myriad_Cache_Hooks::add( array( 'delete_term_meta', 'delete_comment_meta', 'delete_user_meta' ), array( __CLASS__, 'before_meta_deleted' ), 10, 3 );
		Myriad_Cache_Hooks::add( array( 'woocommerce_product_before_set_stock', 'woocommerce_variation_before_set_stock' ), array( 'Myriad_Cache_Stock', 'before' ) );
	}

	/**
	 * Registers the actions that run after a change was written to the database. During a page view, they are registered before the first
	 * statement that writes: most views write nothing, and registering these actions for each would take 0.1% of the time of a page.
	 */
	public static function start_after() {
		if ( ! self::$is_complete ) {
			self::$is_complete = true;
			Myriad_Cache_Post_Changes::start();
			Myriad_Cache_Term_Changes::start();
			Myriad_Cache_Stock::start();
			Myriad_Cache_Installation::start();
			self::start_people();
			self::start_site();
			self::start_shop();
			if ( Myriad_Cache_Page::is_view() ) {
				Myriad_Cache_Nonces::start_after();
			}
			Myriad_Cache_Hooks::add( 'admin_init', array( 'Myriad_Cache_Queue', 'retry' ) );
		}
	}

	/**
	 * Registers the actions of comments and users.
	 */
	private static function start_people() {
		Myriad_Cache_Hooks::add( 'wp_insert_comment', array( __CLASS__, 'comment' ), 10, 2 );
		Myriad_Cache_Hooks::add( 'edit_comment', array( __CLASS__, 'comment' ) );
		Myriad_Cache_Hooks::add( 'transition_comment_status', array( __CLASS__, 'comment_status' ), 10, 3 );
		Myriad_Cache_Hooks::add( 'wp_update_comment_count', array( __CLASS__, 'comment_count' ), 10, 3 );
		Myriad_Cache_Hooks::add( array( 'added_comment_meta', 'updated_comment_meta', 'deleted_comment_meta' ), array( __CLASS__, 'comment_meta' ), 10, 3 );
		Myriad_Cache_Hooks::add( 'profile_update', array( __CLASS__, 'user' ), 10, 2 );
		Myriad_Cache_Hooks::add( array( 'added_user_meta', 'updated_user_meta', 'deleted_user_meta' ), array( __CLASS__, 'user_meta' ), 10, 3 );
		Myriad_Cache_Hooks::add( array( 'user_register', 'set_user_role', 'add_user_role', 'remove_user_role', 'add_user_to_blog', 'remove_user_from_blog' ), array( __CLASS__, 'role' ) );
		Myriad_Cache_Hooks::add( 'deleted_user', array( __CLASS__, 'role' ) );
		Myriad_Cache_Hooks::add( 'deleted_user', array( __CLASS__, 'site' ) );
	}

	/**
	 * Registers the actions of options, widgets, themes and plugins.
	 */
	private static function start_site() {
		Myriad_Cache_Hooks::add( 'added_option', array( __CLASS__, 'option_added' ), 10, 2 );
		Myriad_Cache_Hooks::add( 'updated_option', array( __CLASS__, 'option' ), 10, 3 );
		Myriad_Cache_Hooks::add( 'deleted_option', array( __CLASS__, 'option' ) );
		Myriad_Cache_Hooks::add( 'switch_theme', array( __CLASS__, 'site' ) );
		Myriad_Cache_Hooks::add( array( 'upgrader_process_complete', '_core_updated_successfully' ), array( 'Myriad_Cache_Queue', 'add_network' ), 10, 0 );
		Myriad_Cache_Hooks::add( array( 'activated_plugin', 'deactivated_plugin' ), array( __CLASS__, 'plugin' ), 10, 2 );
		// The code of the site may have changed. Registered here, so that page views do not load the class.
		Myriad_Cache_Hooks::add( 'switch_theme', array( 'Myriad_Cache_Callers', 'reset' ), 10, 0 );
		Myriad_Cache_Hooks::add( array( 'upgrader_process_complete', '_core_updated_successfully' ), array( 'Myriad_Cache_Callers', 'reset_network' ), 10, 0 );
		Myriad_Cache_Hooks::add( array( 'activated_plugin', 'deactivated_plugin' ), array( 'Myriad_Cache_Callers', 'reset_after_plugin' ), 10, 2 );
		Myriad_Cache_Hooks::add( array( 'add_site_option', 'update_site_option', 'delete_site_option' ), array( __CLASS__, 'network_option' ) );
	}

	/**
	 * Registers the actions of WooCommerce: stock and prices.
	 */
	private static function start_shop() {
		Myriad_Cache_Hooks::add( array( 'woocommerce_update_product', 'woocommerce_update_product_variation', 'woocommerce_delete_product_transients' ), array( __CLASS__, 'product' ) );
		Myriad_Cache_Hooks::add( array( 'woocommerce_product_set_stock_status', 'woocommerce_variation_set_stock_status' ), array( __CLASS__, 'product_in_stock' ) );
	}

	/**
	 * Handles a new or changed comment, if it is approved.
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
	 * Handles a comment that is about to be deleted.
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
	 * Handles a comment that was approved, or is no longer approved.
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
	 * Handles a changed number of comments of a post.
	 *
	 * @param int $post_id Post.
	 * @param int $count   New number.
	 * @param int $before  Old number.
	 */
	public static function comment_count( $post_id, $count, $before ) {
		if ( (int) $count !== (int) $before && Myriad_Cache_Post_Changes::is_shown( (string) get_post_status( $post_id ) ) ) {
			self::fewer_comments_of( $post_id );
			Myriad_Cache_Queue::add_fields( $post_id, 'comment_count' );
		}
	}

	/**
	 * Adds the tags for removed comments of a post: the comments of the post, and lists of comments of all posts that
	 * contain one of them.
	 *
	 * @param int|string $post_id Post.
	 */
	private static function fewer_comments_of( $post_id ) {
		Myriad_Cache_Queue::add( 'c' . (int) $post_id, 'cp' . (int) $post_id );
	}

	/**
	 * Adds the tags for new or changed comments of a post, if the post is visible.
	 *
	 * @param int|string $post_id Post.
	 */
	private static function comments_of( $post_id ) {
		if ( Myriad_Cache_Post_Changes::is_shown( (string) get_post_status( (int) $post_id ) ) ) {
			Myriad_Cache_Queue::add( 'c' . (int) $post_id, 'c' );
		}
	}

	/**
	 * Handles a changed field of a comment.
	 *
	 * @param int|int[] $meta_id    Field.
	 * @param int       $comment_id Comment.
	 * @param string    $name       Name of the field.
	 */
	public static function comment_meta( $meta_id, $comment_id, $name ) {
		if ( ! preg_match( self::INNER_COMMENT_META, $name ) ) {
			self::comment( (int) $comment_id );
		}
	}

	/**
	 * Handles a changed user.
	 *
	 * @param int          $user_id User.
	 * @param WP_User|null $before  User before the change.
	 */
	public static function user( $user_id, $before = null ) {
		$after = get_userdata( $user_id );
		foreach ( array( 'display_name', 'user_nicename', 'user_url', 'user_email', 'user_login', 'user_registered' ) as $field ) {
			if ( ! $after || ! $before || $after->$field !== $before->$field ) {
				Myriad_Cache_Queue::add( 'u' . (int) $user_id, 'lu' );
				return;
			}
		}
	}

	/**
	 * Handles a user who was added, was deleted or got another role.
	 *
	 * @param int $user_id User.
	 */
	public static function role( $user_id ) {
		Myriad_Cache_Queue::add( 'u' . (int) $user_id, 'lu' );
	}

	/**
	 * Handles a changed field of a user.
	 *
	 * @param int|int[] $meta_id Field.
	 * @param int       $user_id User.
	 * @param string    $name    Name of the field.
	 */
	public static function user_meta( $meta_id, $user_id, $name ) {
		if ( in_array( $name, array( 'first_name', 'last_name', 'nickname', 'description' ), true ) ) {
			Myriad_Cache_Queue::add( 'u' . (int) $user_id );
		}
		// WordPress writes the excluded fields at each login and on screens of the back office.
		if ( ! preg_match( self::INNER_USER_META, $name ) ) {
			$field = Myriad_Cache_Tags::field( $name );
			Myriad_Cache_Queue::add( 'u' . (int) $user_id . '.' . $field, 'u' . (int) $user_id . '.all', 'lu.by-meta-' . $field, 'lu.by-meta' );
		}
	}

	/**
	 * Handles a field that is about to be deleted from several terms, comments or users: the action after the deletion names none of them.
	 *
	 * @param int[]  $meta_ids  Fields.
	 * @param int    $object_id Object; 0 if the field of several objects is deleted.
	 * @param string $name      Name of the field.
	 */
	public static function before_meta_deleted( $meta_ids, $object_id, $name ) {
		if ( $object_id ) {
			return;
		}
		$type = explode( '_', current_action() )[1];
		foreach ( self::objects_of_meta( $type, $meta_ids ) as $id ) {
			call_user_func( array( 'term' === $type ? 'Myriad_Cache_Term_Changes' : __CLASS__, $type . '_meta' ), $meta_ids, $id, $name );
		}
	}

	/**
	 * Returns the objects to which fields belong.
	 *
	 * @param string    $type     Type of the objects: `post`, `term`, `comment` or `user`.
	 * @param int|int[] $meta_ids Fields.
	 * @return int[]
	 */
	public static function objects_of_meta( $type, $meta_ids ) {
		global $wpdb;
		$table  = _get_meta_table( $type );
		$column = 'user' === $type ? 'umeta_id' : 'meta_id';
		$list   = implode( ',', array_map( 'intval', (array) $meta_ids ) );
		// phpcs:ignore WordPress.DB -- the list contains numbers only, and there is no function for it.
		return array_map( 'intval', $wpdb->get_col( "SELECT DISTINCT {$type}_id FROM {$table} WHERE {$column} IN ({$list})" ) );
	}

	/**
	 * Handles a new option.
	 *
	 * @param string $option Name.
	 * @param mixed  $value  Value.
	 */
	public static function option_added( $option, $value ) {
		self::option( $option, null, $value );
	}

	/**
	 * Handles a changed option.
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
				Myriad_Cache_Queue::add_post( (int) $post_id );
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
		} elseif ( ! preg_match( self::INNER_OPTIONS, $option ) && self::is_changed_for_pages( $option, $before, $after ) ) {
			// Only the plugin that uses the option knows where it appears, so the whole site is purged.
			Myriad_Cache_Queue::add( 's' );
		}
	}

	/**
	 * Returns whether staff, a command or cron changed an option that pages read. A link without a nonce may change settings, too.
	 *
	 * @param string $option Name.
	 * @param mixed  $before Old value.
	 * @param mixed  $after  New value.
	 * @return bool
	 */
	private static function is_changed_for_pages( $option, $before, $after ) {
		if ( Myriad_Cache_Actor::changes_settings() ) {
			return Myriad_Cache_Options::is_read( $option );
		}
		return ( Myriad_Cache_Actor::is_job() || Myriad_Cache_Actor::is_staff_view() ) && Myriad_Cache_Options::is_changed_by_job( $option, $before, $after );
	}

	/**
	 * Returns the settings of a theme, without those in which WordPress caches lookups, which it also writes in
	 * requests of visitors.
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
	 * Handles a change of the whole site.
	 */
	public static function site() {
		Myriad_Cache_Queue::add( 's' );
	}

	/**
	 * Handles a plugin that was activated or deactivated.
	 *
	 * @param string $plugin     Plugin.
	 * @param bool   $is_network True if it concerns all sites of the network.
	 */
	public static function plugin( $plugin, $is_network = false ) {
		if ( $is_network ) {
			Myriad_Cache_Queue::add_network();
		} else {
			self::site();
		}
	}

	/**
	 * Handles a changed option of the network. Without a network it is an option of the site, which has its own action.
	 *
	 * @param string $option Name.
	 */
	public static function network_option( $option ) {
		$may_manage = ( defined( 'WP_CLI' ) && WP_CLI ) || 'cli' === PHP_SAPI || is_super_admin();
		if ( is_multisite() && ! preg_match( self::INNER_OPTIONS, $option ) && $may_manage && Myriad_Cache_Actor::changes_settings() ) {
			Myriad_Cache_Queue::add_network();
		}
	}

	/**
	 * Handles a changed product.
	 *
	 * @param WC_Product|int $product Product.
	 */
	public static function product( $product ) {
		$post_id = is_object( $product ) && method_exists( $product, 'get_id' ) ? (int) $product->get_id() : (int) $product;
		if ( $post_id > 0 && ! Myriad_Cache_Stock::is_sold( $post_id ) ) {
			Myriad_Cache_Queue::add( 'p' . $post_id );
			self::product_in_sitemap( $post_id );
			$parent = wp_get_post_parent_id( $post_id );
			if ( $parent ) {
				Myriad_Cache_Queue::add( 'p' . $parent );
			}
		}
	}

	/**
	 * Purges the sitemap of a changed product: since WordPress 6.5, it contains the time of the last change, which WooCommerce writes without
	 * actions.
	 *
	 * @param int $post_id Product, or a variation.
	 */
	public static function product_in_sitemap( $post_id ) {
		if ( version_compare( get_bloginfo( 'version' ), '6.5', '>=' ) && 'product' === get_post_type( $post_id ) ) {
			Myriad_Cache_Queue::add( 'smpostsproduct' );
		}
	}

	/**
	 * Handles a product whose stock status has changed: shops can omit products that are out of stock.
	 *
	 * @param int $post_id Product.
	 */
	public static function product_in_stock( $post_id ) {
		self::product( $post_id );
		$post = get_post( $post_id );
		if ( $post && Myriad_Cache_Post_Changes::is_shown( $post->post_status ) ) {
			Myriad_Cache_Queue::add_member( 'product_variation' === $post->post_type && $post->post_parent ? get_post( $post->post_parent ) : $post );
		}
	}
}
