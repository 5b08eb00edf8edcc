//! Myriad's plugin next to cache plugins, which are imitated.

use std::fs;

use myriad_tests::{Request, Server, WordPress, wait_for};

const HOST: &str = "site.test";
const DAY: u64 = 86_400;
const WEEK: u64 = 7 * DAY;
/// A nonce is valid for less than a day, of which the plugin reserves an hour.
const NONCE: u64 = DAY - 3_600;

/// Plugin that states a validity as cache plugins do, early or in an output buffer that is older than Myriad's, for pages with and without a
/// nonce.
const STATES: &str = r#"<?php
$part = explode('-', trim($_SERVER['REQUEST_URI'] ?? '', '/'));
$fields = [
    'litespeed' => 'X-LiteSpeed-Cache-Control: public,max-age=604800', 'control' => 'Cache-Control: public, max-age=604800',
    'surrogate' => 'Surrogate-Control: max-age=604800', 'forbidden' => 'X-LiteSpeed-Cache-Control: no-cache', 'short' => 'Cache-Control: max-age=300',
];
if (isset($fields[$part[1] ?? ''])) {
    $send = function () use ($fields, $part) { header($fields[$part[1]]); };
    if ($part[0] === 'buffer') {
        ob_start(function ($page) use ($send) { $send(); return $page; });
    } else {
        add_action('send_headers', $send);
    }
    add_shortcode('case', function () use ($part) { return ($part[2] ?? '') === 'nonce' ? '<input value="' . wp_create_nonce('case') . '">' : 'plain'; });
}
"#;

/// Returns the validity of a page that was just stored, in seconds; 0 if it was not stored.
fn validity(server: &Server, target: &str) -> u64 {
    let answer = server.fetch(&Request::get(target).host(HOST));
    assert_eq!(answer.status, 200, "{target}");
    let status = answer.field("cache-status").unwrap_or_default();
    let seconds = status.split("ttl=").nth(1).map(|rest| rest.split(|c: char| !c.is_ascii_digit()).next());
    seconds
        .flatten()
        .filter(|_| status.contains("stored"))
        .map_or(0, |digits| digits.parse().expect("a number"))
}

#[test]
fn the_shorter_validity_applies_if_another_plugin_states_one() {
    let site = WordPress::alone();
    site.write("wp-content/mu-plugins/a-states.php", STATES);
    let mut names = Vec::new();
    for place in ["early", "buffer"] {
        for field in ["litespeed", "control", "surrogate", "forbidden", "short"] {
            names.extend([format!("{place}-{field}-nonce"), format!("{place}-{field}-plain")]);
        }
    }
    let list = names.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ");
    let code = format!(
        "foreach ([{list}] as $name) wp_insert_post(['post_type' => 'page', 'post_status' => 'publish', 'post_title' => 'Case', \
         'post_name' => $name, 'post_content' => '[case]']);"
    );
    site.run_php(HOST, &code);
    let server = site.serve_with_plugin();
    for name in names {
        let seconds = validity(&server, &format!("/{name}/"));
        let (field, has_nonce) = (name.split('-').nth(1).expect("a field"), name.ends_with("nonce"));
        let expected = match field {
            "forbidden" => 0..=0,
            "short" => 1..=300,
            _ if has_nonce => 1..=NONCE,
            "litespeed" => NONCE + 1..=DAY,
            _ => DAY + 1..=WEEK,
        };
        assert!(expected.contains(&seconds), "{name}: {seconds}");
    }
}

/// Page cache that stores pages in files and sends them before WordPress is loaded, as WP Super Cache does.
const DROP_IN: &str = r"<?php
$copy = __DIR__ . '/copies/' . md5($_SERVER['REQUEST_URI'] ?? '') . '.html';
if (($_SERVER['REQUEST_METHOD'] ?? '') === 'GET' && PHP_SAPI !== 'cli') {
    if (is_file($copy)) { readfile($copy); exit; }
    ob_start(function ($page) use ($copy) {
        if (!defined('DONOTCACHEPAGE') && http_response_code() === 200 && strpos($page, '</html>')) {
            @mkdir(dirname($copy));
            file_put_contents($copy, $page);
        }
        return $page;
    });
}
";

#[test]
fn a_page_cache_in_php_stores_no_page_that_myriad_requests() {
    let site = WordPress::alone();
    let configuration = site.root().join("wp-config.php");
    let text = fs::read_to_string(&configuration).expect("wp-config.php");
    fs::write(
        &configuration,
        text.replace("require_once ABSPATH", "define('WP_CACHE', true);\nrequire_once ABSPATH"),
    )
    .expect("wp-config.php");
    let server = site.serve_with_plugin();
    site.write("wp-content/advanced-cache.php", DROP_IN);
    let about = || server.fetch(&Request::get("/about/").host(HOST));
    assert_eq!(about().status, 200);
    assert_eq!(about().cache(), "HIT");
    site.run_php(
        HOST,
        "wp_update_post(['ID' => get_page_by_path('about')->ID, 'post_content' => 'Other words about it.']);",
    );
    assert!(about().text().contains("Other words about it."));
    let personal =
        server.fetch(&Request::get("/about/").host(HOST).field("Cookie", "woocommerce_cart_hash=1"));
    assert_eq!(personal.status, 200);
    assert!(
        !site.root().join("wp-content/copies").exists(),
        "a copy with tags of Myriad would be sent to visitors"
    );
}

