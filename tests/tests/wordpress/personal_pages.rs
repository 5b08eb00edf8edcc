//! Personal pages: responses that must not be stored, and client input that must not reach other visitors.

use myriad_tests::{CLIENT_FIELDS, Request, Visitor, WordPress};

use super::{browser, page, start};

#[test]
fn what_must_not_be_cached_is_not() {
    let (_site, server) = start();
    for target in [
        "/?s=bread",
        "/search/bread/",
        "/wp-json/wp/v2/posts?per_page=1",
        "/?rest_route=/",
        "/?preview=true",
        "/?preview_nonce=1",
        "/?unapproved=1&moderation-hash=2",
        "/?customize_changeset_uuid=1",
        "/wp-cron.php",
        "/?add-to-cart=1",
        "/?download_file=1",
        "/?wc-ajax=get_refreshed_fragments",
        "/cart/",
        "/checkout/",
        "/my-account/",
        "/panier/",
        "/koszyk/",
        "/sepet/",
        "/shop/order-received/12/",
        "/purchase-confirmation/",
        "/membership-account/",
        "/login/",
        "/lostpassword/",
        "/?remove_item=1",
        "/?undo.item=1",
        "/?_wpnonce=1",
        "/?add_to_wishlist=1",
        "/?elementor-preview=1",
        "/?customize_theme=other",
        "/wp-json",
        "/a-post/search/",
        // Equivalent spellings for PHP.
        "/%77p-json/wp/v2/posts?per_page=1",
        "/wp%2Djson/wp/v2/posts?per_page=1",
        "/%77p-admin/",
        "/wp-admin%2f",
        "/%63art/",
        "/c%61rt/",
        "/?rest%5Froute=/",
        "/?rest.route=/",
        "/?rest[route=/",
        "/?rest+route=/",
        "/?%73=bread",
        "/?+s=bread",
        "/?a=b&s[]=bread",
        "/?s%5B%5D=bread",
    ] {
        for _ in 0..2 {
            let answer = page(&server, target);
            assert_eq!(answer.cache(), "BYPASS", "{target}: {}", answer.status);
        }
    }
    for target in [
        format!("/?a=%73&slug=1&rest-route={}", server.port),
        "/slow.php/1/%E6%97%A5%E6%9C%AC%e8%aa%9e/".to_owned(),
        "/slow.php/1/my-cart/%20/".to_owned(),
    ] {
        assert_eq!(page(&server, &target).cache(), "MISS", "{target}");
        assert_eq!(page(&server, &target).cache(), "HIT", "{target} may be shared");
    }
    let script = browser(&server, "/").field("X-Requested-With", "XMLHttpRequest");
    assert_eq!(server.fetch(&script).cache(), "BYPASS");
    let posted = Visitor::new(server.port).post("/", &[("a", "b")]);
    assert_eq!(posted.status, 200, "POST to the front page is allowed, because shops use POST /?wc-ajax=...");
    assert_ne!(posted.cache(), "HIT");
}

/// Writes a script of the site that prints all variables of its request.
pub(crate) fn echo(site: &WordPress) {
    let script =
        "<?php foreach ($_SERVER as $name => $value) if (is_string($value)) echo \"$name=$value\\n\";";
    site.write("echo.php", script);
}

#[test]
fn client_proxy_and_method_override_fields_do_not_affect_shared_page() {
    let (site, server) = start();
    echo(&site);
    let fields = [
        "Forwarded",
        "X-Forwarded-Host",
        "X-Forwarded-Port",
        "X-Forwarded-Prefix",
        "X-Forwarded-Scheme",
        "X-Forwarded-Server",
        "X-Forwarded-SSL",
        "X-Forwarded-Proto",
        "X-Original-Host",
        "X-Original-URL",
        "X-Rewrite-URL",
        "X-HTTP-Method-Override",
        "X-HTTP-Method",
        "X-Method-Override",
        "Front-End-HTTPS",
        "Proxy",
        "X_Forwarded_Host",
        "X.Forwarded.Host",
    ];
    let target = format!("/echo.php/{}", server.port);
    let request = browser(&server, &target);
    let forged = fields.iter().fold(request.clone(), |request, name| request.field(name, "forged.example"));
    for (request, status) in [(&forged, "MISS"), (&request, "HIT"), (&forged, "HIT")] {
        let answer = server.fetch(request);
        assert_eq!((answer.status, answer.cache()), (200, status));
        let text = answer.text();
        assert!(text.contains("HTTP_HOST=127.0.0.1"), "{text}");
        assert!(!text.contains("forged.example"), "{text}");
        for name in fields {
            let name = format!("HTTP_{}=", name.to_uppercase().replace(['-', '.'], "_"));
            assert!(!text.contains(&name), "{name} is there, though empty: isset() would take it for one");
        }
    }
    let changing = Request::post(&target, "").field("X-HTTP-Method-Override", "DELETE");
    let text = server.fetch(&changing).text();
    assert!(
        text.contains("HTTP_X_HTTP_METHOD_OVERRIDE=DELETE"),
        "the editor of WordPress deletes with this field: {text}"
    );
}

