<?php
/**
 * Tags of the page that is being made.
 *
 * @package Myriad_Cache
 */

if ( ! defined( 'ABSPATH' ) ) {
	exit;
}

/**
 * Notes what a page is made from, while WordPress makes it.
 *
 *     s        the site: every page            p12      post 12, of any type, with its title, link or content
 *     pt12     its title alone                 c12, c   comments of post 12, of all posts; cp12 some of all are of it
 *     lpost    a list of posts (see Lists)     lc12     pages below page 12
 *     t5, ts5  the name of term 5, its slug    txTAX    a list of the terms of a taxonomy
 *     u1       the name of user 1              m7       menu 7
 *     wTEXT    widgets of a kind, sb sidebars  oNAME    an option
 *     tplSLUG  a template, partSLUG a part     adj12    the neighbours of post 12, adj: of a term's posts
 *     sm...    sitemaps                        mod      when a post was last changed
 *
 * Each has the site's number before it, since the sites of a network may share a cache.
 */
class Myriad_Cache_Tags {

	/**
	 * Options that are noted where they are read. A change of any other that shows is a change of the site.
	 */
	const OPTIONS = array(
		'blogname',
		'blogdescription',
		'date_format',
		'time_format',
		'start_of_week',
		'show_avatars',
		'avatar_default',
		'avatar_rating',
		'thread_comments',
		'thread_comments_depth',
		'page_comments',
		'comments_per_page',
		'default_comments_page',
		'comment_order',
		'comment_registration',
		'require_name_email',
		'show_comments_cookies_opt_in',
		'rss_use_excerpt',
		'posts_per_rss',
		'site_icon',
	);

	/**
	 * Post types that are no content of their own: what they change is noted otherwise.
	 */
	const INNER_TYPES = array(
		'wp_template',
		'wp_template_part',
		'wp_global_styles',
		'custom_css',
		'customize_changeset',
		'oembed_cache',
		'user_request',
		'revision',
		'nav_menu_item',
	);

	/**
	 * More than this Myriad keeps of no page; it takes such a page for one that every change may concern.
	 */
	const MOST = 600;

	/**
	 * Tags so far, as keys.
	 *
	 * @var array<string, true>
	 */
	private static $tags = array();

	/**
	 * How often the terms of a post were asked for, by post and taxonomy, beside the names of classes that are made of slugs.
	 *
	 * @var array<int, array<string, int>>
	 */
	private static $terms_asked = array();

	/**
	 * Terms of those posts.
	 *
	 * @var array<int, array<string, int[]>>
	 */
	private static $terms_of = array();

	/**
	 * Terms whose slugs were read for names of classes and links of posts, as keys. Feeds have neither, unless links name categories.
	 *
	 * @var array<int, true>
	 */
	private static $slugs = array();

	/**
	 * Begins to note.
	 */
	public static function start() {
		self::add( 's' );
		add_action( 'pre_get_posts', array( __CLASS__, 'note_query' ), PHP_INT_MAX );
		add_filter( 'the_posts', array( __CLASS__, 'note_posts' ), PHP_INT_MAX, 2 );
		add_filter( 'get_pages', array( __CLASS__, 'note_pages' ), PHP_INT_MAX, 2 );
		foreach ( array( 'post_link', 'page_link', 'post_type_link', 'attachment_link', 'the_title', 'wp_get_attachment_url', 'post_thumbnail_id' ) as $filter ) {
			add_filter( $filter, array( __CLASS__, 'note_post' ), PHP_INT_MAX, 2 );
		}
		add_filter( 'wp_get_attachment_image_attributes', array( __CLASS__, 'note_post' ), PHP_INT_MAX, 2 );
		add_filter( 'get_terms', array( __CLASS__, 'note_terms' ), PHP_INT_MAX, 3 );
		add_filter( 'get_the_terms', array( __CLASS__, 'note_terms_of_post' ), PHP_INT_MAX, 3 );
		add_filter( 'post_class', array( __CLASS__, 'forget_terms_of_class' ), PHP_INT_MAX, 3 );
		add_filter( 'term_link', array( __CLASS__, 'note_term' ), PHP_INT_MAX, 2 );
		self::start_people();
		self::start_parts();
	}

