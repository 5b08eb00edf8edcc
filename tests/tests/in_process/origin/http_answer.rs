//! Tests of response fields rewritten for a client.

use super::support::{OriginTrial, text};

/// Returns the field lines of the response in the location `/out/` for a response of an origin at `/in/`.
fn lines(rules: &str, target: &str, fields: &[(&str, &str)]) -> String {
    let server = format!(
        "absolute_redirect off; location /out/ {{ proxy_pass http://127.0.0.1:81/in/; {rules} }} \
         location /whole/ {{ proxy_pass http://127.0.0.1:81; {rules} }}"
    );
    OriginTrial::of(&server, &format!("GET {target}"), &[]).lines(fields)
}

fn location(rules: &str, value: &str) -> String {
    let lines = lines(rules, "/out/", &[("Location", value)]);
    lines.strip_prefix("Location: ").and_then(|line| line.strip_suffix("\r\n")).expect("one line").to_owned()
}

fn cookie(rules: &str, value: &str) -> String {
    let lines = lines(rules, "/out/", &[("Set-Cookie", value)]);
    lines
        .strip_prefix("Set-Cookie: ")
        .and_then(|line| line.strip_suffix("\r\n"))
        .expect("one line")
        .to_owned()
}

#[test]
fn redirect_of_the_origin_itself_leads_to_the_location() {
    assert_eq!(location("", "http://127.0.0.1:81/in/x?y"), "/out/x?y");
    for elsewhere in [
        "http://127.0.0.1:81/inner/",
        "http://127.0.0.1:81/in",
        "https://127.0.0.1:81/in/",
        "http://127.0.0.1:8/in/",
        "http://a.test/?http://127.0.0.1:81/in/",
        "/in/x",
        "x",
        "",
    ] {
        assert_eq!(location("", elsewhere), elsewhere);
    }
}

#[test]
fn redirect_to_a_host_or_port_that_only_begins_alike_stays() {
    let led = |value: &str| lines("", "/whole/", &[("Location", value)]);
    assert_eq!(led("http://127.0.0.1:81/x"), "Location: /x\r\n");
    assert_eq!(led("http://127.0.0.1:8181/x"), "Location: http://127.0.0.1:8181/x\r\n");
    assert_eq!(led("http://127.0.0.1:81.evil.test/"), "Location: http://127.0.0.1:81.evil.test/\r\n");
}

#[test]
fn first_redirect_rule_that_fits_is_the_only_one() {
    let rules = "proxy_redirect http://a.test/one/ /1/; proxy_redirect ~^http://a\\.test/(?<rest>.*)$ /2/$rest; \
                 proxy_redirect http://a.test/ /3/; proxy_redirect / /4/;";
    assert_eq!(location(rules, "http://a.test/one/x"), "/1/x");
    assert_eq!(location(rules, "http://a.test/two/x"), "/2/two/x");
    assert_eq!(location(rules, "http://A.test/one/x"), "http://A.test/one/x");
    assert_eq!(location("proxy_redirect ~*^http://a\\.test/ /4/;", "HTTP://A.TEST/one/x"), "/4/");
    assert_eq!(location(rules, "/x"), "/4/x");
}

#[test]
fn path_that_a_rule_made_becomes_an_url_and_the_origins_own_does_not() {
    let rules = "absolute_redirect on; proxy_redirect http://a.test/ /; proxy_redirect http://b.test/ https://c.test/;";
    assert_eq!(location(rules, "http://a.test/x"), "http://visited.test:8080/x");
    assert_eq!(location(rules, "http://b.test/x"), "https://c.test/x");
    assert_eq!(location(rules, "/x"), "/x");
}

#[test]
fn refresh_is_rewritten_only_in_its_url() {
    let refresh = |value: &str| lines("", "/out/", &[("refresh", value)]);
    assert_eq!(refresh("3; URL=http://127.0.0.1:81/in/x"), "refresh: 3; URL=/out/x\r\n");
    assert_eq!(refresh("3"), "refresh: 3\r\n");
    assert_eq!(refresh("http://127.0.0.1:81/in/"), "refresh: http://127.0.0.1:81/in/\r\n");
}

#[test]
fn rewritten_values_stay_on_their_lines() {
    let rules = "proxy_redirect http://a.test/ $uri; proxy_cookie_path /in/ $uri;";
    let fields = [("Location", "http://a.test/x"), ("Set-Cookie", "a=b; path=/in/"), ("X-Kept", "1")];
    let lines = lines(rules, "/out/%0d%0aX-Evil:%201%0d%0a", &fields);
    let expected = "Location: /out/X-Evil: 1x\r\nSet-Cookie: a=b; path=/out/X-Evil: 1\r\nX-Kept: 1\r\n";
    assert_eq!(lines, expected);
}

