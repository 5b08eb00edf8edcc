//! HTTP semantics independent of the transport: the same assertions over HTTP/1.1, HTTP/2 and HTTP/3, with and without
//! TLS.

use std::sync::Arc;

use myriad_tests::{Gate, HttpCall, HttpOrigin, Origin, Place, Reached, Request, Transport, wait_for};

/// Creates a test of each case for every transport.
macro_rules! over_each {
    ($($case:ident)*) => {
        $(mod $case {
            use myriad_tests::Transport;

            #[test]
            fn over_http1() {
                super::$case(Transport::Http1);
            }

            #[test]
            fn over_http1_and_tls() {
                super::$case(Transport::Http1Tls);
            }

            #[test]
            fn over_http2_in_the_clear() {
                super::$case(Transport::Http2Plain);
            }

            #[test]
            fn over_http2_and_tls() {
                super::$case(Transport::Http2);
            }

            #[test]
            fn over_http3() {
                super::$case(Transport::Http3);
            }
        })*
    };
}

over_each! {
    rules_choose_what_is_served
    files_answer_conditions_and_ranges
    bodies_arrive_whole_in_both_directions
    uploads_are_bounded
    pages_are_cached_encoded_and_purged
    visitors_with_cookies_of_their_own_share_nothing
    fields_may_follow_the_body
    errors_have_their_pages
    answers_that_break_off_never_look_whole
    a_rate_that_holds_back_leaves_bodies_whole
    pages_are_put_together_of_parts
    a_head_for_a_page_that_is_still_arriving_says_no_length
    a_host_in_any_spelling_is_one_host_to_everybody
}

/// curl 7.88 cannot reuse a connection with prior knowledge.
mod requests_share_a_connection_and_are_logged_one_by_one {
    use super::{Transport, requests_share_a_connection};

    #[test]
    fn over_http1() {
        requests_share_a_connection(Transport::Http1);
    }

    #[test]
    fn over_http1_and_tls() {
        requests_share_a_connection(Transport::Http1Tls);
    }

    #[test]
    fn over_http2_and_tls() {
        requests_share_a_connection(Transport::Http2);
    }

    #[test]
    fn over_http3() {
        requests_share_a_connection(Transport::Http3);
    }
}

/// Starts a server with these directives and files.
fn site(transport: Transport, directives: &str, files: &[(&str, &[u8])]) -> Reached {
    let place = Place::new();
    for (name, content) in files {
        place.write(&format!("html/{name}"), content);
    }
    Reached::start(transport, place, &format!("server {{ @LISTEN@ root @DIR@/html; {directives} }}"))
}

/// Starts a server in front of an HTTP origin, whose address replaces `@ORIGIN@`.
fn before(transport: Transport, origin: &HttpOrigin, http: &str, directives: &str) -> Reached {
    let mut place = Place::new();
    place.set("ORIGIN", &origin.address);
    Reached::start(transport, place, &format!("{http} server {{ @LISTEN@ root @DIR@/html; {directives} }}"))
}

/// Returns bytes that neither repeat nor compress well.
fn noise(length: u32) -> Vec<u8> {
    (0..length).map(|index| (index.wrapping_mul(2_654_435_761) >> 13) as u8).collect()
}

fn rules_choose_what_is_served(transport: Transport) {
    let place = Place::new();
    let http = "server { @LISTEN@ server_name one.test; root @DIR@/html; add_header X-Rule $uri;
          location = / { return 200 '$scheme $server_protocol $host $request_method $args'; }
          location /old/ { rewrite ^/old/(.*)$ /new/$1 last; }
          location /new/ { return 200 $request_uri; }
          location /moved { return 301 /there; }
          location /empty { return 204; }
          location /agent { if ($http_user_agent ~ bot) { return 403; } return 200 $http_x_own; } }
        server { @LISTEN@ server_name two.test; return 200 two; }";
    let reached = Reached::start(transport, place, http);
    let expected = format!("{} {} one.test GET a=1&b=2", transport.scheme(), transport.protocol());
    let answer = reached.fetch(&Request::get("/?a=1&b=2").host("one.test"));
    assert_eq!((answer.text(), answer.field("X-Rule")), (expected, Some("/")));
    assert_eq!(reached.fetch(&Request::get("/").host("TWO.test:80")).text(), "two");
    let rewritten = reached.get("/old/a%20b");
    assert_eq!((rewritten.text(), rewritten.field("X-Rule")), ("/old/a%20b".into(), Some("/new/a b")));
    let moved = reached.get("/moved");
    let location = format!("{}://localhost:{}/there", transport.scheme(), reached.server.port);
    assert_eq!((moved.status, moved.field("Location")), (301, Some(location.as_str())));
    let empty = reached.get("/empty");
    assert_eq!((empty.status, empty.body.len(), empty.field("Content-Length")), (204, 0, None));
    let own = Request::get("/agent").field("X-Own", "a, \"b\"; c").field("User-Agent", "reader");
    assert_eq!(reached.fetch(&own).text(), "a, \"b\"; c");
    assert_eq!(reached.fetch(&own.field("User-Agent", "a bot")).status, 403);
    let head = reached.fetch(&Request::head("/old/x"));
    assert_eq!((head.status, head.field("Content-Length"), head.body.len()), (200, Some("6"), 0));
}

