<?php
/**
 * Data that WordPress reads while it generates a page.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Tags the page with this data. Each method handles one filter or action of WordPress, and changes no value.
 */
class Myriad_Cache_Notes {

	/**
	 * Hooks that pages use to show data on which their arguments have no influence, and the tags of these data. WordPress counts how often a hook
	 * has run, so that no function is registered for them: see note_counted().
	 */
	const COUNTED = array(
		'getarchives_where'                     => 'lpost',
		'get_calendar'                          => 'lpost',
		'pre_wp_list_authors_post_counts_query' => 'lpost',
		'pre_count_users'                       => 'lu',
		'wp_count_attachments'                  => 'lattachment',
		'is_active_sidebar'                     => 'sb',
	);

	/**
	 * Tags of the hooks that are counted, by name of the hook; empty if functions are registered for them.
	 *
	 * @var array<string, string>
	 */
	private static $counted = array();

	/**
	 * True if the filters of start_posts() are registered.
	 *
	 * @var bool
	 */
	private static $notes_posts = false;

	/**
	 * Posts of this site with the type `page`, as keys.
	 *
	 * @var array<int, true>
	 */
	private static $pages = array();

	/**
	 * Posts whose terms were read in advance, as keys; empty in a network, whose sites have posts with the same numbers.
	 *
	 * @var array<int, true>
	 */
	private static $preloaded = array();

	/**
	 * Last query, except the main query: arguments, properties, and tags of its lists.
	 *
	 * @var array{0: array|null, 1: array, 2: string[]}
	 */
	private static $last_query = array( null, array(), array() );

	/**
	 * How often these hooks had run at the last count.
	 *
	 * @var array<string, int>
	 */
	private static $counts = array();

	/**
	 * Terms whose slugs were read for class names and links of posts, as keys. Feeds have neither, unless permalinks
	 * contain categories.
	 *
	 * @var array<int, true>
	 */
	private static $slugs = array();

	/**
	 * Registers the filters and actions.
	 */
	public static function start() {
		Myriad_Cache_Tags::add( 's' );
		Myriad_Cache_Reads::start();
		Myriad_Cache_Options::start();
		Myriad_Cache_Transients::start();
		Myriad_Cache_Values::start();
		Myriad_Cache_Times::start();
		Myriad_Cache_Stock::note();
		Myriad_Cache_Hooks::add( 'pre_get_posts', array( __CLASS__, 'note_query' ), PHP_INT_MAX );
		Myriad_Cache_Hooks::add( 'the_posts', array( __CLASS__, 'note_posts' ), PHP_INT_MAX, 2 );
		Myriad_Cache_Hooks::add( 'get_pages', array( __CLASS__, 'note_pages' ), PHP_INT_MAX, 2 );
		Myriad_Cache_Hooks::add( array( 'page_link', 'the_title' ), array( __CLASS__, 'note_title' ), PHP_INT_MAX, 2 );
		if ( ! Myriad_Cache_Memory::is_readable() ) {
			self::start_posts();
		}
		Myriad_Cache_Hooks::add( 'get_terms', array( __CLASS__, 'note_terms' ), PHP_INT_MAX, 3 );
		Myriad_Cache_Hooks::add( 'terms_pre_query', array( __CLASS__, 'note_term_query' ), PHP_INT_MAX, 2 );
		Myriad_Cache_Hooks::add( 'term_link', array( __CLASS__, 'note_term' ), PHP_INT_MAX, 2 );
		Myriad_Cache_Titles::start();
		self::start_people();
		self::start_parts();
		self::start_counted();
	}

	/**
	 * Registers the filters of posts that are shown. They are needed only for values that are computed and stored while the page is generated, and
	 * if posts in the memory of the object cache cannot be listed: otherwise, each of these posts is there when the page is complete.
	 */
	public static function start_posts() {
		if ( ! self::$notes_posts ) {
			self::$notes_posts = true;
			Myriad_Cache_Hooks::add( array( 'post_link', 'post_type_link', 'attachment_link', 'wp_get_attachment_url', 'get_the_excerpt', 'wp_get_attachment_image_attributes' ), array( __CLASS__, 'note_post' ), PHP_INT_MAX, 2 );
			Myriad_Cache_Hooks::add( 'the_content', array( __CLASS__, 'note_content' ), PHP_INT_MAX );
		}
	}

