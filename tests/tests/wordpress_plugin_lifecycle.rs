//! Life cycle of the Myriad plugin from activation to removal, in a network, on the command line, with a shop.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use myriad_tests::{Place, Request, Server, WordPress, binary, wait_patiently_for};

/// Host name of the site, which WordPress permits in a network as well.
const HOST: &str = "site.test";

fn cache(server: &Server, target: &str) -> String {
    server.fetch(&Request::get(target).host(HOST)).cache().to_owned()
}

fn text(server: &Server, target: &str) -> String {
    server.fetch(&Request::get(target).host(HOST)).text()
}

/// Requests pages, so that they are stored.
fn warm(server: &Server, targets: &[&str]) {
    for target in targets {
        cache(server, target);
        assert_eq!(cache(server, target), "HIT", "{target}");
    }
}

/// Returns the names of all files below a folder.
fn files(folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(files(&path));
        }
        found.insert(path);
    }
    found
}

/// Starts Myriad with the plugin installed as an ordinary plugin.
fn serve_with_ordinary_plugin(site: &WordPress) -> Server {
    let place = Place::new();
    let mut install = Command::new(binary());
    install
        .args(["wordpress", "--install-plugin", "--root"])
        .arg(site.root())
        .arg("--prefix")
        .arg(place.folder());
    assert!(install.output().expect("myriad starts").status.success());
    let mut serve = Command::new(binary());
    serve.args(["wordpress", "--root"]).arg(site.root()).arg("--prefix").arg(place.folder());
    serve.arg("--php").arg(site.php()).args(["--listen", &format!("127.0.0.1:{}", place.port)]);
    Server::run(place, serve)
}

/// Query of the options, user fields and events of the plugin.
const STATE: &str = "global $wpdb; $found = array_merge($wpdb->get_col(\"SELECT option_name FROM wp_options WHERE option_name LIKE '%myriad%' \
    OR option_value LIKE '%myriad-cache%' AND option_name <> 'recently_activated'\"), $wpdb->get_col(\"SELECT meta_key FROM wp_usermeta WHERE meta_key LIKE '%myriad%'\")); \
    foreach (_get_cron_array() as $hooks) $found = array_merge($found, preg_grep('/myriad/', array_keys((array) $hooks))); echo implode(' ', $found);";

#[test]
fn ordinary_plugin_is_activated_and_leaves_nothing_when_it_is_deleted() {
    let site = WordPress::alone();
    let content = site.root().join("wp-content");
    let admin = "require_once ABSPATH . 'wp-admin/includes/plugin.php'; require_once ABSPATH . 'wp-admin/includes/file.php';";
    let before = files(&content);
    assert_eq!(site.run_php(HOST, STATE), "");
    let server = serve_with_ordinary_plugin(&site);
    warm(&server, &["/", "/about/"]);
    let said =
        site.run_php(HOST, &format!("{admin} var_export(activate_plugin('myriad-cache/myriad-cache.php'));"));
    assert_eq!(said, "NULL");
    assert_ne!(cache(&server, "/about/"), "HIT", "a page without tags from before the activation");
    warm(&server, &["/", "/about/"]);
    site.run_php(HOST, "update_option('myriad_cache_hours', 12); update_option('myriad_cache_mode', 'stale'); update_option('myriad_cache_mode', 'invalidate');");
    site.run_php(
        HOST,
        "wp_update_post(['ID' => get_page_by_path('about')->ID, 'post_content' => 'Other words about it.']);",
    );
    assert!(text(&server, "/about/").contains("Other words about it."));
    assert_eq!(cache(&server, "/"), "HIT");
    let said = site.run_php(HOST, "echo get_option('myriad_cache_last')['pages'];");
    assert_eq!(said, "1");
    let code = "deactivate_plugins('myriad-cache/myriad-cache.php'); echo 'off';";
    assert_eq!(site.run_php(HOST, &format!("{admin} {code}")), "off");
    let code = "add_filter('filesystem_method', fn () => 'direct'); var_export(delete_plugins(['myriad-cache/myriad-cache.php']));";
    assert_eq!(site.run_php(HOST, &format!("{admin} {code}")), "true");
    assert_eq!(site.run_php(HOST, STATE), "");
    let mut left: Vec<_> = files(&content).difference(&before).cloned().collect();
    left.retain(|path| !path.starts_with(content.join("uploads"))); // files of WordPress
    assert!(left.is_empty(), "{left:?}");
    let home = server.fetch(&Request::get("/").host(HOST).field("Cookie", "NO_CACHE=1"));
    assert_eq!((home.status, home.cache()), (200, "BYPASS"), "the site works");
}

