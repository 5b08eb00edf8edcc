//! `myriad wordpress` in front of a real WordPress with its own MariaDB and php-fpm.

use std::sync::Arc;

use myriad_tests::{
    Answer, Client, Gate, Load, Origin, Php, Place, Request, Server, Visitor, WordPress, all_at_once,
    wait_for,
};

fn start() -> (Arc<WordPress>, Server) {
    let site = WordPress::shared();
    let server = site.serve();
    (site, server)
}

/// The request of a visitor's browser: WordPress builds its links from the host.
fn browser(server: &Server, target: &str) -> Request {
    Request::get(target).host(&format!("127.0.0.1:{}", server.port))
}

fn page(server: &Server, target: &str) -> Answer {
    server.fetch(&browser(server, target))
}

/// The administrator, logged in through the form as a browser does it.
fn administrator(site: &WordPress, server: &Server) -> Visitor {
    let (name, password) = site.administrator();
    let mut visitor = Visitor::new(server.port);
    assert_eq!(visitor.get("/wp-login.php").status, 200);
    assert!(visitor.has_cookie("wordpress_test_cookie"));
    let form = [
        ("log", name.as_str()),
        ("pwd", &password),
        ("wp-submit", "Log In"),
        ("testcookie", "1"),
        ("redirect_to", "/wp-admin/"),
    ];
    let answer = visitor.post("/wp-login.php", &form);
    assert_eq!(answer.status, 302, "{}", answer.text());
    assert!(visitor.has_cookie("wordpress_logged_in_"));
    visitor
}

/// The address of the newest post, from the home page.
fn newest_post(server: &Server) -> String {
    let home = page(server, "/").text();
    let link = home.split("wp-block-post-title\"><a href=\"").nth(1).and_then(|rest| rest.split('"').next());
    let link = link.expect("a post on the home page");
    link.splitn(4, '/').nth(3).map(|path| format!("/{path}")).expect("a path")
}

#[test]
fn the_home_page_comes_from_the_cache_the_second_time() {
    let (site, server) = start();
    let before = site.php_requests();
    let first = page(&server, "/");
    assert_eq!((first.status, first.cache()), (200, "MISS"));
    assert!(first.text().contains("Ten Thousand Words"));
    for _ in 0..5 {
        let hit = page(&server, "/");
        assert_eq!(hit.cache(), "HIT");
        assert!(hit.content() == first.content());
        assert_eq!(hit.field("Set-Cookie"), None);
    }
    let tag = page(&server, "/").field("ETag").expect("a tag").to_owned();
    let repeat = server.fetch(&browser(&server, "/").field("If-None-Match", &tag));
    assert_eq!((repeat.status, repeat.body.len()), (304, 0));
    assert!(site.php_requests() > before, "PHP's log tells what reached it");
    assert_eq!(
        page(&server, "/?utm_source=letter&fbclid=abc").cache(),
        "HIT",
        "tracking arguments are no page of their own"
    );
}

#[test]
fn every_encoding_is_the_same_text() {
    let (_site, server) = start();
    let plain = page(&server, "/");
    assert_eq!(plain.coding(), "identity");
    for coding in ["gzip", "br", "zstd"] {
        let request = browser(&server, "/").accepting(coding);
        let mut answer = server.fetch(&request);
        wait_for(&format!("a home page in {coding}"), || {
            answer = server.fetch(&request);
            answer.coding() == coding
        });
        assert!(answer.body.len() * 3 < plain.body.len(), "{coding}");
        assert!(answer.content() == plain.content(), "{coding}");
    }
}

#[test]
fn posts_pages_archives_and_feeds_are_served() {
    let (_site, server) = start();
    let post = newest_post(&server);
    for target in [
        post.as_str(),
        "/about/",
        "/page/2/",
        "/category/rivers/",
        "/feed/",
        "/wp-sitemap.xml",
        "/robots.txt",
    ] {
        let answer = page(&server, target);
        assert_eq!(answer.status, 200, "{target}");
        assert_eq!(page(&server, target).cache(), "HIT", "{target}");
    }
    let redirect = page(&server, post.trim_end_matches('/'));
    assert_eq!(redirect.status, 301, "WordPress's canonical address");
}

