//! Changes that no purge announced, and the plugins, tables and hosts that they came from.

use std::fs;
use std::time::Duration;

use myriad_tests::{Request, Server, WordPress, wait_for};

/// Plugins that read files, which no purge announces.
const WEATHER: &str = "<?php /* Plugin Name: Weather Box */
    function weather_text($name) { return trim(file_get_contents(WP_CONTENT_DIR . \"/$name.txt\")); }
    function weather_box() { return '<p class=\"box\">Today: ' . weather_text('box') . '</p>'; }
    add_shortcode('weather', 'weather_box');
    add_action('init', function () {
        register_block_type('weather/now', ['render_callback' => function () {
            global $wpdb;
            $wpdb->get_results(\"SELECT * FROM {$wpdb->prefix}weather\");
            return '<div>Now in the block: ' . weather_text('block') . '</div>';
        }]);
    });
    add_action('wp_footer', function () { echo '<div id=\"foot\">In the footer: ', weather_text('footer'), '</div>'; });
    add_filter('the_content', function ($content) { return $content . '<i>After the content: ' . weather_text('content') . '</i>'; });";

/// Theme part outside all blocks, with a table that a must-use plugin reads.
const TEMPLATE: &str = "<?php
    add_action('template_redirect', function () {
        if (!is_page('bare')) return;
        global $wpdb;
        $wpdb->get_results(\"SELECT * FROM {$wpdb->prefix}tides\");
        echo '<html><body>', str_repeat('<p>Water</p>', 20), '<b>Level ', file_get_contents(WP_CONTENT_DIR . '/level.txt'), '</b>', str_repeat('<p>End</p>', 20), '</body></html>';
        exit;
    });";

/// Requests a page until it contains the text.
fn wait_for_text(server: &Server, host: &str, target: &str, text: &str) {
    wait_for(text, || server.fetch(&Request::get(target).host(host)).text().contains(text));
}

#[test]
fn unannounced_changes_name_the_element_and_the_plugin_of_the_text() {
    let site = WordPress::alone();
    let content = site.root().join("wp-content");
    fs::create_dir_all(content.join("plugins/weather")).expect("a folder");
    fs::write(content.join("plugins/weather/weather.php"), WEATHER).expect("a plugin");
    fs::write(content.join("mu-plugins/tides.php"), TEMPLATE).expect("a plugin");
    for name in ["box", "block", "footer", "content", "level"] {
        fs::write(content.join(format!("{name}.txt")), "sunny\n").expect("a file");
    }
    let server = site.serve_plugin_changed(|preset| {
        preset.replace("fastcgi_cache_adaptive off;", "fastcgi_cache_adaptive 1s;")
    });
    let host = format!("127.0.0.1:{}", server.port);
    site.run_php(
        &host,
        "global $wpdb; foreach (['weather', 'tides'] as $name) $wpdb->query(\"CREATE TABLE {$wpdb->prefix}$name (id INT)\"); \
         update_option('active_plugins', ['weather/weather.php']); \
         foreach (['box' => '[weather]', 'block' => '<!-- wp:weather/now /-->', 'footer' => 'Text.', 'content' => 'Text.', 'bare' => ''] as $name => $text) \
         wp_insert_post(['post_type' => 'page', 'post_status' => 'publish', 'post_name' => $name, 'post_title' => $name, 'post_content' => $text]);",
    );
    let describe = || site.run_php(&host, "echo implode(\"\\n\", Myriad_Cache_Causes::describe());");
    for (page, file, cause) in [
        ("box", "box", "The text is part of the shortcode \"weather\" of the plugin \"Weather Box\"."),
        (
            "block",
            "block",
            "The text is part of the block \"weather/now\" of the plugin \"Weather Box\". It reads wp_weather.",
        ),
        (
            "footer",
            "footer",
            "The text is part of the output for \"wp_footer\" of the plugin \"Weather Box\".",
        ),
        (
            "content",
            "content",
            "The text is part of the output for \"the_content\" of the plugin \"Weather Box\".",
        ),
        ("bare", "level", "Probable cause: the table \"wp_tides\", which the plugin \"tides.php\" reads."),
    ] {
        let target = format!("/{page}/");
        wait_for_text(&server, &host, &target, "sunny");
        std::thread::sleep(Duration::from_millis(1200));
        fs::write(content.join(format!("{file}.txt")), "rainy\n").expect("a file");
        wait_for_text(&server, &host, &target, "rainy");
        let mut described = String::new();
        wait_for("the report", || {
            described = describe();
            described.contains(&format!("{target} changed"))
        });
        let line = described.lines().find(|line| line.contains(&target)).unwrap_or_default();
        assert!(line.contains(cause), "{page}: {described}");
        assert!(line.contains("rainy"), "{page}: {described}");
        fs::write(content.join(format!("{file}.txt")), "sunny\n").expect("a file");
        // Other pages show the same file only in the footer and after the content.
        wait_for_text(&server, &host, &target, "sunny");
    }
}

#[test]
fn search_in_a_page_requires_the_secret_of_the_plugin() {
    let site = WordPress::alone();
    let server = site.serve_with_plugin();
    let host = format!("127.0.0.1:{}", server.port);
    let address = |url: &str| {
        let code = format!("echo Myriad_Cache_Trace::address('http://{host}{url}', 'near', 'after');");
        site.run_php(&host, &code).split(&host).nth(1).expect("a target").to_owned()
    };
    let get = |target: &str| server.fetch(&Request::get(target).host(&host));
    let signed = address("/about/");
    for _ in 0..2 {
        let answer = get(&signed);
        assert!(answer.text().starts_with("{\"found\":false,"), "{}", answer.text());
        assert_ne!(answer.cache(), "HIT");
        assert_eq!(answer.field("Cache-Control"), Some("no-store, private"));
    }
    let by_number = format!("/?page_id={}", site.run_php(&host, "echo url_to_postid('/about/');"));
    assert_eq!(get(&by_number).status, 301);
    assert!(get(&address(&by_number)).text().starts_with("{\"found\":false,"));
    let (start, signature) = signed.rsplit_once('.').expect("a signature");
    for target in [
        signed.replace("/about/", "/"),
        format!("{start}.{}", "0".repeat(64)),
        format!("{start}.{signature}&x=1"),
        format!("{start}."),
    ] {
        let page = get(&target).text();
        assert!(page.contains("<html") || page.is_empty(), "{target}: {page}");
    }
}