	/**
	 * Users, comments and options.
	 */
	private static function start_people() {
		foreach ( array( 'display_name', 'nickname', 'first_name', 'last_name', 'description', 'user_url', 'user_nicename' ) as $field ) {
			add_filter( 'get_the_author_' . $field, array( __CLASS__, 'note_user' ), PHP_INT_MAX, 2 );
		}
		add_filter( 'author_link', array( __CLASS__, 'note_user' ), PHP_INT_MAX, 2 );
		add_filter( 'the_author', array( __CLASS__, 'note_author' ), PHP_INT_MAX );
		add_filter( 'the_comments', array( __CLASS__, 'note_comments' ), PHP_INT_MAX, 2 );
		add_filter( 'get_comments_number', array( __CLASS__, 'note_comment_count' ), PHP_INT_MAX, 2 );
		foreach ( self::OPTIONS as $option ) {
			add_filter( 'option_' . $option, array( __CLASS__, 'note_option' ), PHP_INT_MAX, 2 );
		}
	}

	/**
	 * Menus, widgets, templates, blocks, neighbours, archives.
	 */
	private static function start_parts() {
		add_filter( 'wp_get_nav_menu_items', array( __CLASS__, 'note_menu' ), PHP_INT_MAX, 2 );
		add_action( 'dynamic_sidebar', array( __CLASS__, 'note_widget' ) );
		add_action( 'dynamic_sidebar_before', array( __CLASS__, 'note_sidebar' ) );
		add_filter( 'is_active_sidebar', array( __CLASS__, 'note_sidebar' ), PHP_INT_MAX );
		add_filter( 'get_block_templates', array( __CLASS__, 'note_templates' ), PHP_INT_MAX, 3 );
		add_filter( 'render_block_data', array( __CLASS__, 'note_block' ), PHP_INT_MAX );
		foreach ( array( 'previous', 'next' ) as $which ) {
			add_filter( 'get_' . $which . '_post_where', array( __CLASS__, 'note_neighbour' ), PHP_INT_MAX, 5 );
		}
		add_filter( 'paginate_links', array( __CLASS__, 'note_page_count' ), PHP_INT_MAX );
		add_filter( 'get_lastpostmodified', array( __CLASS__, 'note_last_change' ), PHP_INT_MAX );
		foreach ( array( 'getarchives_where', 'get_calendar' ) as $filter ) {
			add_filter( $filter, array( __CLASS__, 'note_archives' ), PHP_INT_MAX );
		}
	}

	/**
	 * Adds a tag.
	 *
	 * @param string $tag Tag without the site's number.
	 */
	public static function add( $tag ) {
		self::$tags[ $tag ] = true;
	}

	/**
	 * The tag as Myriad knows it.
	 *
	 * @param string $tag Tag.
	 * @return string With the site's number; without characters that separate tags.
	 */
	public static function named( $tag ) {
		return 'wp' . get_current_blog_id() . '-' . preg_replace( '/[^A-Za-z0-9_.-]/', '_', $tag );
	}

	/**
	 * All tags of the page, as they are sent.
	 *
	 * @return string[]
	 */
	public static function all() {
		if ( self::note_request() ) {
			self::note_kept_terms();
		}
		$tags = array_slice( array_keys( self::$tags ), 0, self::MOST );
		return array_map( array( __CLASS__, 'named' ), array_map( 'strval', $tags ) );
	}

	/**
	 * What the address itself says: the term, the author, the kind of sitemap.
	 *
	 * @return bool Whether the page is one that shows single terms: a sitemap is not.
	 */
	private static function note_request() {
		global $wp, $wp_query;
		$vars = isset( $wp->query_vars ) ? $wp->query_vars : array();
		if ( ! empty( $vars['sitemap'] ) ) {
			// The list of thousands of posts; what concerns it is told by kind.
			$sub        = isset( $vars['sitemap-subtype'] ) ? $vars['sitemap-subtype'] : '';
			self::$tags = array(
				's'                                => true,
				'sm' . $vars['sitemap'] . $sub     => true,
			);
			return false;
		}
		if ( ! empty( $vars['sitemap-stylesheet'] ) ) {
			self::$tags = array( 'smstyle' => true );
			return false;
		}
		if ( ! $wp_query instanceof WP_Query ) {
			return true;
		}
		$object = $wp_query->get_queried_object();
		if ( $object instanceof WP_Term ) {
			self::add( 't' . $object->term_id );
		} elseif ( $object instanceof WP_User ) {
			self::add( 'u' . $object->ID );
		} elseif ( $object instanceof WP_Post ) {
			self::add( 'p' . $object->ID );
		}
		if ( $wp_query->is_comment_feed() ) {
			self::note_comment_feed( $wp_query, $object );
		}
		if ( ! wp_is_block_theme() && ! is_feed() ) {
			// Themes of templates in PHP may say how many pages there are in any way.
			self::note_page_count( '' );
		}
		return true;
	}

