//! Every personal cookie of the list, with every recipe, in both directions.
//!
//! The recipes are published configurations, which bypass the cache in one direction only, or not at all, or for a few
//! cookies: the list must be effective with all of them. Cookies are generated from the list, so that a new line is a
//! new test.

use std::fs;

use myriad_tests::{HttpOrigin, Origin, Place, Request, Server, all_at_once, workspace};

/// Returns a cookie for each line of the list, `name=value`, and cookies for the other forms of its name.
fn personal() -> Vec<String> {
    let path = workspace().join("crates/myriad-policy/src/personal.list");
    let list = fs::read_to_string(path).expect("the list");
    let patterns = list.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let mut cookies = Vec::new();
    for pattern in patterns {
        if let Some(start) = pattern.strip_suffix('*') {
            cookies.push(format!("{start}=v"));
            cookies.push(format!("{start}0123abcdef=v"));
        } else if let Some(start) = pattern.strip_suffix("[a-f0-9]+") {
            cookies.push(format!("{start}0123456789abcdef=v"));
        } else {
            cookies.push(format!("{pattern}=v"));
        }
    }
    assert!(cookies.len() >= 20, "the list is read: {cookies:?}");
    cookies
}

/// Directives in a location of each recipe, with the family's prefix as `@P@`.
const RECIPES: &[(&str, &str)] = &[
    ("no rule at all", ""),
    ("reads bypassed for one cookie", "@P@_cache_bypass $cookie_wordpress_logged_in;"),
    ("stores bypassed for one cookie", "@P@_no_cache $cookie_wordpress_logged_in;"),
    ("reads bypassed for many, stores for none", "@P@_cache_bypass $skip;"),
    ("stores bypassed for many, reads for none", "@P@_no_cache $skip;"),
    ("both bypassed for many", "@P@_cache_bypass $skip; @P@_no_cache $skip;"),
    ("fields of the answer ignored", "@P@_ignore_headers Cache-Control Expires Set-Cookie Vary;"),
    ("cookies hidden", "@P@_ignore_headers Set-Cookie; @P@_hide_header Set-Cookie;"),
    (
        "stale pages and no lock",
        "@P@_cache_use_stale updating error timeout; @P@_cache_background_update on; @P@_cache_lock off;",
    ),
    ("every status", "@P@_cache_valid any 1h;"),
];

const SKIP: &str =
    "map $http_cookie $skip { default 0; ~*wordpress_logged_in 1; ~*comment_author 1; ~*wp-postpass 1; }";

/// Site with an origin that responds with the cookie of the client; the origin is shut down on drop.
struct Site {
    server: Server,
    _origin: Box<dyn std::any::Any>,
}

fn http(family: &str, recipe: &str, pass: &str) -> String {
    let rules = format!(
        "@P@_cache_path @DIR@/cache keys_zone=pages:4m; @P@_cache_key \"$scheme$request_method$host$request_uri\"; {SKIP}
         server {{ listen 127.0.0.1:@PORT@ backlog=512; @P@_cache pages; @P@_cache_valid 200 1h;
         add_header X-Cache $upstream_cache_status always;
         location / {{ {recipe} {pass} }} }}"
    );
    rules.replace("@P@", family)
}

fn fastcgi(recipe: &str) -> Site {
    let origin = Origin::start(|call| {
        let (cookie, number) = (call.param("HTTP_COOKIE").to_owned(), call.number);
        call.answer("Content-Type: text/plain", format!("hello [{cookie}] {number}"));
    });
    let mut place = Place::new();
    place.set("ORIGIN", &origin.address);
    let server = Server::start(place, &http("fastcgi", recipe, "@PARAMS@ fastcgi_pass @ORIGIN@;"));
    Site { server, _origin: Box::new(origin) }
}

fn proxy(recipe: &str) -> Site {
    let origin = HttpOrigin::start(|call| {
        let (cookie, number) = (call.field("Cookie").unwrap_or_default().to_owned(), call.number);
        call.answer("HTTP/1.1 200 OK\nContent-Type: text/plain", format!("hello [{cookie}] {number}"));
    });
    let mut place = Place::new();
    place.set("ORIGIN", &origin.address);
    let server = Server::start(place, &http("proxy", recipe, "proxy_pass http://@ORIGIN@;"));
    Site { server, _origin: Box::new(origin) }
}

fn with(target: &str, cookie: &str) -> Request {
    Request::get(target).field("Cookie", cookie)
}