	/**
	 * Starts to count the hooks of COUNTED and those of options.
	 */
	private static function start_counted() {
		$hooks = self::COUNTED;
		foreach ( Myriad_Cache_Tags::OPTIONS as $name ) {
			$hooks[ 'option_' . $name ] = 'o' . $name;
		}
		self::$counted = $hooks;
		// Counts do not identify the site of a network for which a hook has run. Before WordPress 6.1, filters are not counted.
		if ( is_multisite() || ! isset( $GLOBALS['wp_filters'] ) ) {
			Myriad_Cache_Hooks::add( array_keys( $hooks ), array( __CLASS__, 'note_hook' ), PHP_INT_MAX );
		}
	}

	/**
	 * Tags the page with the data of a hook of COUNTED or of an option, which runs.
	 *
	 * @param mixed $value Value.
	 * @return mixed
	 */
	public static function note_hook( $value ) {
		Myriad_Cache_Tags::add( self::$counted[ current_filter() ] );
		return $value;
	}

	/**
	 * Tags the page with the data of the counted hooks that have run since the last call.
	 */
	public static function note_counted() {
		global $wp_filters;
		if ( is_multisite() || ! is_array( $wp_filters ) ) {
			return; // See start_counted().
		}
		foreach ( array_intersect_key( self::$counted, $wp_filters ) as $name => $tag ) {
			if ( ! isset( self::$counts[ $name ] ) || self::$counts[ $name ] !== $wp_filters[ $name ] ) {
				self::$counts[ $name ] = $wp_filters[ $name ];
				Myriad_Cache_Tags::add( $tag );
			}
		}
	}

	/**
	 * Registers the filters of users, comments and options.
	 */
	private static function start_people() {
		$fields = array( 'display_name', 'nickname', 'first_name', 'last_name', 'description', 'user_url', 'user_nicename' );
		Myriad_Cache_Hooks::add( self::prefixed( 'get_the_author_', $fields ), array( __CLASS__, 'note_user' ), PHP_INT_MAX, 2 );
		Myriad_Cache_Hooks::add( 'author_link', array( __CLASS__, 'note_user' ), PHP_INT_MAX, 2 );
		Myriad_Cache_Hooks::add( 'the_author', array( __CLASS__, 'note_author' ), PHP_INT_MAX );
		Myriad_Cache_Hooks::add( 'the_comments', array( __CLASS__, 'note_comments' ), PHP_INT_MAX, 2 );
		Myriad_Cache_Hooks::add( 'get_comments_number', array( __CLASS__, 'note_comment_count' ), PHP_INT_MAX, 2 );
		Myriad_Cache_Hooks::add( 'pre_get_users', array( __CLASS__, 'note_user_query' ), PHP_INT_MAX );
		Myriad_Cache_Hooks::add( 'get_usernumposts', array( __CLASS__, 'note_posts_of_user' ), PHP_INT_MAX, 2 );
		Myriad_Cache_Hooks::add( 'wp_count_posts', array( __CLASS__, 'note_post_count' ), PHP_INT_MAX, 2 );
		self::start_counts();
	}

	/**
	 * Returns names with a prefix.
	 *
	 * @param string   $prefix Prefix.
	 * @param string[] $names  Names.
	 * @return string[]
	 */
	private static function prefixed( $prefix, $names ) {
		foreach ( $names as $number => $name ) {
			$names[ $number ] = $prefix . $name;
		}
		return $names;
	}