	/**
	 * A feed of comments: it shows the titles of their posts, and nothing else of them.
	 *
	 * @param WP_Query $query  Query.
	 * @param mixed    $object Post whose comments they are.
	 */
	private static function note_comment_feed( $query, $object ) {
		foreach ( array_keys( self::$tags ) as $tag ) {
			if ( preg_match( '/^p[0-9]+$/', $tag ) ) {
				unset( self::$tags[ $tag ] );
				self::add( 'pt' . substr( $tag, 1 ) );
			}
		}
		if ( $query->is_singular() ) {
			self::add( $object instanceof WP_Post ? 'c' . $object->ID : 'mod' );
			return;
		}
		self::note_comments( $query->comments, null );
	}

	/**
	 * A query: which lists it is of.
	 *
	 * @param WP_Query $query Query.
	 */
	public static function note_query( $query ) {
		foreach ( Myriad_Cache_Lists::of_query( $query ) as $tag ) {
			self::add( $tag );
		}
	}

	/**
	 * Posts that a query found.
	 *
	 * @param WP_Post[]     $posts Posts.
	 * @param WP_Query|null $query Query.
	 * @return WP_Post[]
	 */
	public static function note_posts( $posts, $query = null ) {
		if ( $query instanceof WP_Query && $query->is_comment_feed() && ! $query->is_singular() ) {
			return $posts; // What shows is their comments.
		}
		foreach ( is_array( $posts ) ? $posts : array() as $post ) {
			self::note_post( null, $post );
		}
		return $posts;
	}

	/**
	 * Pages that a list of pages found.
	 *
	 * @param WP_Post[] $pages Pages.
	 * @param array     $args  Arguments of the list.
	 * @return WP_Post[]
	 */
	public static function note_pages( $pages, $args ) {
		$parent = isset( $args['parent'] ) ? (int) $args['parent'] : -1;
		self::add( $parent > 0 ? 'lc' . $parent : 'lpage' );
		return self::note_posts( $pages );
	}

	/**
	 * A post whose title, link or picture was asked for.
	 *
	 * @param mixed       $value What was asked for.
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
		if ( $id > 0 && ! in_array( $type, self::INNER_TYPES, true ) ) {
			self::add( 'p' . $id );
		}
		return $value;
	}

	/**
	 * Terms that a query found.
	 *
	 * @param mixed    $terms      Terms, numbers, names or a count.
	 * @param string[] $taxonomies Taxonomies, or null.
	 * @param array    $args       Arguments of the query.
	 * @return mixed
	 */
	public static function note_terms( $terms, $taxonomies, $args ) {
		$found = is_array( $terms ) ? $terms : array();
		if ( ! empty( $args['object_ids'] ) ) {
			// Terms of posts are noted where they are asked for; here they are only read ahead.
			foreach ( $found as $term ) {
				if ( $term instanceof WP_Term ) {
					self::$slugs[ $term->term_id ] = true;
				}
			}
			return $terms;
		}
		foreach ( $found as $term ) {
			if ( $term instanceof WP_Term ) {
				self::note_term( null, $term );
			} elseif ( isset( $args['fields'] ) && 'ids' === $args['fields'] ) {
				self::add( 't' . (int) $term );
			}
		}
		if ( empty( $args['include'] ) && empty( $args['slug'] ) && empty( $args['name'] ) && empty( $args['term_taxonomy_id'] ) ) {
			foreach ( is_array( $taxonomies ) ? $taxonomies : array() as $taxonomy ) {
				self::add( 'tx' . $taxonomy );
			}
		}
		return $terms;
	}

