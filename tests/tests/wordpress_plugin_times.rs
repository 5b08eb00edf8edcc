//! Pages that change at a known time without any write, and pages that scheduled tasks change.

use std::fs;
use std::time::Duration;

use myriad_tests::{Request, Server, WordPress, wait_patiently_for};

const HOST: &str = "site.test";

/// Plugin whose shortcodes show data with dates, and a list of events. Scheduled tasks write a table and options.
const DATED: &str = r#"<?php
add_action('init', function () {
    register_post_type('event', ['public' => true]);
    register_post_type('product', ['public' => true]);
});
add_filter('pre_render_block', function ($content, $block) {
    $until = $block['attrs']['visibility']['schedule'][0]['end'] ?? '';
    return $until && strtotime($until) <= time() ? '' : $content;
}, 10, 2);
add_shortcode('sale', function () {
    $id = get_the_ID();
    return (int) get_post_meta($id, '_sale_price_dates_to', true) > time() ? 'on sale' : 'usual price';
});
add_shortcode('banner', function () {
    $all = get_option('case_banner');
    return time() < strtotime($all['banner']['endDate'] . ' UTC') ? $all['banner']['text'] : 'no banner';
});
add_shortcode('events', function () {
    $query = new WP_Query(['post_type' => 'event', 'posts_per_page' => 3, 'meta_query' => [['key' => '_event_end',
        'value' => time(), 'compare' => '>', 'type' => 'NUMERIC']]]);
    return 'events: ' . implode(', ', wp_list_pluck($query->posts, 'post_title'));
});
add_shortcode('cached-sale', function () {
    $text = get_transient('case_sale');
    if ($text === false) {
        $product = get_page_by_path('chair', OBJECT, 'product');
        $text = 'ends at ' . get_post_meta($product->ID, '_sale_price_dates_to', true);
        set_transient('case_sale', $text, 3600);
    }
    return $text;
});
add_shortcode('rates', function () {
    global $wpdb;
    return $wpdb->get_var("SELECT text FROM {$wpdb->prefix}case_rates") . ' ' . current((array) get_option('case_rate'));
});
add_action('case_hourly', function () {
    global $wpdb;
    $wpdb->query("UPDATE {$wpdb->prefix}case_rates SET text = 'new'");
    update_option('case_rate', 'rate 2');
});

"#;

const PREPARE: &str = "global $wpdb; $wpdb->query(\"CREATE TABLE {$wpdb->prefix}case_rates (text TEXT)\"); \
    $wpdb->query(\"INSERT INTO {$wpdb->prefix}case_rates VALUES ('old')\"); update_option('case_rate', 'rate 1'); \
    $page = fn ($name, $content) => wp_insert_post(['post_type' => 'page', 'post_status' => 'publish', 'post_title' => 'Case', \
    'post_name' => \"case-$name\", 'post_content' => \"[begin]{$content}[end]\"]); \
    foreach (['sale', 'banner', 'events', 'cached-sale', 'rates'] as $name) $page($name, \"[$name]\"); \
    foreach (['chair' => 'product', 'concert' => 'event'] as $title => $type) \
    wp_insert_post(['post_type' => $type, 'post_status' => 'publish', 'post_title' => $title]); \
    $page('block', 'none'); $page('again', '[cached-sale] again'); $page('never', '[sale]');";

fn shown(server: &Server, name: &str) -> (String, String) {
    let answer = server.fetch(&Request::get(&format!("/case-{name}/")).host(HOST));
    let text = answer.text();
    let start = text.find("[begin]").unwrap_or_else(|| panic!("{name}: {} {text}", answer.status));
    let end = text.find("[end]").expect("the end of the shortcode");
    (text[start + "[begin]".len()..end].trim().to_owned(), answer.cache().to_owned())
}

/// Returns the validity of a newly stored page, in seconds.
fn validity(server: &Server, name: &str) -> u64 {
    let answer = server.fetch(&Request::get(&format!("/case-{name}/")).host(HOST));
    let status = answer.field("cache-status").unwrap_or_else(|| panic!("{name}: no Cache-Status")).to_owned();
    let ttl = status.split("ttl=").nth(1).unwrap_or_else(|| panic!("{name}: {status}"));
    ttl.split(';')
        .next()
        .and_then(|ttl| ttl.trim().parse().ok())
        .unwrap_or_else(|| panic!("{name}: {status}"))
}

fn serve() -> (WordPress, Server) {
    serve_by(WordPress::serve_with_plugin)
}

