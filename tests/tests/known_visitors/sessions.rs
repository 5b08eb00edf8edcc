//! PHP sessions that a plugin starts on every page: a page is stored if the new session contains nothing.

use std::fs;

use myriad_tests::{Request, WordPress};

use super::host;
use super::visitors::served;

/// Plugin that starts a session on every page, and sets a value on some.
const SESSIONS: &str = r"<?php
add_action('init', function () {
    wp_mkdir_p(WP_CONTENT_DIR . '/sessions');
    session_save_path(WP_CONTENT_DIR . '/sessions');
    if (isset($_GET['named'])) session_name('shop');
    session_start();
    $_SESSION += ['cart' => ['items' => []], 'woocs_current_currency' => $_GET['currency'] ?? 'EUR', 'woocs_default_currency' => 'EUR'];
    if (isset($_GET['item'])) $_SESSION['cart']['items'][] = 'a cup';
    if (isset($_GET['closed'])) nocache_headers();
    if (isset($_GET['other'])) setcookie('other', '1');
}, 11);
add_action('wp_footer', function () {
    if (isset($_GET['form'])) echo '<i>', session_id(), '</i>';
    if (isset($_GET['hashed'])) echo '<i>', md5(session_id()), '</i>';
    echo '<p>', count($_SESSION['cart']['items']), ' cups</p>';
});
add_action('template_redirect', function () { if (isset($_GET['moved'])) { wp_redirect(home_url('/about/')); exit; } });
";

fn count_sessions(site: &WordPress) -> usize {
    fs::read_dir(site.root().join("wp-content/sessions")).map_or(0, Iterator::count)
}

#[test]
fn pages_whose_session_is_empty_are_stored_without_it() {
    let site = WordPress::alone();
    fs::write(site.root().join("wp-content/mu-plugins/sessions.php"), SESSIONS).expect("a plugin");
    let server = site.serve_with_plugin();
    let fetch = |target: &str| server.fetch(&Request::get(target).host(&host(&server)));
    for (target, status) in [("/about/", 200), ("/about/?moved=1", 302), ("/about/?currency=EUR", 200)] {
        let first = fetch(target);
        assert_eq!((first.status, first.field("Set-Cookie")), (status, None), "{target}");
        assert_eq!((first.field("Pragma"), first.cache()), (None, "MISS"), "{target}");
        assert_eq!(fetch(target).cache(), "HIT", "{target}");
    }
    assert_eq!(count_sessions(&site), 0, "the files of dropped sessions are removed");
    for name in ["item", "closed", "other", "form", "hashed", "named", "currency"] {
        let target = format!("/about/?{name}=1");
        for _ in 0..2 {
            let answer = fetch(&target);
            assert_ne!(answer.cache(), "HIT", "{name}");
            let has_session =
                answer.all("Set-Cookie").any(|value| value.contains("SESSID=") || value.contains("shop="));
            assert_eq!(has_session, !matches!(name, "closed" | "other"), "{name}");
        }
    }
    let answer = fetch("/about/?item=1");
    let cookie = answer.all("Set-Cookie").find(|value| value.starts_with("PHPSESSID=")).expect("a session");
    let own = served(&server, cookie.split(';').next().expect("a cookie"), "/about/");
    assert!(own.text().contains("<p>1 cups</p>") && own.cache() == "BYPASS", "{}", own.cache());
    let others = fetch("/about/");
    assert!(others.text().contains("<p>0 cups</p>") && others.cache() == "HIT", "{}", others.cache());
}
