//! Known visitors and anonymous clients.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use myriad_tests::{Cached, Gate, Request, Server, binary, wait_for};

use super::{
    KNOWN, PARTS, application, by, everybodys, include, is_clean, is_private, own, page, session, start,
};

#[test]
fn anonymous_visitor_gets_the_page_as_if_it_had_never_had_markup() {
    let plain =
        |call: &mut myriad_tests::Call| call.answer("Content-Type: text/html\r\nETag: \"one\"", everybodys());
    let server = "fastcgi_cache_valid 200 1h; gzip on; gzip_types text/html;";
    let (without, _origin) = Cached { server, ..Cached::default() }.start(plain);
    let (with, origin) = start("gzip on;", application);
    for codings in ["identity", "gzip"] {
        let request = Request::get("/page").accepting(codings);
        for server in [&with, &without] {
            server.fetch(&request);
        }
        let (own, plain) = (with.fetch(&request), without.fetch(&request));
        assert_eq!((own.cache(), own.coding()), ("HIT", codings));
        assert_eq!(own.body, plain.body);
        for field in ["ETag", "Content-Length", "Content-Type", "Vary", "Accept-Ranges", "Cache-Control"] {
            assert_eq!(own.field(field), plain.field(field), "{field}");
        }
        is_clean(&own);
    }
    assert_eq!(origin.count(), 1);
    let range = with.fetch(&Request::get("/page").field("Range", "bytes=0-5"));
    assert_eq!((range.status, range.text().as_str()), (206, "<html>"));
    assert_eq!(with.fetch(&Request::get("/page").field("If-None-Match", "\"one\"")).status, 304);
}

#[test]
fn known_visitor_gets_the_page_with_parts_of_their_own_in_one_request() {
    let (server, origin) = start("", application);
    server.get("/page");
    let answer = server.fetch(&by("/page", "ada"));
    assert_eq!((answer.status, answer.cache(), answer.text()), (200, "HIT", own("ada")));
    is_clean(&answer);
    is_private(&answer);
    assert_eq!(origin.calls(), ["GET /page", "GET /page?part=greeting,form"]);
    // The fragments are stored for this visitor only.
    assert_eq!(server.fetch(&by("/page", "ada")).text(), own("ada"));
    assert_eq!(origin.count(), 2);
    assert_eq!(server.fetch(&by("/page", "eve")).text(), own("eve"));
    assert_eq!(origin.count(), 3);
    assert_eq!(server.get("/page").text(), everybodys());
    // A condition refers to the anonymous page, and a range of a composed page is undefined.
    let asked = by("/page", "ada").field("If-None-Match", "\"one\"").field("Range", "bytes=0-5");
    assert_eq!((server.fetch(&asked).status, server.fetch(&asked).text()), (200, own("ada")));
    let head = server.fetch(&by("/page", "ada").by("HEAD"));
    assert_eq!((head.status, head.body.len(), head.field("Content-Length")), (200, 0, None));
    is_private(&head);
}

#[test]
fn page_of_known_visitor_is_compressed_and_never_fresh_regardless_of_location() {
    let rules = "gzip on; expires 1h; add_header Cache-Control public; add_header X-Other yes;";
    let (server, _origin) = start(rules, application);
    for _ in 0..2 {
        let answer = server.fetch(&by("/page", "ada").accepting("gzip"));
        assert_eq!(
            (answer.coding(), answer.text(), answer.field("X-Other")),
            ("gzip", own("ada"), Some("yes"))
        );
        is_private(&answer);
    }
    assert!(server.get("/page").field("Expires").is_some());
}

#[test]
fn miss_of_a_known_visitor_fetches_everybody_s_page() {
    let (server, origin) = start("", application);
    let answer = server.fetch(&by("/page", "ada"));
    assert_eq!((answer.cache(), answer.text()), ("MISS", own("ada")));
    assert_eq!(server.get("/page").cache(), "HIT");
    assert_eq!(server.get("/page").text(), everybodys());
    assert_eq!(origin.calls(), ["GET /page", "GET /page?part=greeting,form"]);
}

