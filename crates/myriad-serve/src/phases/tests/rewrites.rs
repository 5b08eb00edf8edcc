use crate::testing::TestSite;
use crate::testing::send_request;

#[test]
fn rules_of_the_server_run_before_a_location_is_sought() {
    let site = TestSite::new(
        "",
        "rewrite ^/old(.*)$ /new$1; location /new { return 200 $uri?$args; } location / { return 200 other; }",
    );
    assert_eq!(send_request(&site, "GET /old/page?a=b", &[]).text, "/new/page?a=b");
    assert_eq!(send_request(&site, "GET /elder", &[]).text, "other");
}

#[test]
fn break_stays_in_the_location_and_last_seeks_another() {
    let site = TestSite::new(
        "",
        "root /nowhere;
         location /stay { rewrite ^/stay(.*)$ /go$1 break; }
         location /leave { rewrite ^/leave(.*)$ /go$1 last; }
         location /go { return 200 gone; }",
    );
    let stayed = send_request(&site, "GET /stay/x", &[]);
    assert_eq!((stayed.status, stayed.uri().as_str()), (404, "/go/x"));
    assert!(stayed.exchange.request.route.form.off_location);
    assert_eq!(send_request(&site, "GET /leave/x", &[]).text, "gone");
}

#[test]
fn return_of_text_has_the_type_of_the_uri() {
    let site = TestSite::new(
        "",
        "default_type text/x-own; types { text/css css; } location / { return 200 $arg_t; }",
    );
    let typed = |target: &str| {
        let site = crate::phases::begin(&mut site.received_request(
            myriad_http::HttpVersion::Http11,
            ("GET", target),
            &[],
        ));
        let crate::phases::PhaseDecision::Ready(answer) = site else { panic!("the decision is pending") };
        String::from_utf8(answer.media_type.expect("a type").into_owned()).expect("text")
    };
    assert_eq!(typed("/a.css?t=x"), "text/css");
    assert_eq!(typed("/a?t=x"), "text/x-own");
}

#[test]
fn return_without_text_is_an_error_page_a_redirect_or_nothing() {
    let site = TestSite::new(
        "",
        "location /403 { return 403; } location /204 { return 204; } location /444 { return 444; }
         location /path { return 301 /else?a; } location /url { return http://b.test/; }
         location /200 { return 200; }",
    );
    assert!(send_request(&site, "GET /403", &[]).text.contains("403 Forbidden"));
    let empty = send_request(&site, "GET /204", &[]);
    assert_eq!((empty.status, empty.text.as_str()), (204, ""));
    assert!(send_request(&site, "GET /444", &[]).dropped);
    let path = send_request(&site, "GET /path", &[("Host", "a.test")]);
    assert_eq!((path.status, path.location()), (301, Some("http://a.test:8080/else?a")));
    let url = send_request(&site, "GET /url", &[]);
    assert_eq!((url.status, url.location()), (302, Some("http://b.test/")));
    let plain = send_request(&site, "GET /200", &[]);
    assert_eq!((plain.status, plain.text.as_str()), (200, ""));
}

#[test]
fn rewrite_to_another_site_is_a_redirect_with_the_arguments() {
    let site = TestSite::new(
        "",
        "location /a { rewrite ^/a(.*)$ http://b.test$1 permanent; }
         location /c { rewrite ^/c(.*)$ /d$1 redirect; }
         location /e { rewrite ^/e(.*)$ http://b.test$1? redirect; }",
    );
    let redirect_of = |target: &str| {
        let reached = send_request(&site, &format!("GET {target}"), &[("Host", "a.test")]);
        (reached.status, reached.location().map(str::to_owned))
    };
    assert_eq!(redirect_of("/a/x?y=z"), (301, Some("http://b.test/x?y=z".to_owned())));
    assert_eq!(redirect_of("/c/x?y=z"), (302, Some("http://a.test:8080/d/x?y=z".to_owned())));
    assert_eq!(redirect_of("/e/x?y=z"), (302, Some("http://b.test/x".to_owned())));
}

#[test]
fn condition_takes_the_request_to_a_place_of_its_own() {
    let site = TestSite::new(
        "",
        "location / {
             error_page 404 /plain;
             if ($arg_a) { error_page 404 =200 /own; }
             root /nowhere;
         }
         location = /plain { return 200 plain; }
         location = /own { return 200 own; }",
    );
    let plain = send_request(&site, "GET /x", &[]);
    assert_eq!((plain.status, plain.text.as_str()), (404, "plain"));
    let own = send_request(&site, "GET /x?a=1", &[]);
    assert_eq!((own.status, own.text.as_str()), (200, "own"));
}

#[test]
fn page_of_an_error_is_fetched_by_get_under_the_status_that_is_written() {
    let site = TestSite::new(
        "",
        "error_page 403 /keep; error_page 410 =200 /fixed; error_page 409 = /own; error_page 402 http://b.test/pay;
         location /forbidden { return 403; } location /gone { return 410; } location /conflict { return 409; }
         location /pay { return 402; }
         location = /keep { limit_except GET { deny all; } return 200 keep; }
         location = /fixed { return 201 fixed; }
         location = /own { return 202 own; }",
    );
    let answer_of = |line: &str| {
        let reached = send_request(&site, line, &[]);
        (reached.status, reached.text)
    };
    assert_eq!(answer_of("DELETE /forbidden"), (403, "keep".to_owned()));
    assert_eq!(answer_of("GET /gone"), (200, "fixed".to_owned()));
    assert_eq!(answer_of("GET /conflict"), (202, "own".to_owned()));
    let pay = send_request(&site, "GET /pay", &[]);
    assert_eq!((pay.status, pay.location()), (302, Some("http://b.test/pay")));
}

#[test]
fn error_of_an_error_page_has_a_page_where_pages_are_recursive() {
    let rules = "error_page 403 /first; error_page 404 /second;
         location /x { return 403; } location = /first { return 404; } location = /second { return 200 second; }";
    let once = send_request(&TestSite::new("", rules), "GET /x", &[]);
    assert!(once.status == 404 && once.text.contains("404 Not Found"), "{}", once.text);
    let again =
        send_request(&TestSite::new("", &format!("recursive_error_pages on; {rules}")), "GET /x", &[]);
    assert_eq!((again.status, again.text.as_str()), (404, "second"));
}
