//! HTTP/1 for clients: connections, framing, limits, timeouts.
//!
//! covers: client_header_timeout

use myriad_tests::{Answer, Client, Origin, Place, Request, Server};

/// Page, and a slow echo of uploads.
const SITE: &str = r#"
    access_log @DIR@/access.log;
    @TIMES@
    keepalive_timeout 20s;
    client_header_buffer_size 1k;
    large_client_header_buffers 4 2k;
    client_max_body_size 100k;
    server {
        listen 127.0.0.1:@PORT@;
        root @DIR@/html;
        location / { add_header X-Method $request_method; return 200 "uri=$request_uri host=$host"; }
        location /files/ { }
        location /upload {
            @PARAMS@
            fastcgi_pass @ORIGIN@;
        }
        location /close { keepalive_timeout 0; return 200 closing; }
    }
    server {
        listen 127.0.0.1:@PORT@;
        server_name idle.test;
        keepalive_timeout 1s;
        location / { return 200 idle; }
    }
"#;

fn start() -> (Server, Origin) {
    start_with("")
}

/// Starts the site with timeouts.
fn start_with(times: &str) -> (Server, Origin) {
    let origin = Origin::start(|call| {
        let text = String::from_utf8_lossy(&call.body).into_owned();
        let (length, claimed) = (call.body.len(), call.param("CONTENT_LENGTH").to_owned());
        let sum: u64 = call.body.iter().map(|&byte| u64::from(byte)).sum();
        let text = if length < 100 { text } else { String::new() };
        call.answer("Content-Type: text/plain", format!("{length} {sum} [{claimed}] {text}"));
    });
    let mut place = Place::new();
    place.set("ORIGIN", &origin.address);
    place.set("TIMES", times);
    place.write("html/files/page.txt", "a file\n");
    (Server::start(place, SITE), origin)
}

fn text(answer: &Answer) -> String {
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.text()
}

/// Sends bytes on a new connection; returns the response, and whether the server closed the connection after it.
fn exchange(server: &Server, bytes: &[u8]) -> (Option<Answer>, bool) {
    let mut client = server.connect();
    client.send(bytes);
    let answer = client.try_answer("GET").ok();
    // An open connection answers this request as well.
    let alive = client.try_send(b"GET /alive HTTP/1.1\r\nHost: a\r\n\r\n").is_ok()
        && client.try_answer("GET").is_ok_and(|answer| answer.text().contains("uri=/alive"));
    (answer, !alive)
}

#[test]
fn a_connection_serves_many_requests() {
    let (server, _origin) = start();
    let mut client = server.connect();
    for number in 0..50 {
        assert_eq!(
            text(&client.fetch(&Request::get(&format!("/{number}")))),
            format!("uri=/{number} host=localhost")
        );
        assert_eq!(text(&client.fetch(&Request::get("/files/page.txt"))), "a file\n");
    }
}

#[test]
fn pipelined_requests_are_answered_in_order() {
    let (server, _origin) = start();
    let mut client = server.connect();
    let mut bytes = Vec::new();
    for number in 0..40 {
        bytes.extend(Request::get(&format!("/{number}")).bytes());
        bytes.extend(Request::post("/upload", format!("body {number}")).bytes());
        bytes.extend(Request::get("/files/page.txt").bytes());
    }
    client.send(bytes);
    for number in 0..40 {
        assert_eq!(text(&client.answer()), format!("uri=/{number} host=localhost"));
        assert!(text(&client.answer()).ends_with(&format!("body {number}")));
        assert_eq!(text(&client.answer()), "a file\n");
    }
}

#[test]
fn a_request_may_come_a_byte_at_a_time() {
    let (server, _origin) = start();
    let mut client = server.connect();
    for byte in Request::post("/upload", "slowly").field("X-Long", &"x".repeat(60)).bytes() {
        client.send([byte]);
    }
    assert!(text(&client.answer()).ends_with("[6] slowly"));
    for byte in b"POST /upload HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;ext=1\r\nabc\r\n0\r\nT: v\r\n\r\n" {
        client.send([*byte]);
    }
    assert!(text(&client.answer()).ends_with("[3] abc"), "a chunked body is forwarded with its length");
    assert_eq!(text(&client.fetch(&Request::get("/after"))), "uri=/after host=localhost");
}