	/**
	 * Registers the filters of counts that WordPress selects directly with SQL: of users, comments, posts of authors, and media.
	 */
	private static function start_counts() {
		Myriad_Cache_Hooks::add( 'pre_get_comments', array( __CLASS__, 'note_comment_query' ), PHP_INT_MAX );
		Myriad_Cache_Hooks::add( 'wp_count_comments', array( __CLASS__, 'note_comment_counts' ), PHP_INT_MAX, 2 );
		Myriad_Cache_Hooks::add( 'pre_count_many_users_posts', array( __CLASS__, 'note_posts_of_users' ), PHP_INT_MAX, 2 );
	}

	/**
	 * Registers the filters of menus, widgets, templates, blocks, adjacent posts and archives.
	 */
	private static function start_parts() {
		Myriad_Cache_Hooks::add( 'wp_get_nav_menu_items', array( __CLASS__, 'note_menu' ), PHP_INT_MAX, 2 );
		Myriad_Cache_Hooks::add( 'dynamic_sidebar', array( __CLASS__, 'note_widget' ) );
		Myriad_Cache_Hooks::add( 'dynamic_sidebar_before', array( __CLASS__, 'note_sidebar' ) );
		add_action(
			'wp',
			static function () {
				// Plugins check whether a widget of theirs is active. Earlier, WordPress itself does so in each request.
				Myriad_Cache_Hooks::add( 'sidebars_widgets', array( __CLASS__, 'note_sidebar' ), PHP_INT_MAX );
			}
		);
		Myriad_Cache_Hooks::add( 'get_block_templates', array( __CLASS__, 'note_templates' ), PHP_INT_MAX, 3 );
		Myriad_Cache_Hooks::add( self::prefixed( 'render_block_core/', array( 'template-part', 'navigation', 'block', 'image', 'legacy-widget' ) ), array( __CLASS__, 'note_block' ), PHP_INT_MAX, 2 );
		Myriad_Cache_Hooks::add( array( 'get_previous_post_where', 'get_next_post_where' ), array( __CLASS__, 'note_neighbour' ), PHP_INT_MAX, 5 );
		Myriad_Cache_Hooks::add( 'paginate_links', array( 'Myriad_Cache_Tags', 'note_page_count' ), PHP_INT_MAX );
		Myriad_Cache_Hooks::add( 'get_lastpostmodified', array( __CLASS__, 'note_last_change' ), PHP_INT_MAX );
	}

	/**
	 * Tags the page with the lists that a query reads.
	 *
	 * @param WP_Query $query Query.
	 */
	public static function note_query( $query ) {
		Myriad_Cache_Times::note_query( $query );
		Myriad_Cache_Selections::start();
		$vars = $query->query_vars;
		$kind = array( $query->is_singular(), $query->is_posts_page, $query->is_comment_feed(), $query->is_tax(), get_current_blog_id() );
		// Menus select the same pages several times. The tags of the main query depend on more properties.
		if ( self::$last_query[0] !== $vars || self::$last_query[1] !== $kind || $query->is_main_query() ) {
			$before = Myriad_Cache_Reads::pause_noting();
			try {
				$tags = Myriad_Cache_Lists::of_query( $query );
			} finally {
				Myriad_Cache_Reads::continue_noting( $before );
			}
			self::$last_query = array( $query->is_main_query() ? null : $vars, $kind, $tags );
		}
		foreach ( self::$last_query[2] as $tag ) {
			Myriad_Cache_Tags::add( $tag );
		}
	}

	/**
	 * Tags the page with a list of users, and the fields by which they are selected.
	 *
	 * @param WP_User_Query $query Query.
	 */
	public static function note_user_query( $query ) {
		Myriad_Cache_Tags::add( 'lu' );
		foreach ( Myriad_Cache_Lists::meta_fields( $query->query_vars ) as $field ) {
			Myriad_Cache_Tags::add( 'lu.by-' . $field );
		}
		$by_posts = array_filter( (array) $query->get( 'has_published_posts' ), 'is_string' );
		if ( false !== strpos( (string) wp_json_encode( $query->get( 'orderby' ) ), 'post_count' ) || true === $query->get( 'has_published_posts' ) ) {
			$by_posts[] = 'post';
		}
		foreach ( $by_posts as $type ) {
			Myriad_Cache_Tags::add( 'l' . $type );
		}
	}