#[test]
fn sites_of_a_network_purge_their_own_pages() {
    let site = WordPress::alone();
    site.make_network(HOST);
    let code = format!(
        "echo wp_insert_site(['domain' => '{HOST}', 'path' => '/second/', 'title' => 'Second', 'user_id' => 1]);"
    );
    assert_eq!(site.run_php(HOST, &code), "2");
    let server = site.serve_with_plugin();
    let in_second =
        |code: &str| site.run_php(HOST, &format!("switch_to_blog(2); {code} restore_current_blog();"));
    in_second(
        "wp_insert_post(['post_title' => 'A post of the second', 'post_name' => 'of-the-second', 'post_status' => 'publish']); \
               update_option('permalink_structure', '/%postname%/'); \
               global $wp_rewrite; $wp_rewrite->init(); delete_option('rewrite_rules');",
    );
    let (first, second) = (["/", "/about/"], ["/second/", "/second/of-the-second/"]);
    let all = ["/", "/about/", "/second/", "/second/of-the-second/"];
    let fresh = |targets: &[&str]| targets.iter().all(|target| cache(&server, target) == "HIT");
    warm(&server, &all);
    // Post 1 and the names exist in both sites.
    in_second(
        "wp_update_post(['ID' => 1, 'post_title' => 'Renamed there']); update_option('blogname', 'Second, renamed');",
    );
    assert!(fresh(&first), "the first site keeps its pages");
    assert!(
        text(&server, "/second/").contains("Renamed there")
            && text(&server, "/second/").contains("Second, renamed")
    );
    warm(&server, &all);
    site.run_php(HOST, "update_option('blogname', 'First, renamed');");
    assert!(fresh(&second), "the second site keeps its pages");
    assert!(text(&server, "/").contains("First, renamed"));
    warm(&server, &all);
    // Resources that all sites share.
    site.run_php(HOST, "do_action('activated_plugin', 'some/some.php', true);");
    assert!(all.iter().all(|target| cache(&server, target) != "HIT"), "a plugin for all sites");
    warm(&server, &all);
    in_second("do_action('activated_plugin', 'some/some.php', false);");
    assert!(fresh(&first) && !fresh(&second), "a plugin for one site");
    // A page of one site may show contents of another.
    let shows = "<?php add_action('wp_footer', function () { if (is_home() && 1 === get_current_blog_id()) { switch_to_blog(2); \
                 foreach (get_posts() as $post) echo '<p>', get_the_title($post), '</p>'; restore_current_blog(); } });";
    fs::write(site.root().join("wp-content/mu-plugins/shows.php"), shows).expect("a plugin");
    site.run_php(HOST, "do_action('activated_plugin', 'some/some.php', true);");
    warm(&server, &all);
    in_second("wp_update_post(['ID' => 1, 'post_title' => 'Renamed again']);");
    assert!(text(&server, "/").contains("Renamed again"));
    assert_eq!(cache(&server, "/about/"), "HIT");
    // Transients of the network belong to all sites.
    let notice = "<?php add_action('wp_footer', function () { if (is_home()) echo get_site_transient('case_notice'); });";
    fs::write(site.root().join("wp-content/mu-plugins/notice.php"), notice).expect("a plugin");
    site.run_php(
        HOST,
        "set_site_transient('case_notice', 'first notice'); do_action('activated_plugin', 'some/some.php', true);",
    );
    warm(&server, &all);
    in_second("set_site_transient('case_notice', 'second notice');");
    assert!(text(&server, "/").contains("second notice"));
    assert!(text(&server, "/second/").contains("second notice"));
    assert_eq!(cache(&server, "/about/"), "HIT");
    // Users belong to the network.
    let author = "/blog/author/admin/";
    warm(&server, &[author, "/second/author/admin/"]);
    in_second("wp_update_user(['ID' => 1, 'display_name' => 'The Editor']);");
    assert!(
        text(&server, author).contains("The Editor")
            && text(&server, "/second/author/admin/").contains("The Editor")
    );
}

/// Substitute for WP-CLI, which is not packaged: it prints its messages, and exits on errors.
const WP_CLI: &str = "define('WP_CLI', true); class WP_CLI { static $commands = []; \
    static function add_command($name, $class) { self::$commands[$name] = $class; } \
    static function success($text) { echo 'Success: ', $text; } static function line($text) { echo $text, PHP_EOL; } \
    static function error($text) { echo 'Error: ', $text; exit(0); } }";