/// Tests both directions, and from one cookie value to another.
fn try_both_ways(site: &Site, what: &str, cookie: &str, number: usize) {
    let server = &site.server;
    // An anonymous page, requested with the cookie.
    let target = format!("/read/{number}");
    assert!(server.get(&target).text().starts_with("hello []"), "{what}");
    assert_eq!(server.get(&target).cache(), "HIT", "{what}: anonymous pages are shared");
    let own = server.fetch(&with(&target, cookie));
    assert!(own.text().starts_with(&format!("hello [{cookie}]")), "{what} {cookie}: read {}", own.text());
    assert_eq!(server.get(&target).cache(), "HIT", "{what} {cookie}: the shared page stays");
    // A page generated with the cookie, requested without it.
    let target = format!("/fill/{number}");
    assert!(server.fetch(&with(&target, cookie)).text().contains(cookie), "{what}");
    let stranger = server.get(&target);
    assert!(stranger.text().starts_with("hello []"), "{what} {cookie}: given away {}", stranger.text());
    // And requested with another value of the same cookie.
    let other = cookie.replace("=v", "=w");
    let target = format!("/other/{number}");
    assert!(server.fetch(&with(&target, cookie)).text().contains(cookie), "{what}");
    let seen = server.fetch(&with(&target, &other)).text();
    assert!(seen.contains(&other), "{what} {cookie}: another's {seen}");
}

#[test]
fn personal_fastcgi_pages_are_never_shared_under_any_recipe_or_cookie() {
    let cookies = personal();
    for (what, recipe) in RECIPES {
        let site = fastcgi(recipe);
        for (number, cookie) in cookies.iter().enumerate() {
            try_both_ways(&site, what, cookie, number);
        }
    }
}

#[test]
fn personal_proxied_pages_are_never_shared_under_any_recipe_or_cookie() {
    let cookies = personal();
    for (what, recipe) in RECIPES {
        let site = proxy(recipe);
        for (number, cookie) in cookies.iter().enumerate() {
            try_both_ways(&site, what, cookie, number);
        }
    }
}

#[test]
fn a_cookie_is_personal_wherever_it_stands_and_however_php_reads_its_name() {
    let site = fastcgi("");
    for (number, cookie) in [
        "a=1; wordpress_logged_in_x=v",
        "a=1;wordpress_logged_in_x=v",
        "a;;  ;wordpress_logged_in_x=v; b=2",
        "wordpress.logged_in_x=v",
        "wordpress logged_in_x=v",
        "wordpress[logged_in_x=v",
        "PHPSESSID=v",
        "wordpress_logged_in_x",
        "wordpress%5Flogged_in_x=v",
    ]
    .into_iter()
    .enumerate()
    {
        let target = format!("/{number}");
        assert!(site.server.get(&target).text().starts_with("hello []"));
        let own = site.server.fetch(&with(&target, cookie)).text();
        assert!(own.starts_with(&format!("hello [{cookie}]")), "{cookie}: {own}");
    }
}

#[test]
fn two_cookie_fields_hide_nothing() {
    let site = fastcgi("");
    site.server.get("/");
    let request = Request::get("/").field("Cookie", "theme=dark").field("Cookie", "PHPSESSID=v");
    let answer = site.server.fetch(&request);
    assert!(answer.text().contains("PHPSESSID=v") || answer.status == 400, "{}", answer.text());
}

#[test]
fn the_directive_ends_the_list_or_changes_it_in_both_directions() {
    let off = fastcgi("personal_cookies off;");
    off.server.fetch(&with("/", "PHPSESSID=v"));
    assert_eq!(off.server.get("/").cache(), "HIT", "off: a page made with a cookie is shared");
    assert_eq!(off.server.fetch(&with("/", "wordpress_logged_in_a=v")).cache(), "HIT");

    let own = fastcgi("personal_cookies basket_*;");
    try_both_ways(&own, "a list of one's own", "basket_1=v", 0);
    own.server.get("/x");
    assert_eq!(
        own.server.fetch(&with("/x", "PHPSESSID=v")).cache(),
        "HIT",
        "the configured list replaces the default"
    );

    let more = fastcgi("personal_cookies default basket_*;");
    try_both_ways(&more, "the default and one more", "basket_1=v", 0);
    try_both_ways(&more, "the default and one more", "PHPSESSID=v", 1);
}

#[test]
fn concurrent_personal_and_anonymous_clients_get_their_own_pages() {
    for recipe in ["", "fastcgi_cache_lock off;", "fastcgi_cache_bypass $skip;"] {
        let site = fastcgi(recipe);
        std::thread::scope(|scope| {
            let port = site.server.port;
            let strangers = scope.spawn(move || all_at_once(port, 30, &Request::get("/")));
            let bearers = scope.spawn(move || all_at_once(port, 30, &with("/", "wordpress_logged_in_a=v")));
            for answer in strangers.join().expect("answers") {
                assert!(answer.text().starts_with("hello []"), "{recipe}: {}", answer.text());
            }
            for answer in bearers.join().expect("answers") {
                assert!(answer.text().contains("wordpress_logged_in_a"), "{recipe}: {}", answer.text());
            }
        });
    }
}