fn serve_by(start: impl FnOnce(&WordPress) -> Server) -> (WordPress, Server) {
    let site = WordPress::alone();
    fs::write(site.root().join("wp-content/mu-plugins/dated.php"), DATED).expect("a plugin");
    let server = start(&site);
    site.run_php(HOST, PREPARE);
    (site, server)
}

#[test]
fn dates_that_a_page_shows_limit_its_validity() {
    let (site, server) = serve();
    // In two hours; the dates of the past and of the next year have no influence.
    site.run_php(
        HOST,
        "$at = time() + 7200; $id = fn ($name) => get_page_by_path(\"case-$name\")->ID; \
         update_post_meta($id('sale'), '_sale_price_dates_from', $at - 90000); update_post_meta($id('sale'), '_sale_price_dates_to', $at); \
         update_option('case_banner', ['banner' => ['text' => 'sale', 'startDate' => '2020-01-01 10:00:00', 'endDate' => gmdate('Y-m-d H:i:s', $at)]]); \
         update_post_meta(get_page_by_path('concert', OBJECT, 'event')->ID, '_event_end', $at); \
         update_post_meta(get_page_by_path('chair', OBJECT, 'product')->ID, '_sale_price_dates_to', $at); \
         wp_update_post(['ID' => $id('block'), 'post_content' => '[begin]' . '<!-- wp:paragraph {\"visibility\":{\"schedule\":[{\"end\":\"' \
         . gmdate('c', $at) . '\"}]}} --><p>visible</p><!-- /wp:paragraph -->[end]']); \
         update_post_meta($id('never'), 'price', (string) $at); update_post_meta($id('never'), '_sale_price_dates_to', $at + 31536000);",
    );
    assert_eq!(validity(&server, "never"), 86_400, "a number without the name of a date");
    // The page `again` reads the transient of the page before it. The option is known from the page `banner` on, and limits all pages.
    for name in ["cached-sale", "again", "sale", "events", "block", "banner"] {
        let seconds = validity(&server, name);
        assert!((7_000..=7_200).contains(&seconds), "{name}: {seconds}");
    }
}

/// Transients that the setup of a plugin stores, and shortcodes that show them. A plugin compares the version of one with another transient.
const VERSIONED: &str = r#"<?php
foreach (['plain', 'value', '1764000000', '0123456789abcdef0123456789abcdef'] as $name) {
    add_shortcode("version-$name", function () use ($name) { return json_encode(get_transient("case_$name")); });
}
"#;

#[test]
fn transients_with_a_version_limit_the_validity_of_pages_and_others_do_not() {
    let site = WordPress::alone();
    fs::write(site.root().join("wp-content/mu-plugins/versioned.php"), VERSIONED).expect("a plugin");
    let server = site.serve_with_plugin();
    site.run_php(
        HOST,
        "set_transient('case-transient-version', '1764000000'); \
         foreach (['plain', 'value', '1764000000', '0123456789abcdef0123456789abcdef'] as $name) { \
         set_transient(\"case_$name\", $name === 'value' ? ['version' => '1764000000', 'value' => 5] : 5); \
         wp_insert_post(['post_type' => 'page', 'post_status' => 'publish', 'post_title' => 'Case', 'post_name' => \"case-$name\", \
         'post_content' => \"[version-$name]\"]); }",
    );
    assert_eq!(validity(&server, "plain"), 86_400, "each change of the transient purges the page");
    for name in ["value", "1764000000", "0123456789abcdef0123456789abcdef"] {
        assert_eq!(validity(&server, name), 300, "{name}");
    }
}

#[test]
fn pages_change_at_the_moment_that_they_depend_on() {
    // As with the default, no expired page is sent while it is refreshed.
    let adaptive =
        |preset: String| preset.replace("fastcgi_cache_adaptive off;", "fastcgi_cache_adaptive 1d;");
    let (site, server) = serve_by(|site| site.serve_plugin_changed(adaptive));
    site.run_php(
        HOST,
        "$at = time() + 12; update_post_meta(get_page_by_path('case-sale')->ID, '_sale_price_dates_to', $at); \
         update_post_meta(get_page_by_path('concert', OBJECT, 'event')->ID, '_event_end', $at);",
    );
    assert_eq!(shown(&server, "sale").0, "on sale");
    assert_eq!(shown(&server, "events").0, "events: concert");
    assert_eq!(shown(&server, "events").1, "HIT");
    wait_patiently_for("the end of the sale", Duration::from_mins(1), || {
        shown(&server, "sale").0 == "usual price"
    });
    // Validities are whole seconds.
    std::thread::sleep(Duration::from_millis(1100));
    assert_eq!(shown(&server, "events").0, "events:");
}