	/**
	 * Tags the page with the number of posts of a user.
	 *
	 * @param mixed $count   Count.
	 * @param int   $user_id User.
	 * @return mixed
	 */
	public static function note_posts_of_user( $count, $user_id = 0 ) {
		Myriad_Cache_Tags::add( 'la' . (int) $user_id );
		Myriad_Cache_Tags::add( 'la' . (int) $user_id . '-any' );
		return $count;
	}

	/**
	 * Tags the page with the number of posts of a type.
	 *
	 * @param mixed  $counts Counts.
	 * @param string $type   Type.
	 * @return mixed
	 */
	public static function note_post_count( $counts, $type ) {
		Myriad_Cache_Tags::add( 'l' . $type );
		return $counts;
	}

	/**
	 * Tags the page with the numbers of posts of users.
	 *
	 * @param mixed $counts Counts.
	 * @param int[] $users  Users.
	 * @return mixed
	 */
	public static function note_posts_of_users( $counts, $users ) {
		foreach ( (array) $users as $user_id ) {
			self::note_posts_of_user( 0, (int) $user_id );
		}
		return $counts;
	}

	/**
	 * Tags the page with the posts that a query found.
	 *
	 * @param WP_Post[]     $posts Posts.
	 * @param WP_Query|null $query Query.
	 * @return WP_Post[]
	 */
	public static function note_posts( $posts, $query = null ) {
		if ( $query instanceof WP_Query && $query->is_comment_feed() && ! $query->is_singular() ) {
			return $posts; // Only their comments are shown.
		}
		if ( $query instanceof WP_Query && false === $query->get( 'update_post_meta_cache' ) && Myriad_Cache_Reads::is_read_by( array( 'get_pages' => true ), Myriad_Cache_Reads::NEAR ) ) {
			return $posts; // Since WordPress 6.3; see note_pages().
		}
		foreach ( is_array( $posts ) ? $posts : array() as $post ) {
			self::note_post( null, $post );
		}
		return $posts;
	}

	/**
	 * Tags the page with a list of pages, and the pages in it: with their titles and links only if WordPress itself reads the list, for a menu
	 * or the block with all pages.
	 *
	 * @param WP_Post[] $pages Pages.
	 * @param array     $args  Arguments of the list.
	 * @return WP_Post[]
	 */
	public static function note_pages( $pages, $args ) {
		$parent = isset( $args['parent'] ) ? (int) $args['parent'] : -1;
		$type   = empty( $args['post_type'] ) ? 'page' : $args['post_type'];
		Myriad_Cache_Tags::add( $parent > 0 ? 'lc' . $parent : 'l' . $type );
		foreach ( Myriad_Cache_Lists::fields_of_pages( $args ) as $field ) {
			Myriad_Cache_Tags::add( 'l' . $type . '.by-' . $field );
		}
		$note = Myriad_Cache_Reads::is_called_by_core( 'get_pages' ) ? 'note_title' : 'note_post';
		foreach ( is_array( $pages ) ? $pages : array() as $page ) {
			self::$note( null, $page );
		}
		return $pages;
	}

	/**
	 * Tags the page with a post whose title or link is read. A WordPress page is tagged with its title only: menus link
	 * to it on every page of the site, and do not show its content.
	 *
	 * @param mixed       $value Value that is read.
	 * @param WP_Post|int $post  Post.
	 * @return mixed
	 */
	public static function note_title( $value, $post = 0 ) {
		$id = is_object( $post ) ? (int) $post->ID : (int) $post;
		if ( $id > 0 && Myriad_Cache_Tags::has( 'p' . $id ) ) {
			return $value; // Purged by changes of the title, too.
		}
		$is_own = empty( $GLOBALS['_wp_switched_stack'] );
		if ( $post && ( ( $is_own && isset( self::$pages[ $id ] ) ) || 'page' === ( isset( $post->post_type ) ? $post->post_type : get_post_type( $post ) ) ) ) {
			if ( $is_own ) {
				self::$pages[ $id ] = true;
			}
			Myriad_Cache_Tags::add( 'pt' . $id );
			return $value;
		}
		return self::note_post( $value, $post );
	}

