//! Pages whose plugins and themes read posts, users, terms and comments with any function: a change purges the pages
//! that show it.

mod cases;

use std::fs;

use myriad_tests::{PATIENCE, Request, Server, WordPress, wait_patiently_for};

const HOST: &str = "site.test";

/// Returns the part of a page that the shortcode wrote, and the cache status of the response.
fn shown(server: &Server, name: &str, cookie: Option<&str>) -> (String, String) {
    let mut request = Request::get(&format!("/case-{name}/")).host(HOST);
    if let Some(cookie) = cookie {
        request = request.field("Cookie", cookie);
    }
    let answer = server.fetch(&request);
    let text = answer.text();
    let start = text.find("[begin]").unwrap_or_else(|| panic!("{name}: {} {text}", answer.status));
    let end = text.find("[end]").expect("the end of the shortcode");
    (text[start..end].to_owned(), answer.cache().to_owned())
}

/// Plugin with a table that has settings (`text`) and a counter (`hits`), as plugins for redirects have. Each request with
/// `count` increments the counter, and a form with `settings` changes the text. Shortcodes show the text, the counter and an
/// option.
const COUNTER: &str = r#"<?php
add_action('template_redirect', function () {
    global $wpdb;
    if (isset($_REQUEST['count'])) $wpdb->query("UPDATE {$wpdb->prefix}counted SET hits = hits + 1 WHERE id = 1");
});
add_action('init', function () {
    global $wpdb;
    if (isset($_POST['settings'])) {
        $wpdb->update("{$wpdb->prefix}counted", ['text' => $_POST['settings']], ['id' => 1]);
        echo str_repeat('saved ', 4000);
        exit;
    }
});
add_shortcode('counted', function () {
    global $wpdb;
    return $wpdb->get_var("SELECT text FROM {$wpdb->prefix}counted WHERE id = 1");
});
add_shortcode('hits', function () {
    global $wpdb;
    return $wpdb->get_var("SELECT hits FROM {$wpdb->prefix}counted WHERE id = 1");
});
add_shortcode('setting', function () { return get_option('case_setting'); });
"#;

const PREPARE_COUNTER: &str = "global $wpdb; $wpdb->query(\"CREATE TABLE {$wpdb->prefix}counted (id INT PRIMARY KEY, text TEXT, hits INT)\"); \
    $wpdb->query(\"INSERT INTO {$wpdb->prefix}counted VALUES (1, 'first', 0)\"); update_option('case_setting', 'a'); \
    foreach (['counted', 'hits', 'setting'] as $name) wp_insert_post(['post_type' => 'page', 'post_status' => 'publish', \
    'post_title' => 'Case', 'post_name' => \"case-$name\", 'post_content' => \"[begin][$name][end]\"]);";

fn serve_counter() -> (WordPress, Server) {
    let site = WordPress::alone();
    fs::write(site.root().join("wp-content/mu-plugins/counter.php"), COUNTER).expect("a plugin");
    let server = site.serve_with_plugin();
    site.run_php(HOST, PREPARE_COUNTER);
    (site, server)
}

/// Statements with the tables and columns that they write; `null` for statements that write nothing.
const STATEMENTS: &[(&str, &str, &str)] = &[
    ("SELECT a FROM x, `y` AS z JOIN db.w ON w.a = z.a, v WHERE b = 'FROM no'", "x y w v", "null"),
    ("/* plugin */ SELECT 1 FROM (a, b) UNION SELECT 2 FROM c FOR UPDATE", "a b c", "null"),
    ("SELECT a.b, `c` FROM `x` AS a WHERE d IN (1, 2) LIMIT 1", "x", "null"),
    ("SELECT a FROM x WHERE b IN (SELECT c FROM y)", "x y", "null"),
    ("SELECT a FROM x WHERE b = 1 UNION SELECT a FROM y, z", "x y z", "null"),
    ("SELECT `a from b` FROM x WHERE c = 'y' ORDER BY d", "x", "null"),
    ("SELECT a FROM x b, y WHERE c = 1", "x y", "null"),
    ("SELECT a FROM db.x WHERE b = 1", "x", "null"),
    ("INSERT INTO t (a, b) VALUES (1, 'x') ON DUPLICATE KEY UPDATE c = c + 1", "t", "c a b"),
    (
        "UPDATE t SET a = REPLACE(a, 'b', 'c'), d = (SELECT e FROM u WHERE f = 1), g = 2 WHERE h = 3",
        "t u",
        "a d g",
    ),
    ("/* plugin */ DELETE FROM t WHERE a = 1", "t", "-"),
    ("WITH c AS (SELECT 1 FROM u) DELETE FROM t", "u t", "-"),
    ("INSERT t VALUES (1)", "t", "*"),
    ("TRUNCATE t", "t", "!"),
    ("CALL update_all(1)", "", "!"),
    ("ALTER TABLE t ADD COLUMN a INT", "t", "!"),
];