#[test]
fn wp_cli_commands_purge_and_report_status() {
    let site = WordPress::alone();
    let server = site.serve_with_plugin();
    let run = |code: &str| {
        let code = format!("$command = new WP_CLI::$commands['myriad']; {code}");
        site.run_php_after(HOST, WP_CLI, &code)
    };
    let pages = ["/", "/about/", "/category/rivers/"];
    warm(&server, &pages);
    let said = run(&format!("$command->purge(['http://{HOST}/about/'], []);"));
    assert_eq!(said, "Success: 1 page was purged.");
    assert_eq!((cache(&server, "/about/").as_str(), cache(&server, "/").as_str()), ("EXPIRED", "HIT"));
    warm(&server, &pages);
    run("$command->purge([], ['post' => get_page_by_path('about')->ID]);");
    assert_eq!(
        (cache(&server, "/about/").as_str(), cache(&server, "/category/rivers/").as_str()),
        ("EXPIRED", "HIT")
    );
    warm(&server, &pages);
    assert_eq!(run("$command->purge([], ['all' => true]);"), "Success: 3 pages were purged.");
    assert!(
        pages.iter().all(|page| cache(&server, page) == "MISS"),
        "a purge of all pages keeps no stale ones"
    );
    assert!(run("$command->purge([], []);").starts_with("Error: Specify URLs"));
    let said = run("$command->status();");
    assert!(said.contains("Connection: Myriad responds.") && said.contains("Last purge: 3 pages"), "{said}");
    fs::remove_file(site.root().join("wp-content/mu-plugins/myriad-cache/connection.php"))
        .expect("the connection");
    assert!(
        run("$command->purge([], ['all' => true]);")
            .starts_with("Error: The plugin has no address of Myriad")
    );
}

#[test]
fn customiser_publishes_and_pages_show_it() {
    let site = WordPress::alone();
    let server = site.serve_with_plugin();
    let customise = |values: &str| {
        let code = "require_once ABSPATH . WPINC . '/class-wp-customize-manager.php'; $GLOBALS['wp_customize'] = $manager = new WP_Customize_Manager(['changeset_uuid' => wp_generate_uuid4()]); \
            do_action('customize_register', $manager); $manager->register_controls(); \
            foreach (@VALUES@ as $name => $value) $manager->set_post_value($name, $value); \
            $told = $manager->save_changeset_post(['status' => 'publish']); echo is_wp_error($told) ? $told->get_error_message() : 'published';";
        site.run_php(HOST, &code.replace("@VALUES@", values))
    };
    warm(&server, &["/", "/about/"]);
    assert_eq!(customise("['blogname' => 'Customised']"), "published");
    assert!(text(&server, "/").contains("Customised") && text(&server, "/about/").contains("Customised"));
    warm(&server, &["/", "/about/"]);
    let said =
        site.run_php(HOST, "echo wp_update_custom_css_post('body { color: rebeccapurple; }')->post_type;");
    assert_eq!(said, "custom_css");
    assert!(text(&server, "/about/").contains("rebeccapurple"));
    warm(&server, &["/", "/about/"]);
    site.run_php(HOST, "set_theme_mod('some_color', 'red');");
    assert_eq!((cache(&server, "/").as_str(), cache(&server, "/about/").as_str()), ("EXPIRED", "EXPIRED"));
}

/// Returns the storage time and the expiry time of a page from the plugin's API, in seconds.
fn validity(server: &Server, site: &WordPress, target: &str) -> (u64, u64) {
    let file = fs::read_to_string(site.root().join("wp-content/mu-plugins/myriad-cache/connection.php"))
        .expect("the connection");
    let secret =
        file.split("'secret' => '").nth(1).and_then(|rest| rest.split('\'').next()).expect("a secret");
    let mut stream =
        UnixStream::connect(server.path("plugins/plugin.sock")).expect("the socket of the plugin");
    write!(
        stream,
        "GET /wordpress/cache/page?page=http://{HOST}{target} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer {secret}\r\n\r\n"
    )
    .expect("a request");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("an answer");
    let number = |name: &str| {
        let rest = answer.split(&format!("\"{name}\":")).nth(1).unwrap_or_else(|| panic!("{answer}"));
        let digits: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
        digits.parse::<u64>().expect("a number") / 1000
    };
    (number("stored_ms"), number("fresh_until_ms"))
}