	/**
	 * Tags the page with the current post, whose content is read.
	 *
	 * @param mixed $content Content.
	 * @return mixed
	 */
	public static function note_content( $content ) {
		return self::note_post( $content, (int) get_the_ID() );
	}

	/**
	 * Tags the page with a post whose title, link or picture is read.
	 *
	 * @param mixed       $value Value that is read.
	 * @param WP_Post|int $post  Post.
	 * @return mixed
	 */
	public static function note_post( $value, $post = 0 ) {
		if ( is_object( $post ) ) {
			$id   = isset( $post->ID ) ? (int) $post->ID : 0;
			$type = isset( $post->post_type ) ? $post->post_type : '';
		} else {
			$id   = (int) $post;
			$type = '';
		}
		if ( '' !== Myriad_Cache_Titles::$list && $id > 0 ) {
			Myriad_Cache_Titles::note_post( $id );
			return $value;
		}
		if ( $id > 0 && ! Myriad_Cache_Tags::has( 'p' . $id ) && ! in_array( $type, Myriad_Cache_Tags::INNER_TYPES, true ) ) {
			Myriad_Cache_Tags::add( 'p' . $id );
		}
		return $value;
	}

	/**
	 * Tags the page with the terms that a query found.
	 *
	 * @param mixed    $terms      Terms, numbers, names or a count.
	 * @param string[] $taxonomies Taxonomies, or null.
	 * @param array    $args       Arguments of the query.
	 * @return mixed
	 */
	public static function note_terms( $terms, $taxonomies, $args ) {
		$found = is_array( $terms ) ? $terms : array();
		if ( ! empty( $args['object_ids'] ) ) {
			Myriad_Cache_Reads::end_preload();
			// These terms of posts are only preloaded; Myriad_Cache_Reads::note_term() notes their use.
			foreach ( $found as $term ) {
				if ( $term instanceof WP_Term ) {
					self::$slugs[ $term->term_id ] = true;
				}
			}
			if ( 'all_with_object_id' === $args['fields'] && is_array( $args['object_ids'] ) && ! is_multisite() ) {
				self::$preloaded += array_fill_keys( $args['object_ids'], true );
			}
			return $terms;
		}
		foreach ( $found as $term ) {
			if ( $term instanceof WP_Term ) {
				self::note_term( null, $term );
			} elseif ( isset( $args['fields'] ) && 'ids' === $args['fields'] ) {
				Myriad_Cache_Tags::add( 't' . (int) $term );
			}
		}
		return $terms;
	}

	/**
	 * Notes a query for a list of terms. Unlike the filter `get_terms`, this covers WP_Term_Query objects and counts.
	 *
	 * @param array|null    $terms Terms, if another plugin has found them.
	 * @param WP_Term_Query $query Query.
	 * @return array|null
	 */
	public static function note_term_query( $terms, $query ) {
		$args = $query->query_vars;
		if ( ! empty( $args['object_ids'] ) ) {
			Myriad_Cache_Reads::note_terms_of( $args );
		} elseif ( empty( $args['include'] ) && empty( $args['slug'] ) && empty( $args['name'] ) && empty( $args['term_taxonomy_id'] ) ) {
			$fields = Myriad_Cache_Lists::fields_of_terms( $args );
			foreach ( (array) $args['taxonomy'] as $taxonomy ) {
				Myriad_Cache_Tags::add( 'tx' . $taxonomy );
				foreach ( $fields as $field ) {
					Myriad_Cache_Tags::add( 'tx' . $taxonomy . '.by-' . $field );
				}
			}
		}
		return $terms;
	}