#[test]
fn tables_and_written_columns_are_found_in_sql() {
    let site = WordPress::alone();
    let _server = site.serve_with_plugin();
    for (sql, tables, columns) in STATEMENTS {
        let hex = sql.bytes().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
        let code = format!(
            "$sql = hex2bin('{hex}'); echo implode(' ', Myriad_Cache_Sql::tables($sql)), '|', \
             isset(Myriad_Cache_Sql::write($sql)['columns']) ? implode(' ', Myriad_Cache_Sql::write($sql)['columns']) : 'null';"
        );
        assert_eq!(site.run_php(HOST, &code).trim(), format!("{tables}|{columns}"), "{sql}");
    }
}

/// Sends a request that PHP handles and that increments the counter.
fn count(server: &Server, request: Request) {
    let answer = server.fetch(&request.host(HOST).field("Cookie", "NO_CACHE=1"));
    assert_eq!(answer.status, 200);
}

/// Checks that the page of a shortcode is stored and shows `content`.
fn assert_stored(server: &Server, name: &str, content: &str) {
    shown(server, name, None);
    assert_eq!(shown(server, name, None), (format!("[begin]{content}"), "HIT".to_owned()), "{name}");
}

#[test]
fn counters_of_page_views_purge_nothing_and_other_columns_do() {
    let (site, server) = serve_counter();
    assert_stored(&server, "counted", "first");
    // Each of the three views that teach the counter purges, because the stored page is valid for a day.
    for number in 1..=3 {
        count(&server, Request::get("/case-setting/?count=1"));
        assert_ne!(shown(&server, "counted", None).1, "HIT", "view {number}");
        assert_stored(&server, "counted", "first");
    }
    count(&server, Request::get("/case-setting/?count=1"));
    assert_eq!(shown(&server, "counted", None).1, "HIT");
    // Forms of visitors write the counter too: anybody can send them.
    let form =
        Request::post("/case-setting/", "count=1").field("Content-Type", "application/x-www-form-urlencoded");
    count(&server, form);
    assert_eq!(shown(&server, "counted", None).1, "HIT");
    site.run_php(
        HOST,
        "global $wpdb; $wpdb->update(\"{$wpdb->prefix}counted\", ['text' => 'second'], ['id' => 1]);",
    );
    assert_stored(&server, "counted", "second");
    site.run_php(HOST, "global $wpdb; $wpdb->query(\"UPDATE {$wpdb->prefix}counted SET hits = 0\");");
    assert_eq!(
        shown(&server, "counted", None).1,
        "EXPIRED",
        "a command that resets the counter is no page view"
    );
}

