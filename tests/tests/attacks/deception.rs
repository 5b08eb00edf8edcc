//! Web cache deception: an authenticated visitor is led to a URL of a private page that a rule classifies as a public
//! file.

use myriad_tests::{HttpOrigin, Place, Request, Server};

/// Starts an application that returns the account page for any URL with its prefix, like frameworks do, and a server
/// whose rules store URLs of files.
fn start(known_by: &'static str) -> (Server, HttpOrigin) {
    let origin = HttpOrigin::start(move |call| {
        let who = call.head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            (name.eq_ignore_ascii_case(known_by)).then(|| value.to_owned())
        });
        let number = call.number;
        match who {
            Some(who) => call.answer(
                "HTTP/1.1 200 OK\nContent-Type: text/html\nCache-Control: max-age=60",
                format!("the secret of {who} {number}"),
            ),
            None => call.answer("HTTP/1.1 200 OK\nContent-Type: text/html", "please log in"),
        }
    });
    let mut place = Place::new();
    place.set("ORIGIN", &origin.address);
    let http = "proxy_cache_path @DIR@/cache keys_zone=pages:1m;
        server { listen 127.0.0.1:@PORT@; add_header X-Cache $upstream_cache_status always;
            proxy_cache_valid any 1h; proxy_ignore_headers Vary;
            location / { proxy_pass http://@ORIGIN@; }
            location /static/ { proxy_cache pages; proxy_pass http://@ORIGIN@; }
            location ~* \\.(css|js|png|ico|woff2)$ { proxy_cache pages; proxy_pass http://@ORIGIN@; }
            location = /robots.txt { proxy_cache pages; proxy_pass http://@ORIGIN@; } }";
    (Server::start(place, http), origin)
}

/// URLs that the rules store, each with a separator, an escape or a segment that some application interprets
/// differently.
const ADDRESSES: &[&str] = &[
    "/account/x.css",
    "/account/x.JS",
    "/account.css",
    "/account;x.css",
    "/account;/x.css",
    "/account%3bx.css",
    "/account%2fx.css",
    "/account%00x.css",
    "/account%0ax.css",
    "/account%09x.css",
    "/account%20.css",
    "/account%23x.css",
    "/account%3fx.css",
    "/account%26x.css",
    "/account$x.css",
    "/account!x.css",
    "/account~x.css",
    "/account,x.css",
    "/account.x.css",
    "/account\\x.css",
    "/account%5cx.css",
    "/account%252fx.css",
    "/account/%2e%2e/x.css",
    "/account/..%2fstatic/x",
    "/account/%2e%2e%2fstatic%2fx",
    "/account%2f..%2fstatic/x",
    "/account/../static/x",
    "/account;%2f..%2f..%2fstatic/x",
    "/static/..%2faccount",
    "/static/%2e%2e%2faccount",
    "/static/..;/account",
    "/static//..//account.css",
    "/static/..%5caccount",
    "/account/..%2frobots.txt",
    "/account/%2e%2e/robots.txt",
    "/account%2f%2e%2e%2frobots.txt",
    "/x.css?/account",
];

#[test]
fn page_of_known_visitor_is_never_shared_under_any_address() {
    for (field, value) in [
        ("Cookie", "PHPSESSID=victim"),
        ("Cookie", "theme=1; wordpress_logged_in_ab=victim"),
        ("Authorization", "Basic dmljdGltOnBhc3M="),
    ] {
        let (server, _origin) = start(field);
        for address in ADDRESSES {
            // The victim follows the attacker's link, a moment before the attacker fetches the same URL.
            let own = server.fetch(&Request::get(address).field(field, value));
            if matches!(own.status, 400 | 404) {
                continue;
            }
            assert!(own.text().contains("secret"), "{address}: {}", own.text());
            let attacker = server.get(address);
            assert!(!attacker.text().contains("secret"), "{field} {address}: {}", attacker.text());
            // The response that the attacker received does not replace the page of the victim.
            let again = server.fetch(&Request::get(address).field(field, value));
            assert!(again.text().contains("secret"), "{field} {address}: {}", again.text());
        }
    }
}