	/**
	 * Returns whether the terms of a post were read in advance, so that their slugs are recorded.
	 *
	 * @param int $post_id Post.
	 * @return bool
	 */
	public static function has_preloaded( $post_id ) {
		return isset( self::$preloaded[ $post_id ] );
	}

	/**
	 * Records a term whose slug may be read.
	 *
	 * @param int $term_id Term.
	 */
	public static function note_slug( $term_id ) {
		self::$slugs[ $term_id ] = true;
	}

	/**
	 * Tags the page with the slugs of terms.
	 */
	public static function finish() {
		if ( ! is_feed() || false !== strpos( (string) get_option( 'permalink_structure' ), '%category%' ) ) {
			foreach ( array_keys( self::$slugs ) as $term_id ) {
				Myriad_Cache_Tags::add( 'ts' . $term_id );
			}
		}
	}

	/**
	 * Tags the page with a term whose link is read, or that is listed.
	 *
	 * @param mixed   $value Value that is read.
	 * @param WP_Term $term  Term.
	 * @return mixed
	 */
	public static function note_term( $value, $term ) {
		if ( isset( $term->term_id ) ) {
			Myriad_Cache_Tags::add( 't' . $term->term_id );
			Myriad_Cache_Tags::add( 'ts' . $term->term_id );
		}
		return $value;
	}

	/**
	 * Tags the page with a user whose name or link is read.
	 *
	 * @param mixed $value   Value that is read.
	 * @param int   $user_id User.
	 * @return mixed
	 */
	public static function note_user( $value, $user_id = 0 ) {
		Myriad_Cache_Tags::add( 'u' . (int) $user_id );
		return $value;
	}

	/**
	 * Tags the page with the author of the current post.
	 *
	 * @param mixed $name Name.
	 * @return mixed
	 */
	public static function note_author( $name ) {
		global $authordata;
		return self::note_user( $name, isset( $authordata->ID ) ? $authordata->ID : 0 );
	}

	/**
	 * Tags the page with the comments that a query found.
	 *
	 * @param mixed                 $comments Comments.
	 * @param WP_Comment_Query|null $query    Query; null for the comments of all posts.
	 * @return mixed
	 */
	public static function note_comments( $comments, $query ) {
		$post_id = isset( $query->query_vars['post_id'] ) ? (int) $query->query_vars['post_id'] : 0;
		Myriad_Cache_Tags::add( $post_id > 0 ? 'c' . $post_id : 'c' );
		foreach ( is_array( $comments ) && $post_id < 1 ? $comments : array() as $comment ) {
			if ( isset( $comment->comment_post_ID ) ) {
				Myriad_Cache_Tags::add( 'cp' . (int) $comment->comment_post_ID );
			}
		}
		return $comments;
	}

	/**
	 * Tags the page with the number of comments that a query selects; WordPress does not filter it. Lists are noted by note_comments().
	 *
	 * @param WP_Comment_Query $query Query.
	 */
	public static function note_comment_query( $query ) {
		if ( ! empty( $query->query_vars['count'] ) ) {
			self::note_comment_counts( 0, isset( $query->query_vars['post_id'] ) ? $query->query_vars['post_id'] : 0 );
		}
	}

	/**
	 * Tags the page with the numbers of comments by status.
	 *
	 * @param mixed      $counts  Counts.
	 * @param int|string $post_id Post; 0 for all.
	 * @return mixed
	 */
	public static function note_comment_counts( $counts, $post_id ) {
		Myriad_Cache_Tags::add( (int) $post_id > 0 ? 'c' . (int) $post_id : 'c.all' );
		return $counts;
	}

	/**
	 * Tags the page with the number of comments of a post.
	 *
	 * @param mixed $count   Count.
	 * @param int   $post_id Post.
	 * @return mixed
	 */
	public static function note_comment_count( $count, $post_id ) {
		Myriad_Cache_Tags::add( 'c' . (int) $post_id );
		return $count;
	}

