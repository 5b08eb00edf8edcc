//! Changes that most pages do not show: they purge only the pages that do. Changes of unknown effect: they purge all pages.

use std::fs;
use std::sync::atomic::{AtomicUsize, Ordering};

use myriad_tests::{Request, Server, Visitor, WordPress, wait_for};

const HOST: &str = "site.test";

fn cache(server: &Server, target: &str) -> String {
    server.fetch(&Request::get(target).host(HOST)).cache().to_owned()
}

/// Stores the pages, and returns those that a change purges.
fn purged(site: &WordPress, server: &Server, targets: &[String], change: &str) -> Vec<String> {
    for target in targets {
        cache(server, target);
        assert_eq!(cache(server, target), "HIT", "{target}");
    }
    site.run_php(HOST, change);
    targets.iter().filter(|target| cache(server, target) != "HIT").cloned().collect()
}

/// Plugin with `get_pages()` as it is since WordPress 6.3, which runs a `WP_Query`. The footer of each page lists all pages, as the block
/// with all pages does.
const PAGES: &str = r"<?php
class Newer_WordPress {
    public static function get_pages() {
        $query = new WP_Query(['post_type' => 'page', 'posts_per_page' => -1, 'orderby' => ['menu_order' => 'ASC', 'post_title' => 'ASC'],
            'update_post_term_cache' => false, 'update_post_meta_cache' => false, 'ignore_sticky_posts' => true, 'no_found_rows' => true]);
        $pages = apply_filters('get_pages', $query->posts, ['sort_column' => 'menu_order,post_title']);
        $titles = array_map(fn ($page) => $page->post_title . get_permalink($page), $pages);
        return '<p>' . implode(', ', $titles) . '</p>';
    }
}
add_shortcode('pages', ['Newer_WordPress', 'get_pages']);
add_action('wp_footer', function () { echo do_shortcode('[pages]'); });
";

#[test]
fn edits_of_one_page_leave_others_although_all_list_it() {
    let site = WordPress::alone();
    fs::write(site.root().join("wp-content/mu-plugins/pages.php"), PAGES).expect("a plugin");
    let server = site.serve_with_plugin();
    // With more pages than a page may have tags for.
    let targets = site.run_php(
        HOST,
        "foreach (range(1, 320) as $n) wp_insert_post(['post_type' => 'page', 'post_status' => 'publish', 'post_title' => \"Page $n\"]); \
         foreach (get_posts(['post_type' => ['page', 'post'], 'numberposts' => 40]) as $post) echo parse_url(get_permalink($post), PHP_URL_PATH), ' '; \
         echo parse_url(get_permalink(get_page_by_path('about')), PHP_URL_PATH), ' ', parse_url(get_permalink(get_posts()[0]), PHP_URL_PATH);",
    );
    let targets: Vec<String> = targets.split_whitespace().map(str::to_owned).collect();
    assert!(targets.len() > 20, "{targets:?}");
    let about = vec!["/about/".to_owned()];
    let edit = "wp_update_post(['ID' => get_page_by_path('about')->ID, 'post_content' => 'Other words.']);";
    assert_eq!(purged(&site, &server, &targets, edit), about, "the content of a page");
    let post = "$post = get_posts()[0];";
    let path = site.run_php(HOST, &format!("{post} echo parse_url(get_permalink($post), PHP_URL_PATH);"));
    let edit = format!(
        "{post} wp_update_post(['ID' => $post->ID, 'post_title' => 'Renamed', 'post_content' => 'Other words.']);"
    );
    let found = purged(&site, &server, &targets, &edit);
    assert!(found.contains(&path) && found.len() * 20 <= targets.len() + 40, "a post: {found:?}");
    let rename = "wp_update_post(['ID' => get_page_by_path('about')->ID, 'post_title' => 'About it']);";
    assert_eq!(purged(&site, &server, &targets, rename).len(), targets.len(), "all pages show the title");
}