#[test]
fn known_visitor_gets_the_page_of_their_currency() {
    let (server, origin) = start("cache_key_cookie currency EUR USD;", |call| {
        let cookie = call.param("HTTP_COOKIE").to_owned();
        match call.param("QUERY_STRING") {
            "" => call.answer(KNOWN, format!("({cookie}){}", include("a", ""))),
            _ => call.answer(PARTS, "a 1\n+\n"),
        }
    });
    for (choice, page) in
        [("", "()+"), ("; currency=EUR", "(currency=EUR)+"), ("; currency=USD", "(currency=USD)+")]
    {
        let cookie = session("ada") + choice;
        let answer = server.fetch(&Request::get("/page").field("Cookie", &cookie));
        assert_eq!((answer.cache(), answer.text().as_str()), ("MISS", page), "{choice}");
    }
    let pages = origin.count();
    let cookie = session("eve") + "; currency=USD";
    let answer = server.fetch(&Request::get("/page").field("Cookie", &cookie));
    assert_eq!((answer.cache(), answer.text().as_str()), ("HIT", "(currency=USD)+"));
    assert_eq!(origin.count(), pages + 1, "only the part is requested");
}

#[test]
fn page_that_is_not_for_known_visitors_is_asked_of_the_origin() {
    let (server, origin) = start("", |call| match call.param("HTTP_COOKIE").to_owned() {
        cookie if cookie.is_empty() => {
            let known = if call.uri() == "/private" { "private" } else { "max-age=60" };
            call.answer(&format!("Content-Type: text/html\r\nCache-Control: {known}"), "everybody's");
        }
        cookie => call.answer("Content-Type: text/html", cookie),
    });
    for target in ["/stored", "/private"] {
        server.get(target);
        let answer = server.fetch(&by(target, "ada"));
        assert_eq!((answer.cache(), answer.text()), ("BYPASS", session("ada")), "{target}");
        let status = answer.field("Cache-Status").expect("Cache-Status");
        assert!(status.contains("fwd=bypass") && status.contains("page not cut"), "{status}");
    }
    // None of them is refreshed by a visitor who cannot receive the stored page.
    for target in ["/private", "/new", "/stored"] {
        let before = origin.count();
        server.fetch(&by(target, "ada"));
        server.fetch(&by(target, "eve"));
        assert_eq!(origin.count(), before + 2, "{target}");
    }
}