#[test]
fn counter_that_a_page_shows_is_no_change_of_the_page() {
    let site = WordPress::alone();
    fs::write(site.root().join("wp-content/mu-plugins/counter.php"), COUNTER).expect("a plugin");
    let server = site.serve_plugin_changed(|preset| {
        let changed = preset.replace("fastcgi_cache_adaptive off;", "fastcgi_cache_adaptive 1s;");
        assert_ne!(changed, preset);
        changed
    });
    site.run_php(HOST, PREPARE_COUNTER);
    let mut numbers = Vec::new();
    // The first views teach the counter, and purge the page. Then it is valid for ten seconds.
    wait_patiently_for("six values of the counter", 4 * PATIENCE, || {
        count(&server, Request::get("/case-setting/?count=1"));
        let (number, _) = shown(&server, "hits", None);
        if numbers.last() != Some(&number) {
            numbers.push(number);
        }
        numbers.len() >= 6
    });
    // A page that shows another column of the same table: a number in it is a change. The plugin does not see the statement.
    let write = |number: u32| {
        let sql = format!("\"UPDATE {{$wpdb->prefix}}counted SET text = '{number}' WHERE id = 1\"");
        site.run_php(HOST, &format!("global $wpdb; echo (int) mysqli_query($wpdb->dbh, {sql});"))
    };
    let wait_for_number = |number: u32| {
        wait_patiently_for("the number", 4 * PATIENCE, || {
            shown(&server, "counted", None).0 == format!("[begin]{number}")
        });
    };
    assert_eq!(write(1), "1");
    wait_for_number(1);
    assert_eq!(write(2), "1");
    wait_for_number(2);
    let mut described = String::new();
    wait_patiently_for("the report of the change", PATIENCE, || {
        described = site.run_php(HOST, "echo implode(\"\\n\", Myriad_Cache_Causes::describe());");
        described.contains("/case-counted/ changed")
    });
    assert!(!described.contains("/case-hits/"), "{described}");
}

/// Counts the views of a page in a field, like popular themes.
const VIEWS: &str = "<?php add_action('template_redirect', function () { if (is_page()) update_post_meta(get_queried_object_id(), 'views', \
    (int) get_post_meta(get_queried_object_id(), 'views', true) + 1); });";

#[test]
fn views_that_are_counted_in_fields_purge_nothing() {
    let site = WordPress::alone();
    fs::write(site.root().join("wp-content/mu-plugins/views.php"), VIEWS).expect("a plugin");
    let server = site.serve_with_plugin();
    site.run_php(HOST, PREPARE_COUNTER);
    // The first views teach the field, and purge the page that they count.
    let view = || server.fetch(&Request::get("/case-setting/").host(HOST)).cache().to_owned();
    assert!((0..5).any(|_| view() == "HIT"));
    let uncached = Request::get("/case-setting/").host(HOST).field("Cookie", "NO_CACHE=1");
    assert_eq!(server.fetch(&uncached).cache(), "BYPASS");
    assert_eq!(view(), "HIT");
    site.run_php(HOST, "update_post_meta(get_page_by_path('case-setting')->ID, 'views', 0);");
    assert_ne!(view(), "HIT", "a command changes the field");
}

#[test]
fn a_client_that_has_the_response_to_a_change_finds_no_older_page() {
    let (_site, server) = serve_counter();
    for text in (0..12).map(|n| format!("text-{n}")) {
        shown(&server, "counted", None);
        let answer = server.fetch(
            &Request::post("/", format!("settings={text}").as_bytes())
                .host(HOST)
                .field("Content-Type", "application/x-www-form-urlencoded"),
        );
        assert!(answer.text().contains("saved"), "{} {}", answer.status, answer.text());
        assert_eq!(shown(&server, "counted", None).0, format!("[begin]{text}"));
    }
}

#[test]
fn only_options_that_pages_read_purge_pages() {
    let (site, server) = serve_counter();
    assert_stored(&server, "setting", "a");
    site.run_php(HOST, "update_option('case_unread', time());");
    assert_eq!(shown(&server, "setting", None).1, "HIT");
    site.run_php(HOST, "update_option('case_setting', 'b');");
    assert_stored(&server, "setting", "b");
}

#[test]
fn purges_that_plugins_request_from_other_caches_are_honoured() {
    let (site, server) = serve_counter();
    assert_stored(&server, "setting", "a");
    let calls = [
        "do_action('litespeed_purge_all');",
        "do_action('cache_enabler_clear_complete_cache');",
        "do_action('litespeed_purge_post', get_page_by_path('case-setting')->ID);",
        "clean_post_cache(get_page_by_path('case-setting')->ID);",
        "do_action('litespeed_purge_url', home_url('/case-setting/'));",
    ];
    for call in calls {
        site.run_php(HOST, call);
        assert_ne!(shown(&server, "setting", None).1, "HIT", "{call}");
        assert_eq!(shown(&server, "setting", None).1, "HIT", "{call}");
    }
}

