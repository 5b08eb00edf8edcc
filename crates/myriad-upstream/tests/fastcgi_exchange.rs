//! Tests of single FastCGI exchanges: head, body, and their failures.

mod support;

use std::io::Write;
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use myriad_http::Method;
use myriad_http::body::BodyError;
use myriad_upstream::{ErrorKind, HttpPool, Phase, RequestPayload};
use support::fastcgi::{answer, end, read_head, read_record, read_request, record, serve, stderr, stdout};
use support::{Made, Notes, Origin, TestSocketFolder, ask, fastcgi, group, read, refused, run};

/// Status, and the body or its error.
type ExchangeResult = (u16, Result<Vec<u8>, BodyError>);

/// Sends a GET to an origin that answers with `reply` and closes the connection. Returns the result and the observed
/// stderr lines and warnings.
fn reply_with(reply: Vec<u8>) -> (Result<ExchangeResult, String>, Vec<String>) {
    let folder = TestSocketFolder::new();
    let origin = Origin::unix(&folder.socket(), move |_, socket| {
        read_request(socket);
        let _ = socket.write_all(&reply);
    });
    run(async {
        let mut request = fastcgi(Method::Get, false);
        let notes = Notes::attach(&mut request);
        let result = match group(&[&origin.address]).fetch(&HttpPool::new(), request).await {
            Ok(response) => Ok((response.head.status, read(response).await)),
            Err(error) => Err(format!("{} {error}", error.status())),
        };
        (result, notes.take())
    })
}

#[test]
fn php_answer_arrives_with_its_figures() {
    let folder = TestSocketFolder::new();
    let origin = Origin::unix(&folder.socket(), |_, socket| {
        serve(socket, |request| {
            assert!(request.has_param("SCRIPT_FILENAME", "/srv/index.php"));
            assert!(!request.keep_conn);
            assert_eq!(request.body, b"name=value");
            answer("Status: 201 Created\r\nContent-Type: text/html\r\n\r\n<p>hello</p>")
        });
    });
    run(async {
        let mut request = fastcgi(Method::Post, false);
        request.body = RequestPayload::Bytes("name=value".into());
        let attempts = request.attempts.clone();
        let response = group(&[&origin.address]).fetch(&HttpPool::new(), request).await.unwrap();
        assert_eq!((response.head.status, &response.head.reason[..]), (201, &b"Created"[..]));
        assert_eq!(response.head.fields.get(b"content-type"), Some(&b"text/html"[..]));
        assert_eq!(response.peer, origin.address);
        assert_eq!(read(response).await.unwrap(), b"<p>hello</p>");
        let attempt = attempts.get()[0].clone();
        assert_eq!((&*attempt.address, attempt.status), (&*origin.address.to_string(), 201));
        assert_eq!((attempt.response_length, attempt.reused), (12, false));
        assert!(attempt.bytes_sent > 80 && attempt.bytes_received > 70);
        assert!(attempt.connect_ms <= attempt.header_ms && attempt.header_ms <= attempt.response_ms);
        assert!(attempt.connect_ms.is_some());
    });
}

#[test]
fn answer_is_the_same_however_the_network_cuts_it() {
    let bytes = [
        stderr(b"PHP Notice: x"),
        stdout(b"Status: 404\r\nA: b\r"),
        stdout(b"\n\r\nnot "),
        stderr(b"late"),
        stdout(b"found"),
        end(),
    ]
    .concat();
    for seed in 0..30 {
        let folder = TestSocketFolder::new();
        let bytes = bytes.clone();
        let origin = Origin::unix(&folder.socket(), move |_, socket| {
            read_request(socket);
            let (mut random, mut rest) = (fastrand::Rng::with_seed(seed), &bytes[..]);
            while !rest.is_empty() {
                let (piece, after) = rest.split_at(random.usize(1..=rest.len().min(20)));
                socket.write_all(piece).unwrap();
                thread::yield_now();
                rest = after;
            }
        });
        let mut request = fastcgi(Method::Get, false);
        let notes = Notes::attach(&mut request);
        let (status, body) = run(ask(&group(&[&origin.address]), request)).unwrap();
        assert_eq!((status, &body[..]), (404, &b"not found"[..]), "seed {seed}");
        let notes = notes.take();
        let of_phase = |phase: Phase| -> String {
            let start = format!("stderr while {}: ", phase.as_str());
            notes.iter().filter_map(|note| note.strip_prefix(&start)).collect()
        };
        assert_eq!(of_phase(Phase::ReadingHead), "PHP Notice: x", "seed {seed}");
        assert_eq!(of_phase(Phase::ReadingBody), "late", "seed {seed}");
    }
}