#[test]
fn a_not_found_is_kept_briefly_though_it_says_no_cache() {
    let (site, server) = start();
    let missing = page(&server, "/no-such-page-at-all/");
    assert_eq!((missing.status, missing.cache()), (404, "MISS"));
    let said = missing.field("Cache-Control").expect("WordPress forbids to store it");
    assert!(said.contains("no-cache") && missing.text().contains("<html"), "WordPress's own 404 page");
    if !said.contains("private") {
        assert_eq!(page(&server, "/no-such-page-at-all/").cache(), "HIT");
    }
    std::fs::write(site.root().join("gone.php"), "<?php http_response_code(404); echo 'gone';")
        .expect("write");
    for status in ["MISS", "HIT"] {
        let gone = page(&server, "/gone.php");
        assert_eq!((gone.status, gone.cache(), &*gone.text()), (404, status, "gone"));
    }
}

#[test]
fn who_is_logged_in_sees_their_own_page_and_the_others_do_not() {
    let (site, server) = start();
    let mut admin = administrator(&site, &server);
    for _ in 0..2 {
        let own = admin.get("/");
        assert_eq!((own.status, own.cache()), (200, "BYPASS"));
        assert!(own.text().contains("wpadminbar"));
        let stranger = page(&server, "/");
        assert!(!stranger.text().contains("wpadminbar"), "an administrator's page was shared");
        assert!(!stranger.text().contains("Howdy"));
    }
    assert_eq!(page(&server, "/").cache(), "HIT");
    assert!(admin.get("/").text().contains("wpadminbar"), "a shared page was given to the administrator");
    let dashboard = admin.get("/wp-admin/");
    assert_eq!((dashboard.status, dashboard.cache()), (200, "BYPASS"));
    assert!(dashboard.text().contains("Dashboard"));
    let stranger = page(&server, "/wp-admin/");
    assert_eq!(stranger.status, 302, "a stranger is sent to the log-in page");
}

#[test]
fn the_log_in_page_is_never_cached() {
    let (_site, server) = start();
    for _ in 0..3 {
        let answer = page(&server, "/wp-login.php");
        assert_eq!((answer.status, answer.cache()), (200, "-"));
        assert!(answer.field("Set-Cookie").is_some_and(|cookie| cookie.starts_with("wordpress_test_cookie")));
    }
    let mut visitor = Visitor::new(server.port);
    visitor.get("/wp-login.php");
    page(&server, "/");
    assert_eq!(visitor.get("/").cache(), "HIT", "the test cookie alone is nobody's");
    let refused = visitor.post("/wp-login.php", &[("log", "admin"), ("pwd", "wrong"), ("testcookie", "1")]);
    assert_eq!(refused.status, 200);
    assert!(!visitor.has_cookie("wordpress_logged_in_"));
}

#[test]
fn a_visitor_may_comment_and_sees_the_comment() {
    let (_site, server) = start();
    let post = newest_post(&server);
    let text = page(&server, &post).text();
    let id = text.split("name='comment_post_ID' value='").nth(1).and_then(|rest| rest.split('\'').next());
    let id = id.expect("the comment form").to_owned();
    let mut visitor = Visitor::new(server.port);
    let words = format!("A comment from a test, {}.", server.port);
    let form = [
        ("comment", words.as_str()),
        ("author", "Ada Example"),
        ("email", "ada@example.org"),
        ("comment_post_ID", &id),
        ("comment_parent", "0"),
        ("wp-comment-cookies-consent", "yes"),
    ];
    let answer = visitor.post("/wp-comments-post.php", &form);
    assert_eq!(answer.status, 302, "{}", answer.text());
    assert!(visitor.has_cookie("comment_author_"));
    let own = visitor.get(&post);
    assert_eq!(own.cache(), "BYPASS", "who has commented gets pages with their name in the form");
    assert!(own.text().contains(&words));
    // An address that nobody has asked for yet: what the visitor with a name got must not be the page of all.
    let target = format!("{post}?again={}", server.port);
    let own = visitor.get(&target);
    assert_eq!(own.cache(), "BYPASS");
    assert!(own.text().contains("value=\"Ada Example\"") && own.text().contains("ada@example.org"));
    for (target, status) in [(&post, "EXPIRED"), (&post, "HIT"), (&target, "MISS"), (&target, "HIT")] {
        let stranger = page(&server, target);
        assert_eq!(stranger.cache(), status, "{target}");
        assert!(
            !stranger.text().contains("ada@example.org"),
            "the form of a stranger knows nobody's address"
        );
        assert!(
            !stranger.text().contains("value=\"Ada Example\""),
            "the form of a stranger knows nobody's name"
        );
    }
}