/// Plugin that redirects before the template is selected, to a target in its own table, shows the address of the visitor, and
/// has a form for comments without a text for users.
const EARLY: &str = r#"<?php
add_action('init', function () {
    global $wpdb;
    if ('/moved' === strtok($_SERVER['REQUEST_URI'], '?')) {
        wp_redirect($wpdb->get_var("SELECT target FROM {$wpdb->prefix}moved"), 301);
        exit;
    }
    add_rewrite_tag('%sitemap%', '([^?]+)');
    add_rewrite_rule('own-sitemap\\.xml$', 'index.php?sitemap=post', 'top');
});
add_action('pre_get_posts', function ($query) {
    global $wpdb;
    if ('post' === $query->get('sitemap')) {
        header('Content-Type: text/xml');
        echo $wpdb->get_var("SELECT MAX(post_modified) FROM $wpdb->posts WHERE post_status = 'publish'");
        exit;
    }
}, 1);
add_filter('nocache_headers', fn ($fields) => ['Cache-Control' => 'no-cache, must-revalidate, max-age=0, no-store, private'] + $fields);
add_action('init', function () { $GLOBALS['at_init'] = $_SERVER['REMOTE_ADDR']; }, 0);
add_shortcode('address', function () { return $GLOBALS['at_init'] . ' ' . $_SERVER['REMOTE_ADDR'] . ' ' . ($_SERVER['HTTP_X_REAL_IP'] ?? 'none'); });
add_action('shutdown', function () { file_put_contents(ABSPATH . 'address.txt', $_SERVER['REMOTE_ADDR']); });
add_shortcode('form', function () {
    ob_start();
    comment_form(['logged_in_as' => ''], get_posts(['numberposts' => 1])[0]->ID);
    return ob_get_clean();
});
"#;

#[test]
fn redirects_before_the_template_are_purged_and_pages_do_not_depend_on_the_address() {
    let site = WordPress::alone();
    fs::write(site.root().join("wp-content/mu-plugins/early.php"), EARLY).expect("a plugin");
    let server = site.serve_with_plugin();
    site.run_php(
        HOST,
        "global $wpdb; $wpdb->query(\"CREATE TABLE {$wpdb->prefix}moved (target TEXT)\"); \
         $wpdb->query(\"INSERT INTO {$wpdb->prefix}moved VALUES ('/first/')\"); \
         foreach (['address', 'form'] as $name) wp_insert_post(['post_type' => 'page', 'post_status' => 'publish', \
         'post_title' => 'Case', 'post_name' => \"case-$name\", 'post_content' => \"[begin][$name][end]\"]); \
         wp_insert_user(['user_login' => 'reader', 'user_pass' => 'reader', 'role' => 'subscriber']);",
    );
    let moved = || {
        let answer = server.fetch(&Request::get("/moved").host(HOST));
        (answer.field("Location").unwrap_or_default().to_owned(), answer.cache().to_owned())
    };
    moved();
    assert_eq!(moved(), ("/first/".into(), "HIT".into()));
    site.run_php(
        HOST,
        "global $wpdb; $wpdb->query(\"UPDATE {$wpdb->prefix}moved SET target = '/second/'\");",
    );
    assert_eq!(moved().0, "/second/");

    site.run_php(HOST, "flush_rewrite_rules();");
    let missing = || server.fetch(&Request::get("/favicon-missing.js").host(HOST));
    assert_eq!(missing().status, 404);
    assert_eq!(missing().cache(), "HIT");

    let sitemap = || server.fetch(&Request::get("/own-sitemap.xml").host(HOST));
    let first = sitemap().text();
    assert_eq!((sitemap().cache(), sitemap().status), ("HIT", 200));
    site.run_php(HOST, "sleep(1); wp_update_post(['ID' => get_posts(['numberposts' => 1])[0]->ID, 'post_content' => 'changed']);");
    assert_ne!(sitemap().text(), first);

    assert_eq!(shown(&server, "address", None).0, "[begin]192.0.2.1 192.0.2.1 none");
    let own = shown(&server, "address", Some("NO_CACHE=1"));
    assert_ne!(own.0, "[begin]192.0.2.1 192.0.2.1 none", "a page of one visitor");
    assert_eq!(
        fs::read_to_string(site.root().join("address.txt")).expect("written"),
        own.0["[begin]".len()..].split(' ').next().expect("an address")
    );

    let cookie = site.run_php(HOST, "echo LOGGED_IN_COOKIE, '=', wp_generate_auth_cookie(get_user_by('login', 'reader')->ID, time() + 3600, 'logged_in');");
    shown(&server, "form", None);
    let (form, status) = shown(&server, "form", Some(&cookie));
    assert_eq!(status, "HIT");
    assert!(form.contains("name=\"comment\"") && !form.contains("logged-in-as"), "{form}");
}