#[test]
fn writes_of_scheduled_tasks_purge_the_pages_that_read_them() {
    let (site, server) = serve();
    assert_eq!(shown(&server, "rates").0, "old rate 1");
    assert_eq!(shown(&server, "rates").1, "HIT");
    site.run_php(HOST, "wp_schedule_single_event(time() - 1, 'case_hourly');");
    wait_patiently_for("the scheduled task", Duration::from_mins(1), || {
        shown(&server, "rates").0 == "new rate 2"
    });
    assert_eq!(shown(&server, "rates").1, "HIT");
    let run = |code: &str| site.run_php_after(HOST, "define('DOING_CRON', true);", code);
    run("update_option('case_rate', ['rate 2', 'checked' => time()]);");
    assert_eq!(shown(&server, "rates").1, "HIT", "the same option within an hour");
    run(
        "delete_option('myriad_cache_jobs'); update_option('case_rate', ['rate 2', 'checked' => time() + 60]);",
    );
    assert_eq!(shown(&server, "rates").1, "HIT", "only a time has changed");
    run("update_option('case_rate', ['rate 3', 'checked' => time() + 60]);");
    assert_ne!(shown(&server, "rates").1, "HIT");
    run("delete_option('myriad_cache_jobs'); update_option('case_unread', 'x');");
    shown(&server, "rates");
    assert_eq!(shown(&server, "rates").1, "HIT");
}