#[test]
fn domain_of_a_cookie_is_changed_where_it_is_that_domain_and_no_other() {
    let rules = "proxy_cookie_domain app.local visited.test; proxy_cookie_domain ~\\.(?<zone>[a-z]+)\\.corp$ $zone.test;";
    for (from, to) in [
        ("app.local", "visited.test"),
        (".APP.local", ".visited.test"),
        ("x.app.local", "x.app.local"),
        ("evilapp.local", "evilapp.local"),
        ("app.local.test", "app.local.test"),
        ("a.shop.CORP", "shop.test"),
    ] {
        assert_eq!(cookie(rules, &format!("a=b; Domain={from}")), format!("a=b; Domain={to}"));
    }
    // As in nginx's manual: a leading dot in the configured domain is ignored.
    assert_eq!(
        cookie("proxy_cookie_domain .app.local .b.test;", "a=b; domain=app.local"),
        "a=b; domain=b.test"
    );
}

#[test]
fn path_of_a_cookie_is_changed_from_its_start() {
    let rules = "proxy_cookie_path /in/ /out/; proxy_cookie_path ~*^/App(.*)$ /b$1; proxy_cookie_path / /c/;";
    for (from, to) in
        [("/in/x", "/out/x"), ("/in", "/c/in"), ("/x/in/", "/c/x/in/"), ("/aPP/y", "/b/y"), ("in/", "in/")]
    {
        assert_eq!(
            cookie(rules, &format!("a=b; path={from}; HttpOnly")),
            format!("a=b; path={to}; HttpOnly")
        );
    }
}

#[test]
fn cookie_called_like_an_attribute_is_a_cookie() {
    let rules =
        "proxy_cookie_path / /out/; proxy_cookie_domain a b; proxy_cookie_flags secure secure httponly;";
    assert_eq!(cookie(rules, "Path=/; Path=/"), "Path=/; Path=/out/");
    assert_eq!(cookie(rules, "domain=a"), "domain=a");
    assert_eq!(cookie(rules, "secure=1"), "secure=1; Secure; HttpOnly");
}

#[test]
fn what_is_no_cookie_or_fits_no_rule_goes_on_as_it_came() {
    let rules = "proxy_cookie_path /in/ /out/; proxy_cookie_flags a secure;";
    for value in ["flag; path=/in/", "b = c;Path=/;  Max-Age = 1", "b=\"x; y\"", "; path=/in/", ""] {
        assert_eq!(cookie(rules, value), value);
    }
    assert_eq!(cookie(rules, "x=a=b==; path=/in/"), "x=a=b==; path=/out/", "a value may hold equals signs");
}

#[test]
fn flags_are_those_of_the_first_rule_for_the_cookie() {
    let rules = "proxy_cookie_flags ~^sess httponly samesite=strict; proxy_cookie_flags Other $arg_none nosecure; \
                 proxy_cookie_flags ~ secure;";
    assert_eq!(cookie(rules, "SESSION=1; Secure"), "SESSION=1; Secure; HttpOnly; SameSite=Strict");
    assert_eq!(cookie(rules, "other=1; secure"), "other=1");
    assert_eq!(cookie(rules, "third=1"), "third=1; Secure");
}

#[test]
fn fields_that_only_look_alike_are_not_rewritten() {
    let rules = "proxy_redirect http://a.test/ /; proxy_cookie_path / /out/;";
    let fields = [
        ("Content-Location", "http://a.test/x"),
        ("X-Location", "http://a.test/x"),
        ("Set-Cookie2", "a=b; path=/"),
        ("LOCATION", "http://a.test/x"),
    ];
    let expected = "Content-Location: http://a.test/x\r\nX-Location: http://a.test/x\r\nSet-Cookie2: a=b; path=/\r\nLOCATION: /x\r\n";
    assert_eq!(lines(rules, "/out/", &fields), expected);
}

#[test]
fn nothing_is_rewritten_where_that_is_off_or_the_protocol_is_another() {
    let location = [("Location", "http://127.0.0.1:81/in/x")];
    assert_eq!(lines("proxy_redirect off;", "/out/", &location), "Location: http://127.0.0.1:81/in/x\r\n");
    let php = "location / { fastcgi_pass 127.0.0.1:81; proxy_redirect http://127.0.0.1:81/ /; }";
    let answer = OriginTrial::of(php, "GET /", &[]).client_response(302, &location);
    assert_eq!(text(&answer.lines), "Location: http://127.0.0.1:81/in/x\r\n");
}