#[test]
fn an_upload_in_chunks_reaches_the_origin_whole() {
    let (server, _origin) = start();
    let mut random = fastrand::Rng::with_seed(7);
    let mut client = server.connect();
    for _ in 0..20 {
        let mut body = vec![0; random.usize(..90_000)];
        random.fill(&mut body);
        let mut bytes = b"POST /upload HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n".to_vec();
        let mut rest = &body[..];
        while !rest.is_empty() {
            let (piece, after) = rest.split_at(random.usize(1..=rest.len()));
            bytes.extend(format!("{:x}\r\n", piece.len()).bytes());
            bytes.extend(piece);
            bytes.extend(b"\r\n");
            rest = after;
        }
        bytes.extend(b"0\r\n\r\n");
        client.send(bytes);
        let sum: u64 = body.iter().map(|&byte| u64::from(byte)).sum();
        assert!(text(&client.answer()).starts_with(&format!("{} {sum} ", body.len())));
    }
}

#[test]
fn expect_100_continue_is_answered_before_body() {
    let (server, _origin) = start();
    let mut client = server.connect();
    client.send("POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 5\r\nExpect: 100-continue\r\n\r\n");
    assert_eq!(client.head().status, 100);
    client.send("12345");
    assert!(text(&client.answer()).ends_with("[5] 12345"));
    client.send("POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 200000\r\nExpect: 100-continue\r\n\r\n");
    assert_eq!(client.head().status, 413, "a body that is too large is refused before it is sent");
}

#[test]
fn head_answers_like_get_without_the_body() {
    let (server, _origin) = start();
    let mut client = server.connect();
    for target in ["/page", "/files/page.txt", "/nowhere/files/../../files/page.txt"] {
        let got = client.fetch(&Request::get(target));
        let head = client.fetch(&Request::head(target));
        assert_eq!(head.status, got.status);
        assert_eq!(head.field("Content-Type"), got.field("Content-Type"));
        assert_eq!(head.field("Content-Length"), got.field("Content-Length"));
        assert_eq!(head.field("ETag"), got.field("ETag"));
    }
    assert_eq!(
        text(&client.fetch(&Request::get("/last"))),
        "uri=/last host=localhost",
        "the response to HEAD has no body"
    );
}

#[test]
fn http_1_0_closes_unless_asked_to_stay() {
    let (server, _origin) = start();
    let mut client = server.connect();
    client.send("GET /old HTTP/1.0\r\n\r\n");
    let answer = client.answer();
    assert_eq!(answer.status, 200);
    assert_eq!(answer.field("Transfer-Encoding"), None, "HTTP/1.0 has no chunked coding");
    assert!(client.is_closed());
    let mut client = server.connect();
    client.send("GET /old HTTP/1.0\r\nConnection: keep-alive\r\n\r\n");
    assert_eq!(
        client.answer().field("Connection").map(str::to_ascii_lowercase).as_deref(),
        Some("keep-alive")
    );
    client.send("GET /again HTTP/1.0\r\n\r\n");
    assert_eq!(client.answer().status, 200);
    assert!(client.is_closed());
    let mut client = server.connect();
    client.send("POST /upload HTTP/1.0\r\nContent-Length: 2\r\n\r\nhi");
    let answer = client.answer();
    assert!(text(&answer).ends_with("hi"));
    assert_eq!(answer.field("Transfer-Encoding"), None);
}

#[test]
fn the_whole_address_may_stand_in_the_request_line() {
    let (server, _origin) = start();
    let (answer, closed) = exchange(&server, b"GET http://example.test/a?b HTTP/1.1\r\nHost: other\r\n\r\n");
    assert_eq!(
        text(&answer.expect("an answer")),
        "uri=/a?b host=example.test",
        "the request line takes precedence over Host (RFC 9112 section 3.2.2)"
    );
    assert!(!closed);
    let (answer, _) = exchange(&server, b"GET http://example.test HTTP/1.1\r\nHost: example.test\r\n\r\n");
    assert!(text(&answer.expect("an answer")).ends_with("host=example.test"));
}

#[test]
fn close_is_honoured_from_both_sides() {
    let (server, _origin) = start();
    let mut client = server.connect();
    let answer = client.fetch(&Request::get("/x").field("Connection", "close"));
    assert_eq!(answer.field("Connection"), Some("close"));
    assert!(client.is_closed());
    let mut client = server.connect();
    assert_eq!(client.fetch(&Request::get("/close")).field("Connection"), Some("close"));
    assert!(client.is_closed());
}

#[test]
fn an_idle_connection_is_closed_after_keepalive_timeout() {
    let (server, _origin) = start();
    let mut client = server.connect();
    assert_eq!(text(&client.fetch(&Request::get("/").host("idle.test"))), "idle");
    assert!(client.is_closed());
}

