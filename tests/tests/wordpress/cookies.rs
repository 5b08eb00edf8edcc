//! Cookies that plugins set on every page: impersonal cookies do not prevent caching.

use myriad_tests::{Answer, Request, Server, WordPress};

use super::{browser, start};

/// Creates a page that sets the cookies in its path, and prints the cookies that it received.
fn visits(site: &WordPress) {
    let script = "<?php $names = explode('/', trim($_SERVER['PATH_INFO'], '/')); array_pop($names);
        foreach ($names as $name) if ($name === 'session') session_start(['cache_limiter' => '']); else setcookie($name, 'of-php', time() + 9000, '/');
        echo 'told: ', $_SERVER['HTTP_COOKIE'] ?? 'nothing', ' ', uniqid();";
    site.write("visits.php", script);
}

fn target(server: &Server, names: &str) -> String {
    format!("/visits.php/{names}/{}", server.port)
}

fn cookies(answer: &Answer) -> Vec<&str> {
    answer.all("Set-Cookie").map(|cookie| cookie.split(['=', ';']).next().unwrap_or_default()).collect()
}

fn with(request: &Request, cookie: &str) -> Request {
    request.clone().field("Cookie", cookie)
}

#[test]
fn cookie_set_on_every_page_prevents_no_caching() {
    let (site, server) = start();
    visits(&site);
    for names in
        ["pll_language", "wordpress_test_cookie", "cmplz_policy_id/pmpro_visit/mailchimp_landing_site"]
    {
        let request = browser(&server, &target(&server, names));
        let first = server.fetch(&request);
        assert_eq!(first.cache(), "MISS", "{names}");
        assert_eq!(
            cookies(&first),
            names.split('/').collect::<Vec<_>>(),
            "the visitor that caused the fetch gets its cookies"
        );
        for _ in 0..2 {
            let hit = server.fetch(&request);
            assert_eq!((hit.cache(), hit.body == first.body), ("HIT", true), "{names}");
            assert!(cookies(&hit).is_empty(), "{names}: a cookie was shared");
        }
    }
}

#[test]
fn sessions_and_unlisted_cookies_prevent_caching() {
    let (site, server) = start();
    visits(&site);
    for names in [
        "session",
        "PHPSESSID",
        "theme",
        "pll_language/theme",
        "pll_language/session",
        "comment_author_1",
        "woocommerce_cart_hash",
        "pll_language_2",
    ] {
        let request = browser(&server, &target(&server, names));
        let first = server.fetch(&request);
        let second = server.fetch(&request);
        assert_eq!((first.status, second.status), (200, 200), "{names}: {}", site.php_log());
        assert_eq!((first.cache(), second.cache()), ("MISS", "MISS"), "{names}");
        assert_ne!(first.body, second.body, "{names}: a page was shared");
        assert_eq!(cookies(&second).len(), names.split('/').count(), "{names}: each visitor gets their own");
    }
}

#[test]
fn existing_cookie_is_preserved_and_other_cookies_create_no_variant() {
    let (site, server) = start();
    visits(&site);
    let request = browser(&server, &target(&server, "cookie_notice_accepted/pll_language"));
    let first = server.fetch(&with(&request, "cookie_notice_accepted=true; theme=dark"));
    assert_eq!(first.cache(), "MISS");
    assert!(first.text().starts_with("told: nothing "), "{}", first.text());
    assert_eq!(cookies(&first), ["pll_language"], "the consent cookie is not reset");
    assert_eq!(server.fetch(&with(&request, "theme=light")).cache(), "HIT");
    let own = server.fetch(&with(&request, "PHPSESSID=1; cookie_notice_accepted=true"));
    assert_eq!(own.cache(), "BYPASS");
    assert_eq!(
        cookies(&own),
        ["cookie_notice_accepted", "pll_language"],
        "a page that is not shared keeps all cookies of PHP"
    );
}