/// Returns the output of `myriad cache show` for a page.
fn shown(server: &Server, target: &str) -> String {
    let output = Command::new(binary())
        .args(["cache", "show", &format!("http://localhost{target}"), "-c", "myriad.conf", "-p"])
        .arg(server.folder())
        .output()
        .expect("myriad starts");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Returns the reasons in a response to a known visitor.
fn told(server: &Server, target: &str) -> String {
    let answer = server.fetch(&by(target, "ada"));
    assert_eq!(answer.cache(), "BYPASS", "{target}");
    answer.field("Cache-Status").unwrap_or_default().to_owned()
}

#[test]
fn file_names_in_the_reason_of_an_origin_are_shown_to_administrators_alone() {
    let (server, _origin) = start("set_real_ip_from 127.0.0.1; real_ip_header X-Real-IP;", |call| {
        let why = "X-Myriad-ESI: why=\"is_user_logged_in in themes/a.php\"";
        call.answer(&format!("Content-Type: text/html\r\n{why}\r\nX-Accel-Expires: 600"), "a page");
    });
    server.get("/stored");
    let general = "detail=\"personal cookie, page not cut\"";
    for (name, value) in [
        ("X-Forwarded-For", "192.0.2.1"),
        ("Via", "1.1 proxy"),
        ("X-Real-IP", "192.0.2.1"),
        ("Forwarded", "for=192.0.2.1"),
    ] {
        for target in ["/stored", "/new"] {
            let answer = server.fetch(&by(target, "made-up").field(name, value));
            let status = answer.field("Cache-Status").expect("Cache-Status").to_owned();
            assert!(status.contains(general) && !status.contains("themes"), "{name}: {status}");
        }
    }
    assert!(told(&server, "/stored").contains("page not cut: is_user_logged_in in themes/a.php"));
}

#[test]
fn page_without_esi_parts_reports_reason() {
    let (server, _origin) = start(
        "fastcgi_cache_use_stale updating error; add_header X-Reason $upstream_cache_reason;",
        |call| {
            if !call.param("HTTP_COOKIE").is_empty() {
                return call.answer("Content-Type: text/html", "own");
            }
            let why = "X-Myriad-ESI: why=\"is_user_logged_in in themes/a/b\\.php\"";
            let esi =
                if call.uri() == "/cut" { "Surrogate-Control: content=\"ESI/1.0\"" } else { "X-None: 1" };
            let life = if call.uri() == "/short" { "X-Accel-Expires: 1" } else { "X-Accel-Expires: 600" };
            call.answer(&format!("Content-Type: text/html\r\n{why}\r\n{esi}\r\n{life}"), "everybody's");
        },
    );
    let detail = "detail=\"personal cookie, page not cut: is_user_logged_in in themes/a/b_.php\"";
    for target in ["/stored", "/cut", "/short"] {
        assert_eq!(server.get(target).cache(), "MISS");
        for _ in 0..2 {
            assert!(told(&server, target).contains(detail), "{target}: {}", told(&server, target));
        }
        let answer = server.fetch(&by(target, "ada"));
        let reason = answer.field("X-Reason").unwrap_or_default();
        assert_eq!(reason, "personal cookie, page not cut: is_user_logged_in in themes/a/b_.php", "{target}");
        is_clean(&server.get(target));
        is_clean(&answer);
    }
    // Anonymous clients receive the usual page without the reasons.
    let stored = server.get("/stored");
    assert_eq!((stored.cache(), stored.text().as_str()), ("HIT", "everybody's"));
    assert!(!stored.field("Cache-Status").unwrap_or_default().contains("themes"));
    // A stale page has the reasons as well; it is not refreshed for a known visitor.
    wait_for("the page is stale", || server.get("/short").cache() != "HIT");
    assert!(told(&server, "/short").contains(detail), "{}", told(&server, "/short"));
    // The administrator's report contains the same reason.
    let shown = shown(&server, "/stored");
    assert!(
        shown.contains("  known     served by the origin: is_user_logged_in in themes/a/b_.php"),
        "{shown}"
    );
}

#[test]
fn parts_of_a_page_are_shown_to_administrators() {
    let (server, _origin) = start("", application);
    server.get("/page");
    let shown = shown(&server, "/page");
    assert!(shown.contains("  known     receive this page, with 2 private fragments"), "{shown}");
    assert!(
        shown.contains("  parts     /page?part=greeting (private), at offset 6, replaces 0 bytes"),
        "{shown}"
    );
    assert!(shown.contains("            /page?part=form (private), at offset "), "{shown}");
}

#[test]
fn stale_page_that_is_not_cut_is_no_matter_of_known_visitors() {
    let (server, origin) =
        start("fastcgi_cache_use_stale updating; fastcgi_cache_background_update on;", |call| {
            let cookie = call.param("HTTP_COOKIE").to_owned();
            call.answer("Content-Type: text/html\r\nX-Accel-Expires: @1", cookie);
        });
    server.get("/page");
    for name in ["ada", "eve"] {
        assert_eq!(server.fetch(&by("/page", name)).text(), session(name));
    }
    assert_eq!(origin.count(), 3);
}

#[test]
fn visitor_with_another_personal_cookie_is_asked_of_the_origin() {
    let (server, _origin) = start("", application);
    server.get("/page");
    for other in ["wp-postpass_1=x", "PHPSESSID=1"] {
        let cookies = format!("{}; {other}", session("ada"));
        let answer = server.fetch(&Request::get("/page").field("Cookie", &cookies));
        assert_eq!((answer.cache(), answer.text()), ("BYPASS", format!("page of {cookies}")));
    }
    // Also in a separate `Cookie` field, and for a method other than GET.
    let two = by("/page", "ada").field("Cookie", "wp-postpass_1=x");
    assert!(server.fetch(&two).text().starts_with("page of"));
    assert!(server.fetch(&by("/page", "ada").by("POST")).text().starts_with("page of"));
    let signed = by("/page", "ada").field("Authorization", "Basic YTpi");
    assert!(server.fetch(&signed).text().starts_with("page of"));
}

#[test]
fn rules_that_keep_anonymous_visitors_from_the_cache_keep_known_ones_too() {
    let (server, origin) =
        start("fastcgi_cache_bypass $arg_preview; fastcgi_no_cache $arg_preview;", application);
    let answer = server.fetch(&by("/page?preview=1", "ada"));
    assert_eq!((answer.cache(), answer.text()), ("BYPASS", format!("page of {}", session("ada"))));
    assert_eq!(
        origin.calls(),
        ["GET /page?preview=1"],
        "the page without the visitor's cookies was not requested"
    );
}

#[test]
fn part_is_dropped_when_its_visitor_may_have_changed_something() {
    let (server, origin) =
        start("location /uncached { fastcgi_cache off; fastcgi_pass @ORIGIN@; }", |call| match call.uri() {
            "/log-out" => call.answer("Set-Cookie: wordpress_logged_in_1=; Max-Age=0", "bye"),
            "/other-cookie" => call.answer("Set-Cookie: language=de", "hello"),
            "/says" => call.answer("X-Myriad-Private-Purge: *", "said"),
            "/litespeed" => call.answer("X-LiteSpeed-Purge: private, *", "said"),
            _ => application(call),
        });
    server.get("/page");
    let asks = |name: &str| {
        let before = origin.calls().len();
        assert_eq!(server.fetch(&by("/page", name)).text(), own(name));
        origin.calls()[before..].iter().any(|call| call.contains("part="))
    };
    assert!(asks("ada") && !asks("ada") && asks("eve") && !asks("eve"));
    let changes = [
        by("/page", "ada").by("POST"),
        by("/uncached", "ada").by("DELETE"),
        by("/log-out", "ada"),
        by("/says", "ada"),
        by("/litespeed", "ada"),
        // The back office sets more cookies than the site.
        Request::post("/uncached", "x").field("Cookie", &format!("wordpress_sec_1=x; {}", session("ada"))),
    ];
    for change in changes {
        server.fetch(&change);
        assert!(asks("ada"), "{change:?}");
        assert!(!asks("ada") && !asks("eve"), "{change:?}");
    }
    for harmless in [by("/other-cookie", "ada"), by("/uncached", "ada"), Request::post("/uncached", "x")] {
        server.fetch(&harmless);
        assert!(!asks("ada"), "{harmless:?}");
    }
}

#[test]
fn parts_under_cookies_that_several_visitors_share_hold_nothing_else_of_a_request() {
    let (server, origin) = start("", |call| {
        if call.param("QUERY_STRING").is_empty() {
            return call.answer(KNOWN, format!("page {}", include("greeting", "")));
        }
        let names = ["HTTP_COOKIE", "HTTP_HOST", "HTTP_X_ODD", "HTTP_REFERER", "HTTP_ACCEPT_LANGUAGE"];
        let text = names.map(|name| call.param(name).to_owned()).join("|");
        call.answer(super::PARTS, format!("greeting {}\n{text}\n", text.len()));
    });
    server.get("/page");
    let cart = "woocommerce_items_in_cart=1";
    let attack = Request::get("/page")
        .field("Cookie", &format!("evil=1; {cart}; more=evil"))
        .field("X-Odd", "evil")
        .field("Referer", "http://evil.test/")
        .field("Accept-Language", "evil");
    let own = format!("page {cart}|localhost|||");
    for request in [attack, Request::get("/page").field("Cookie", cart)] {
        assert_eq!(server.fetch(&request).text(), own);
    }
    assert_eq!(origin.calls(), ["GET /page", "GET /page?part=greeting"]);
    // Another Host has other fragments, and a session receives fragments of its complete request.
    let other = Request::get("/page").host("localhost:81").field("Cookie", cart);
    assert_eq!(server.fetch(&other).text(), format!("page {cart}|localhost:81|||"));
    let of_session = by("/page", "ada").field("X-Odd", "own");
    assert_eq!(server.fetch(&of_session).text(), format!("page {}|localhost|own||", session("ada")));
}

#[test]
fn invented_cookies_of_others_drop_no_parts() {
    let (server, origin) = start("", application);
    server.get("/page");
    assert_eq!(server.fetch(&by("/page", "ada")).text(), own("ada"));
    let before = origin.count();
    let mut client = server.connect();
    for round in 0..100 {
        let cookies = |part: usize| {
            let cookie = |number: usize| format!("wordpress_logged_in_1={round:06}{part:04}{number:06}");
            (0..180).map(cookie).collect::<Vec<_>>().join("; ")
        };
        let post =
            (0..4).fold(Request::post("/page", "x"), |post, part| post.field("Cookie", &cookies(part)));
        let answer = client.fetch(&post);
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    assert_eq!(server.fetch(&by("/page", "ada")).text(), own("ada"));
    assert_eq!(origin.count(), before + 100, "the parts of a visitor were requested again");
}

#[test]
fn part_declares_its_own_lifetime() {
    let (server, origin) = start("", |call| {
        if call.param("QUERY_STRING").is_empty() {
            return call.answer(KNOWN, format!("{}{}", include("a", ""), include("b", "")));
        }
        call.answer(super::PARTS, "a 1 0\na\nb 1\nb\n");
    });
    for _ in 0..3 {
        assert_eq!(server.fetch(&by("/page", "ada")).text(), "ab");
    }
    let expected = ["GET /page", "GET /page?part=a,b", "GET /page?part=a", "GET /page?part=a"];
    assert_eq!(origin.calls(), expected);
}

#[test]
fn page_above_a_part_is_sent_while_the_part_is_made() {
    let gate = Arc::new(Gate::new());
    let held = Arc::clone(&gate);
    let (server, origin) = start("gzip on;", move |call| {
        if call.param("QUERY_STRING").is_empty() {
            return call.answer(KNOWN, format!("above{}below", include("a", "")));
        }
        held.pass();
        call.answer(super::PARTS, "a 3\nown\n");
    });
    server.get("/page");
    let mut client = server.connect();
    client.send(by("/page", "ada").bytes());
    let above = client.until(|bytes| bytes.windows(5).any(|part| part == b"above"));
    assert!(!above.windows(5).any(|part| part == b"below"));
    origin.wait_for(2);
    gate.open();
    client.until(|bytes| bytes.windows(5).any(|part| part == b"below"));
}

#[test]
fn part_that_fails_leaves_what_stands_in_its_place() {
    let (server, _origin) = start("", |call| match call.param("QUERY_STRING") {
        "" => {
            let nothing = include("d", "inside")
                .replace("token=\"0123456789abcdef\">i", "token=\"0123456789abcdef\" onerror=\"continue\">i");
            let alt = include("e", "inside").replace("src=", "alt=\"/alt\" src=");
            let text = if call.uri().starts_with("/alt") {
                "alt".to_owned()
            } else {
                format!(
                    "1{}2{}3{}4{nothing}5{alt}6",
                    include("a", ""),
                    include("b", "inside"),
                    include("c", "inside")
                )
            };
            call.answer(KNOWN, text);
        }
        // One fragment is missing, one is truncated.
        _ => call.answer(super::PARTS, "a 3\nown\nc 5\nab"),
    });
    let answer = server.fetch(&by("/page", "ada"));
    assert_eq!(answer.text(), "1own2inside3inside45alt6");
    server.log_has("the page is sent without the fragment");
    let log = server.read("error.log");
    assert_eq!(log.matches("the page is sent without the fragment").count(), 1, "{log}");
}

#[test]
fn page_goes_on_where_the_origin_does_not_answer() {
    let (server, _origin) = start("esi_timeout 100ms;", |call| match call.param("QUERY_STRING") {
        "" => call.answer(KNOWN, format!("1{}2", include("a", "inside"))),
        "part=a" if call.param("HTTP_COOKIE").contains("slow") => drop(call.wait_for_hang_up()),
        _ => call.answer("Content-Type: text/html\r\nStatus: 500", "a 3\nown\n"),
    });
    for name in ["slow", "failing"] {
        assert_eq!(server.fetch(&by("/page", name)).text(), "1inside2", "{name}");
    }
    server.log_has("esi_timeout");
}

#[test]
fn markup_of_others_is_text() {
    let comment = "<esi:include src=\"/page?part=secret\"/><!--esi <b> --><esi:remove>x</esi:remove>\
                   <esi:include src=\"/page?part=secret\" token=\"0000000000000000\"/>";
    let (server, origin) = start("", move |call| match call.param("QUERY_STRING") {
        "" => call.answer(KNOWN, format!("{comment}{}", include("a", ""))),
        _ => call.answer(super::PARTS, "a 3\nown\nsecret 1\nx\n"),
    });
    assert_eq!(server.get("/page").text(), comment);
    assert_eq!(server.fetch(&by("/page", "ada")).text(), format!("{comment}own"));
    assert_eq!(origin.calls(), ["GET /page", "GET /page?part=a"]);
}

#[test]
fn page_without_the_field_is_text() {
    let (server, _origin) = start("", |call| call.answer("Content-Type: text/html", page()));
    assert_eq!(server.get("/page").text(), page());
    let (server, _origin) = start("location = /page { esi off; fastcgi_pass @ORIGIN@; }", |call| {
        call.answer("Content-Type: text/html\r\nSurrogate-Control: content=\"ESI/1.0\"", page());
    });
    assert_eq!(server.get("/page").text(), page());
}

#[test]
fn include_of_another_host_makes_the_page_none_for_known_visitors() {
    let (server, _origin) = start("", |call| match call.param("HTTP_COOKIE").to_owned() {
        cookie if cookie.is_empty() => {
            let foreign = include("a", "inside").replace("/page", "http://evil.test/page");
            call.answer(KNOWN, format!("1{foreign}2"));
        }
        cookie => call.answer("Content-Type: text/html", cookie),
    });
    assert_eq!(server.get("/page").text(), "1inside2");
    assert_eq!(server.fetch(&by("/page", "ada")).text(), session("ada"));
    server.log_has("have no path on this host");
}

#[test]
fn page_from_disk_and_after_a_reload_has_its_holes() {
    let (mut server, origin) = start("", application);
    server.get("/page");
    wait_for("the page on disk", || {
        let walk =
            |folder: std::path::PathBuf| std::fs::read_dir(folder).into_iter().flatten().flatten().count();
        walk(server.path("cache")) > 1
    });
    server.restart(myriad_tests::Signal::QUIT);
    let answer = server.fetch(&by("/page", "ada"));
    assert_eq!((answer.cache(), answer.text()), ("HIT", own("ada")));
    assert_eq!(origin.count(), 2);
}

#[test]
fn stale_page_stands_in_for_known_visitors_too() {
    let failing = Arc::new(AtomicBool::new(false));
    let fails = Arc::clone(&failing);
    let (server, _origin) = start("fastcgi_cache_use_stale http_500;", move |call| {
        if !call.param("QUERY_STRING").is_empty() {
            application(call);
        } else if fails.load(Ordering::SeqCst) {
            call.answer("Status: 500", "failed");
        } else {
            call.answer(&format!("{KNOWN}\r\nX-Accel-Expires: 1"), page());
        }
    });
    server.get("/page");
    failing.store(true, Ordering::SeqCst);
    wait_for("the page to be stale", || server.get("/page").cache() == "STALE");
    let answer = server.fetch(&by("/page", "ada"));
    assert_eq!((answer.cache(), answer.text()), ("STALE", own("ada")));
}