#[test]
fn a_head_that_never_ends_times_out() {
    let (server, _origin) = start_with("client_header_timeout 1s;");
    let mut client = server.connect();
    client.send("GET / HTTP/1.1\r\nHost: a\r\nX-Unfinished: ");
    let rest = String::from_utf8_lossy(&client.rest()).into_owned();
    assert!(rest.is_empty() || rest.starts_with("HTTP/1.1 408 "), "{rest}");
    let mut silent = server.connect();
    assert!(silent.is_closed(), "a client that sends nothing gets no response");
}

#[test]
fn a_body_that_never_ends_times_out() {
    let (server, origin) = start_with("client_body_timeout 1s;");
    for framing in ["Content-Length: 10\r\n\r\n12345", "Transfer-Encoding: chunked\r\n\r\n5\r\n12345\r\n"] {
        let mut client = server.connect();
        client.send(format!("POST /upload HTTP/1.1\r\nHost: a\r\n{framing}"));
        let rest = String::from_utf8_lossy(&client.rest()).into_owned();
        assert!(rest.is_empty() || rest.starts_with("HTTP/1.1 408 "), "{rest}");
    }
    assert_eq!(origin.count(), 0, "a body that is read first is not passed on in part");
}

#[test]
fn what_is_too_large_is_refused() {
    let (server, _origin) = start();
    let long = |length: usize| "x".repeat(length);
    assert_eq!(
        server.get(&format!("/{}", long(1500))).status,
        200,
        "a request line that fits into a large buffer"
    );
    assert_eq!(server.get(&format!("/{}", long(3000))).status, 414);
    assert_eq!(server.fetch(&Request::get("/").field("X", &long(1500))).status, 200);
    assert_eq!(server.fetch(&Request::get("/").field("X", &long(3000))).status, 400);
    let many =
        (0..12).fold(Request::get("/"), |request, number| request.field(&format!("X-{number}"), &long(1000)));
    assert_eq!(server.fetch(&many).status, 400, "many fields that fill every buffer");
    let mut client = server.connect();
    client.send("POST /upload HTTP/1.1\r\nHost: a\r\nContent-Length: 102401\r\n\r\n");
    assert_eq!(client.answer().status, 413);
    let body = vec![b'x'; 102_400];
    assert!(text(&server.fetch(&Request::post("/upload", body))).starts_with("102400 "));
}

#[test]
fn a_chunked_body_that_grows_too_large_is_refused() {
    let (server, origin) = start();
    let mut client = server.connect();
    client.send("POST /upload HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n");
    let chunk = format!("4000\r\n{}\r\n", "x".repeat(0x4000));
    for _ in 0..8 {
        let _ = client.try_send(&chunk);
    }
    assert_eq!(client.answer().status, 413);
    assert_eq!(origin.count(), 0);
}

#[test]
fn unread_body_is_not_parsed_as_request() {
    let (server, _origin) = start();
    let hidden = "GET /hidden HTTP/1.1\r\nHost: a\r\n\r\n";
    let mut client = server.connect();
    client.send(Request::post("/ignored", hidden).bytes());
    client.send(Request::get("/next").bytes());
    assert!(text(&client.answer()).starts_with("uri=/ignored"));
    assert!(text(&client.answer()).starts_with("uri=/next"));
}

#[test]
fn framing_that_two_readers_could_read_differently_is_refused() {
    let (server, origin) = start();
    let heads = [
        "Content-Length: 5\r\nContent-Length: 6\r\n",
        "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        "Content-Length: 5, 6\r\n",
        "Content-Length: +5\r\n",
        "Content-Length: -5\r\n",
        "Content-Length: 0x5\r\n",
        "Content-Length: 5 5\r\n",
        "Content-Length: \r\n",
        "Content-Length: 99999999999999999999\r\n",
        "Content-Length : 5\r\n",
        "Transfer-Encoding : chunked\r\n",
        "Transfer-Encoding: chunked, identity\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
        "Transfer-Encoding: xchunked\r\n",
        "Transfer-Encoding: \"chunked\"\r\n",
        "X: a\r\n folded\r\nContent-Length: 5\r\n",
        " X: a\r\n",
        "X\r\nContent-Length: 5\r\n",
        ": empty\r\n",
        "X: a\0b\r\n",
        "X: a\rb\r\n",
        "X\0: b\r\n",
        "X y: b\r\n",
        "Host: b\r\n",
    ];
    for head in heads {
        let bytes = format!("POST /upload HTTP/1.1\r\nHost: a\r\n{head}\r\n12345");
        let (answer, closed) = exchange(&server, bytes.as_bytes());
        let status = answer.map(|answer| answer.status);
        assert!(matches!(status, Some(400 | 501)), "{head:?} was answered {status:?}");
        assert!(closed, "{head:?} left the connection open");
    }
    assert_eq!(origin.count(), 0, "{:?}", origin.calls());
}