/// Plugin that shows the newest posts on each page, as the theme Twenty Twenty-Five does below each post.
const NEWEST: &str = r#"<?php
add_action('wp_footer', function () {
    echo do_blocks('<!-- wp:query {"query":{"perPage":3,"postType":"post","order":"desc","orderBy":"date","inherit":false}} --><div class="wp-block-query">'
        . '<!-- wp:post-template --><!-- wp:group --><div class="wp-block-group"><!-- wp:post-title {"isLink":true} /-->INNER</div><!-- /wp:group --><!-- /wp:post-template -->'
        . '</div><!-- /wp:query -->');
});
"#;
/// Number of versions of the plugin so far.
static VERSIONS: AtomicUsize = AtomicUsize::new(0);
const NEWEST_POST: &str = "$post = get_posts(['orderby' => 'date'])[0];";

/// Returns whether an edit of the content of the newest post purges a page that lists it, and other changes of it do. The list contains the block
/// `inner`; `code` is a plugin.
fn are_titles_shown(site: &WordPress, server: &Server, inner: &str, code: &str) -> [bool; 2] {
    install_newest(site, &format!("{}{code}", NEWEST.replace("INNER", inner)));
    let targets = ["/about/".to_owned()];
    let change = |code: &str| !purged(site, server, &targets, &format!("{NEWEST_POST} {code}")).is_empty();
    let edit = "wp_update_post(['ID' => $post->ID, 'post_content' => 'Words ' . microtime()]);";
    let others = [
        "wp_update_post(['ID' => $post->ID, 'post_title' => 'Renamed ' . microtime()]);",
        "update_post_meta($post->ID, '_thumbnail_id', wp_rand());",
        "wp_set_post_tags($post->ID, 'tag-' . wp_rand());",
        "clean_post_cache($post->ID);",
    ];
    [change(edit), others.into_iter().all(change)]
}

/// Installs a version of the plugin [`NEWEST`] in place of the former one.
fn install_newest(site: &WordPress, plugin: &str) {
    // Each version has another file name: the opcode cache of PHP uses the former version of a changed file for two seconds.
    let folder = site.root().join("wp-content/mu-plugins");
    for file in fs::read_dir(&folder).expect("a folder").map(|file| file.expect("a file").path()) {
        if file.to_string_lossy().contains("/newest-") {
            fs::remove_file(file).expect("a file");
        }
    }
    let number = VERSIONS.fetch_add(1, Ordering::Relaxed);
    fs::write(folder.join(format!("newest-{number}.php")), plugin).expect("a plugin");
    site.run_php(HOST, "Myriad_Cache_Queue::add_all();");
}

#[test]
fn edits_of_a_post_leave_pages_that_show_only_its_title() {
    let site = WordPress::alone();
    let server = site.serve_with_plugin();
    let inner = "<!-- wp:post-date /-->";
    assert_eq!(are_titles_shown(&site, &server, inner, ""), [false, true]);
    let plain =
        "add_filter('gettext', fn ($text) => $text); add_filter('option_date_format', fn ($text) => $text);";
    assert_eq!(
        are_titles_shown(&site, &server, inner, plain),
        [false, true],
        "plugins that receive no posts"
    );
    let modified = r#"<!-- wp:post-date {"displayType":"modified"} /-->"#;
    assert_eq!(are_titles_shown(&site, &server, modified, ""), [true, true], "time of the change");
    assert_eq!(are_titles_shown(&site, &server, "<!-- wp:post-excerpt /-->", ""), [true, true], "excerpt");
    let codes = [
        // Plugins that read the content of the post in the list, after it, and before it.
        "add_filter('the_title', fn ($title) => $title . str_word_count(get_post()->post_content));",
        "add_filter('render_block_core/post-title', fn ($html) => $html . strlen(get_post()->post_content));",
        "$f = function ($title, $id) use (&$f) { if (get_post_type($id) !== 'post') return $title; remove_filter('the_title', $f); return $title . strlen(get_post($id)->post_content); }; add_filter('the_title', $f, 10, 2);",
        "add_action('wp_footer', function () { $q = new WP_Query(['suppress_filters' => true, 'numberposts' => 1]); echo strlen($q->posts[0]->post_content); }, 99);",
        "add_action('wp_footer', function () { echo strlen(get_post(NEWEST)->post_content); }, 99);",
        "add_action('wp_footer', function () { echo strlen(get_post(NEWEST)->post_content); }, 1);",
    ];
    let newest = site.run_php(HOST, &format!("{NEWEST_POST} echo $post->ID;"));
    for code in codes {
        let code = code.replace("NEWEST", newest.trim());
        assert_eq!(are_titles_shown(&site, &server, inner, &code), [true, true], "{code}");
    }
}