	/**
	 * Terms of a post. They show, unless they are asked for to make names of classes.
	 *
	 * @param mixed  $terms    Terms, or an error.
	 * @param int    $post_id  Post.
	 * @param string $taxonomy Taxonomy.
	 * @return mixed
	 */
	public static function note_terms_of_post( $terms, $post_id, $taxonomy ) {
		if ( is_array( $terms ) && $terms ) {
			foreach ( $terms as $term ) {
				self::$slugs[ $term->term_id ] = true;
				self::$terms_of[ $post_id ][ $taxonomy ][] = $term->term_id;
			}
			$asked = isset( self::$terms_asked[ $post_id ][ $taxonomy ] ) ? self::$terms_asked[ $post_id ][ $taxonomy ] : 0;

			self::$terms_asked[ $post_id ][ $taxonomy ] = $asked + 1;
		}
		return $terms;
	}

	/**
	 * Names of classes were made: the terms were asked for once for them.
	 *
	 * @param mixed $classes Names of classes.
	 * @param mixed $more    More of them.
	 * @param int   $post_id Post.
	 * @return mixed
	 */
	public static function forget_terms_of_class( $classes, $more, $post_id ) {
		if ( isset( self::$terms_asked[ $post_id ] ) ) {
			foreach ( self::$terms_asked[ $post_id ] as $taxonomy => $asked ) {
				self::$terms_asked[ $post_id ][ $taxonomy ] = $asked - 1;
			}
		}
		return $classes;
	}

	/**
	 * Notes the terms that were asked for otherwise.
	 */
	private static function note_kept_terms() {
		if ( ! is_feed() || false !== strpos( (string) get_option( 'permalink_structure' ), '%category%' ) ) {
			foreach ( array_keys( self::$slugs ) as $term_id ) {
				self::add( 'ts' . $term_id );
			}
		}
		foreach ( self::$terms_asked as $post_id => $taxonomies ) {
			foreach ( $taxonomies as $taxonomy => $asked ) {
				if ( $asked > 0 ) {
					foreach ( self::$terms_of[ $post_id ][ $taxonomy ] as $term_id ) {
						self::add( 't' . $term_id );
					}
				}
			}
		}
	}

	/**
	 * A term whose link was asked for, or that was listed.
	 *
	 * @param mixed   $value What was asked for.
	 * @param WP_Term $term  Term.
	 * @return mixed
	 */
	public static function note_term( $value, $term ) {
		if ( isset( $term->term_id ) ) {
			self::add( 't' . $term->term_id );
			self::add( 'ts' . $term->term_id );
		}
		return $value;
	}

	/**
	 * A user whose name or link was asked for.
	 *
	 * @param mixed $value   What was asked for.
	 * @param int   $user_id User.
	 * @return mixed
	 */
	public static function note_user( $value, $user_id = 0 ) {
		self::add( 'u' . (int) $user_id );
		return $value;
	}

	/**
	 * The author of the post at hand.
	 *
	 * @param mixed $name Name.
	 * @return mixed
	 */
	public static function note_author( $name ) {
		global $authordata;
		return self::note_user( $name, isset( $authordata->ID ) ? $authordata->ID : 0 );
	}

	/**
	 * Comments that a query found.
	 *
	 * @param mixed                 $comments Comments.
	 * @param WP_Comment_Query|null $query    Query; none for those of all posts.
	 * @return mixed
	 */
	public static function note_comments( $comments, $query ) {
		$post_id = isset( $query->query_vars['post_id'] ) ? (int) $query->query_vars['post_id'] : 0;
		self::add( $post_id > 0 ? 'c' . $post_id : 'c' );
		foreach ( is_array( $comments ) && $post_id < 1 ? $comments : array() as $comment ) {
			if ( isset( $comment->comment_post_ID ) ) {
				self::add( 'cp' . (int) $comment->comment_post_ID );
			}
		}
		return $comments;
	}

	/**
	 * How many comments a post has.
	 *
	 * @param mixed $count   Count.
	 * @param int   $post_id Post.
	 * @return mixed
	 */
	public static function note_comment_count( $count, $post_id ) {
		self::add( 'c' . (int) $post_id );
		return $count;
	}

