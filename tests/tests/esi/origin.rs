//! Origin requests for a page for known visitors, and the responses that are permitted.

use std::io::Write;

use myriad_tests::Request;

use super::{KNOWN, by, include, is_clean, session, start};

#[test]
fn origin_of_shared_page_sees_nothing_of_known_visitor_that_triggered_fetch() {
    let rules = "fastcgi_param MARK $who;";
    let http = "map $http_cookie $who { default nobody; ~logged_in somebody; }";
    let origin = myriad_tests::Origin::start(|call| {
        let heard = format!("{} {}", call.param("MARK"), call.param("HTTP_COOKIE"));
        if call.param("QUERY_STRING").is_empty() {
            call.answer(KNOWN, format!("({heard}){}", include("a", "")));
        } else {
            call.answer(super::PARTS, format!("a {}\n{heard}\n", heard.len()));
        }
    });
    let server = format!("{} {rules}", super::RULES);
    let server = myriad_tests::Cached { http, server: &server, ..myriad_tests::Cached::default() }
        .start_before(myriad_tests::Place::new(), &origin.address);
    let answer = server.fetch(&by("/page", "ada"));
    assert_eq!(answer.text(), format!("(nobody )somebody {}", session("ada")));
}

#[test]
fn cookies_set_on_anonymous_fetch_reach_no_known_visitor() {
    let (server, _origin) =
        start("fastcgi_ignore_headers Set-Cookie;", |call| match call.param("QUERY_STRING") {
            "" => call.answer(&format!("{KNOWN}\r\nSet-Cookie: language=en"), "page"),
            _ => call.answer(super::PARTS, ""),
        });
    let answer = server.fetch(&by("/page", "ada"));
    assert_eq!((answer.text().as_str(), answer.field("Set-Cookie")), ("page", None));
}

#[test]
fn packed_page_is_cut_too() {
    let (server, _origin) = start("", |call| {
        let page = format!("1{}2", include("a", "inside"));
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        packed.write_all(page.as_bytes()).expect("gzip");
        let known = if call.uri() == "/passed" {
            format!("{KNOWN}\r\nCache-Control: no-store")
        } else {
            KNOWN.to_owned()
        };
        call.answer(&format!("{known}\r\nContent-Encoding: gzip"), packed.finish().expect("gzip"));
    });
    for target in ["/stored", "/passed", "/stored"] {
        let answer = server.fetch(&Request::get(target).accepting("gzip"));
        assert_eq!(answer.text(), "1inside2", "{target}");
        is_clean(&answer);
    }
}

#[test]
fn answer_for_one_visitor_that_has_markup_loses_it() {
    let (server, _origin) = start("", |call| {
        let text = format!("1{}2", include("a", &format!("for [{}]", call.param("HTTP_COOKIE"))));
        call.answer(&format!("{KNOWN}\r\nCache-Control: no-store"), text);
    });
    let answer = server.get("/page");
    assert_eq!(answer.text(), "1for []2");
    is_clean(&answer);
    let answer = server.fetch(&by("/page", "ada"));
    assert_eq!(answer.text(), format!("1for [{}]2", session("ada")));
    is_clean(&answer);
}