/// Plugin whose filters change the sitemaps of WordPress: it selects events by a term, omits pages by a field, and adds a field of posts if an option is set.
const SITEMAPS: &str = r"<?php
add_action('init', function () {
    register_post_type('event', ['public' => true]);
    register_taxonomy('kind', ['event'], ['public' => false]);
});
add_filter('wp_sitemaps_posts_query_args', function ($args, $type) {
    if ('event' === $type) $args['tax_query'] = [['taxonomy' => 'kind', 'field' => 'slug', 'terms' => ['german']]];
    if ('page' === $type) $args['meta_query'] = [['key' => 'noindex', 'compare' => 'NOT EXISTS']];
    return $args;
}, 10, 2);
if (get_option('case_entries')) add_filter('wp_sitemaps_posts_entry', function ($entry, $post) {
    return $entry + ['priority' => get_post_meta($post->ID, 'priority', true)];
}, 10, 2);
";

/// Returns a sitemap, which must be stored at the second request.
fn sitemap(server: &Server, target: &str) -> String {
    server.fetch(&Request::get(target).host(HOST));
    let answer = server.fetch(&Request::get(target).host(HOST));
    assert_eq!(answer.cache(), "HIT", "{target}");
    answer.text()
}

#[test]
fn sitemaps_depend_on_what_filters_of_plugins_select() {
    let site = WordPress::alone();
    fs::write(site.root().join("wp-content/mu-plugins/sitemaps.php"), SITEMAPS).expect("a plugin");
    let server = site.serve_with_plugin();
    site.run_php(
        HOST,
        "wp_insert_term('German', 'kind'); foreach (range(1, 5) as $n) wp_insert_post(['post_type' => 'event', \
         'post_status' => 'publish', 'post_title' => \"Event $n\", 'post_name' => \"event-$n\"]);",
    );
    assert!(!sitemap(&server, "/wp-sitemap.xml").contains("posts-event-1.xml"));
    assert!(sitemap(&server, "/wp-sitemap-posts-page-1.xml").contains("/about/"));
    let event = "get_page_by_path('event-3', OBJECT, 'event')->ID";
    site.run_php(HOST, &format!("wp_set_object_terms({event}, 'german', 'kind');"));
    assert!(sitemap(&server, "/wp-sitemap.xml").contains("posts-event-1.xml"));
    assert!(sitemap(&server, "/wp-sitemap-posts-event-1.xml").contains("event-3"));
    site.run_php(HOST, &format!("wp_remove_object_terms({event}, 'german', 'kind');"));
    assert!(!sitemap(&server, "/wp-sitemap.xml").contains("posts-event-1.xml"));
    site.run_php(HOST, "update_post_meta(get_page_by_path('about')->ID, 'noindex', '1');");
    assert!(!sitemap(&server, "/wp-sitemap-posts-page-1.xml").contains("/about/"));
    site.run_php(HOST, "update_option('case_entries', '1'); do_action('litespeed_purge_all');");
    let post = "get_posts(['numberposts' => 1])[0]->ID";
    assert!(!sitemap(&server, "/wp-sitemap-posts-post-1.xml").contains("<priority>0.9<"));
    site.run_php(HOST, &format!("update_post_meta({post}, 'priority', '0.9');"));
    assert!(sitemap(&server, "/wp-sitemap-posts-post-1.xml").contains("<priority>0.9<"));
}
