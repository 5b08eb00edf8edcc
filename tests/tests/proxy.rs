//! HTTP origins at the byte level: persistent connections, body framing, protocol switches.
//!
//! covers: early_hints

use myriad_tests::{Place, Request, Server, Wire, WireCall, wait_for};

fn start(origin: &Wire, locations: &str) -> Server {
    let mut place = Place::new();
    place.set("ORIGIN", &origin.address);
    Server::start(place, &format!("server {{ listen 127.0.0.1:@PORT@; {locations} }}"))
}

/// Location that permits protocol switches.
const SOCKET: &str = "
    upgrade_protocols websocket echo;
    location / {
        proxy_pass http://@ORIGIN@;
        proxy_set_header Upgrade $http_upgrade;
        proxy_set_header Connection upgrade;
    }
";

const SWITCH: &str = "HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n";

fn echo(connection: &mut WireCall) {
    let Some(_) = connection.head() else { return };
    connection.say(format!("{SWITCH}hello "));
    loop {
        let said = std::mem::take(&mut connection.buffer);
        if said.ends_with(b"bye") {
            return;
        }
        connection.say(said);
        if connection.fill().is_none() {
            return;
        }
    }
}

#[test]
fn a_switched_connection_carries_bytes_both_ways_until_the_origin_ends_it() {
    let origin = Wire::start(echo);
    let server = start(&origin, SOCKET);
    let mut client = server.connect();
    client.send("GET /chat HTTP/1.1\r\nHost: a\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\nearly ");
    let head = client.head();
    assert_eq!(head.status, 101);
    assert_eq!((head.field("Upgrade"), head.field("Connection")), (Some("echo"), Some("upgrade")));
    assert_eq!(client.until(|heard| heard.len() >= 12), b"hello early ");
    for piece in vec![b'x'; 1 << 20].chunks(60_000) {
        client.send(piece);
        assert!(client.until(|back| back.len() >= piece.len()) == piece);
    }
    client.send("bye");
    assert!(client.is_closed());
    let sent = origin.heads();
    assert!(sent[0].contains("\r\nUpgrade: echo\r\n") && sent[0].contains("\r\nConnection: upgrade\r\n"));
}

#[test]
fn a_silent_tunnel_ends_with_the_read_time_out() {
    let origin = Wire::start(echo);
    let server = start(&origin, &format!("proxy_read_timeout 3s; {SOCKET}"));
    let mut client = server.connect();
    client.send("GET / HTTP/1.1\r\nHost: a\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n");
    assert_eq!(client.head().status, 101);
    assert_eq!(client.rest(), b"hello ");
}

#[test]
fn unsolicited_protocol_switch_of_origin_reaches_no_client() {
    let origin = Wire::start(echo);
    let server = start(&origin, SOCKET);
    for request in [
        "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
        "GET / HTTP/1.0\r\nHost: a\r\nUpgrade: echo\r\nConnection: Upgrade\r\n\r\n",
    ] {
        let mut client = server.connect();
        client.send(request);
        let answer = client.answer();
        assert_eq!(answer.status, 502);
        assert!(!answer.text().contains("hello"));
    }
}

#[test]
fn only_listed_protocols_are_asked_for_and_only_those_are_switched_to() {
    let origin = Wire::start(echo);
    let unlisted = SOCKET.replace("upgrade_protocols websocket echo;", "");
    for (directives, asked, passed) in [
        (&unlisted[..], "echo", None),
        (&unlisted, "h2c", None),
        (&unlisted, "h2c, WebSocket", Some("WebSocket")),
        (&SOCKET.replace("echo;", "other;"), "other, echo", Some("other")),
        (&unlisted.replace("$http_upgrade", "h2c"), "h2c", None),
    ] {
        let server = start(&origin, directives);
        let mut client = server.connect();
        client.send(format!("GET / HTTP/1.1\r\nHost: a\r\nUpgrade: {asked}\r\nConnection: Upgrade\r\n\r\n"));
        // The origin switches to `echo`, regardless of the requested protocol.
        assert_eq!(client.answer().status, 502, "{asked}");
        let sent = origin.heads().pop().expect("a request");
        let field = sent.lines().find_map(|line| line.strip_prefix("Upgrade: "));
        assert_eq!(field, passed, "{asked}: {sent}");
    }
    // A protocol in the configured `Upgrade` field is permitted.
    let server = start(&origin, &unlisted.replace("$http_upgrade", "echo"));
    let mut client = server.connect();
    client.send("GET / HTTP/1.1\r\nHost: a\r\nUpgrade: other\r\nConnection: Upgrade\r\n\r\n");
    assert_eq!(client.head().status, 101);
}

