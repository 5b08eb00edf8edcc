//! Connections of HTTP/2 with a silent peer.

mod support;

use std::thread;
use std::time::Duration;

use myriad_http::Method;
use myriad_http::h2::Http2ServerConfig;
use myriad_upstream::{ErrorKind, Group, HttpPool, KeepAlive, OriginRequest};
use support::http2::{ScriptEvent, answer, boxed, http2, serve, together};
use support::{Notes, Origin, keeping, keeping_as, most, read, run};

/// Starts an origin that answers once on the first connection, then leaves it open without reading; other connections
/// work normally.
fn answers_once_and_falls_silent() -> Origin {
    Origin::tcp(|number, socket| {
        serve(socket, Http2ServerConfig::default(), |connection, asked| match asked {
            ScriptEvent::Request(stream, ..) => {
                answer(connection, stream, &format!("{number}:{stream}")) && number > 0
            }
            _ => true,
        });
        if number == 0 {
            std::iter::repeat_with(thread::park).for_each(drop);
        }
    })
}

async fn text(group: &Group, pool: &HttpPool, request: OriginRequest) -> String {
    let response = group.fetch(pool, request).await.unwrap();
    String::from_utf8(read(response).await.unwrap()).unwrap()
}

#[test]
fn what_may_be_repeated_has_another_connection() {
    let origin = answers_once_and_falls_silent();
    run(async {
        let (group, pool) = (keeping(&origin.address, 4), HttpPool::new());
        assert_eq!(text(&group, &pool, http2(Method::Get, "")).await, "0:1");
        let mut request = http2(Method::Get, "");
        request.timeouts.read_ms = 20_000;
        let (notes, attempts) = (Notes::attach(&mut request), request.attempts.clone());
        assert_eq!(text(&group, &pool, request).await, "1:1");
        let expected = "retried: upstream sends no data and does not respond to PING while reading response header from upstream";
        assert_eq!(notes.take(), [expected]);
        assert_eq!(attempts.get().len(), 1, "a peer was not tried twice: it did nothing");
        assert_eq!(text(&group, &pool, http2(Method::Post, "")).await, "1:3");
    });
}

#[test]
fn unrepeatable_request_waits_full_read_timeout_on_silent_connection() {
    let origin = answers_once_and_falls_silent();
    run(async {
        let (group, pool) = (keeping(&origin.address, 4), HttpPool::new());
        assert_eq!(text(&group, &pool, http2(Method::Get, "")).await, "0:1");
        let mut request = http2(Method::Post, "");
        request.timeouts.read_ms = 3000;
        let error = group.fetch(&pool, request).await.unwrap_err();
        assert_eq!((error.kind(), origin.connections()), (&ErrorKind::Timeout, 1));
        assert_eq!(text(&group, &pool, http2(Method::Post, "")).await, "1:1");
    });
}

#[test]
fn an_origin_that_lives_and_is_slow_is_asked_no_second_time() {
    let origin = Origin::tcp(|_, socket| {
        serve(socket, Http2ServerConfig::default(), |connection, asked| match asked {
            ScriptEvent::Request(1, ..) => answer(connection, 1, "quick"),
            ScriptEvent::Request(5, ..) => answer(connection, 3, "slow") && answer(connection, 5, "quick"),
            _ => true,
        });
    });
    run(async {
        let (group, pool) = (keeping(&origin.address, 4), HttpPool::new());
        assert_eq!(text(&group, &pool, http2(Method::Get, "")).await, "quick");
        let mut request = http2(Method::Get, "");
        request.timeouts.read_ms = 20_000;
        let slow = text(&group, &pool, request);
        let other = async {
            tokio::time::sleep(Duration::from_millis(2500)).await;
            text(&group, &pool, http2(Method::Post, "")).await
        };
        assert_eq!(together(vec![boxed(slow), boxed(other)]).await, ["slow", "quick"]);
        assert_eq!(origin.connections(), 1);
    });
}

#[test]
fn implicitly_reused_connection_is_tested_before_second_request() {
    let origin = answers_once_and_falls_silent();
    run(async {
        let keepalive = KeepAlive { is_implicit: true, ..most(4) };
        let (group, pool) = (keeping_as(&origin.address, keepalive), HttpPool::new());
        for expected in ["0:1", "1:1", "1:3", "1:5"] {
            assert_eq!(text(&group, &pool, http2(Method::Post, "")).await, expected);
        }
    });
}

#[test]
fn a_connection_that_was_idle_for_long_is_asked_before_a_request_is_trusted_to_it() {
    let origin = answers_once_and_falls_silent();
    run(async {
        let (group, pool) = (keeping(&origin.address, 4), HttpPool::new());
        assert_eq!(text(&group, &pool, http2(Method::Post, "")).await, "0:1");
        tokio::time::sleep(Duration::from_millis(5100)).await;
        assert_eq!(text(&group, &pool, http2(Method::Post, "")).await, "1:1");
        tokio::time::sleep(Duration::from_millis(5100)).await;
        assert_eq!(text(&group, &pool, http2(Method::Post, "")).await, "1:3");
    });
}