#[test]
fn page_holds_no_longer_than_a_nonce_that_stands_in_it() {
    let site = WordPress::alone();
    let shows = "<?php add_action('wp_footer', function () { if (is_page('about')) echo '<input name=\"key\" value=\"', wp_create_nonce('vote'), '\">'; });";
    fs::write(site.root().join("wp-content/mu-plugins/nonce.php"), shows).expect("a plugin");
    let server = site.serve_with_plugin();
    warm(&server, &["/", "/about/"]);
    let (stored, until) = validity(&server, &site, "/");
    assert_eq!(until - stored, 86_400, "a page without a nonce");
    let (stored, until) = validity(&server, &site, "/about/");
    // WordPress accepts a nonce in its half day and in the next.
    let half_day = |seconds: u64| seconds.div_ceil(43_200);
    assert!(until - stored < 86_400 && half_day(until + 3_599) <= half_day(stored) + 1, "{stored} {until}");
    assert!(until - stored >= 43_200 - 3_600, "the page is stored for at least half a day minus an hour");
}

#[test]
fn purge_of_all_pages_in_the_back_office_is_followed_by_a_warm_up() {
    let site = WordPress::alone();
    let plain = "<?php $target = $_SERVER['REQUEST_URI'] ?? ''; \
                 if ($target === '/plain/') { header('Content-Type: text/html'); echo 'plain'; exit; } \
                 if ($target === '/about/' && @unlink(__DIR__ . '/fail-once')) { http_response_code(503); exit; }";
    // Loaded before the plugin, so that the page has no tags.
    fs::write(site.root().join("wp-content/mu-plugins/a-plain.php"), plain).expect("a plugin");
    let server = site.serve_with_plugin();
    let mut administrator = site.log_in(&server);
    let host = format!("127.0.0.1:{}", server.port);
    let cache = |target: &str| server.fetch(&Request::get(target).host(&host)).cache().to_owned();
    for target in ["/", "/about/", "/plain/"] {
        cache(target);
        assert_eq!(cache(target), "HIT", "{target}");
    }
    let screen = administrator.get("/wp-admin/options-general.php?page=myriad-cache").text();
    let link = screen.split("class=\"button\" href=\"").nth(1).and_then(|rest| rest.split('"').next());
    let link = link.expect("the button").replace("&#038;", "&").replace("&amp;", "&");
    let target = link.split(&host).nth(1).expect("a link to the site");
    let failure = site.root().join("wp-content/mu-plugins/fail-once");
    fs::write(&failure, "").expect("a file");
    assert_eq!(administrator.get(target).status, 302);
    assert_eq!(cache("/plain/"), "MISS", "a page without tags");
    let count = site.php_requests();
    // Stored pages cost no request.
    wait_patiently_for("the warm-up", Duration::from_mins(1), || {
        site.run_php(HOST, "echo get_option('myriad_cache_warm') ? 'planned' : 'done';") == "done"
    });
    assert!(site.php_requests() > count);
    assert!(!failure.exists(), "no request for a page failed");
    assert_eq!((cache("/").as_str(), cache("/about/").as_str()), ("HIT", "HIT"));
}

#[test]
fn pages_from_before_the_installation_are_purged_by_the_clock() {
    let site = WordPress::alone();
    let plain = "<?php if (($_SERVER['REQUEST_URI'] ?? '') === '/plain/') { header('Content-Type: text/html'); \
                 header('X-Accel-Expires: 3600'); echo 'plain'; exit; }";
    // Loaded before the plugin, so that the page has no tags.
    fs::write(site.root().join("wp-content/mu-plugins/a-plain.php"), plain).expect("a plugin");
    let server = site.serve_with_plugin();
    warm(&server, &["/about/", "/plain/"]);
    site.run_php(HOST, "delete_site_option('myriad_cache_installed');");
    wait_patiently_for("the purge", Duration::from_mins(1), || {
        !site.run_php(HOST, "echo get_site_option('myriad_cache_installed');").is_empty()
    });
    assert_eq!((cache(&server, "/plain/").as_str(), cache(&server, "/about/").as_str()), ("EXPIRED", "HIT"));
}

/// Products of a shop, and pages that show the stock; WooCommerce is not installed.
const SHOP: &str = "<?php
    add_action('init', function () { register_post_type('product', ['public' => true, 'has_archive' => true, 'label' => 'Products']); });
    add_action('wp_footer', function () {
        if (is_singular('product') || is_post_type_archive('product')) echo '<p>', @file_get_contents(WP_CONTENT_DIR . '/stock.txt'), '</p>';
    });
    class WC_Product { private $id; function __construct($id) { $this->id = $id; } function get_id() { return $this->id; } }";