/// Block of a plugin. It shows whether a function is called for each hook, which would take much time.
const OBSERVED: &str = r"
add_action('init', function () {
    register_block_type('case/observed', ['render_callback' => fn () => has_filter('all') ? '[observed]' : '[ignored]']);
});
";

#[test]
fn lists_of_titles_after_a_list_with_a_block_of_a_plugin_depend_on_titles() {
    let site = WordPress::alone();
    let server = site.serve_with_plugin();
    site.run_php(
        HOST,
        "foreach (range(1, 9) as $n) wp_insert_post(['post_status' => 'publish', 'post_title' => \"Post $n\", 'post_date' => \"2001-01-0$n 00:00:00\"]);",
    );
    let oldest = NEWEST.replace("\"desc\"", "\"asc\"");
    let later = oldest
        .replace("<?php", "")
        .replace("\"perPage\":3", "\"perPage\":2,\"offset\":6")
        .replace("INNER", "");
    install_newest(
        &site,
        &format!("{}{later}{OBSERVED}", oldest.replace("INNER", "<!-- wp:case/observed /-->")),
    );
    let page = server.fetch(&Request::get("/about/").host(HOST)).text();
    assert_eq!(page.matches("[ignored]").count(), 3, "{page}");
    assert!(!page.contains("[observed]") && page.contains("Post 7"), "{page}");
    // The other list depends on whole posts.
    let targets = ["/about/".to_owned()];
    for (post, change, count) in [
        (0, "'post_content' => 'Other words'", 1),
        (6, "'post_content' => 'Other words'", 0),
        (6, "'post_title' => 'Renamed'", 1),
    ] {
        let found = format!("get_posts(['order' => 'ASC', 'numberposts' => 1, 'offset' => {post}])[0]");
        let code = format!("wp_update_post(['ID' => {found}->ID, {change}]);");
        assert_eq!(purged(&site, &server, &targets, &code).len(), count, "{code}");
    }
}

#[test]
fn changes_of_the_class_names_of_a_post_purge_pages_that_list_it() {
    let site = WordPress::alone();
    let server = site.serve_with_plugin();
    let status = "add_action('init', function () { register_post_status('archived', ['public' => true]); });";
    install_newest(&site, &format!("{}{status}", NEWEST.replace("INNER", "")));
    site.run_php(
        HOST,
        &format!(
            "{NEWEST_POST} update_option('case_post', $post->ID); \
             update_option('case_file', wp_insert_attachment(['post_mime_type' => 'image/png', 'post_title' => 'Cup']));"
        ),
    );
    let post = "$id = (int) get_option('case_post'); $file = (int) get_option('case_file'); $tag = get_term_by('name', 'Cups', 'post_tag');";
    let classes = || {
        let page = server.fetch(&Request::get("/about/").host(HOST)).text();
        let id = site.run_php(HOST, &format!("{post} echo $id;"));
        let class = page.split(&format!("post-{id} ")).nth(1).and_then(|rest| rest.split('"').next());
        class.unwrap_or_default().to_owned()
    };
    for change in [
        "update_post_meta($id, '_thumbnail_id', $file);",
        "wp_delete_attachment($file, true);",
        "wp_set_post_tags($id, 'Cups');",
        "wp_update_term($tag->term_id, 'post_tag', ['slug' => 'mugs']);",
        "wp_delete_term($tag->term_id, 'post_tag');",
        "wp_update_post(['ID' => $id, 'post_status' => 'archived']);",
        "wp_publish_post($id);",
        "wp_update_post(['ID' => $id, 'post_password' => 'word']);",
        "set_post_type($id, 'page');",
    ] {
        let before = classes();
        let found = purged(&site, &server, &["/about/".to_owned()], &format!("{post} {change}"));
        assert_eq!(found, ["/about/"], "{change}");
        assert_ne!(classes(), before, "{change}");
    }
}