#[test]
fn broken_answers_are_502_in_nginx_words() {
    let head = "while reading response header from upstream";
    for (reply, text) in [
        (vec![], "upstream prematurely closed connection"),
        (stdout(b"Status: 200 OK\r\n"), "upstream prematurely closed connection"),
        (end(), "upstream prematurely closed FastCGI stdout"),
        ([stderr(b"fatal"), end()].concat(), "upstream prematurely closed FastCGI stdout"),
        (answer("Bad header: x\r\n\r\n"), "upstream sent invalid header"),
        (answer(&format!("A: {}\r\n\r\n", "x".repeat(9000))), "upstream sent too big header"),
        (b"HTTP/1.1 200 OK\r\n\r\n".to_vec(), "upstream sent unsupported FastCGI protocol version: 72"),
        (record(9, b"12345678"), "upstream sent unexpected FastCGI record: 9"),
        (record(3, &[0, 0, 0, 0, 2, 0, 0, 0]), "upstream rejected the FastCGI request (it is overloaded)"),
    ] {
        let (result, _) = reply_with(reply);
        assert_eq!(result.unwrap_err(), format!("502 {text} {head}"));
    }
}

#[test]
fn body_is_complete_only_when_origin_completed_it() {
    let cut = |text: &str| Err(BodyError::Origin(format!("{text} while reading upstream")));
    let closed = "upstream prematurely closed connection";
    let short = "upstream sent less data than specified in \"Content-Length\" header";
    let long = "warning: upstream sent more data than specified in \"Content-Length\" header";
    for (reply, body, notes) in [
        (answer("A: b\n\nwhole"), Ok(b"whole".to_vec()), vec![]),
        (stdout(b"A: b\n\ncut"), cut(closed), vec![]),
        (stdout(b"Content-Length: 4\n\ncut"), cut(closed), vec![]),
        (answer("Content-Length: 4\n\ncut"), cut(short), vec![]),
        (stdout(b"Content-Length: 3\n\nall"), Ok(b"all".to_vec()), vec![]),
        (answer("Content-Length: 3\n\nall and more"), Ok(b"all".to_vec()), vec![long.to_owned()]),
        (answer("Status: 304\n\nno body"), Ok(vec![]), vec![]),
        (answer("Status: 204\n\n"), Ok(vec![]), vec![]),
    ] {
        let (result, told) = reply_with(reply);
        assert_eq!(result.unwrap().1, body);
        assert_eq!(told, notes);
    }
}

#[test]
fn head_request_has_no_body_to_wait_for() {
    let folder = TestSocketFolder::new();
    let origin = Origin::unix(&folder.socket(), |_, socket| {
        serve(socket, |_| answer("Content-Length: 100\r\n\r\n"));
    });
    let (status, body) = run(ask(&group(&[&origin.address]), fastcgi(Method::Head, false))).unwrap();
    assert_eq!((status, body.len()), (200, 0));
}

#[test]
fn short_answer_has_its_length_known_at_once() {
    let folder = TestSocketFolder::new();
    let origin = Origin::unix(&folder.socket(), |_, socket| serve(socket, |_| answer("A: b\n\n12345")));
    run(async {
        let request = fastcgi(Method::Get, false);
        let response = group(&[&origin.address]).fetch(&HttpPool::new(), request).await.unwrap();
        assert_eq!(response.body.size_hint(), Some(5));
    });
}

