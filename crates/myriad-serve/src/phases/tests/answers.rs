use crate::testing::TestSite;
use crate::testing::send_request;
use myriad_exchange::responses::error_body::error_body;
use myriad_exchange::responses::redirect::{local_redirect, local_redirect_to, redirect};

#[test]
fn nginx_specific_codes_show_400_page_with_reason() {
    for (status, what) in
        [(494, "Header Or Cookie Too Large"), (495, "certificate error"), (497, "plain HTTP")]
    {
        let page = String::from_utf8(error_body(status, "m")).expect("text");
        assert!(page.contains("<h1>400 Bad Request</h1>") && page.contains(what), "{page}");
    }
    assert!(error_body(204, "m").is_empty() && error_body(599, "m").is_empty());
}

#[test]
fn redirect_address_follows_location_settings() {
    let led = |rules: &str, host: &str| {
        let site = TestSite::new("", &format!("server_name own.test; {rules} return 301 /x;"));
        send_request(&site, "GET /", &[("Host", host)]).location().map(str::to_owned)
    };
    assert_eq!(led("", "a.test").as_deref(), Some("http://a.test:8080/x"));
    assert_eq!(led("server_name_in_redirect on;", "a.test").as_deref(), Some("http://own.test:8080/x"));
    assert_eq!(led("port_in_redirect off;", "a.test").as_deref(), Some("http://a.test/x"));
    assert_eq!(led("absolute_redirect off;", "a.test").as_deref(), Some("/x"));
}

#[test]
fn address_of_a_redirect_holds_no_line_break() {
    let mut exchange = TestSite::new("", "absolute_redirect off;").exchange("/", &[]);
    let answer = redirect(&mut exchange.request, 302, b"/a\r\nSet-Cookie: x");
    assert_eq!(String::from_utf8_lossy(&answer.lines), "Location: /aSet-Cookie: x\r\n");
}

#[test]
fn slash_is_added_to_an_address_that_names_no_other_host() {
    let site = TestSite::new(
        "",
        "absolute_redirect off; merge_slashes off; location //b.test/ { proxy_pass http://127.0.0.1:1; }",
    );
    let reached = send_request(&site, "GET //b.test", &[]);
    assert_eq!((reached.status, reached.location()), (301, Some("/b.test/")));
}

#[test]
fn local_redirect_takes_arguments_after_question_mark() {
    let site = TestSite::new("", "");
    let mut exchange = site.exchange("/old?kept=1", &[]);
    exchange.request.route.form.escaped = true;
    local_redirect(&mut exchange.request, b"new?a?b");
    let route = &exchange.request.route;
    assert_eq!((&route.uri[..], &route.args[..]), (&b"/new"[..], &b"a?b"[..]));
    assert!(route.form.changed && !route.form.escaped);
    local_redirect_to(&mut exchange.request, b"/x?y", b"");
    let route = &exchange.request.route;
    assert_eq!((&route.uri[..], &route.args[..]), (&b"/x?y"[..], &b""[..]));
}

#[test]
fn msie_gets_refresh_page_for_redirect_and_padded_error() {
    let site = TestSite::new(
        "",
        "msie_refresh on; error_page 403 /none; location /a { return 302 /b; } location /c { return 404; }",
    );
    let msie = [("User-Agent", "Mozilla/4.0 (compatible; MSIE 6.0; Windows NT 5.1)")];
    let refreshed = send_request(&site, "GET /a", &msie);
    assert_eq!((refreshed.status, refreshed.location()), (200, None));
    assert!(refreshed.text.contains("URL=/b\""), "{}", refreshed.text);
    assert_eq!(send_request(&site, "GET /a", &[]).status, 302);
    assert!(send_request(&site, "GET /c", &msie).text.len() > 512);
    assert!(send_request(&site, "GET /c", &[]).text.len() < 512);
}

#[test]
fn error_that_leaves_the_framing_in_doubt_ends_the_connection() {
    let site = TestSite::new(
        "",
        "location ~ ^/(?<code>\\d+)$ { if ($code = 413) { return 413; } if ($code = 400) { return 400; } return 403; }",
    );
    for (target, close) in [("/413", true), ("/400", true), ("/403", false)] {
        assert_eq!(send_request(&site, &format!("GET {target}"), &[]).close, close, "{target}");
    }
}

#[test]
fn redirect_forgets_the_status_that_an_error_page_had_set() {
    let site = TestSite::new("", "");
    let mut exchange = site.exchange("/", &[]);
    exchange.request.errors.forced_status = Some(404);
    assert_eq!(redirect(&mut exchange.request, 302, b"/x").status, 302);
    assert_eq!(exchange.request.errors.forced_status, None);
}