fn files_answer_conditions_and_ranges(transport: Transport) {
    let large = noise(3_000_000);
    let reached = site(
        transport,
        "gzip on; gzip_types text/plain; types { text/plain txt; }",
        &[("a.txt", b"0123456789"), ("large", &large)],
    );
    let whole = reached.get("/a.txt");
    let tag = whole.field("ETag").expect("a tag").to_owned();
    let modified = whole.field("Last-Modified").expect("a date").to_owned();
    assert_eq!((whole.status, whole.text().as_str()), (200, "0123456789"));
    assert_eq!(whole.field("Accept-Ranges"), Some("bytes"));
    for (name, value) in [("If-None-Match", &tag), ("If-Modified-Since", &modified)] {
        let answer = reached.fetch(&Request::get("/a.txt").field(name, value));
        assert_eq!(
            (answer.status, answer.body.len(), answer.field("ETag")),
            (304, 0, Some(tag.as_str())),
            "{name}"
        );
    }
    assert_eq!(reached.fetch(&Request::get("/a.txt").field("If-Match", "\"x\"")).status, 412);
    let range = |target: &str, range: &str| reached.fetch(&Request::get(target).field("Range", range));
    let part = range("/a.txt", "bytes=2-4");
    assert_eq!(
        (part.status, part.body.as_slice(), part.field("Content-Range")),
        (206, &b"234"[..], Some("bytes 2-4/10"))
    );
    assert_eq!(range("/a.txt", "bytes=-3").body, b"789");
    let beyond = range("/a.txt", "bytes=10-");
    assert_eq!((beyond.status, beyond.field("Content-Range")), (416, Some("bytes */10")));
    let parts = range("/a.txt", "bytes=0-0,9-9");
    assert!(
        parts.field("Content-Type").is_some_and(|media| media.starts_with("multipart/byteranges; boundary="))
    );
    assert_eq!(parts.text().matches("Content-Range: bytes ").count(), 2);
    assert!(range("/large", "bytes=1000000-2999998").body == large[1_000_000..2_999_999]);
    assert!(reached.get("/large").body == large);
    let other = Request::get("/a.txt").field("Range", "bytes=2-4").field("If-Range", "\"other\"");
    assert_eq!(reached.fetch(&other).status, 200);
    assert_eq!(
        (reached.get("/none").status, reached.fetch(&Request::post("/a.txt", "x")).status),
        (404, 405)
    );
}