/// Shortcodes that read a table with dates by conditions and by rows.
const TABLE: &str = r#"<?php
function case_rows($where, $columns = 'name') {
    global $wpdb;
    $rows = $wpdb->get_results("SELECT $columns FROM {$wpdb->prefix}case_dates WHERE $where");
    return 'rows: ' . implode(', ', wp_list_pluck($rows, 'name'));
}
foreach ([
    'time' => fn () => case_rows("ends_at >= '" . current_time('mysql') . "'"),
    'utc' => fn () => case_rows("`ends_at` > '" . gmdate('Y-m-d H:i:s') . "'"),
    'ago' => fn () => case_rows("DATE_SUB(UTC_TIMESTAMP(), INTERVAL 7 DAY) < made_at"),
    'number' => fn () => case_rows('unix_start < ' . time() . ' AND unix_start > 0'),
    'row' => fn () => case_rows('id = 1', '*'),
    'day' => fn () => case_rows("CAST(ends_at AS DATE) >= CAST('" . gmdate('Y-m-d') . "' AS DATE)"),
    'day-function' => fn () => case_rows('ends_at >= CURDATE()'),
    'joined' => function () {
        global $wpdb;
        $now = gmdate('Y-m-d H:i:s');
        return implode(', ', $wpdb->get_col("SELECT d.name FROM {$wpdb->prefix}case_dates d JOIN $wpdb->posts p ON p.ID = d.id
            WHERE p.post_date <= '$now' AND d.ends_at >= '$now'"));
    },
    'expression' => function () {
        global $wpdb;
        return implode(', ', $wpdb->get_col("SELECT name FROM (SELECT name, DATE_ADD(ends_at, INTERVAL 1 DAY) AS until_day FROM {$wpdb->prefix}case_dates) x
            WHERE x.until_day > '" . gmdate('Y-m-d H:i:s') . "'"));
    },
    'fixed' => fn () => case_rows("ends_at > '2024-03-01 17:23:45'"),
] as $name => $show) {
    add_shortcode("table-$name", $show);
}
"#;

#[test]
fn dates_in_tables_of_plugins_limit_the_validity_of_pages() {
    let site = WordPress::alone();
    fs::write(site.root().join("wp-content/mu-plugins/table.php"), TABLE).expect("a plugin");
    let server = site.serve_with_plugin();
    let row = "$row = fn ($name, $ends, $made, $start) => $wpdb->insert(\"{$wpdb->prefix}case_dates\", ['name' => $name, \
               'ends_at' => gmdate('Y-m-d H:i:s', time() + $ends), 'made_at' => gmdate('Y-m-d H:i:s', time() + $made), 'unix_start' => time() + $start]);";
    site.run_php(
        HOST,
        &format!(
            "global $wpdb; $wpdb->query(\"CREATE TABLE {{$wpdb->prefix}}case_dates (id INT AUTO_INCREMENT PRIMARY KEY, name TEXT, ends_at DATETIME, \
             made_at DATETIME, unix_start INT)\"); {row} $row('far', 7200, 3600 - 7 * 86400, 5400); $row('past', -9000, -90 * 86400, -500); \
             foreach (array_keys($GLOBALS['shortcode_tags']) as $tag) if (strpos($tag, 'table-') === 0) \
             wp_insert_post(['post_type' => 'page', 'post_status' => 'publish', 'post_title' => 'Case', 'post_name' => 'case-' . substr($tag, 6), \
             'post_content' => \"[begin][$tag][end]\"]);"
        ),
    );
    assert_eq!(validity(&server, "fixed"), 86_400, "the condition contains a constant");
    for (name, most) in
        [("time", 7200), ("utc", 7200), ("row", 5400), ("joined", 7200), ("ago", 3600), ("number", 5400)]
    {
        let seconds = validity(&server, name);
        assert!((most - 150..=most).contains(&seconds), "{name}: {seconds}");
    }
    let to_midnight =
        site.run_php(HOST, "echo strtotime('tomorrow') - time();").parse::<u64>().expect("seconds");
    for name in ["day", "day-function"] {
        let seconds = validity(&server, name);
        assert!(seconds.abs_diff(to_midnight.min(86_400)) < 60, "{name}: {seconds}, {to_midnight}");
    }
    assert_eq!(validity(&server, "expression"), 600, "the column is computed");
    // A nearer date purges the page, and replaces the stored moment.
    site.run_php(HOST, &format!("global $wpdb; {row} $row('near', 1800, 0, -50);"));
    for name in ["time", "joined", "row"] {
        let seconds = validity(&server, name);
        let most = if name == "row" { 5400 } else { 1800 };
        assert!((most - 150..=most).contains(&seconds), "{name}: {seconds}");
    }
}

#[test]
fn row_of_a_table_disappears_at_its_end() {
    let site = WordPress::alone();
    fs::write(site.root().join("wp-content/mu-plugins/table.php"), TABLE).expect("a plugin");
    let server = site.serve_plugin_changed(|preset| {
        preset.replace("fastcgi_cache_adaptive off;", "fastcgi_cache_adaptive 1d;")
    });
    site.run_php(
        HOST,
        "global $wpdb; $wpdb->query(\"CREATE TABLE {$wpdb->prefix}case_dates (id INT, name TEXT, ends_at DATETIME)\"); \
         $wpdb->insert(\"{$wpdb->prefix}case_dates\", ['name' => 'concert', 'ends_at' => gmdate('Y-m-d H:i:s', time() + 10)]); \
         wp_insert_post(['post_type' => 'page', 'post_status' => 'publish', 'post_title' => 'Case', 'post_name' => 'case-time', \
         'post_content' => '[begin][table-time][end]']);",
    );
    assert_eq!(shown(&server, "time").0, "rows: concert");
    assert_eq!(shown(&server, "time").1, "HIT");
    wait_patiently_for("the end of the event", Duration::from_mins(1), || {
        shown(&server, "time").0 == "rows:"
    });
    assert_eq!(shown(&server, "time").1, "HIT");
}

/// Plugin that uses output buffers in filters, which run while a page is sent.
const BUFFERS: &str = "<?php
    function case_buffer($value) { ob_start(); echo $value; return ob_get_clean(); }
    add_filter('pre_option_case_end_date', function () { return case_buffer('2030-01-01 10:00:00'); });
    add_shortcode('case-option', function () { return 'until ' . get_option('case_end_date'); });
    add_filter('myriad_cache_validity', function ($seconds) { return is_page('case-fatal') ? (int) case_buffer($seconds) : $seconds; });
    add_action('template_redirect', function () { ini_set('error_log', WP_CONTENT_DIR . '/php.log'); });";

#[test]
fn page_whose_filters_use_output_buffers_is_complete_or_not_stored() {
    let site = WordPress::alone();
    fs::write(site.root().join("wp-content/mu-plugins/buffers.php"), BUFFERS).expect("a plugin");
    let server = site.serve_with_plugin();
    site.run_php(
        HOST,
        "update_option('case_end_date', 'x'); foreach (['option' => '[begin][case-option][end]', 'fatal' => 'Text'] as $name => $text) \
         wp_insert_post(['post_type' => 'page', 'post_status' => 'publish', 'post_title' => 'Case', 'post_name' => \"case-$name\", 'post_content' => $text]);",
    );
    assert_eq!(shown(&server, "option"), ("until 2030-01-01 10:00:00".to_owned(), "MISS".to_owned()));
    assert_eq!(shown(&server, "option").1, "HIT");
    for _ in 0..2 {
        let page = server.fetch(&Request::get("/case-fatal/").host(HOST));
        assert_ne!(page.cache(), "HIT", "an empty page: {}", page.text());
    }
}
