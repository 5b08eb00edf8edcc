//! Responses that are stored for one known visitor, such as the cart that a script requests on each page view.

use std::sync::Arc;

use myriad_tests::{Call, Gate, Origin, Request, Server};

use super::{KNOWN, PARTS, by, include, is_clean, session, start};

const RULES: &str =
    "esi_private_responses $arg_cart; fastcgi_cache_bypass $arg_cart; fastcgi_no_cache $arg_cart;
    fastcgi_cache_purge on;";
const PERMITTED: &str = "Content-Type: application/json\nX-Myriad-Private-Cache: 60\nSurrogate-Key: p12 s\nNonce: one\n\
    Cache-Control: no-store";

/// Application with the cart of a visitor, whose content is the number of the request.
fn carts(call: &mut Call) {
    let text = format!("cart {} of {}", call.number, call.param("HTTP_COOKIE"));
    match call.uri() {
        "/set?cart=1" => call.answer(&format!("{PERMITTED}\nSet-Cookie: other=1"), text),
        "/open?cart=1" => call.answer("Content-Type: application/json", text),
        "/failed?cart=1" => call.answer(&format!("Status: 404\n{PERMITTED}"), text),
        "/by-page?cart=1" => call.answer(&format!("{PERMITTED}\nVary: Accept, Referer"), text),
        "/long?cart=1" => call.answer(PERMITTED, format!("{text}{}", "x".repeat(200 << 10))),
        _ => call.answer(PERMITTED, text),
    }
}

fn cart(name: &str) -> Request {
    by("/cart?cart=1", name)
}

/// Returns whether the origin receives a request that the client sends twice.
fn is_repeated(server: &Server, origin: &Origin, request: &Request) -> bool {
    let first = server.fetch(request);
    let before = origin.count();
    let again = server.fetch(request);
    let is_repeated = origin.count() > before;
    assert_eq!(first.text() != again.text(), is_repeated, "{request:?}");
    is_repeated
}

/// Purges a tag, which no shared page has.
fn purge(server: &Server, tag: &str) {
    let answer = server.fetch(&Request::get("/").by("PURGE").field("Surrogate-Key", tag));
    assert_eq!(
        (answer.status, answer.field("Cache-Purge-Result")),
        (200, Some("tags; count=0")),
        "{}",
        answer.text()
    );
}

#[test]
fn response_is_stored_for_its_visitor_with_its_fields() {
    let (server, origin) = start(RULES, carts);
    let first = server.fetch(&cart("ada"));
    assert_eq!((first.status, first.cache()), (200, "BYPASS"));
    let other = server.fetch(&cart("eve"));
    assert!(other.text().contains(&session("eve")) && !other.text().contains(&session("ada")));
    let before = origin.count();
    for _ in 0..3 {
        let again =
            server.fetch(&cart("ada").field("Referer", "/other").field("Accept-Encoding", "identity"));
        assert_eq!((again.cache(), again.text()), ("HIT", first.text()));
        for field in ["Nonce", "Content-Type", "Cache-Control"] {
            assert_eq!(again.field(field), first.field(field), "{field}");
        }
        assert_eq!(again.field("X-Myriad-Private-Cache"), None);
        is_clean(&again);
    }
    assert_eq!(server.fetch(&cart("eve")).text(), other.text());
    assert_eq!(origin.count(), before);
}

#[test]
fn response_to_another_request_is_not_used() {
    let (server, origin) = start(RULES, carts);
    assert!(!is_repeated(&server, &origin, &cart("ada")));
    let before = server.fetch(&cart("ada")).text();
    for other in [
        cart("ada").field("Nonce", "1"),
        cart("ada").field("X-Requested-With", "XMLHttpRequest"),
        cart("ada").field("Accept-Language", "de"),
        cart("ada").host("localhost:81"),
        by("/cart?cart=2", "ada"),
        Request::get("/cart?cart=1")
            .field("Cookie", &format!("woocommerce_items_in_cart=1; {}", session("ada"))),
    ] {
        assert_ne!(server.fetch(&other).text(), before, "{other:?}");
    }
    // A cookie that several visitors can have; another personal cookie; another method.
    for cookie in [
        "woocommerce_items_in_cart=1",
        "wordpress_logged_in_1=short",
        &format!("PHPSESSID=1; {}", session("ada")),
    ] {
        assert!(
            is_repeated(&server, &origin, &Request::get("/cart?cart=1").field("Cookie", cookie)),
            "{cookie}"
        );
    }
    assert!(is_repeated(&server, &origin, &cart("ada").by("POST")));
    assert!(is_repeated(&server, &origin, &by("/cart", "ada").field("Authorization", "Basic eDp5")));
}