#[test]
fn page_with_titles_of_hundreds_of_posts_depends_on_all_posts_but_not_on_other_changes() {
    let site = WordPress::alone();
    let server = site.serve_with_plugin();
    // A page with more tags than Myriad stores would be purged by each purge.
    site.run_php(
        HOST,
        "wp_defer_term_counting(true); foreach (range(1, 530) as $n) wp_insert_post(['post_status' => 'publish', 'post_title' => \"Post $n\"]);",
    );
    install_newest(&site, &NEWEST.replace("INNER", "").replace("\"perPage\":3", "\"perPage\":600"));
    let targets = ["/about/".to_owned()];
    let change = |code: &str| purged(&site, &server, &targets, code).len();
    let post = "$id = get_posts(['offset' => 400, 'numberposts' => 1])[0]->ID;";
    assert_eq!(change("wp_insert_user(['user_login' => 'unseen', 'user_pass' => 'unseen']);"), 0, "a user");
    for code in [
        "update_post_meta($id, '_thumbnail_id', wp_rand());",
        "wp_set_post_tags($id, 'cups');",
        "wp_update_post(['ID' => $id, 'post_title' => 'Renamed']);",
    ] {
        assert_eq!(change(&format!("{post} {code}")), 1, "{code}");
    }
}

/// Plugin that looks for its tasks and for orders in each request, as Action Scheduler and WooCommerce do, and pages with titles of posts.
const TASKS: &str = r#"<?php
add_action('init', function () { register_post_type('scheduled-action', ['public' => false]); });
add_action('wp_loaded', function () {
    global $wpdb;
    $wpdb->get_col("SELECT p.ID FROM {$wpdb->posts} p WHERE post_type='scheduled-action' AND p.post_title='task'
        AND p.post_status IN ('in-progress', 'pending') ORDER BY p.post_date_gmt ASC LIMIT 0, 1");
    $wpdb->get_col("SELECT p.ID FROM {$wpdb->posts} p INNER JOIN {$wpdb->term_relationships} r ON r.object_id = p.ID
        WHERE r.term_taxonomy_id = 1 AND p.post_type = 'scheduled-action'");
    $wpdb->get_var("SELECT COUNT(*) FROM {$wpdb->options} stock LEFT JOIN {$wpdb->posts} posts ON stock.`option_id` = posts.ID
        WHERE posts.post_status IN ( 'wc-checkout-draft', 'wc-pending' ) AND stock.option_id != 0");
});
add_shortcode('of-status', function () {
    global $wpdb;
    return implode(' ', $wpdb->get_col("SELECT post_title FROM {$wpdb->posts} WHERE post_status IN ('wc-pending', 'publish')"));
});
add_shortcode('titles', function () {
    global $wpdb;
    return implode(' ', $wpdb->get_col("SELECT post_title FROM {$wpdb->posts} WHERE post_status = 'publish' AND (post_type='scheduled-action' OR post_type='post')"));
});
"#;

#[test]
fn tasks_that_a_plugin_looks_for_in_each_request_are_no_part_of_the_page() {
    let site = WordPress::alone();
    fs::write(site.root().join("wp-content/mu-plugins/tasks.php"), TASKS).expect("a plugin");
    let server = site.serve_with_plugin();
    site.run_php(
        HOST,
        "foreach (['titles', 'of-status'] as $name) wp_insert_post(['post_type' => 'page', 'post_status' => 'publish', \
         'post_title' => $name, 'post_content' => \"[$name]\"]);",
    );
    let targets = ["/about/", "/titles/", "/of-status/", "/"].map(str::to_owned);
    let rename = "wp_update_post(['ID' => get_posts()[0]->ID, 'post_title' => 'Renamed']);";
    assert_eq!(purged(&site, &server, &targets, rename), ["/titles/", "/of-status/", "/"]);
    let task = "wp_insert_post(['post_type' => 'scheduled-action', 'post_status' => 'publish', 'post_title' => 'task']);";
    let others = ["/about/", "/"].map(str::to_owned);
    assert_eq!(purged(&site, &server, &others, task), Vec::<String>::new());
}

/// Imitation of WooCommerce: the fields, actions and SQL of an order that it writes.
const SHOP: &str = r#"<?php
add_action('init', function () {
    register_post_type('product', ['public' => true, 'has_archive' => true]);
    register_post_type('product_variation', ['public' => false]);
    register_post_type('shop_order', ['public' => false]);
    register_post_status('wc-processing', ['public' => false]);
});
class WC_Product {
    private $id;
    function __construct($id) { $this->id = $id; }
    function get_id() { return $this->id; }
    function get_stock_quantity() {
        return apply_filters('woocommerce_product_get_stock_quantity', get_post_meta($this->id)['_stock'][0], $this);
    }
    function get_total_sales() {
        return apply_filters('woocommerce_product_get_total_sales', get_post_meta($this->id)['total_sales'][0], $this);
    }
    function save() {
        clean_post_cache($this->id);
        delete_transient('wc_related_' . $this->id);
        delete_transient('wc_products_onsale');
        do_action('woocommerce_delete_product_transients', $this->id);
        do_action('woocommerce_update_product', $this->id, $this);
    }
}
function case_order($name, $count) {
    global $wpdb;
    $id = get_page_by_path($name, OBJECT, 'product')->ID;
    $product = new WC_Product($id);
    $order = wp_insert_post(['post_type' => 'shop_order', 'post_status' => 'wc-processing', 'post_title' => 'Order']);
    do_action('woocommerce_new_order', $order);
    wp_insert_comment(['comment_post_ID' => $order, 'comment_type' => 'order_note', 'comment_content' => 'Paid.', 'comment_approved' => 1]);
    do_action('woocommerce_product_before_set_stock', $product);
    $wpdb->query("UPDATE {$wpdb->postmeta} SET meta_value = meta_value - $count WHERE post_id = $id AND meta_key = '_stock'");
    wp_cache_delete($id, 'post_meta');
    if (get_post_meta($id, '_stock', true) <= 0) {
        update_post_meta($id, '_stock_status', 'outofstock');
        do_action('woocommerce_product_set_stock_status', $id, 'outofstock', $product);
    }
    // A variable product stores the prices of its variations again.
    delete_post_meta($id, '_price');
    add_post_meta($id, '_price', '10');
    $product->save();
    do_action('woocommerce_product_set_stock', $product);
    $wpdb->query("UPDATE {$wpdb->postmeta} SET meta_value = meta_value + $count WHERE post_id = $id AND meta_key = 'total_sales'");
    wp_cache_delete($id, 'post_meta');
    do_action('woocommerce_updated_product_sales', $id);
    $product->save();
}
add_filter('the_content', function ($content) {
    if (get_post_type() !== 'product') return $content;
    get_transient('wc_related_' . get_the_ID());
    $quantity = (new WC_Product(get_the_ID()))->get_stock_quantity();
    $format = get_option('woocommerce_stock_format');
    $text = $format === '' || ($format === 'low_amount' && $quantity <= 2) ? "$quantity in stock" : 'in stock';
    return get_post_meta(get_the_ID(), '_stock_status', true) . ' ' . $text;
});
add_shortcode('sales', function ($words) {
    $id = get_page_by_path('chair', OBJECT, 'product')->ID;
    return ($words[0] ?? '') === 'field' ? get_post_meta($id, 'total_sales', true) : (new WC_Product($id))->get_total_sales();
});
add_shortcode('products', function ($words) {
    $query = new WP_Query(['post_type' => 'product', 'orderby' => $words[0] ?? 'date']);
    return implode(', ', array_map(fn ($post) => $post->post_title . get_post_meta($post->ID)['_stock_status'][0], $query->posts));
});
"#;

const PREPARE_SHOP: &str = "update_option('woocommerce_stock_format', 'low_amount'); \
    foreach (['chair', 'lamp'] as $name) { $id = wp_insert_post(['post_type' => 'product', 'post_status' => 'publish', 'post_title' => $name]); \
    foreach (['_manage_stock' => 'yes', '_stock' => 10, '_stock_status' => 'instock', '_backorders' => 'no', 'total_sales' => 1, '_price' => '10'] \
    as $key => $value) update_post_meta($id, $key, $value); } \
    foreach (['list' => '[products]', 'popular' => '[products popularity]', 'price' => '[products price]', \
    'sales' => '[sales]', 'field' => '[sales field]'] as $name => $content) \
    wp_insert_post(['post_type' => 'page', 'post_status' => 'publish', 'post_title' => 'Shop', 'post_name' => \"shop-$name\", 'post_content' => $content]); \
    flush_rewrite_rules();";

#[test]
fn orders_purge_only_pages_whose_visible_stock_changes() {
    let site = WordPress::alone();
    let folder = site.root().join("wp-content/plugins/woocommerce");
    fs::create_dir_all(&folder).expect("a folder");
    // SQL of WooCommerce is reported by its actions, SQL of other plugins is not.
    fs::write(folder.join("shop.php"), SHOP).expect("a plugin");
    let loader = "<?php require WP_CONTENT_DIR . '/plugins/woocommerce/shop.php';";
    fs::write(site.root().join("wp-content/mu-plugins/shop.php"), loader).expect("a plugin");
    let server = site.serve_with_plugin();
    site.run_php(HOST, PREPARE_SHOP);
    let all = [
        "/product/chair/",
        "/product/lamp/",
        "/shop-list/",
        "/shop-popular/",
        "/shop-price/",
        "/shop-sales/",
        "/shop-field/",
        "/",
    ];
    let targets = all.map(str::to_owned);
    let order = |count: u32| purged(&site, &server, &targets, &format!("case_order('chair', {count});"));
    let by_sales = ["/shop-popular/", "/shop-sales/", "/shop-field/"];
    assert_eq!(order(1), by_sales, "nine left, which no page shows");
    assert_eq!(order(7), [&["/product/chair/"], &by_sales[..]].concat(), "only two left");
    assert_eq!(
        order(2),
        ["/product/chair/", "/shop-list/", "/shop-popular/", "/shop-price/", "/shop-sales/", "/shop-field/"],
        "out of stock"
    );
    site.run_php(HOST, "update_option('woocommerce_stock_format', '');");
    let lamp = purged(&site, &server, &targets, "case_order('lamp', 1);");
    assert_eq!(lamp, ["/product/lamp/", "/shop-popular/"], "each page shows the quantity");
    let change = |code: &str| {
        let code = format!("$id = get_page_by_path('lamp', OBJECT, 'product')->ID; {code}");
        purged(&site, &server, &targets, &code)
    };
    assert_eq!(
        change("update_post_meta($id, '_stock', 4);"),
        ["/product/lamp/"],
        "a plugin writes the quantity"
    );
    assert_eq!(
        change("update_post_meta($id, '_price', '12');"),
        ["/product/lamp/", "/shop-list/", "/shop-popular/", "/shop-price/"]
    );
    assert_eq!(
        change("delete_post_meta($id, '_price'); add_post_meta($id, '_price', '12');"),
        Vec::<String>::new()
    );
}

/// Plugin with settings in a file, in an option and in a table that it changes by a prepared statement. Each page shows them.
const SETTINGS: &str = r#"<?php
function case_save() {
    global $wpdb;
    $text = (string) $_REQUEST['text'];
    switch ($_REQUEST['in']) {
        case 'file': file_put_contents(WP_CONTENT_DIR . '/case.txt', $text); break;
        case 'option': update_option('case_text', $text); break;
        case 'statement': $wpdb->query($wpdb->prepare("EXECUTE IMMEDIATE CONCAT('UPDATE {$wpdb->prefix}cases SET ', 'text = ?') USING %s", $text)); break;
        case 'killed': update_option('case_text', $text); posix_kill(getmypid(), SIGKILL); break;
        case 'exit': update_option('case_text', $text); add_action('shutdown', function () { exit; }, 1); break;
    }
    exit('saved');
}
add_action('wp_ajax_case_save', 'case_save');
add_action('wp_footer', function () {
    global $wpdb;
    echo '[cases ', is_file(WP_CONTENT_DIR . '/case.txt') ? file_get_contents(WP_CONTENT_DIR . '/case.txt') : '', ' ', get_option('case_text'), ' ',
        $wpdb->get_var("SELECT text FROM {$wpdb->prefix}cases"), ']';
});
"#;

/// Logs in a user whose only capability besides reading is one of a plugin.
fn log_in_keeper(site: &WordPress, server: &Server) -> Visitor {
    site.run_php(
        HOST,
        "add_role('keeper', 'Keeper', ['read' => true, 'keep_cases' => true]); \
         wp_insert_user(['user_login' => 'keeper', 'user_pass' => 'secret of the keeper', 'role' => 'keeper']);",
    );
    let mut keeper = Visitor::new(server.port);
    keeper.get("/wp-login.php");
    let form =
        [("log", "keeper"), ("pwd", "secret of the keeper"), ("wp-submit", "Log In"), ("testcookie", "1")];
    assert_eq!(keeper.post("/wp-login.php", &form).status, 302);
    keeper
}

#[test]
fn changes_of_unknown_effect_refresh_all_pages_and_open_screens_refresh_none() {
    let site = WordPress::alone();
    fs::write(site.root().join("wp-content/mu-plugins/settings.php"), SETTINGS).expect("a plugin");
    site.run_php(HOST, "global $wpdb; $wpdb->query(\"CREATE TABLE {$wpdb->prefix}cases (text TEXT)\"); $wpdb->query(\"INSERT INTO {$wpdb->prefix}cases VALUES ('')\"); update_option('case_text', '');");
    let server = site.serve_with_plugin();
    let mut administrator = site.log_in(&server);
    let mut keeper = log_in_keeper(&site, &server);
    let shown = || {
        let page = server.fetch(&Request::get("/about/").host(HOST));
        let text = page.text();
        let part = text
            .split_once("[cases ")
            .and_then(|(_, rest)| rest.split_once(']'))
            .map(|(part, _)| part.to_owned());
        (part.unwrap_or_default(), page.cache().to_owned())
    };
    let save = |visitor: &mut Visitor, place: &str, text: &str| {
        assert_eq!((shown(), shown().1.as_str()).1, "HIT");
        visitor.post("/wp-admin/admin-ajax.php", &[("action", "case_save"), ("in", place), ("text", text)])
    };
    for (place, text, expected) in [
        ("file", "f1", "f1  "),
        ("option", "o1", "f1 o1 "),
        ("statement", "s1", "f1 o1 s1"),
        ("file", "f2", "f2 o1 s1"),
    ] {
        assert_eq!(save(&mut administrator, place, text).text(), "saved");
        assert_eq!(shown().0, expected, "{place}");
    }
    for (place, text) in [("option", "o2"), ("file", "f3")] {
        assert_eq!(save(&mut keeper, place, text).text(), "saved");
        assert!(shown().0.contains(text), "{place} by a user with a capability of a plugin");
    }
    assert_eq!((shown(), shown().1.as_str()).1, "HIT");
    assert_eq!(
        administrator.get("/wp-admin/admin-ajax.php?action=case_save&in=option&text=o3").text(),
        "saved"
    );
    assert_eq!(shown().0, "f3 o3 s1", "a link without a nonce");
    save(&mut administrator, "killed", "o4");
    wait_for("the page after a killed request", || shown().0 == "f3 o4 s1");
    save(&mut administrator, "exit", "o5");
    wait_for("the page after a script that ended during shutdown", || shown().0 == "f3 o5 s1");
    assert_eq!((shown(), shown().1.as_str()).1, "HIT");
    administrator.get("/wp-admin/edit.php");
    administrator.post(
        "/wp-admin/admin-ajax.php",
        &[("action", "heartbeat"), ("screen_id", "edit-post"), ("has_focus", "true")],
    );
    administrator.post("/wp-admin/admin-ajax.php", &[("action", "query-attachments"), ("post_id", "0")]);
    assert_eq!(shown(), ("f3 o5 s1".to_owned(), "HIT".to_owned()));
}

/// Plugin that records, for each request, how many functions of this project's plugin are registered, how many of them for `transition_post_status`,
/// and how many statements read its options.
const COUNTER: &str = r"<?php
$GLOBALS['case_sql'] = [];
add_filter('query', function ($sql) { $GLOBALS['case_sql'][] = $sql; return $sql; });
add_action('wp', function () { if (isset($_GET['write'])) update_post_meta(get_posts()[0]->ID, 'case', $_GET['write']); });
register_shutdown_function(function () {
    $counts = ['all' => 0, 'transition_post_status' => 0];
    foreach ($GLOBALS['wp_filter'] as $hook => $functions) {
        foreach ($functions->callbacks as $of_priority) {
            $count = count(preg_grep('/^Myriad_Cache_/', array_keys($of_priority)));
            $counts['all'] += $count;
            $counts[$hook] = ($counts[$hook] ?? 0) + $count;
        }
    }
    $own = count(preg_grep('/SELECT.*myriad_cache_/', $GLOBALS['case_sql']));
    file_put_contents(WP_CONTENT_DIR . '/case.txt', $counts['all'] . ' ' . $counts['transition_post_status'] . ' ' . $own);
});
";

#[test]
fn page_views_register_few_functions_and_query_no_options_of_the_plugin() {
    let site = WordPress::alone();
    site.write("wp-content/mu-plugins/counter.php", COUNTER);
    let server = site.serve_with_plugin();
    let numbers = |target: &str| -> Vec<u32> {
        assert_ne!(cache(&server, target), "HIT", "{target}");
        let text = fs::read_to_string(site.root().join("wp-content/case.txt")).expect("counts");
        text.split(' ').map(|number| number.parse().expect("a number")).collect()
    };
    numbers("/about/");
    server.fetch(&Request::new("PURGE", "/about/").host(HOST));
    // The page is recorded, so that this is the usual case.
    let [all, changes, queries] = numbers("/about/")[..] else { panic!("three numbers") };
    assert!(
        all <= 170 && changes == 0 && queries == 0,
        "{all} functions, {changes} for changes, {queries} queries"
    );
    // A page that writes registers the functions that observe changes.
    let [all, changes, _] = numbers("/about/?write=1")[..] else { panic!("three numbers") };
    assert!(all > 200 && changes == 1, "{all} functions, {changes} for changes");
}