#[test]
fn hooks_of_a_shop_purge_the_pages_that_show_the_product() {
    let site = WordPress::alone();
    fs::write(site.root().join("wp-content/mu-plugins/shop.php"), SHOP).expect("a plugin");
    let server = site.serve_with_plugin();
    let code = "foreach (['lamp', 'chair'] as $name) wp_insert_post(['post_type' => 'product', 'post_title' => $name, 'post_name' => $name, 'post_status' => 'publish']); \
                flush_rewrite_rules();";
    site.run_php(HOST, code);
    let pages = ["/product/lamp/", "/product/chair/", "/product/", "/"];
    let lamp = "$id = get_page_by_path('lamp', OBJECT, 'product')->ID; $product = new WC_Product($id);";
    for (number, hook) in [
        "do_action('woocommerce_product_set_stock', $product);",
        "do_action('woocommerce_update_product', $id, $product);",
        "do_action('woocommerce_variation_set_stock', new WC_Product(wp_insert_post(['post_type' => 'product_variation', 'post_parent' => $id, 'post_status' => 'publish'])));",
        "do_action('woocommerce_delete_product_transients', $id);",
        "do_action('woocommerce_product_set_stock_status', $id, 'outofstock', $product);",
    ]
    .into_iter()
    .enumerate()
    {
        warm(&server, &pages);
        let stock = format!("{number} in stock");
        fs::write(site.root().join("wp-content/stock.txt"), &stock).expect("the stock");
        site.run_php(HOST, &format!("{lamp} {hook}"));
        assert!(text(&server, "/product/lamp/").contains(&stock), "{hook}");
        assert!(text(&server, "/product/").contains(&stock), "{hook}: the list");
        assert_eq!((cache(&server, "/product/chair/").as_str(), cache(&server, "/").as_str()), ("HIT", "HIT"), "{hook}");
    }
}

#[test]
fn administrators_see_a_notice_while_the_connection_to_myriad_is_broken() {
    let site = WordPress::alone();
    let server = site.serve_with_plugin();
    let mut administrator = site.log_in(&server);
    let mut screen = |target: &str| {
        let answer = administrator.get(target);
        assert_eq!(answer.status, 200, "{target}");
        answer.text()
    };
    let notice = "Myriad does not receive changes";
    assert!(!screen("/wp-admin/").contains(notice));

    let connection = site.root().join("wp-content/mu-plugins/myriad-cache/connection.php");
    let aside = connection.with_extension("aside");
    fs::rename(&connection, &aside).expect("a connection");
    for target in ["/wp-admin/", "/wp-admin/edit.php"] {
        let text = screen(target);
        assert!(text.contains(notice) && text.contains("has no address of Myriad"), "{target}: {text}");
    }
    fs::rename(&aside, &connection).expect("a connection");
    assert!(!screen("/wp-admin/").contains(notice), "the connection works again");
    for (result, shown) in [("failed", "notice-error"), ("2", "notice-success")] {
        let text = screen(&format!("/wp-admin/options-general.php?page=myriad-cache&myriad-purged={result}"));
        assert!(text.contains(&format!("<div class=\"notice {shown} is-dismissible\">")), "{result}: {text}");
    }

    let failed = "['time' => time(), 'pages' => 0, 'error' => 'Myriad responded with status 503']";
    let pending = "['tags' => ['s'], 'urls' => [], 'hard' => false, 'tried' => time() + 3600]";
    site.run_php(
        HOST,
        &format!(
            "update_option('myriad_cache_last', {failed}); update_option('myriad_cache_pending', {pending});"
        ),
    );
    let text = screen("/wp-admin/");
    assert!(text.contains(notice) && text.contains("Myriad responded with status 503"), "{text}");
    site.run_php(HOST, "delete_option('myriad_cache_pending');");
    assert!(!screen("/wp-admin/").contains(notice));

    let shown = |before: &str, user: &str| {
        let code = format!(
            "{user} require_once ABSPATH . 'wp-admin/includes/admin.php'; do_action('admin_notices');"
        );
        site.run_php_after(HOST, before, &code).contains(notice)
    };
    let unreachable = "define('MYRIAD_CACHE_API', 'unix:/nowhere/plugin.sock:/site/'); define('MYRIAD_CACHE_SECRET', 'x'); define('WP_ADMIN', true);";
    let editor = "wp_set_current_user(wp_insert_user(['user_login' => 'editor', 'user_pass' => 'x', 'role' => 'editor']));";
    assert!(shown(unreachable, ""));
    assert!(!shown(unreachable, editor), "an editor cannot repair the connection");
    // The purge for the new user could not be sent.
    site.run_php(HOST, "delete_option('myriad_cache_pending'); delete_option('myriad_cache_last');");
    assert!(!shown("define('WP_ADMIN', true);", ""));
}