#[test]
fn connections_are_reused_only_after_cleanly_finished_responses() {
    let origin = Wire::start(|connection| {
        while let Some(head) = connection.head() {
            let extra = if head.starts_with("GET /extra") { "HTTP/1.1 200 OK\r\n" } else { "" };
            connection.say(format!("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok{extra}"));
        }
    });
    let server = start(&origin, "location / { proxy_pass http://@ORIGIN@; }");
    for path in ["/a", "/b", "/extra"] {
        assert_eq!(server.fetch(&Request::get(path)).text(), "ok");
    }
    assert_eq!(origin.connections(), 1);
    // Bytes after the body must not be parsed as the response to another client.
    assert_eq!(server.fetch(&Request::get("/c")).text(), "ok");
    assert_eq!(origin.connections(), 2);
}

#[test]
fn an_answer_that_two_readers_could_frame_differently_is_refused() {
    for fields in [
        "Content-Length: 2\r\nTransfer-Encoding: chunked",
        "Content-Length: 2\r\nContent-Length: 3",
        "Content-Length: +2",
        "Transfer-Encoding: gzip, chunked",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
    ] {
        let origin = Wire::start(move |connection| {
            let Some(_) = connection.head() else { return };
            connection.say(format!("HTTP/1.1 200 OK\r\n{fields}\r\n\r\n2\r\nok\r\n0\r\n\r\n"));
        });
        let server = start(&origin, "location / { proxy_pass http://@ORIGIN@; }");
        assert_eq!(server.fetch(&Request::get("/")).status, 502, "{fields}");
    }
}

#[test]
fn streamed_body_is_framed_from_scratch() {
    let origin = Wire::start(|connection| {
        let Some(_) = connection.head() else { return };
        let body = connection.until(b"0\r\n\r\n").unwrap_or_default();
        let body = String::from_utf8_lossy(&body).replace("\r\n", "|");
        connection.say(format!(
            "HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        ));
    });
    let server = start(
        &origin,
        "location / { proxy_pass http://@ORIGIN@; proxy_request_buffering off; proxy_set_header Transfer-Encoding gzip; }",
    );
    let mut client = server.connect();
    client.send("POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3;x=y\r\nabc\r\n");
    // The origin receives the first part before the client sends the rest.
    wait_for("the request", || !origin.heads().is_empty());
    client.send("00002\r\nde\r\n0\r\nTrailer: gone\r\n\r\n");
    assert_eq!(client.answer().text(), "3|abc|2|de|0||");
    let head = &origin.heads()[0];
    assert!(head.contains("\r\nTransfer-Encoding: chunked\r\n") && !head.contains("gzip"));
}

#[test]
fn what_was_posted_reaches_the_page_that_answers_for_a_failed_origin() {
    let origin = Wire::start(|connection| {
        while let Some(head) = connection.head() {
            let body = connection.until(b"posted").unwrap_or_default();
            if head.starts_with("POST /fails") && !head.contains("X-Again") {
                return;
            }
            let body = String::from_utf8_lossy(&body).into_owned();
            connection.say(format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{body}", body.len()));
        }
    });
    let server = start(
        &origin,
        "location / { proxy_pass http://@ORIGIN@; error_page 502 = @again; }
         location @again { proxy_pass http://@ORIGIN@; proxy_set_header X-Again 1; }",
    );
    let answer = server.fetch(&Request::post("/fails", "posted"));
    assert_eq!((answer.status, answer.text().as_str()), (200, "posted"));
}

#[test]
fn early_hints_go_ahead_of_the_answer_where_they_are_wanted() {
    let origin = Wire::start(|connection| {
        while connection.head().is_some() {
            connection
                .say("HTTP/1.1 103 Early Hints\r\nLink: </a.css>; rel=preload\r\nSet-Cookie: a=b\r\n\r\n");
            connection.say("HTTP/1.1 102 Processing\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
        }
    });
    let server = start(
        &origin,
        "location / { proxy_pass http://@ORIGIN@; early_hints $arg_hints; }
         location /cached { proxy_pass http://@ORIGIN@; early_hints 1; }",
    );
    for path in ["/?hints=1", "/cached"] {
        let mut client = server.connect();
        client.send(Request::get(path).bytes());
        let hints = client.head();
        assert_eq!((hints.status, hints.field("Link")), (103, Some("</a.css>; rel=preload")));
        assert_eq!(hints.field("Set-Cookie"), None);
        assert_eq!(client.answer().text(), "ok");
    }
    for request in ["GET /?hints=0 HTTP/1.1\r\nHost: a\r\n\r\n", "GET /?hints=1 HTTP/1.0\r\nHost: a\r\n\r\n"]
    {
        let mut client = server.connect();
        client.send(request);
        assert_eq!(client.head().status, 200);
    }
}