#[test]
fn a_post_is_published_through_the_rest_interface() {
    let (site, server) = start();
    let mut admin = administrator(&site, &server);
    let nonce = admin.get("/wp-admin/admin-ajax.php?action=rest-nonce").text();
    assert!(nonce.len() >= 10 && nonce.bytes().all(|byte| byte.is_ascii_alphanumeric()), "{nonce}");
    let slug = format!("published-by-a-test-{}", server.port);
    let body = format!(
        "{{\"title\":\"Published by a test\",\"slug\":\"{slug}\",\"status\":\"publish\",\"content\":\"Words.\"}}"
    );
    let request = Request::post("/wp-json/wp/v2/posts", body)
        .field("Content-Type", "application/json")
        .field("X-WP-Nonce", &nonce);
    let answer = admin.fetch(request);
    assert_eq!(answer.status, 201, "{}", answer.text());
    let published = page(&server, &format!("/{slug}/"));
    assert_eq!(published.status, 200);
    assert!(published.text().contains("Published by a test"));
    assert_eq!(page(&server, &format!("/{slug}/")).cache(), "HIT");
    let unsigned = Request::post("/wp-json/wp/v2/posts", "{}").field("Content-Type", "application/json");
    assert_eq!(Visitor::new(server.port).fetch(unsigned).status, 401);
}

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
        // The same, as PHP understands it all the same.
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
    assert_eq!(posted.status, 200, "shops post to the front page: POST /?wc-ajax=...");
    assert_ne!(posted.cache(), "HIT");
}

/// The seconds from the first of March of the year 0 to a date as HTTP writes it: `Sun, 06 Nov 1994 08:49:37 GMT`.
fn moment(date: &str) -> u64 {
    let parts: Vec<&str> = date.split([' ', ':']).collect();
    let number = |index: usize| parts[index].parse::<u64>().expect("a number");
    let months = ["Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec", "Jan", "Feb"];
    let month = months.iter().position(|name| *name == parts[2]).expect("a month") as u64;
    // Years that begin in March have their leap day at the end.
    let year = number(3) - u64::from(month >= 10);
    let days = year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + number(1) - 1;
    ((days * 24 + number(4)) * 60 + number(5)) * 60 + number(6)
}

/// A page of the site that shows everything with which PHP was asked.
fn echo(site: &WordPress) {
    let script =
        "<?php foreach ($_SERVER as $name => $value) if (is_string($value)) echo \"$name=$value\\n\";";
    std::fs::write(site.root().join("echo.php"), script).expect("write");
}

#[test]
fn what_a_visitor_says_of_proxies_and_methods_reaches_no_shared_page() {
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
        "WordPress's editor deletes like that: {text}"
    );
}

