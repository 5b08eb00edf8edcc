use crate::testing::TestSite;
use crate::testing::send_request;
use myriad_script::locations::LocationMatch;

#[test]
fn exact_then_firm_prefix_then_regex_then_prefix() {
    let site = TestSite::new(
        "",
        "location / { return 200 root; }
         location = /a { return 200 exact; }
         location /a { return 200 prefix; }
         location ^~ /a/firm { return 200 firm; }
         location ~ ^/a.*\\.php$ { return 200 regex; }
         location ~* \\.JPG$ { return 200 caseless; }",
    );
    for (target, location) in [
        ("/", "root"),
        ("/a", "exact"),
        ("/ab", "prefix"),
        ("/a/x.php", "regex"),
        ("/a/firm/x.php", "firm"),
        ("/x.jpg", "caseless"),
        ("/b", "root"),
    ] {
        assert_eq!(send_request(&site, &format!("GET {target}"), &[]).text, location, "{target}");
    }
}

#[test]
fn location_of_a_uri_is_remembered_for_the_next_visitor() {
    let site = TestSite::new("", "location /a { return 200 $arg_x; }");
    let first = send_request(&site, "GET /a/b?x=1", &[]);
    let found = first.exchange.request.site.memo.route(first.exchange.request.route.server, b"/a/b");
    assert_eq!(found, Some(LocationMatch::Place(first.exchange.request.route.place)));
    assert_eq!(send_request(&site, "GET /a/b?x=2", &[]).text, "2");
}

#[test]
fn internal_location_is_reached_from_within_only() {
    let site = TestSite::new(
        "",
        "location /inside { internal; return 200 inside; }
         location /led { rewrite ^ /inside; }
         location /missing { error_page 404 /inside; return 404; }",
    );
    assert_eq!(send_request(&site, "GET /inside", &[]).status, 404);
    assert_eq!(send_request(&site, "GET /led", &[]).text, "inside");
    let missing = send_request(&site, "GET /missing", &[]);
    assert_eq!((missing.status, missing.text.as_str()), (404, "inside"));
}

#[test]
fn limit_except_denies_other_methods_before_location_rules() {
    let site = TestSite::new("", "location / { limit_except GET POST { deny all; } return 200 reached; }");
    for (line, status) in
        [("GET /", 200), ("HEAD /", 200), ("POST /", 200), ("PUT /", 403), ("DELETE /", 403)]
    {
        assert_eq!(send_request(&site, line, &[]).status, status, "{line}");
    }
}

#[test]
fn location_of_an_origin_leads_to_its_slash() {
    let site = TestSite::new("", "location /dir/ { proxy_pass http://127.0.0.1:1; }");
    let reached = send_request(&site, "GET /dir?a=b", &[("Host", "a.test")]);
    assert_eq!((reached.status, reached.location()), (301, Some("http://a.test:8080/dir/?a=b")));
}

#[test]
fn rewrites_without_an_end_are_a_failure() {
    let site = TestSite::new("", "location / { rewrite ^/(.*)$ /x$1; }");
    let reached = send_request(&site, "GET /", &[]);
    assert_eq!((reached.status, reached.close), (500, true));
    assert_eq!(reached.uri(), format!("/{}", "x".repeat(11)), "ten rewrite cycles are executed");
}

#[test]
fn redirects_within_that_have_no_end_are_a_failure_without_a_page() {
    let site =
        TestSite::new("", "error_page 500 /sorry; location / { root /nowhere; try_files /none /x$uri; }");
    let reached = send_request(&site, "GET /", &[]);
    assert_eq!((reached.status, reached.exchange.request.route.redirects), (500, 11));
    assert!(reached.text.contains("500 Internal Server Error"), "{}", reached.text);
}

#[test]
fn named_location_retains_uri() {
    let site = TestSite::new(
        "",
        "location / { root /nowhere; try_files $uri @app; }
         location @app { rewrite ^/a$ /b break; return 200 $uri; }
         location /other { error_page 410 = @gone; return 410; }
         location @gone { return 200 gone:$uri; }",
    );
    assert_eq!(send_request(&site, "GET /x", &[]).text, "/x");
    let gone = send_request(&site, "GET /other", &[]);
    assert_eq!((gone.status, gone.text.as_str()), (200, "gone:/other"));
}

#[test]
fn named_location_that_is_not_there_is_a_failure() {
    let site = TestSite::new("", "location / { root /nowhere; try_files $uri @none; }");
    assert_eq!(send_request(&site, "GET /x", &[]).status, 500);
}