	/**
	 * Tags the page with a menu.
	 *
	 * @param mixed   $items Items.
	 * @param WP_Term $menu  Menu.
	 * @return mixed
	 */
	public static function note_menu( $items, $menu ) {
		if ( isset( $menu->term_id ) ) {
			Myriad_Cache_Tags::add( 'm' . $menu->term_id );
		}
		return $items;
	}

	/**
	 * Tags the page with the kind of a widget in a sidebar.
	 *
	 * @param array $widget Widget.
	 */
	public static function note_widget( $widget ) {
		if ( isset( $widget['id'] ) ) {
			Myriad_Cache_Tags::add( 'w' . preg_replace( '/-[0-9]+$/', '', $widget['id'] ) );
		}
	}

	/**
	 * Tags the page with the assignment of widgets to sidebars.
	 *
	 * @param mixed $value Value that is read.
	 * @return mixed
	 */
	public static function note_sidebar( $value ) {
		Myriad_Cache_Tags::add( 'sb' );
		return $value;
	}

	/**
	 * Tags the page with the template that was found, and with templates that have a higher priority.
	 *
	 * @param WP_Block_Template[] $templates Templates that were found.
	 * @param array               $query     Query.
	 * @param string              $type      Type: template, or part.
	 * @return WP_Block_Template[]
	 */
	public static function note_templates( $templates, $query, $type ) {
		if ( 'wp_template' !== $type ) {
			return $templates;
		}
		$found = wp_list_pluck( is_array( $templates ) ? $templates : array(), 'slug' );
		foreach ( isset( $query['slug__in'] ) ? (array) $query['slug__in'] : $found as $slug ) {
			Myriad_Cache_Tags::add( 'tpl' . $slug );
			if ( in_array( $slug, $found, true ) ) {
				break;
			}
		}
		return $templates;
	}

	/**
	 * Tags the page with an object that a block shows.
	 *
	 * @param string $content Content of the block.
	 * @param array  $block   Block.
	 * @return string
	 */
	public static function note_block( $content, $block ) {
		$name = isset( $block['blockName'] ) ? $block['blockName'] : '';
		$args = isset( $block['attrs'] ) ? $block['attrs'] : array();
		if ( 'core/template-part' === $name && isset( $args['slug'] ) ) {
			Myriad_Cache_Tags::add( 'part' . $args['slug'] );
		} elseif ( ( 'core/navigation' === $name || 'core/block' === $name ) && isset( $args['ref'] ) ) {
			Myriad_Cache_Tags::add( 'p' . (int) $args['ref'] );
		} elseif ( 'core/image' === $name && isset( $args['id'] ) ) {
			Myriad_Cache_Tags::add( 'p' . (int) $args['id'] );
		} elseif ( 'core/legacy-widget' === $name && isset( $args['idBase'] ) ) {
			Myriad_Cache_Tags::add( 'w' . $args['idBase'] );
		}
		return $content;
	}

	/**
	 * Tags the page with the adjacent posts of a post.
	 *
	 * @param string  $where          Condition.
	 * @param bool    $in_same_term   True if the adjacent post must have a term in common.
	 * @param mixed   $excluded_terms Excluded terms.
	 * @param string  $taxonomy       Taxonomy.
	 * @param WP_Post $post           Post.
	 * @return string
	 */
	public static function note_neighbour( $where, $in_same_term, $excluded_terms, $taxonomy, $post ) {
		Myriad_Cache_Tags::add( $in_same_term || $excluded_terms || ! isset( $post->ID ) ? 'adj' : 'adj' . $post->ID );
		return $where;
	}

	/**
	 * Tags the page with the time of the last change of a post, which feeds without posts contain.
	 *
	 * @param mixed $value Time.
	 * @return mixed
	 */
	public static function note_last_change( $value ) {
		if ( did_action( 'template_redirect' ) ) {
			Myriad_Cache_Tags::add( 'mod' );
		}
		return $value;
	}
}