/// Fields that applications, plugins and frameworks are known to look at, and some that nobody does.
const MADE_UP: [&str; 112] = [
    "Accept",
    "Accept-Charset",
    "Accept-CH",
    "Accept-Datetime",
    "Accept-Language",
    "A-IM",
    "Akamai-Origin-Hop",
    "Ali-CDN-Real-IP",
    "Base-URL",
    "Cache-Control",
    "CDN-Loop",
    "CDN-Real-IP",
    "CF-Connecting-IP",
    "CF-Connecting-IPv6",
    "CF-Device-Type",
    "CF-EW-Via",
    "CF-IPCity",
    "CF-IPContinent",
    "CF-IPCountry",
    "CF-Pseudo-IPv4",
    "CF-RAY",
    "CF-Region",
    "CF-Timezone",
    "CF-Visitor",
    "CF-Worker",
    "Client-IP",
    "CloudFront-Forwarded-Proto",
    "CloudFront-Is-Mobile-Viewer",
    "CloudFront-Viewer-Country",
    "Cluster-Client-IP",
    "Contact",
    "Device-Memory",
    "Destination",
    "DNT",
    "DPR",
    "Downlink",
    "Early-Data",
    "ECT",
    "Expect-CT",
    "Fastly-Client-IP",
    "Fastly-SSL",
    "Forwarded",
    "Forwarded-For",
    "From",
    "Front-End-Https",
    "GeoIP-Country-Code",
    "Http-Host",
    "Https",
    "Incap-Client-IP",
    "Max-Forwards",
    "Origin",
    "Pragma",
    "Prefer",
    "Priority",
    "Profile",
    "Purpose",
    "Redirect",
    "Referer",
    "Request-Uri",
    "RTT",
    "Save-Data",
    "Sec-CH-Prefers-Color-Scheme",
    "Sec-CH-UA",
    "Sec-CH-UA-Mobile",
    "Sec-CH-UA-Platform",
    "Sec-Fetch-Dest",
    "Sec-Fetch-Mode",
    "Sec-Fetch-Site",
    "Sec-GPC",
    "Sec-Purpose",
    "Service-Worker",
    "SSL",
    "Surrogate-Control",
    "True-Client-IP",
    "Uri",
    "Upgrade-Insecure-Requests",
    "Viewport-Width",
    "Wap-Connection",
    "Width",
    "X-Arbitrary",
    "X-Azure-ClientIP",
    "X-Client-IP",
    "X-Cluster-Client-IP",
    "X-Country-Code",
    "X-Custom-IP-Authorization",
    "X-Device-Accept",
    "X-Forwarded",
    "X-Forwarded-By",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Forwarded-Path",
    "X-Forwarded-Port",
    "X-Forwarded-Prefix",
    "X-Forwarded-Protocol",
    "X-Forwarded-Scheme",
    "X-Forwarded-Server",
    "X-Forwarded-SSL",
    "X-GeoIP-Country",
    "X-Host",
    "X-HTTP-Host-Override",
    "X-HTTP-Method-Override",
    "X-Original-Host",
    "X-Original-URL",
    "X-Original-Uri",
    "X-Proxy-URL",
    "X-ProxyUser-IP",
    "X-Real-IP",
    "X-Requested-With",
    "X-Rewrite-URL",
    "X-Scheme",
    "X-UA-Device",
    "X-Wap-Profile",
];

#[test]
fn nothing_that_a_visitor_makes_up_reaches_a_shared_page_and_everything_a_page_of_their_own() {
    let (site, server) = start();
    echo(&site);
    let target = format!("/echo.php/made-up-{}", server.port);
    let plain = browser(&server, &target).field("Cookie", "_ga=forged.1; theme=forged.2");
    let plain = plain.field("User-Agent", "sqlmap/forged").field("Content-Type", "forged/json");
    let forged = MADE_UP.iter().fold(plain, |request, name| request.field(name, "forged.example"));
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
    for name in MADE_UP {
        let shown = format!("HTTP_{}=forged.example", name.to_uppercase().replace('-', "_"));
        assert!(text.contains(&shown), "{name} is missing on a page of one's own: {text}");
    }
    for value in ["theme=forged.2", "sqlmap/forged", "CONTENT_TYPE=forged/json"] {
        assert!(text.contains(value), "{value}");
    }
}