#[test]
fn connection_failures_are_named_as_nginx_names_them() {
    let folder = TestSocketFolder::new();
    let refused = refused();
    let missing = myriad_upstream::PeerAddress::Unix(folder.socket());
    for (address, text) in [
        (
            refused.address.clone(),
            "connect() failed (111: Connection refused) while connecting to upstream".to_owned(),
        ),
        (
            missing.clone(),
            format!(
                "connect() to {missing} failed (2: No such file or directory) while connecting to upstream"
            ),
        ),
    ] {
        let request = fastcgi(Method::Get, false);
        let attempts = request.attempts.clone();
        let error = run(ask(&group(&[&address]), request)).unwrap_err();
        assert_eq!((error.to_string(), error.status(), error.peer()), (text, 502, Some(&address)));
        assert_eq!((attempts.get()[0].status, attempts.get()[0].connect_ms), (502, None));
    }
}

#[test]
fn a_silent_origin_is_504() {
    let folder = TestSocketFolder::new();
    let origin = Origin::unix(&folder.socket(), |_, socket| {
        read_request(socket);
        let _ = socket.read(&mut [0]);
    });
    let mut request = fastcgi(Method::Get, false);
    request.timeouts.read_ms = 50;
    let attempts = request.attempts.clone();
    let error = run(ask(&group(&[&origin.address]), request)).unwrap_err();
    assert_eq!((error.status(), error.kind()), (504, &ErrorKind::Timeout));
    assert_eq!(
        error.to_string(),
        "upstream timed out (110: Connection timed out) while reading response header from upstream"
    );
    assert_eq!(attempts.get()[0].status, 504);
    assert!(attempts.get()[0].response_ms.unwrap() >= 49);
}

#[test]
fn an_origin_that_falls_silent_breaks_the_body_off() {
    let folder = TestSocketFolder::new();
    let origin = Origin::unix(&folder.socket(), |_, socket| {
        read_request(socket);
        socket.write_all(&stdout(b"A: b\n\nbegun")).unwrap();
        let _ = socket.read(&mut [0]);
    });
    run(async {
        let mut request = fastcgi(Method::Get, false);
        request.timeouts.read_ms = 1500;
        let response = group(&[&origin.address]).fetch(&HttpPool::new(), request).await.unwrap();
        assert_eq!(response.body.size_hint(), None);
        let text = "upstream timed out (110: Connection timed out) while reading upstream";
        assert_eq!(read(response).await, Err(BodyError::Origin(text.to_owned())));
    });
}

#[test]
fn slow_but_steady_is_no_timeout() {
    let folder = TestSocketFolder::new();
    let origin = Origin::unix(&folder.socket(), |_, socket| {
        read_request(socket);
        for piece in answer("A: b\n\nslow").chunks(8) {
            thread::sleep(Duration::from_millis(700));
            socket.write_all(piece).unwrap();
        }
    });
    let mut request = fastcgi(Method::Get, false);
    request.timeouts.read_ms = 3000;
    assert_eq!(run(ask(&group(&[&origin.address]), request)).unwrap().1, b"slow");
}

#[test]
fn an_origin_that_takes_nothing_is_504() {
    let folder = TestSocketFolder::new();
    let held = Arc::new(Mutex::new(()));
    let (_hold, gate) = (held.lock().unwrap(), held.clone());
    let origin = Origin::unix(&folder.socket(), move |_, socket| {
        read_head(socket);
        drop(gate.lock());
    });
    let mut request = fastcgi(Method::Post, false);
    request.body = RequestPayload::Stream(Box::pin(Made::new(64 << 20)), None);
    request.timeouts.send_ms = 50;
    let error = run(ask(&group(&[&origin.address]), request)).unwrap_err();
    assert_eq!((error.status(), error.phase()), (504, Phase::Sending));
}