/// WP Fastest Cache's function, with which a page is excluded.
const FASTEST: &str = r"<?php
if (($_SERVER['REQUEST_METHOD'] ?? '') === 'GET' && PHP_SAPI !== 'cli') {
    $GLOBALS['refused'] = false;
    function wpfc_exclude_current_page() { $GLOBALS['refused'] = true; }
    ob_start(function ($page) { return $page . ($GLOBALS['refused'] ? '<!-- not stored -->' : '<!-- stored -->'); });
}
";

#[test]
fn site_health_names_a_page_cache_without_a_drop_in() {
    let site = WordPress::alone();
    site.write("wp-content/mu-plugins/a-fastest.php", FASTEST);
    let server = site.serve_with_plugin();
    let page = server.fetch(&Request::get("/about/").host(HOST)).text();
    assert!(page.ends_with("<!-- not stored -->"), "{}", &page[page.len() - 60..]);
    let cache = || server.fetch(&Request::get("/about/").host(HOST)).cache().to_owned();
    assert_eq!(cache(), "HIT");
    site.run_php(HOST, "do_action('wpfc_clear_post_cache_by_id', false, get_page_by_path('about')->ID);");
    assert_ne!(cache(), "HIT", "a purge that the other plugin sends");
    let others =
        |before: &str| site.run_php_after(HOST, before, "echo Myriad_Cache_Health::others()['status'];");
    assert_eq!(others(""), "good");
    assert_eq!(
        site.run_php(
            HOST,
            "add_action('wpfc_exclude_current_page', 'strlen'); echo Myriad_Cache_Health::others()['status'];"
        ),
        "recommended"
    );
}

/// Plugin that shows the value of a cookie on each page.
const GREETING: &str = "<?php add_action('wp_footer', function () { echo 'Hello, ', esc_html($_COOKIE['name'] ?? 'nobody'), '!'; });";

#[test]
fn site_health_lists_pages_with_data_of_a_visitor() {
    let site = WordPress::alone();
    site.write("wp-content/mu-plugins/greeting.php", GREETING);
    // By default, PHP gets no cookies in requests for shared pages.
    let server = site.serve_plugin_changed(|preset| {
        let changed = preset.replace("shared_fetch_headers on;", "shared_fetch_headers off;");
        assert_ne!(changed, preset);
        changed
    });
    let leaks = |host: &str| {
        let code = "$result = Myriad_Cache_Health::leaks(); echo $result['status'], $result['description'];";
        site.run_php(host, code)
    };
    let none = leaks(HOST);
    assert!(none.starts_with("good") && !none.contains("/about/"), "{none}");
    let page = server.fetch(&Request::get("/about/").host(HOST).field("Cookie", "name=Margarete")).text();
    assert!(page.contains("Hello, Margarete!"), "{page}");
    let mut result = String::new();
    wait_for("the finding", || {
        result = leaks(HOST);
        result.contains("confirmed")
    });
    let place = format!("{HOST}/about/: value of the request");
    assert!(
        result.starts_with("recommended") && result.contains(&place) && !result.contains("Margarete"),
        "{result}"
    );
    assert!(leaks("other.test").starts_with("good"), "a page of another host");
    drop(server);
    let unknown = leaks(HOST);
    assert!(unknown.starts_with("recommended") && !unknown.contains("/about/"), "{unknown}");
}

/// Optimizer that moves the scripts of a page into a file, unless they contain a text of its list.
const OPTIMIZER: &str = r#"<?php
add_shortcode('script', function ($with) { return '<script>var case_' . $with['name'] . ' = "' . ($with['name'] === 'nonce' ? wp_create_nonce('case') : 'plain') . '";</script>'; });
add_action('template_redirect', function () {
    ob_start(function ($page) {
        $texts = apply_filters('autoptimize_filter_js_dontmove', ['document.write']);
        return preg_replace_callback('#<script>var case_.*?</script>#', function ($script) use ($texts) {
            if (str_replace($texts, '', $script[0]) !== $script[0]) return $script[0];
            file_put_contents(WP_CONTENT_DIR . '/moved.js', $script[0], FILE_APPEND);
            return '<!-- moved -->';
        }, $page);
    });
}, 2);
"#;

#[test]
fn scripts_with_nonces_are_not_moved_into_files() {
    let site = WordPress::alone();
    site.write("wp-content/mu-plugins/a-optimizer.php", OPTIMIZER);
    let code = "wp_insert_post(['post_type' => 'page', 'post_status' => 'publish', 'post_title' => 'Case', 'post_name' => 'case', \
                'post_content' => '[script name=\"nonce\"][script name=\"plain\"]']);";
    site.run_php(HOST, code);
    let server = site.serve_with_plugin();
    let page = server.fetch(&Request::get("/case/").host(HOST)).text();
    let moved = fs::read_to_string(site.root().join("wp-content/moved.js")).unwrap_or_default();
    assert!(page.contains("var case_nonce = ") && !page.contains("case_plain"), "{page}");
    assert!(moved.contains("case_plain") && !moved.contains("case_nonce"), "{moved}");
}