#[test]
fn response_that_the_origin_does_not_permit_is_not_stored() {
    let (server, origin) = start(RULES, carts);
    for target in ["/set?cart=1", "/open?cart=1", "/failed?cart=1", "/by-page?cart=1", "/long?cart=1"] {
        assert!(is_repeated(&server, &origin, &by(target, "ada")), "{target}");
    }
    let long = server.fetch(&by("/long?cart=1", "ada"));
    assert!(long.body.len() > 200 << 10 && long.text().starts_with("cart "), "{} bytes", long.body.len());
    // Without the condition, the permission has no effect.
    let (server, origin) = start("", carts);
    assert!(is_repeated(&server, &origin, &cart("ada")));
}

#[test]
fn response_is_deleted_after_a_change_of_the_visitor() {
    let (server, origin) = start(RULES, |call| match call.uri() {
        "/says" => call.answer("X-Myriad-Private-Purge: *", "said"),
        "/log-in" => call.answer("Set-Cookie: wordpress_logged_in_1=new", "hello"),
        _ => carts(call),
    });
    for change in [cart("ada").by("POST"), by("/says", "ada"), by("/log-in", "ada")] {
        server.fetch(&cart("ada"));
        let (ada, eve) = (server.fetch(&cart("ada")).text(), server.fetch(&cart("eve")).text());
        server.fetch(&change);
        assert_ne!(server.fetch(&cart("ada")).text(), ada, "{change:?}");
        assert_eq!(server.fetch(&cart("eve")).text(), eve, "{change:?}");
    }
    assert!(!is_repeated(&server, &origin, &cart("ada")));
}

#[test]
fn purge_of_a_tag_deletes_responses_and_fragments_of_visitors() {
    let (server, _origin) = start(RULES, |call| match call.param("QUERY_STRING") {
        "part=cart" => {
            let text = format!("fragment {}", call.number);
            call.answer(&format!("{PARTS}\nSurrogate-Key: p12"), format!("cart {}\n{text}\n", text.len()));
        }
        "cart=1" => carts(call),
        _ => call.answer(KNOWN, include("cart", "")),
    });
    server.get("/page");
    let both = || (server.fetch(&cart("ada")).text(), server.fetch(&by("/page", "ada")).text());
    let first = both();
    assert!(first.1.starts_with("fragment "), "{first:?}");
    purge(&server, "p13");
    assert_eq!(both(), first, "another product");
    purge(&server, "p12");
    let second = both();
    assert!(second.0 != first.0 && second.1 != first.1, "{first:?} {second:?}");
    assert_eq!(both(), second);
    let all = server.fetch(&Request::get("/*").by("PURGE"));
    assert_eq!(all.status, 200, "{}", all.text());
    let third = both();
    assert!(third.0 != second.0 && third.1 != second.1, "{second:?} {third:?}");
}

#[test]
fn purge_reaches_fragments_from_the_cache_that_are_stored_for_a_visitor() {
    let rules = format!(
        "{RULES} location = /menu {{ esi off; shared_fetch_headers off; personal_cookies off; fastcgi_pass @ORIGIN@; \
           fastcgi_ignore_headers Set-Cookie; }}"
    );
    let token = "token=\"0123456789abcdef\"";
    let (server, origin) = start(&rules, move |call| match call.uri() {
        "/menu" => {
            let text = format!("menu {}", call.number);
            call.answer("Content-Type: text/html\nCache-Control: max-age=600\nSurrogate-Key: menu", text);
        }
        _ => call.answer(KNOWN, format!("<esi:include src=\"/menu\" {token}></esi:include {token}>")),
    });
    server.get("/menu");
    server.get("/page");
    let menu = || server.fetch(&by("/page", "ada")).text();
    let first = menu();
    assert!(first.starts_with("menu "), "{first}");
    assert_eq!((menu(), origin.count()), (first.clone(), 2), "from the cache");
    for field in [("Surrogate-Key", "menu"), ("Accept", "*/*")] {
        let target = if field.0 == "Accept" { "/menu" } else { "/" };
        let before = menu();
        let answer = server.fetch(&Request::get(target).by("PURGE").field(field.0, field.1));
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_ne!(menu(), before, "{target}");
    }
}

#[test]
fn response_that_was_generated_before_a_purge_is_not_stored() {
    let gate = Arc::new(Gate::new());
    let held = Arc::clone(&gate);
    let (server, origin) = start(RULES, move |call| {
        if call.number == 1 {
            held.pass();
        }
        carts(call);
    });
    let old = std::thread::scope(|scope| {
        let old = scope.spawn(|| server.fetch(&cart("ada")).text());
        origin.wait_for(1);
        purge(&server, "p12");
        gate.open();
        old.join().expect("a response")
    });
    let new = server.fetch(&cart("ada")).text();
    assert_ne!(new, old);
    assert_eq!(server.fetch(&cart("ada")).text(), new);
}