#[test]
fn a_large_upload_streams_in_bounded_memory() {
    const SIZE: u64 = 200 << 20;
    let folder = TestSocketFolder::new();
    let origin = Origin::unix(&folder.socket(), |_, socket| {
        read_head(socket).unwrap();
        let mut total = 0;
        loop {
            let (kind, content) = read_record(socket).unwrap();
            assert_eq!(kind, 5);
            if content.is_empty() {
                break;
            }
            assert!(content.iter().all(|byte| *byte == b'm'));
            total += content.len();
        }
        socket.write_all(&answer(&format!("A: b\n\n{total}"))).unwrap();
    });
    let mut request = fastcgi(Method::Post, false);
    request.body = RequestPayload::Stream(Box::pin(Made::new(SIZE)), Some(SIZE));
    let (_, body) = run(ask(&group(&[&origin.address]), request)).unwrap();
    assert_eq!(body, SIZE.to_string().as_bytes());
}

#[test]
fn the_body_is_pulled_no_faster_than_the_origin_reads() {
    let folder = TestSocketFolder::new();
    let origin = Origin::unix(&folder.socket(), |_, socket| {
        read_head(socket).unwrap();
        socket.write_all(&stdout(b"A: b\n\nwait")).unwrap();
        thread::sleep(Duration::from_secs(2));
    });
    run(async {
        let made = Made::new(64 << 20);
        let pulled = made.pulled.clone();
        let mut request = fastcgi(Method::Post, false);
        request.body = RequestPayload::Stream(Box::pin(made), None);
        let response = group(&[&origin.address]).fetch(&HttpPool::new(), request).await.unwrap();
        assert_eq!(response.head.status, 200, "the head comes while the request is still going up");
        assert!(*pulled.borrow() < 2 << 20, "only what fits the socket was pulled");
    });
}

#[test]
fn both_directions_stream_at_once() {
    const SIZE: u64 = 32 << 20;
    let folder = TestSocketFolder::new();
    let origin = Origin::unix(&folder.socket(), |_, socket| {
        read_head(socket).unwrap();
        socket.write_all(&stdout(b"A: b\n\n")).unwrap();
        loop {
            let (_, content) = read_record(socket).unwrap();
            if content.is_empty() {
                break;
            }
            socket.write_all(&stdout(&content)).unwrap();
        }
        socket.write_all(&end()).unwrap();
    });
    let mut request = fastcgi(Method::Post, false);
    request.body = RequestPayload::Stream(Box::pin(Made::new(SIZE)), None);
    let (_, body) = run(ask(&group(&[&origin.address]), request)).unwrap();
    assert_eq!(body.len() as u64, SIZE);
    assert!(body.iter().all(|byte| *byte == b'm'));
}

#[test]
fn an_early_answer_is_read_though_the_upload_breaks() {
    let folder = TestSocketFolder::new();
    let origin = Origin::unix(&folder.socket(), |_, socket| {
        read_head(socket).unwrap();
        socket.write_all(&answer("Status: 413\n\ntoo much")).unwrap();
    });
    for length in [None, Some(64 << 20)] {
        let mut request = fastcgi(Method::Post, false);
        request.body = RequestPayload::Stream(Box::pin(Made::new(64 << 20)), length);
        let (status, body) = run(ask(&group(&[&origin.address]), request)).unwrap();
        assert_eq!((status, &body[..]), (413, &b"too much"[..]));
    }
}