#[test]
fn nothing_that_a_visitor_makes_up_reaches_a_shared_page_and_everything_a_page_of_their_own() {
    let (site, server) = start();
    echo(&site);
    let target = format!("/echo.php/made-up-{}", server.port);
    let plain = browser(&server, &target).field("Cookie", "_ga=forged.1; theme=forged.2");
    let plain = plain.field("User-Agent", "sqlmap/forged").field("Content-Type", "forged/json");
    let forged = CLIENT_FIELDS.iter().fold(plain, |request, name| request.field(name, "forged.example"));
    for (request, status) in [(&forged, "MISS"), (&browser(&server, &target), "HIT")] {
        let answer = server.fetch(request);
        assert_eq!((answer.status, answer.cache()), (200, status));
        let text = answer.text();
        assert!(text.contains("HTTP_USER_AGENT=Mozilla/5.0 (X11;"), "{text}");
        assert!(!text.contains("forged"), "{text}");
    }
    let own = server.fetch(&forged.clone().field("Cookie", "PHPSESSID=1"));
    assert_eq!((own.status, own.cache()), (200, "BYPASS"));
    let text = own.text();
    let replaced = ["X-LSCACHE", "Surrogate-Capability", "TE", "HTTP2-Settings"];
    for name in CLIENT_FIELDS.iter().filter(|name| !replaced.contains(name)) {
        let shown = format!("HTTP_{}=forged.example", name.to_uppercase().replace('-', "_"));
        assert!(text.contains(&shown), "{name} is missing on a page of one's own: {text}");
    }
    for value in ["theme=forged.2", "sqlmap/forged", "CONTENT_TYPE=forged/json"] {
        assert!(text.contains(value), "{value}");
    }
}

#[test]
fn page_varying_by_cookie_is_shared_by_all_anonymous_visitors() {
    let (site, server) = start();
    let script = "<?php header('Vary: Accept-Encoding, Cookie'); echo $_SERVER['HTTP_COOKIE'] ?? 'none';";
    site.write("varies.php", script);
    let request = browser(&server, &format!("/varies.php/{}", server.port));
    for (cookie, status) in [("_ga=1", "MISS"), ("_ga=2", "HIT"), ("theme=dark", "HIT")] {
        let answer = server.fetch(&request.clone().field("Cookie", cookie));
        assert_eq!((answer.cache(), &*answer.text()), (status, "none"), "{cookie}");
    }
    let own = server.fetch(&request.field("Cookie", "comment_author_1=me"));
    assert_eq!((own.cache(), &*own.text()), ("BYPASS", "comment_author_1=me"));
}

#[test]
fn cache_directives_of_plugins_are_obeyed_and_hidden_from_visitors() {
    let (site, server) = start();
    // Like LiteSpeed Cache, which tests whether its fields are supported, and like Proxy Cache Purge for tags.
    let script = "<?php header('Cache-Control: no-cache');
        $asked = explode('/', $_SERVER['PATH_INFO'])[1];
        $litespeed = !empty($_SERVER['X-LSCACHE']) && strpos($_SERVER['LSWS_EDITION'] ?? '', 'Openlitespeed') === 0;
        $surrogate = str_contains($_SERVER['HTTP_SURROGATE_CAPABILITY'] ?? '', 'Surrogate/1.0');
        if ($litespeed && str_starts_with($asked, 'ls-'))
            header('X-LiteSpeed-Cache-Control: ' . ['public' => 'public,max-age=600', 'none' => 'no-cache',
                'private' => 'private,max-age=600'][substr($asked, 3)]);
        if ($surrogate && $asked === 'stored') header('Surrogate-Control: max-age=600');
        if ($surrogate && $asked === 'forbidden') { header('Surrogate-Control: no-store'); header('Cache-Control: max-age=60'); }
        header('X-LiteSpeed-Tag: a');
        echo isset($_SERVER['HTTP_X_LSCACHE']) ? 'a visitor says it' : 'fine';";
    site.write("says.php", script);
    for (path, second) in [
        ("ls-public", "HIT"),
        ("ls-none", "MISS"),
        ("ls-private", "MISS"),
        ("stored", "HIT"),
        ("forbidden", "MISS"),
    ] {
        let request =
            browser(&server, &format!("/says.php/{path}/{}", server.port)).field("X-LSCACHE", "on,esi");
        for status in ["MISS", second] {
            let answer = server.fetch(&request);
            assert_eq!((answer.cache(), &*answer.text()), (status, "fine"), "{path}");
            for name in ["X-LiteSpeed-Cache-Control", "X-LiteSpeed-Tag", "Surrogate-Control"] {
                assert_eq!(answer.field(name), None, "{path}");
            }
        }
    }
    let own =
        browser(&server, "/says.php/ls-public/own").field("Cookie", "PHPSESSID=1").field("X-LSCACHE", "on");
    assert_eq!(server.fetch(&own).text(), "fine");
}

