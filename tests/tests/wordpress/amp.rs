//! AMP: the AMP version of a post, below `/amp/` or with the argument `amp`, is a separate page.

use std::fs;

use myriad_tests::{Request, WordPress, wait_for};

/// Plugin for AMP: an endpoint and a template.
const AMP: &str = "<?php
    add_action('init', function () { add_rewrite_endpoint('amp', EP_PERMALINK | EP_PAGES); });
    add_action('template_redirect', function () {
        global $wp_query;
        if (!is_singular() || !isset($wp_query->query_vars['amp'])) return;
        echo '<!doctype html><html amp><head><title>', esc_html(get_the_title()), '</title></head><body>AMP of ', get_queried_object_id(),
            '</body></html>';
        exit;
    });";

#[test]
fn amp_pages_have_keys_of_their_own_are_stored_and_purged() {
    let site = WordPress::alone();
    fs::write(site.root().join("wp-content/mu-plugins/amp.php"), AMP).expect("a plugin");
    let server = site.serve_with_plugin();
    let host = format!("127.0.0.1:{}", server.port);
    let post = site.run_php(&host, "flush_rewrite_rules(); echo get_posts(['numberposts' => 1])[0]->ID, ' ', parse_url(get_permalink(get_posts(['numberposts' => 1])[0]), PHP_URL_PATH);");
    let (id, path) = post.split_once(' ').expect("a post");
    let fetch = |target: &str| server.fetch(&Request::get(target).host(&host));
    let (plain, below, by_argument) = (path.to_owned(), format!("{path}amp/"), format!("{path}?amp"));
    let amp = format!("AMP of {id}");
    for (target, is_amp) in [(&plain, false), (&below, true), (&by_argument, true)] {
        let first = fetch(target);
        assert_eq!((first.status, first.cache()), (200, "MISS"), "{target}");
        let again = fetch(target);
        assert_eq!((again.cache(), again.text().contains(&amp)), ("HIT", is_amp), "{target}");
    }
    // Arguments of newsletters are not part of the key, `amp` is.
    assert!(fetch(&format!("{path}?amp&utm_source=letter")).text().contains(&amp));
    assert_eq!(fetch(&format!("{path}?utm_source=letter&amp")).cache(), "HIT");
    assert!(!fetch(&format!("{path}?utm_source=letter")).text().contains(&amp));
    // A change is visible in all versions.
    site.run_php(&host, &format!("wp_update_post(['ID' => {id}, 'post_title' => 'Another title']);"));
    for target in [&plain, &below, &by_argument] {
        wait_for("the changed page", || fetch(target).text().contains("Another title"));
    }
}