fn bodies_arrive_whole_in_both_directions(transport: Transport) {
    let origin = HttpOrigin::start(|call| {
        let body = call.body.clone();
        let head = format!("HTTP/1.1 200 OK\nX-Method: {}\nX-Length: {}", call.method, body.len());
        match call.target.as_str() {
            "/chunked" => call.answer(&format!("{head}\nTransfer-Encoding: chunked"), body),
            "/close" => call.answer(&format!("{head}\nConnection: close"), body),
            _ => call.answer(&head, body),
        }
    });
    let reached = before(
        transport,
        &origin,
        "proxy_http_version 1.1; client_max_body_size 0;",
        "location / { proxy_pass http://@ORIGIN@; }
         location /direct { proxy_pass http://@ORIGIN@; proxy_request_buffering off; proxy_buffering off; }",
    );
    for length in [0, 1, 70_000, 3_000_000] {
        let body = noise(length);
        for target in ["/sized", "/chunked", "/close", "/direct"] {
            let answer = reached.fetch(&Request::post(target, body.clone()));
            let said = (answer.status, answer.field("X-Method"), answer.field("X-Length"));
            assert_eq!(said, (200, Some("POST"), Some(length.to_string().as_str())), "{target}");
            assert!(answer.body == body, "{target} {length}");
        }
    }
    let put = reached.fetch(&Request::post("/sized", "x").by("PUT"));
    assert_eq!((put.field("X-Method"), put.text().as_str()), (Some("PUT"), "x"));
}

fn uploads_are_bounded(transport: Transport) {
    let origin = HttpOrigin::start(|call| call.answer("HTTP/1.1 200 OK", "taken"));
    let reached = before(
        transport,
        &origin,
        "",
        "client_max_body_size 1000; error_page 413 /large.html; location = /large.html { return 413 'too large'; }
         location / { proxy_pass http://@ORIGIN@; } location /text { return 200 unread; }",
    );
    assert_eq!(reached.fetch(&Request::post("/", noise(1000))).text(), "taken");
    let large = reached.fetch(&Request::post("/", noise(1001)));
    assert_eq!((large.status, large.text().as_str()), (413, "too large"));
    assert_eq!(reached.fetch(&Request::post("/text", noise(900))).text(), "unread");
    assert_eq!(origin.count(), 1);
}

fn pages_are_cached_encoded_and_purged(transport: Transport) {
    let origin = Origin::start(|call| {
        let text = format!("page {} of {} ", call.number, call.uri()).repeat(400);
        call.answer("Content-Type: text/html\nX-Own: kept", text);
    });
    let mut place = Place::new();
    place.set("ORIGIN", &origin.address);
    let http = "fastcgi_cache_path @DIR@/cache keys_zone=pages:1m; gzip on; gzip_vary on;
        server { @LISTEN@ root @DIR@/html; @PARAMS@ fastcgi_cache pages; fastcgi_cache_key $request_uri;
          fastcgi_cache_valid 1h; fastcgi_cache_methods GET HEAD; add_header X-Cache $upstream_cache_status;
          location / { fastcgi_pass @ORIGIN@; fastcgi_cache_purge PURGE from 127.0.0.1; } }";
    let reached = Reached::start(transport, place, http);
    let first = reached.get("/a");
    assert_eq!((first.status, first.cache(), first.field("X-Own")), (200, "MISS", Some("kept")));
    let again = reached.get("/a");
    assert_eq!((again.cache(), again.text()), ("HIT", first.text()));
    wait_for("the page's encoding", || {
        reached.fetch(&Request::get("/a").accepting("gzip")).coding() == "gzip"
    });
    let packed = reached.fetch(&Request::get("/a").accepting("gzip"));
    assert_eq!(
        (packed.cache(), packed.field("Vary"), packed.text()),
        ("HIT", Some("Accept-Encoding"), first.text())
    );
    assert!(packed.body.len() < first.body.len() / 10);
    let head = reached.fetch(&Request::head("/a"));
    let length = first.body.len().to_string();
    assert_eq!(
        (head.cache(), head.field("Content-Length"), head.body.len()),
        ("HIT", Some(length.as_str()), 0)
    );
    let tag = again.field("ETag").expect("a tag of the stored page");
    assert_eq!(reached.fetch(&Request::get("/a").field("If-None-Match", tag)).status, 304);
    assert_eq!(reached.fetch(&Request::get("/a").field("Range", "bytes=0-3")).body, b"page");
    assert_eq!(origin.count(), 1);
    assert_eq!(reached.fetch(&Request::new("PURGE", "/a")).status, 200);
    assert_eq!((reached.get("/a").cache().to_owned(), origin.count()), ("MISS".to_owned(), 2));
}

fn visitors_with_cookies_of_their_own_share_nothing(transport: Transport) {
    let origin = Origin::start(|call| {
        let text = format!("hello [{}] {}", call.param("HTTP_COOKIE"), call.number);
        let set = if call.uri() == "/login" { "\nSet-Cookie: session=1; Path=/" } else { "" };
        call.answer(&format!("Content-Type: text/plain{set}"), text);
    });
    let mut place = Place::new();
    place.set("ORIGIN", &origin.address);
    let http = "fastcgi_cache_path @DIR@/cache keys_zone=pages:1m;
        server { @LISTEN@ root @DIR@/html; @PARAMS@ fastcgi_cache pages; fastcgi_cache_key $request_uri;
          fastcgi_cache_valid 1h; add_header X-Cache $upstream_cache_status; fastcgi_param HTTP_COOKIE $http_cookie;
          location / { fastcgi_pass @ORIGIN@; } }";
    let reached = Reached::start(transport, place, http);
    let cookie = "theme=dark; wordpress_logged_in_0123=ada";
    let own = reached.fetch(&Request::get("/").field("Cookie", cookie));
    assert!(own.text().contains(&format!("[{cookie}]")), "{}", own.text());
    let stranger = reached.get("/");
    assert!(stranger.text().starts_with("hello []"), "{}", stranger.text());
    assert_eq!(reached.get("/").cache(), "HIT");
    assert!(reached.fetch(&Request::get("/").field("Cookie", cookie)).text().contains("ada"));
    for _ in 0..2 {
        let login = reached.get("/login");
        assert_eq!((login.field("Set-Cookie"), login.cache()), (Some("session=1; Path=/"), "MISS"));
    }
}

fn fields_may_follow_the_body(transport: Transport) {
    let origin = HttpOrigin::start(|call| {
        call.send(
            "HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\n\r\n\
             HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sum\r\n\r\n4\r\nbody\r\n0\r\nX-Sum: 7\r\n\r\n",
        );
    });
    let reached = before(
        transport,
        &origin,
        "proxy_http_version 1.1;",
        "add_trailer X-Sent $body_bytes_sent; location / { return 200 12345; }
         location /origin { proxy_pass http://@ORIGIN@; proxy_pass_trailers on; early_hints 1; }",
    );
    let answer = reached.get("/");
    assert_eq!((answer.text().as_str(), answer.field("X-Sent").is_some()), ("12345", true));
    let passed = reached.get("/origin");
    assert_eq!((passed.status, passed.text().as_str(), passed.field("X-Sum")), (200, "body", Some("7")));
    assert_eq!(passed.field("Link"), None, "fields of an interim response are not in the final response");
}

fn errors_have_their_pages(transport: Transport) {
    let origin = HttpOrigin::start(HttpCall::hang_up);
    let reached = before(
        transport,
        &origin,
        "",
        "error_page 404 /none.html; error_page 502 =200 @stands_in;
         location = /none.html { return 404 'none here'; } location @stands_in { return 200 'instead of $uri'; }
         location / { deny all; } location /gone { return 410; } location /file { }
         location /broken { proxy_pass http://@ORIGIN@; }
         location /secret { auth_basic realm; auth_basic_user_file @DIR@/users; }",
    );
    reached.server.write("users", "ada:{PLAIN}lovelace\n");
    let gone = reached.get("/gone");
    assert_eq!((gone.status, gone.text().contains("410 Gone")), (410, true));
    assert_eq!((reached.get("/file").status, reached.get("/file").text()), (404, "none here".into()));
    assert_eq!(
        (reached.get("/broken").status, reached.get("/broken").text()),
        (200, "instead of /broken".into())
    );
    assert_eq!(reached.get("/").status, 403);
    let secret = reached.get("/secret");
    assert_eq!((secret.status, secret.field("WWW-Authenticate")), (401, Some("Basic realm=\"realm\"")));
    let known = Request::get("/secret").field("Authorization", "Basic YWRhOmxvdmVsYWNl");
    assert_eq!(reached.fetch(&known).status, 404);
}

fn answers_that_break_off_never_look_whole(transport: Transport) {
    let origin = HttpOrigin::start(|call| {
        let framing = if call.target == "/chunked" {
            "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"
        } else {
            "Content-Length: 10\r\n\r\nhello"
        };
        call.send(format!("HTTP/1.1 200 OK\r\n{framing}"));
        call.hang_up();
    });
    let reached = before(
        transport,
        &origin,
        "proxy_http_version 1.1;",
        "location / { proxy_pass http://@ORIGIN@; } location /silent { return 444; }",
    );
    for target in ["/chunked", "/sized", "/silent"] {
        assert!(reached.try_fetch(&Request::get(target)).is_err(), "{target}");
    }
}

fn requests_share_a_connection(transport: Transport) {
    let place = Place::new();
    place.write("html/a.txt", "a file");
    let http = "log_format own '$connection_requests $request_method $uri $status $server_protocol $request_completion';
        server { @LISTEN@ root @DIR@/html; access_log @DIR@/own.log own; keepalive_requests 3;
          location /n { return 200 $connection_requests; } }";
    let reached = Reached::start(transport, place, http);
    let requests = [Request::get("/n"), Request::get("/a.txt"), Request::get("/n")];
    let answers = reached.fetch_all(&requests);
    assert_eq!(answers.iter().map(myriad_tests::Answer::text).collect::<Vec<_>>(), ["1", "a file", "3"]);
    wait_for("the log", || reached.server.read("own.log").lines().count() == 3);
    let protocol = transport.protocol();
    let expected =
        format!("1 GET /n 200 {protocol} OK\n2 GET /a.txt 200 {protocol} OK\n3 GET /n 200 {protocol} OK\n");
    assert_eq!(reached.server.read("own.log"), expected);
}

fn a_rate_that_holds_back_leaves_bodies_whole(transport: Transport) {
    let body = noise(30_000);
    let reached = site(
        transport,
        "location /slow { alias @DIR@/html/a; limit_rate 20000; } location /fast { alias @DIR@/html/a; }",
        &[("a", &body)],
    );
    for target in ["/slow", "/fast"] {
        assert!(reached.get(target).body == body, "{target}");
    }
}

fn pages_are_put_together_of_parts(transport: Transport) {
    let page = "<!--#include virtual=\"/part?x=1\" --> and <!--#echo var=\"request_method\" --> with words";
    let reached = site(
        transport,
        "location /page.html { ssi on; sub_filter words 'many words'; } location /part { return 200 'part $args'; }",
        &[("page.html", page.as_bytes())],
    );
    assert_eq!(reached.get("/page.html").text(), "part x=1 and GET with many words");
}

const CACHED: &str = "proxy_cache_path @DIR@/cache keys_zone=pages:1m;";

fn a_head_for_a_page_that_is_still_arriving_says_no_length(transport: Transport) {
    let gate = Arc::new(Gate::new());
    let held = Arc::clone(&gate);
    let origin = HttpOrigin::start(move |call: &mut HttpCall| {
        call.send("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nTransfer-Encoding: chunked\r\n\r\n6\r\nhello \r\n");
        held.pass();
        call.send("5\r\nworld\r\n0\r\n\r\n");
    });
    let directives = "location / { proxy_pass http://@ORIGIN@; proxy_cache pages; proxy_cache_valid 1h; }";
    let reached = before(transport, &origin, CACHED, directives);
    let head = reached.fetch(&Request::head("/"));
    assert_eq!((head.status, head.field("Content-Length")), (200, None));
    gate.open();
    assert_eq!(reached.get("/").text(), "hello world");
    wait_for("the page is stored", || {
        reached.fetch(&Request::head("/")).field("Content-Length") == Some("11")
    });
    assert_eq!(origin.count(), 1);
}

fn a_host_in_any_spelling_is_one_host_to_everybody(transport: Transport) {
    let origin = HttpOrigin::start(|call: &mut HttpCall| {
        let text = format!("http://{}/", call.field("Host").unwrap_or_default());
        call.answer("HTTP/1.1 200 OK\nContent-Type: text/plain", text);
    });
    let directives = "location / { proxy_pass http://@ORIGIN@; proxy_set_header Host $http_host; \
                      proxy_cache pages; proxy_cache_key $host$request_uri; proxy_cache_valid 1h; }";
    let reached = before(transport, &origin, CACHED, directives);
    for host in ["LocalHost", "localhost.", "LOCALHOST", "localhost"] {
        let answer = reached.fetch(&Request::get("/").host(host));
        assert_eq!((answer.status, &answer.text()[..]), (200, "http://localhost/"), "{host}");
    }
    assert_eq!(origin.count(), 1);
    let ported = reached.fetch(&Request::get("/").host("LOCALHOST.:81"));
    assert_eq!(ported.text(), "http://localhost:81/");
}