	/**
	 * An option.
	 *
	 * @param mixed  $value  Value.
	 * @param string $option Name.
	 * @return mixed
	 */
	public static function note_option( $value, $option ) {
		self::add( 'o' . $option );
		return $value;
	}

	/**
	 * A menu.
	 *
	 * @param mixed   $items Items.
	 * @param WP_Term $menu  Menu.
	 * @return mixed
	 */
	public static function note_menu( $items, $menu ) {
		if ( isset( $menu->term_id ) ) {
			self::add( 'm' . $menu->term_id );
		}
		return $items;
	}

	/**
	 * A widget in a sidebar.
	 *
	 * @param array $widget Widget.
	 */
	public static function note_widget( $widget ) {
		if ( isset( $widget['id'] ) ) {
			self::add( 'w' . preg_replace( '/-[0-9]+$/', '', $widget['id'] ) );
		}
	}

	/**
	 * Which widgets are where.
	 *
	 * @param mixed $value What was asked for.
	 * @return mixed
	 */
	public static function note_sidebar( $value ) {
		self::add( 'sb' );
		return $value;
	}

	/**
	 * Templates that were looked for: the one that was found, and those that would come before it.
	 *
	 * @param WP_Block_Template[] $templates Templates that were found.
	 * @param array               $query     What was looked for.
	 * @param string              $type      Template, or part.
	 * @return WP_Block_Template[]
	 */
	public static function note_templates( $templates, $query, $type ) {
		if ( 'wp_template' !== $type ) {
			return $templates;
		}
		$found = wp_list_pluck( is_array( $templates ) ? $templates : array(), 'slug' );
		foreach ( isset( $query['slug__in'] ) ? (array) $query['slug__in'] : $found as $slug ) {
			self::add( 'tpl' . $slug );
			if ( in_array( $slug, $found, true ) ) {
				break;
			}
		}
		return $templates;
	}

	/**
	 * A block that shows something else.
	 *
	 * @param array $block Block.
	 * @return array
	 */
	public static function note_block( $block ) {
		$name = isset( $block['blockName'] ) ? $block['blockName'] : '';
		$args = isset( $block['attrs'] ) ? $block['attrs'] : array();
		if ( 'core/template-part' === $name && isset( $args['slug'] ) ) {
			self::add( 'part' . $args['slug'] );
		} elseif ( ( 'core/navigation' === $name || 'core/block' === $name ) && isset( $args['ref'] ) ) {
			self::add( 'p' . (int) $args['ref'] );
		} elseif ( 'core/image' === $name && isset( $args['id'] ) ) {
			self::add( 'p' . (int) $args['id'] );
		} elseif ( 'core/legacy-widget' === $name && isset( $args['idBase'] ) ) {
			self::add( 'w' . $args['idBase'] );
		}
		return $block;
	}

	/**
	 * The neighbour of a post.
	 *
	 * @param string  $where          Condition.
	 * @param bool    $in_same_term   Whether it is one of the same term.
	 * @param mixed   $excluded_terms Terms that are left out.
	 * @param string  $taxonomy       Taxonomy.
	 * @param WP_Post $post           Post.
	 * @return string
	 */
	public static function note_neighbour( $where, $in_same_term, $excluded_terms, $taxonomy, $post ) {
		self::add( $in_same_term || $excluded_terms || ! isset( $post->ID ) ? 'adj' : 'adj' . $post->ID );
		return $where;
	}

	/**
	 * Months that have posts.
	 *
	 * @param mixed $value What was asked for.
	 * @return mixed
	 */
	public static function note_archives( $value ) {
		self::add( 'lpost' );
		return $value;
	}

	/**
	 * How many pages a list has.
	 *
	 * @param mixed $value What was asked for.
	 * @return mixed
	 */
	public static function note_page_count( $value ) {
		foreach ( array_keys( self::$tags ) as $tag ) {
			if ( '.x' === substr( $tag, -2 ) ) {
				self::add( substr( $tag, 0, -1 ) . 'n' );
			}
		}
		return $value;
	}

	/**
	 * When a post was last changed, as feeds without posts say.
	 *
	 * @param mixed $value Time.
	 * @return mixed
	 */
	public static function note_last_change( $value ) {
		if ( did_action( 'template_redirect' ) ) {
			self::add( 'mod' );
		}
		return $value;
	}
}
