//! Single HTTP exchange with an origin.

mod support;

use myriad_http::Method;
use myriad_http::body::BodyError;
use myriad_upstream::{Group, HttpPool, OriginRequest, Protocol, RequestPayload};
use support::{Made, Notes, Origin, TestSocket, ask, group, http, read, run};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

/// Reads up to the end of the head, byte by byte, so that the body is not consumed.
fn read_head(socket: &mut dyn TestSocket) -> String {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") && socket.read(&mut byte).is_ok_and(|read| read == 1) {
        head.push(byte[0]);
    }
    String::from_utf8(head).unwrap()
}

/// Starts an origin that answers with `reply` and closes the connection. Also returns a group with this origin.
fn origin(reply: &'static str) -> (Origin, Group) {
    let origin = Origin::tcp(move |_, socket| {
        read_head(socket);
        let _ = socket.write_all(reply.as_bytes());
    });
    let group = group(&[&origin.address]);
    (origin, group)
}

fn fetch(reply: &'static str, method: Method) -> Result<(u16, Result<Vec<u8>, BodyError>), String> {
    let (_origin, group) = origin(reply);
    run(async {
        match group.fetch(&HttpPool::new(), http(method, "Connection: close\r\n")).await {
            Ok(response) => Ok((response.head.status, read(response).await)),
            Err(error) => Err(error.to_string()),
        }
    })
}

#[test]
fn request_head_goes_out_as_it_was_given() {
    let origin = Origin::tcp(|_, socket| {
        assert_eq!(read_head(socket), "GET /path HTTP/1.1\r\nHost: origin\r\nX: y\r\n\r\n");
        socket.write_all(b"HTTP/1.1 200 Fine\r\nContent-Length: 0\r\nA: b\r\n\r\n").unwrap();
    });
    run(async {
        let response = group(&[&origin.address]).fetch(&HttpPool::new(), http(Method::Get, "X: y\r\n")).await;
        let head = response.unwrap().head;
        assert_eq!((head.status, &head.reason[..]), (200, &b"Fine"[..]));
        assert_eq!(head.fields.get(b"a"), Some(&b"b"[..]));
    });
}

#[test]
fn every_framing_terminates_body_correctly() {
    for (reply, status, body) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody", 200, "body"),
        ("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody and more", 200, "body"),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n2;x=y\r\n!!\r\n0\r\nT: u\r\n\r\n",
            200,
            "body!!",
        ),
        ("HTTP/1.1 200 OK\r\n\r\nuntil the end", 200, "until the end"),
        ("HTTP/1.0 404 Not Found\r\n\r\n", 404, ""),
        ("HTTP/1.1 304 Not Modified\r\nContent-Length: 100\r\n\r\n", 304, ""),
        (
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 201 Made\r\nContent-Length: 1\r\n\r\n1",
            201,
            "1",
        ),
    ] {
        assert_eq!(fetch(reply, Method::Get), Ok((status, Ok(body.as_bytes().to_vec()))), "{reply:?}");
    }
    assert_eq!(fetch("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", Method::Head), Ok((200, Ok(vec![]))));
}

#[test]
fn time_of_a_body_up_to_the_end_of_the_connection_is_measured() {
    let (_origin, group) = origin("HTTP/1.1 200 OK\r\n\r\nuntil the end");
    run(async {
        let request = http(Method::Get, "Connection: close\r\n");
        read(group.fetch(&HttpPool::new(), request).await.unwrap()).await.unwrap();
    });
    let [connect_ms, head_ms, whole_ms] = group.peers()[0].took_ms;
    assert!(connect_ms == 0 && head_ms > 0 && whole_ms > 0);
}

#[test]
fn what_ends_too_early_is_an_error() {
    for reply in [
        "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nbody",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nbody",
    ] {
        let text = "upstream prematurely closed connection while reading upstream";
        assert_eq!(
            fetch(reply, Method::Get),
            Ok((200, Err(BodyError::Origin(text.to_owned())))),
            "{reply:?}"
        );
    }
    for reply in ["", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n", "HTTP/1.1 100 Continue\r\n\r\n"] {
        let text = "upstream prematurely closed connection while reading response header from upstream";
        assert_eq!(fetch(reply, Method::Get), Err(text.to_owned()), "{reply:?}");
    }
}

