//! Tests of request bodies sent to the application.

use std::io::{ErrorKind, Read, Write};
use std::thread::sleep;
use std::time::Duration;

use super::{LOOPBACK, OK, get, pattern, site};
use crate::support::answer::{RawAnswer, ask, connect, read};
use crate::support::origin::FastcgiOrigin;
use crate::support::{ServerSite, wait_for};

/// Sends a body in two halves and calls `between` after the first.
fn upload_slowly(site: &ServerSite, body: &[u8], between: impl FnOnce()) -> RawAnswer {
    let mut stream = connect((LOOPBACK, site.port));
    write!(
        stream,
        "POST / HTTP/1.1\r\nHost: a\r\nConnection: close\r\nContent-Length: {}\r\n\r\n",
        body.len()
    )
    .expect("head");
    let (first, second) = body.split_at(body.len() / 2);
    stream.write_all(first).expect("first half");
    between();
    stream.write_all(second).expect("second half");
    read(stream)
}

#[test]
fn slow_upload_does_not_hold_the_application() {
    for (length, memory) in [(1000, "16k"), (600_000, "16k"), (200_000, "1m"), (100_000, "1k")] {
        let origin = FastcgiOrigin::answering(OK);
        let site = site(&origin, &format!("client_body_buffer_size {memory};"), "");
        let body = pattern(length);
        let answer = upload_slowly(&site, &body, || {
            sleep(Duration::from_millis(300));
            assert!(!origin.was_connected(), "{length} bytes with {memory}");
        });
        assert_eq!(answer.text(), "ok");
        assert!(origin.requests().body == body, "{length} bytes with {memory}");
    }
}

#[test]
fn request_body_stored_in_file_arrives_complete() {
    let origin = FastcgiOrigin::answering(OK);
    let site = site(&origin, "client_body_in_file_only clean;", "");
    assert_eq!(upload_slowly(&site, b"short", || sleep(Duration::from_millis(300))).text(), "ok");
    assert_eq!(origin.requests().body, b"short");
}

#[test]
fn upload_streams_where_buffering_is_off() {
    let origin = FastcgiOrigin::answering(OK);
    let site = site(&origin, "fastcgi_request_buffering off;", "");
    assert_eq!(upload_slowly(&site, &pattern(1000), || origin.connected()).text(), "ok");
    assert_eq!(origin.requests().body, pattern(1000));
}

#[test]
fn chunked_upload_gets_a_length() {
    let origin = FastcgiOrigin::answering(OK);
    let site = site(&origin, "", "");
    let head = ["POST / HTTP/1.1", "Transfer-Encoding: chunked"];
    let answer = ask((LOOPBACK, site.port), &head, b"3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n");
    assert_eq!(answer.text(), "ok");
    let asked = origin.requests();
    assert_eq!((asked.body.as_slice(), asked.param("CONTENT_LENGTH")), (&b"abcdefg"[..], Some("7")));
}

#[test]
fn body_that_is_too_large_or_too_slow_never_reaches_the_application() {
    let origin = FastcgiOrigin::answering(OK);
    let small = site(&origin, "client_max_body_size 10;", "");
    let chunked = ["POST / HTTP/1.1", "Transfer-Encoding: chunked"];
    let answer = ask((LOOPBACK, small.port), &chunked, b"14\r\n01234567890123456789\r\n0\r\n\r\n");
    assert_eq!(answer.status, 413);
    let impatient = site(&origin, "client_body_timeout 300ms;", "");
    let silent = ask((LOOPBACK, impatient.port), &["POST / HTTP/1.1", "Content-Length: 5"], b"");
    assert_eq!(silent.status, 408);
    let stuck = ask((LOOPBACK, impatient.port), &["POST / HTTP/1.1", "Content-Length: 5"], b"abc");
    assert_eq!(stuck.status, 408);
    assert!(!origin.was_connected());
}

#[test]
fn repeated_fields_of_any_name_become_one_parameter() {
    let origin = FastcgiOrigin::answering(OK);
    let site = site(&origin, "", "");
    get(&site, "/", &["X-Some: 1", "X-Other: a", "x-some: 2", "X-Some:", "Accept: b", "Accept: c"]);
    let asked = origin.requests();
    let all = |name: &str| -> Vec<&str> {
        asked.params.iter().filter(|(known, _)| known == name).map(|(_, value)| value.as_str()).collect()
    };
    assert_eq!(all("HTTP_X_SOME"), ["1, 2, "]);
    assert_eq!(all("HTTP_X_OTHER"), ["a"]);
    assert_eq!(all("HTTP_ACCEPT"), ["b, c"]);
}

/// Starts an application that sends a part of its response immediately, then waits for the rest of the request. Returns
/// its port.
fn answering_early() -> u16 {
    let listener = std::net::TcpListener::bind((LOOPBACK, 0)).expect("a socket");
    let port = listener.local_addr().expect("an address").port();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            std::thread::spawn(move || {
                let _ = stream.read(&mut [0; 4096]);
                let part = b"Content-Type: text/plain\r\n\r\npart";
                let _ = stream.write_all(&[1, 6, 0, 1, 0, part.len() as u8, 0, 0]);
                let _ = stream.write_all(part);
                while stream.read(&mut [0; 4096]).is_ok_and(|count| count > 0) {}
            });
        }
    });
    port
}

#[test]
fn client_that_stops_sending_is_given_up_though_its_answer_has_begun() {
    let site = ServerSite::new();
    let (port, pass) = (site.port, answering_early());
    site.write(
        "nginx.conf",
        &format!(
            "daemon off; pid nginx.pid; error_log error.log info; events {{ }}
             http {{ access_log off; client_body_timeout 2s; lingering_close off;
                 server {{ listen 127.0.0.1:{port}; location / {{ fastcgi_pass 127.0.0.1:{pass};
                     fastcgi_request_buffering off; fastcgi_buffering off; }} }} }}"
        ),
    );
    let _site = site.start();
    let mut stream = connect((LOOPBACK, port));
    stream.write_all(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000000\r\n\r\n").expect("request");
    stream.set_read_timeout(Some(Duration::from_millis(50))).expect("a time-out");
    let mut answer = Vec::new();
    wait_for("the begin of the answer", || {
        stream.write_all(b"x").expect("a byte");
        let mut piece = [0; 4096];
        let length = stream.read(&mut piece).unwrap_or(0);
        answer.extend_from_slice(&piece[..length]);
        String::from_utf8_lossy(&answer).contains("part")
    });
    stream.set_read_timeout(Some(Duration::from_secs(30))).expect("a time-out");
    let end = stream.read_to_end(&mut answer);
    assert!(
        !end.is_err_and(|error| error.kind() == ErrorKind::WouldBlock),
        "the server has not closed the connection"
    );
}

#[test]
fn unread_body_that_trickles_in_is_not_waited_for_longer_than_the_lingering_time() {
    let site = ServerSite::new();
    let port = site.port;
    site.write(
        "nginx.conf",
        &format!(
            "daemon off; pid nginx.pid; error_log error.log info; events {{ }}
             http {{ access_log off; lingering_time 1s;
                 server {{ listen 127.0.0.1:{port}; location / {{ return 200 x; }} }} }}"
        ),
    );
    let _site = site.start();
    let mut stream = connect((LOOPBACK, port));
    stream.write_all(b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n").expect("request");
    let began = std::time::Instant::now();
    // Single bytes prevent `client_body_timeout`.
    while stream.write_all(b"x").is_ok() {
        assert!(began.elapsed() < Duration::from_secs(20), "the server has not closed the connection");
        sleep(Duration::from_millis(50));
    }
}