#[test]
fn https_request_through_proxy_has_separate_page() {
    let (site, server) = start();
    echo(&site);
    let request = browser(&server, &format!("/echo.php/proto-{}", server.port));
    let secure = request.clone().field("X-Forwarded-Proto", "https");
    let invented = request.clone().field("X-Forwarded-Proto", "gopher");
    let asked =
        [(&secure, "MISS"), (&request, "MISS"), (&secure, "HIT"), (&request, "HIT"), (&invented, "HIT")];
    for (request, status) in asked {
        let answer = server.fetch(request);
        assert_eq!((answer.status, answer.cache()), (200, status));
        let told = answer.text().contains("HTTP_X_FORWARDED_PROTO=https\n");
        assert_eq!(told, std::ptr::eq(request, &raw const secure), "{}", answer.text());
        assert!(!answer.text().contains("gopher"));
    }
}

/// Web cache deception, escapes and cloaked arguments: tricks that could cause a personal page to be stored.
#[test]
fn no_trick_of_an_address_makes_a_page_of_ones_own_a_shared_one() {
    let (site, server) = start();
    echo(&site);
    let member = "wordpress_logged_in_0=victim";
    for (number, target) in [
        "/my-account/x.css",
        "/my-account/..%2fx.css",
        "/my-account%2fx.css",
        "/my-account;x.css",
        "/my-account%3b.css",
        "/my-account%23x.png",
        "/my-account%3fx.js",
        "/my-account%0ax.js",
        "/wp-content/uploads/..%2f..%2fmy-account%2fx.jpg",
        "/echo.php/x.css",
        "/echo.php/x.css%2f",
        "/echo.php/%2e%2e/x.ico",
    ]
    .into_iter()
    .enumerate()
    {
        let target = format!("{target}?v={}{number}", server.port);
        let own = server.fetch(&browser(&server, &target).field("Cookie", member));
        assert!(matches!(own.cache(), "BYPASS" | "-"), "{target}: {}", own.cache());
        let is_told = target.starts_with("/echo.php/x.css");
        assert!(!is_told || own.text().contains("victim"), "{target}");
        // The request of a known visitor may have caused a fetch of the shared page, which never contains personal
        // data.
        assert!(!page(&server, &target).text().contains("victim"), "{target}");
    }
    let target = format!("/echo.php/cloaked-{}", server.port);
    let cloaked = [
        "utm_content=x;forged=1",
        "utm_source=1%26forged=1",
        "utm_x[]=forged",
        "utm_source=a?forged=1",
        "fbclid=forged&gclid",
    ];
    for (number, arguments) in cloaked.into_iter().enumerate() {
        let answer = page(&server, &format!("{target}?{arguments}"));
        assert_eq!(answer.cache(), if number == 0 { "MISS" } else { "HIT" }, "{arguments}");
        assert!(!answer.text().contains("forged"), "{arguments}: {}", answer.text());
    }
    let body = browser(&server, &target).field("Content-Type", "application/x-www-form-urlencoded");
    let fat = Request::post(&target, "s=forged").by("GET").host(&format!("127.0.0.1:{}", server.port));
    assert_eq!(server.fetch(&fat).cache(), "BYPASS", "a GET with a body");
    assert_eq!(server.fetch(&body).cache(), "HIT");
    // The host in an absolute-form URL takes precedence, and has separate pages.
    let whole =
        Request::get(&format!("http://forged.example{target}")).host(&format!("127.0.0.1:{}", server.port));
    let answer = server.fetch(&whole);
    assert!(answer.status >= 400 || answer.cache() == "MISS", "{} {}", answer.status, answer.cache());
    assert!(!page(&server, &target).text().contains("forged"));
}