#[test]
fn a_request_body_that_breaks_off_is_the_clients_fault() {
    let folder = TestSocketFolder::new();
    let origin = Origin::unix(&folder.socket(), |_, socket| {
        assert_eq!(read_request(socket), None, "the origin never sees the end of a body that has none");
    });
    for (made, length, expected) in [
        (Made { error: Some(BodyError::TooLarge), ..Made::new(1000) }, None, BodyError::TooLarge),
        (Made::new(1000), Some(1001), BodyError::Aborted),
        (
            Made::new(1001),
            Some(1000),
            BodyError::Io("request body is longer than its Content-Length".to_owned()),
        ),
    ] {
        let mut request = fastcgi(Method::Put, false);
        request.body = RequestPayload::Stream(Box::pin(made), length);
        let group = group(&[&origin.address]);
        let error = run(ask(&group, request)).unwrap_err();
        assert_eq!(error.status(), expected.status());
        assert_eq!(error.kind(), &ErrorKind::RequestBody(expected));
        assert_eq!(group.peers()[0].failures, 0);
    }
}

#[test]
fn a_large_response_is_read_only_as_it_is_pulled() {
    const SIZE: usize = 64 << 20;
    let folder = TestSocketFolder::new();
    let origin = Origin::unix(&folder.socket(), |_, socket| {
        read_request(socket);
        socket.write_all(&stdout(b"A: b\n\n")).unwrap();
        let record = stdout(&vec![b'r'; 65_535]);
        for _ in 0..SIZE / 65_535 {
            if socket.write_all(&record).is_err() {
                return;
            }
        }
        let _ = socket.write_all(&end());
    });
    run(async {
        let request = fastcgi(Method::Get, false);
        let attempts = request.attempts.clone();
        let response = group(&[&origin.address]).fetch(&HttpPool::new(), request).await.unwrap();
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert!(attempts.get()[0].bytes_received < 200_000);
        let body = read(response).await.unwrap();
        assert_eq!(body.len(), SIZE / 65_535 * 65_535);
        assert_eq!(attempts.get()[0].response_length, body.len() as u64);
    });
}

#[test]
fn a_full_backlog_is_waited_for() {
    use rustix::net::{AddressFamily, SocketAddrUnix, SocketType, accept, bind, listen, socket};
    let folder = TestSocketFolder::new();
    let listener = socket(AddressFamily::UNIX, SocketType::STREAM, None).unwrap();
    bind(&listener, &SocketAddrUnix::new(folder.socket()).unwrap()).unwrap();
    listen(&listener, 0).unwrap();
    let queued = std::os::unix::net::UnixStream::connect(folder.socket()).unwrap();
    let (free, freed) = mpsc::channel();
    let busy = thread::spawn(move || {
        freed.recv().unwrap();
        drop(accept(&listener).unwrap());
        let mut socket = std::os::unix::net::UnixStream::from(accept(&listener).unwrap());
        read_request(&mut socket);
        socket.write_all(&answer("A: b\n\nat last")).unwrap();
    });
    let address = myriad_upstream::PeerAddress::Unix(folder.socket());
    let request = fastcgi(Method::Get, false);
    let attempts = request.attempts.clone();
    run(async {
        // Runs after the connection attempt has started.
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(100)).await;
            free.send(()).unwrap();
        });
        assert_eq!(ask(&group(&[&address]), request).await.unwrap().1, b"at last");
    });
    assert!(attempts.get()[0].connect_ms.unwrap() >= 50);
    drop(queued);
    busy.join().unwrap();
}

#[test]
fn a_client_that_uploads_slowly_is_no_timeout_of_the_origin() {
    let folder = TestSocketFolder::new();
    let origin = Origin::unix(&folder.socket(), |_, socket| serve(socket, |_| answer("A: b\n\nthanks")));
    run(async {
        let delay = Some(Box::pin(tokio::time::sleep(Duration::from_secs(2))));
        let mut request = fastcgi(Method::Post, false);
        request.body = RequestPayload::Stream(Box::pin(Made { delay, ..Made::new(10) }), None);
        request.timeouts.read_ms = 1000;
        request.timeouts.send_ms = 1000;
        assert_eq!(ask(&group(&[&origin.address]), request).await.unwrap().1, b"thanks");
    });
}