#[test]
fn a_page_that_varies_by_cookies_is_one_page_for_all_who_are_nobody() {
    let (site, server) = start();
    let script = "<?php header('Vary: Accept-Encoding, Cookie'); echo $_SERVER['HTTP_COOKIE'] ?? 'none';";
    std::fs::write(site.root().join("varies.php"), script).expect("write");
    let request = browser(&server, &format!("/varies.php/{}", server.port));
    for (cookie, status) in [("_ga=1", "MISS"), ("_ga=2", "HIT"), ("theme=dark", "HIT")] {
        let answer = server.fetch(&request.clone().field("Cookie", cookie));
        assert_eq!((answer.cache(), &*answer.text()), (status, "none"), "{cookie}");
    }
    let own = server.fetch(&request.field("Cookie", "comment_author_1=me"));
    assert_eq!((own.cache(), &*own.text()), ("BYPASS", "comment_author_1=me"));
}

#[test]
fn what_plugins_say_to_a_cache_is_obeyed_and_shown_to_no_visitor() {
    let (site, server) = start();
    // As LiteSpeed Cache finds out that its fields are of use, and as Proxy Cache Purge does for tags.
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
    std::fs::write(site.root().join("says.php"), script).expect("write");
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
fn who_comes_by_https_through_a_proxy_has_a_page_of_its_own() {
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

#[test]
fn style_sheets_are_compressed_and_may_be_kept() {
    let (site, server) = start();
    let target = "/wp-includes/css/dist/block-library/style.min.css";
    let file = std::fs::read(site.root().join(&target[1..])).expect("file");
    let plain = page(&server, target);
    assert!(
        plain.body == file && plain.field("Content-Type").is_some_and(|kind| kind.starts_with("text/css"))
    );
    let mut packed = plain.clone();
    wait_for("the compressed style sheet", || {
        packed = server.fetch(&browser(&server, target).accepting("gzip"));
        packed.coding() == "gzip"
    });
    assert!(packed.content() == file && packed.body.len() * 3 < file.len());
    for (target, days) in [(target, 7), (&*format!("{target}?ver=6.1"), 365)] {
        let answer = page(&server, target);
        let seconds: u64 = days * 24 * 3600;
        assert_eq!(answer.field("Cache-Control"), Some(&*format!("max-age={seconds}")), "{target}");
        let kept =
            moment(answer.field("Expires").expect("Expires")) - moment(answer.field("Date").expect("Date"));
        assert!(kept.abs_diff(seconds) <= 1, "{target}: {kept}");
    }
    let tag = packed.field("ETag").expect("a tag");
    let repeat = server.fetch(&browser(&server, target).accepting("gzip").field("If-None-Match", tag));
    assert_eq!(repeat.status, 304);
}

#[test]
fn what_is_nobody_s_business_is_not_there() {
    let (site, server) = start();
    std::fs::write(site.root().join(".htaccess"), "secret rules").expect("write");
    let evil = "<?php echo 'owned';";
    std::fs::write(site.root().join("wp-content/uploads/evil.php"), evil).expect("write");
    for name in ["x.php.txt", "x.php_old", "x.php copy", "x.php.1", "x.php5", "X.PHP.txt"] {
        std::fs::write(site.root().join(name), evil).expect("write");
    }
    let left_behind = [
        "error_log",
        "wp-admin/error_log",
        "server.pem",
        "site.key",
        "site.crt",
        "site.p12",
        "id_rsa",
        "id_ed25519.pub",
        "wp-content/database/site.sqlite",
        "site.sqlite3-wal",
        "site.db",
        "site.zip",
        "site.tar.gz",
        "site.sql.gz",
        "wp-content/site.wpress",
        "wp-content/updraft/backup_2026.zip",
        "wp-content/uploads/backwpup-1/site.tar",
        "auth.json",
        "Dockerfile",
        "docker-compose.override.yml",
        "web.config",
        ".user.ini",
        "prod.env",
    ];
    for name in left_behind {
        let path = site.root().join(name);
        std::fs::create_dir_all(path.parent().expect("a folder")).expect("folder");
        std::fs::write(path, "secret rules").expect("write");
        let answer = page(&server, &format!("/{name}"));
        assert_eq!(answer.status, 404, "{name}");
        assert!(!answer.text().contains("secret rules"), "{name}");
    }
    for target in [
        "/wp-config.php",
        "/wp-config.php.bak",
        "/wp-config.php/",
        "/wp-config.php/x",
        "/wp-config-sample.php/x",
        "/x.php.txt",
        "/x.php_old",
        "/x.php%20copy",
        "/x.php.1",
        "/x.php5",
        "/X.PHP.txt",
        "/wp-content/uploads/evil.php/x",
        "/.htaccess",
        "/.git/config",
        "/wp-content/uploads/evil.php",
        "/wp-content/debug.log",
        "/wp-includes/functions.php",
        "/wp-admin/setup-config.php",
        "/wp-admin/includes/file.php",
        "/readme.html",
    ] {
        let answer = page(&server, target);
        assert!(matches!(answer.status, 403 | 404), "{target}: {}", answer.status);
        assert!(!answer.text().contains("owned") && !answer.text().contains("secret rules"), "{target}");
    }
    for name in ["notes.php_.pdf", "a.place_.pdf", "paper.zip", "papers.tar.gz", "talk.key"] {
        std::fs::write(site.root().join("wp-content/uploads").join(name), "a paper").expect("write");
        let answer = page(&server, &format!("/wp-content/uploads/{name}"));
        assert_eq!(
            (answer.status, &*answer.text()),
            (200, "a paper"),
            "{name}, as WordPress renames uploads"
        );
    }
    let tips = page(&server, "/wp-config-tips/");
    assert!(
        tips.text().contains("<html") && tips.cache() == "MISS",
        "WordPress is asked for a post of this name"
    );
    let xmlrpc = page(&server, "/xmlrpc.php");
    assert!(matches!(xmlrpc.status, 403..=405), "{}", xmlrpc.status);
    assert_ne!(xmlrpc.cache(), "HIT");
}

#[test]
fn a_link_below_uploads_leads_only_to_what_its_owner_owns() {
    let (site, server) = start();
    let uploads = site.root().join("wp-content/uploads");
    std::fs::write(uploads.join("real.txt"), "a paper").expect("write");
    let link = |name: &str, target: &std::path::Path| {
        let path = uploads.join(name);
        let _ = std::fs::remove_file(&path);
        std::os::unix::fs::symlink(target, &path).expect("link");
        path
    };
    link("own.txt", &uploads.join("real.txt"));
    let foreign = link("foreign.txt", "/etc/passwd".as_ref());
    // As whoever got a script to run would leave it there. (Not as root, the owner of the link is another than root anyway.)
    let _ = std::os::unix::fs::lchown(&foreign, Some(65534), None);
    assert_eq!(page(&server, "/wp-content/uploads/own.txt").text(), "a paper");
    let answer = page(&server, "/wp-content/uploads/foreign.txt");
    assert!(answer.status >= 400 && !answer.text().contains("root:"), "{}", answer.status);
}

#[test]
fn passwords_are_not_guessed_faster_than_people_type() {
    let (_site, server) = start();
    let form = [("log", "nobody"), ("pwd", "guess"), ("wp-submit", "Log In")];
    let mut visitor = Visitor::new(server.port);
    for number in 0..20 {
        assert_eq!(visitor.post("/wp-login.php", &form).status, 200, "{number}");
    }
    // The zone lets 20 more in a minute: a machine slow enough to be let in once or twice more is refused soon after.
    let refused = (0..40).find(|_| visitor.post("/wp-login.php", &form).status == 429);
    assert!(refused.is_some(), "guessing goes on without end");
    assert_eq!(visitor.get("/wp-login.php").status, 200, "the page itself is not counted");
    let call =
        Request::post("/xmlrpc.php", "<methodCall><methodName>demo.sayHello</methodName></methodCall>");
    assert_ne!(server.fetch(&call).status, 429, "counted apart from the log-in page");
    assert!((0..400).any(|_| server.fetch(&call).status == 429), "XML-RPC is a way to guess, too");
}

#[test]
fn permalinks_are_saved_without_a_script_in_them() {
    let (site, server) = start();
    let mut admin = administrator(&site, &server);
    let settings = admin.get("/wp-admin/options-permalink.php").text();
    assert!(settings.contains("permalink_structure"), "{settings}");
    assert!(!settings.contains("/index.php/"), "WordPress offers links with the script in them");
}

#[test]
fn a_rush_on_a_new_page_costs_php_one_request() {
    let (site, server) = start();
    let target = format!("/slow.php/300/rush-{}", server.port);
    let answers = all_at_once(server.port, 200, &Request::get(&target));
    // PHP's paths are nobody's pages to the preset when they are called by name, or a page of the cache: either way all
    // of them are answered.
    assert!(
        answers.iter().all(|answer| answer.status == 200 && answer.text().contains("rendered in 300 ms"))
    );
    let log = std::fs::read_to_string(site.root().join("../log/php-access.log")).unwrap_or_default();
    assert_eq!(log.lines().filter(|line| line.contains(&target)).count(), 1);
}

#[test]
fn requests_whose_visitors_have_gone_take_no_child_of_php() {
    let site = WordPress::shared();
    let gate = Arc::new(Gate::new());
    let held = Arc::clone(&gate);
    // In php-fpm's place: one that says how often it was asked, and answers when the test wants it.
    let php = Origin::start(move |call| {
        held.pass();
        let uri = call.uri().to_owned();
        call.answer("Content-Type: text/html", uri);
    });
    let (place, mut children) = (Place::new(), 0);
    let log = format!("http {{ error_log {} info;", place.path("said.log").display());
    let server = site.serve_changed(place, &php.address, |preset| {
        let (_, bound) = preset.split_once(" max_conns=").expect("a bound");
        children = bound.split(';').next().and_then(|text| text.parse().ok()).expect("a number");
        preset.replacen("http {", &log, 1)
    });
    let mut gone = Vec::new();
    for number in 0..200 {
        let mut visitor = server.connect();
        visitor.send(browser(&server, &format!("/aborted-{number}/")).bytes());
        gone.push(visitor);
    }
    php.wait_for(children);
    drop(gone);
    let ended = || server.read("said.log").matches("nobody waits for it").count();
    wait_for("the fetches to end", || ended() == 200 - children);
    assert_eq!(php.count(), children, "what PHP was told it does");
    gate.open();
    assert_eq!(page(&server, "/next/").text(), "/next/");
    assert_eq!(php.count(), children + 1);
}

#[test]
fn php_killed_under_load_fails_no_visitor() {
    let site = WordPress::shared();
    let mut place = Place::new();
    let mut php = Php::start(&mut place);
    let socket = place.path("php.sock").display().to_string();
    // A minute of validity would hide what happens: with a second, nearly every page is stale.
    let server = site.serve_changed(place, &socket, |preset| {
        let line = "fastcgi_cache_valid 200 301 302 308 1m;";
        assert!(preset.contains(line));
        preset.replace(line, "fastcgi_cache_valid 200 301 302 308 1s;")
    });
    let post = newest_post(&server);
    let requests: Vec<_> =
        ["/", post.as_str(), "/about/", "/feed/"].map(|target| browser(&server, target)).into();
    for request in &requests {
        assert_eq!(server.fetch(request).status, 200);
    }
    let load = Load::start(server.port, 8, requests, |request, answer| {
        let right = answer.status == 200 && answer.text().contains("Ten Thousand Words");
        if right { Ok(()) } else { Err(format!("{request:?}: {}", answer.status)) }
    });
    load.wait_for(200);
    php.kill();
    let mut client = Client::connect(server.port);
    let home = browser(&server, "/");
    wait_for("stale pages", || matches!(client.fetch(&home).cache(), "STALE" | "UPDATING"));
    load.wait_for(1000);
    assert_eq!(client.fetch(&browser(&server, "/colophon/")).status, 502, "php-fpm is really gone");
    php.restart();
    assert_eq!(client.fetch(&browser(&server, "/colophon/")).status, 200, "the next request works");
    let (_, failures) = load.stop();
    assert!(failures.is_empty(), "{:?}", &failures[..failures.len().min(5)]);
}

/// A post of a test's own: its number and its path.
fn new_post(site: &WordPress, server: &Server, name: &str) -> (String, String) {
    let script = format!(
        "<?php require 'wp-load.php'; $id = wp_insert_post(['post_title' => '{name}', 'post_name' => '{name}', \
         'post_content' => 'words', 'post_status' => 'publish']); echo $id, ' ', get_permalink($id);"
    );
    let told = run_script(site, server, &format!("new-{name}.php"), &script);
    let (id, link) = told.split_once(' ').expect("number and address");
    let path = link.splitn(4, '/').nth(3).map(|path| format!("/{path}")).expect("a path");
    (id.to_owned(), path)
}

/// What a script in the site's folder says; it is removed again.
fn run_script(site: &WordPress, server: &Server, name: &str, script: &str) -> String {
    let file = site.root().join(name);
    std::fs::write(&file, script).expect("write");
    let answer =
        server.fetch(&browser(server, &format!("/{name}")).field("X-Requested-With", "XMLHttpRequest"));
    assert_eq!(answer.status, 200, "{name}: {}", answer.text());
    std::fs::remove_file(&file).expect("remove");
    answer.text()
}

/// Nothing purges here: the stale page ends with the refresh behind it.
#[test]
fn a_post_that_is_trashed_or_made_private_is_gone() {
    let site = WordPress::shared();
    let changes = [
        ("trashed", "wp_trash_post($id)"),
        ("private", "wp_update_post(['ID' => $id, 'post_status' => 'private'])"),
    ];
    for (name, change) in changes {
        let php = site.php().display().to_string();
        let server = site.serve_changed(Place::new(), &php, |preset| {
            preset
                .replace("fastcgi_cache_valid 200 301 302 308 1m;", "fastcgi_cache_valid 200 301 302 308 1s;")
        });
        let (id, path) = new_post(&site, &server, name);
        assert_eq!(page(&server, &path).status, 200);
        let script = format!("<?php require 'wp-load.php'; $id = {id}; {change}; echo 'done';");
        assert_eq!(run_script(&site, &server, &format!("change-{name}.php"), &script), "done");
        wait_for(&format!("the end of the post that is {name}"), || page(&server, &path).status == 404);
        for _ in 0..5 {
            assert_eq!(page(&server, &path).status, 404, "{name}");
        }
    }
}

/// Who does not want their name kept gets no cookie, and is led back to the page of all.
#[test]
fn who_comments_without_a_cookie_sees_the_comment() {
    let (site, server) = start();
    let (id, post) = new_post(&site, &server, "commented");
    let open = "<?php require 'wp-load.php'; update_option('comment_previously_approved', 0); \
                update_option('comment_moderation', 0); echo 'open';";
    let was = "<?php require 'wp-load.php'; update_option('comment_previously_approved', 1); echo 'was';";
    run_script(&site, &server, "open.php", open);
    page(&server, &post);
    assert_eq!(page(&server, &post).cache(), "HIT");
    let mut visitor = Visitor::new(server.port);
    let words = format!("Without a cookie, {}.", server.port);
    let form = [
        ("comment", words.as_str()),
        ("author", "Grace Example"),
        ("email", "grace@example.org"),
        ("comment_post_ID", &id),
        ("comment_parent", "0"),
    ];
    let answer = visitor.post("/wp-comments-post.php", &form);
    run_script(&site, &server, "was.php", was);
    assert_eq!(answer.status, 302, "{}", answer.text());
    // WordPress takes the cookie back that it has not given; a browser has none then.
    assert!(answer.all("Set-Cookie").all(|cookie| cookie.contains("Max-Age=0")), "{:?}", answer.text());
    let back = answer.field("Location").expect("a way back");
    let target = back.splitn(4, '/').nth(3).and_then(|rest| rest.split('#').next()).expect("a path");
    assert_eq!(format!("/{target}"), post, "approved at once");
    let own = page(&server, &post);
    assert_eq!(own.cache(), "EXPIRED");
    assert!(own.text().contains(&words));
    assert_eq!(page(&server, &post).cache(), "HIT");
}