#[test]
fn request_lines_that_are_none_are_refused() {
    let (server, _origin) = start();
    let lines = [
        "GET /\0 HTTP/1.1",
        "GET / HTTP/1.1\r",
        "G@T / HTTP/1.1",
        "GET / HTTP/2.0",
        "GET / http/1.1",
        "GET page HTTP/1.1",
        "GET http:///x HTTP/1.1",
    ];
    for line in lines {
        let (answer, closed) = exchange(&server, format!("{line}\r\nHost: a\r\n\r\n").as_bytes());
        let status = answer.map(|answer| answer.status);
        assert!(matches!(status, Some(400 | 405 | 501 | 505)), "{line:?} was answered {status:?}");
        assert!(closed, "{line:?} left the connection open");
    }
    let (answer, closed) = exchange(&server, b"GET / HTTP/1.1\r\n\r\n");
    assert_eq!(answer.map(|answer| answer.status), Some(400), "HTTP/1.1 without Host");
    assert!(closed);
    for host in ["a b", "a/b", "a@b", "a\tb", "[::1", "a:b:c", "a, b", "..", "a..b"] {
        let (answer, _) = exchange(&server, format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n").as_bytes());
        assert_eq!(answer.map(|answer| answer.status), Some(400), "Host: {host}");
    }
}

#[test]
fn malformed_chunks_are_rejected_and_not_forwarded() {
    let (server, origin) = start();
    let bodies = [
        "5\n12345\r\n0\r\n\r\n",
        "5\r\n12345\n0\r\n\r\n",
        "5\r\n123456\r\n0\r\n\r\n",
        "0x5\r\n12345\r\n0\r\n\r\n",
        "+5\r\n12345\r\n0\r\n\r\n",
        "-1\r\n12345\r\n0\r\n\r\n",
        "\r\n12345\r\n0\r\n\r\n",
        "g\r\n12345\r\n0\r\n\r\n",
        "ffffffffffffffffff\r\n12345\r\n0\r\n\r\n",
        "5;a\nb\r\n12345\r\n0\r\n\r\n",
        "5\r\n12345\r\n0\r\nbad trailer\r\n\r\n",
    ];
    for body in bodies {
        let bytes = format!("POST /upload HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n{body}");
        let (answer, closed) = exchange(&server, bytes.as_bytes());
        let status = answer.map(|answer| answer.status);
        assert!(matches!(status, Some(400)), "{body:?} was answered {status:?}");
        assert!(closed, "{body:?} left the connection open");
    }
    assert_eq!(origin.count(), 0, "{:?}", origin.calls());
}

#[test]
fn random_bytes_never_stop_the_server() {
    let (server, _origin) = start();
    for seed in 0..200 {
        let mut random = fastrand::Rng::with_seed(seed);
        let mut bytes = Request::post("/upload", "0123456789").field("X-Field", "value").bytes();
        for _ in 0..random.usize(1..6) {
            let at = random.usize(..bytes.len());
            match random.u8(..3) {
                0 => bytes[at] = random.u8(..),
                1 => drop(bytes.remove(at)),
                _ => bytes.insert(at, *random.choice(b"\r\n\0 :;,/%\xff").expect("a byte")),
            }
        }
        let mut client = server.connect();
        let _ = client.try_send(&bytes);
        client.finish_sending();
        let _ = client.try_answer("GET");
    }
    assert_eq!(server.get("/fine").status, 200);
    assert!(!server.read("error.log").contains("panick"), "{}", server.read("error.log"));
}

#[test]
fn each_request_is_one_line_in_the_access_log() {
    let (server, _origin) = start();
    let mut client = Client::connect(server.port);
    for target in ["/one", "/two?x=1", "/files/page.txt", "/files/none"] {
        client.fetch(&Request::get(target).field("User-Agent", "tester \"quoted\""));
    }
    drop(client);
    let log = || server.read("access.log");
    myriad_tests::wait_for("four lines", || log().lines().count() >= 4);
    let log = log();
    let lines: Vec<_> = log.lines().collect();
    assert_eq!(lines.len(), 4);
    assert!(
        lines[0].starts_with("127.0.0.1 - - [") && lines[0].contains("] \"GET /one HTTP/1.1\" 200 "),
        "{log}"
    );
    assert!(lines[1].contains("\"GET /two?x=1 HTTP/1.1\" 200 "), "{log}");
    assert!(lines[3].contains("\"GET /files/none HTTP/1.1\" 404 "), "{log}");
    assert!(lines[0].ends_with("\"tester \\x22quoted\\x22\""), "{log}");
}