#[test]
fn what_is_no_http_is_an_error() {
    for reply in [
        "SSH-2.0-OpenSSH_9.2\r\n\r\n",
        "HTTP/1.1 200 OK\r\nA: b\0\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n12",
        "HTTP/1.1 101 Switching Protocols\r\n\r\n",
    ] {
        let (_origin, group) = origin(reply);
        let error = run(ask(&group, http(Method::Get, ""))).unwrap_err();
        assert_eq!(
            (error.status(), error.kind()),
            (502, &myriad_upstream::ErrorKind::InvalidHead),
            "{reply:?}"
        );
    }
    let text = match fetch("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nxyz\r\n", Method::Get) {
        Ok((200, Err(BodyError::Origin(text)))) => text,
        other => panic!("{other:?}"),
    };
    assert!(text.starts_with("upstream sent invalid chunked response"), "{text}");
}

#[test]
fn data_after_the_body_is_logged_by_its_framing() {
    for (reply, warning) in [
        (
            "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody and more",
            "upstream sent more data than specified in \"Content-Length\" header",
        ),
        (
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\nand more",
            "upstream sent data after the final chunk",
        ),
    ] {
        let (_origin, group) = origin(reply);
        let mut request = http(Method::Get, "");
        let notes = Notes::attach(&mut request);
        assert_eq!(run(ask(&group, request)).unwrap(), (200, b"body".to_vec()), "{reply:?}");
        assert_eq!(notes.take(), [format!("warning: {warning}")]);
    }
}

#[test]
fn a_head_beyond_the_buffer_is_an_error() {
    let origin = Origin::tcp(|_, socket| {
        read_head(socket);
        let _ = socket.write_all(format!("HTTP/1.1 200 OK\r\nA: {}", "x".repeat(20_000)).as_bytes());
    });
    let error = run(ask(&group(&[&origin.address]), http(Method::Get, ""))).unwrap_err();
    assert_eq!(error.to_string(), "upstream sent too big header while reading response header from upstream");
}

#[test]
fn bodies_of_unknown_length_go_up_chunked() {
    let origin = Origin::tcp(|_, socket| {
        read_head(socket);
        let mut body = Vec::new();
        let mut byte = [0];
        while !body.ends_with(b"0\r\n\r\n") {
            socket.read_exact(&mut byte).unwrap();
            body.push(byte[0]);
        }
        // Data that is available together forms a single chunk.
        assert_eq!(body, b"17\r\nmmmmmmmmmmmmmmmmmmmmmmm\r\n0\r\n\r\n");
        socket.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").unwrap();
    });
    let mut request = http(Method::Post, "Transfer-Encoding: chunked\r\n");
    request.body = RequestPayload::Stream(Box::pin(Made { piece: 10, ..Made::new(23) }), None);
    assert_eq!(run(ask(&group(&[&origin.address]), request)).unwrap().0, 204);
}

#[test]
fn bodies_of_known_length_go_up_plain_and_echo_back_at_once() {
    const SIZE: usize = 32 << 20;
    let origin = Origin::tcp(|_, socket| {
        read_head(socket);
        write!(socket, "HTTP/1.1 200 OK\r\nContent-Length: {SIZE}\r\n\r\n").unwrap();
        let (mut buffer, mut left) = (vec![0; 65_536], SIZE);
        while left > 0 {
            let read = socket.read(&mut buffer).unwrap();
            socket.write_all(&buffer[..read]).unwrap();
            left -= read;
        }
    });
    let mut request = http(Method::Put, &format!("Content-Length: {SIZE}\r\n"));
    request.body = RequestPayload::Stream(Box::pin(Made::new(SIZE as u64)), Some(SIZE as u64));
    let (_, body) = run(ask(&group(&[&origin.address]), request)).unwrap();
    assert_eq!(body.len(), SIZE);
}

#[test]
fn an_upgraded_connection_is_handed_over_with_what_came_along() {
    let origin = Origin::tcp(|_, socket| {
        read_head(socket);
        socket.write_all(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: echo\r\n\r\nwelcome").unwrap();
        let mut ping = [0; 4];
        socket.read_exact(&mut ping).unwrap();
        socket.write_all(&ping).unwrap();
    });
    run(async {
        let request = http(Method::Get, "Connection: upgrade\r\nUpgrade: echo\r\n");
        let Protocol::Http { head, .. } = request.protocol else { unreachable!() };
        let protocol = Protocol::Http { head, keep_alive: true, upgrade: "echo".into() };
        let request = OriginRequest { protocol, ..http(Method::Get, "") };
        let response = group(&[&origin.address]).fetch(&HttpPool::new(), request).await.unwrap();
        assert_eq!(response.head.status, 101);
        let mut upgraded = response.upgraded.unwrap();
        let mut all = upgraded.leftover.to_vec();
        upgraded.stream.write_all(b"ping").await.unwrap();
        upgraded.stream.read_to_end(&mut all).await.unwrap();
        assert_eq!(all, b"welcomeping");
    });
}
