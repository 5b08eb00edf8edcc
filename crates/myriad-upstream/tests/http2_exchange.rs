//! Requests over HTTP/2 on shared and separate connections.

mod support;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::mpsc;

use bytes::Bytes;
use myriad_http::h2::{ErrorCode, Http2ServerConfig};
use myriad_http::{Fields, Method, ResponseHead};
use myriad_upstream::{
    ErrorKind, Group, HttpPool, OriginError, OriginRequest, PeerAddress, Phase, RequestPayload,
    UpstreamObserver,
};
use support::http2::{ScriptEvent, answer, boxed, http2, serve, together};
use support::{Made, Origin, group, keeping, next, read, refused, run};

async fn text(group: &Group, pool: &HttpPool, request: OriginRequest) -> Result<String, OriginError> {
    let response = group.fetch(pool, request).await?;
    Ok(String::from_utf8(read(response).await.unwrap()).unwrap())
}

/// Starts an origin that answers each request with the numbers of its connection and stream.
fn numbered(config: Http2ServerConfig) -> Origin {
    Origin::tcp(move |number, socket| {
        serve(socket, config, |connection, asked| match asked {
            ScriptEvent::Request(stream, _, true) | ScriptEvent::Data(stream, _, true) => {
                answer(connection, stream, &format!("{number}:{stream}"))
            }
            _ => true,
        });
    })
}

#[test]
fn requests_at_once_share_a_connection() {
    // Origin that answers no request before the third has arrived.
    let origin = Origin::tcp(|_, socket| {
        serve(socket, Http2ServerConfig::default(), |connection, asked| {
            if let ScriptEvent::Request(5, ..) = asked {
                (0..3).all(|request| answer(connection, request * 2 + 1, &request.to_string()))
            } else {
                true
            }
        });
    });
    run(async {
        let (group, pool) = (group(&[&origin.address]), HttpPool::new());
        let ask = || boxed(text(&group, &pool, http2(Method::Get, "")));
        let mut all: Vec<_> =
            together(vec![ask(), ask(), ask()]).await.into_iter().map(Result::unwrap).collect();
        all.sort();
        assert_eq!(all, ["0", "1", "2"]);
        assert_eq!(origin.connections(), 1);
    });
}

#[test]
fn more_requests_than_the_origin_takes_at_once_have_another_connection() {
    let (release, released) = mpsc::channel::<()>();
    let released = std::sync::Mutex::new(released);
    let origin = Origin::tcp(move |number, socket| {
        serve(
            socket,
            Http2ServerConfig { max_streams: 1, ..Http2ServerConfig::default() },
            |connection, asked| {
                if let ScriptEvent::Request(stream, head, _) = asked {
                    if head.fields().get(b"x-wait").is_some() {
                        released.lock().unwrap().recv().unwrap();
                    }
                    return answer(connection, stream, &number.to_string());
                }
                true
            },
        );
    });
    run(async {
        let (group, pool) = (keeping(&origin.address, 4), HttpPool::new());
        assert_eq!(text(&group, &pool, http2(Method::Get, "")).await.unwrap(), "0");
        let slow = text(&group, &pool, http2(Method::Get, "X-Wait: 1\r\n"));
        let quick = async {
            tokio::task::yield_now().await;
            let quick = text(&group, &pool, http2(Method::Get, "")).await;
            release.send(()).unwrap();
            quick
        };
        let answers = together(vec![boxed(slow), boxed(quick)]).await;
        let answers: Vec<_> = answers.into_iter().map(Result::unwrap).collect();
        assert_eq!(answers, ["0", "1"]);
    });
}

#[test]
fn connection_is_reused_as_upstream_group_configures() {
    for (kept, expected) in [(1, "0:3"), (0, "1:1")] {
        let origin = numbered(Http2ServerConfig::default());
        run(async {
            let (group, pool) = (keeping(&origin.address, kept), HttpPool::new());
            assert_eq!(text(&group, &pool, http2(Method::Get, "")).await.unwrap(), "0:1");
            // After the exchange, the driver decides whether the connection remains open.
            tokio::task::yield_now().await;
            let request = http2(Method::Post, "");
            let attempts = request.attempts.clone();
            assert_eq!(text(&group, &pool, request).await.unwrap(), expected);
            assert_eq!(attempts.get()[0].reused, kept > 0);
        });
    }
}

#[test]
fn bodies_of_any_length_pass_both_ways() {
    const LENGTH: usize = 3_000_000;
    let origin = Origin::tcp(|_, socket| {
        let mut sum = 0;
        serve(socket, Http2ServerConfig::default(), |connection, asked| {
            if let ScriptEvent::Data(stream, data, end) = asked {
                assert!(data.iter().all(|byte| *byte == b'm'));
                sum += data.len();
                if end {
                    connection.respond(stream, 200, [], false);
                    connection.send(stream, Bytes::from(vec![b'd'; std::mem::take(&mut sum)]), true);
                }
            }
            true
        });
    });
    run(async {
        let (group, pool) = (group(&[&origin.address]), HttpPool::new());
        let bodies = [
            RequestPayload::Bytes(vec![b'm'; LENGTH].into()),
            RequestPayload::Stream(Box::pin(Made::new(LENGTH as u64)), None),
            RequestPayload::Again(Rc::new(|| Box::pin(Made::new(LENGTH as u64))), LENGTH as u64),
        ];
        for body in bodies {
            let request = OriginRequest { body, ..http2(Method::Post, "") };
            let answer = text(&group, &pool, request).await.unwrap();
            assert_eq!(answer.len(), LENGTH);
        }
    });
}

#[test]
fn unread_response_is_not_read_further_from_origin() {
    let origin = Origin::tcp(|_, socket| {
        serve(socket, Http2ServerConfig::default(), |connection, asked| match asked {
            ScriptEvent::Request(1, ..) => {
                connection.respond(1, 200, [], false);
                connection.send(1, Bytes::from(vec![b'd'; 1_000_000]), true);
                true
            }
            ScriptEvent::Request(stream, ..) => {
                let sent = connection.sent_so_far(1).body;
                answer(connection, stream, &sent.to_string())
            }
            _ => true,
        });
    });
    run(async {
        let (group, pool) = (group(&[&origin.address]), HttpPool::new());
        let mut large = group.fetch(&pool, http2(Method::Get, "")).await.unwrap();
        let sent = text(&group, &pool, http2(Method::Get, "")).await.unwrap();
        assert_eq!(sent, (128 * 1024).to_string(), "no more than the window");
        let mut pulled = 0;
        while let Some(piece) = next(&mut large.body).await {
            pulled += piece.unwrap().len();
        }
        assert_eq!(pulled, 1_000_000);
    });
}

#[derive(Default)]
struct Interims(RefCell<Vec<u16>>);

impl UpstreamObserver for Interims {
    fn stderr(&self, _: &PeerAddress, _: &[u8], _: Phase) {}
    fn warning(&self, _: &PeerAddress, _: &str) {}
    fn retried(&self, _: &OriginError) {}

    fn interim(&self, head: &ResponseHead) {
        self.0.borrow_mut().push(head.status);
    }
}

#[test]
fn interim_responses_and_trailers_are_forwarded() {
    let origin = Origin::tcp(|_, socket| {
        serve(socket, Http2ServerConfig::default(), |connection, asked| {
            if let ScriptEvent::Request(stream, head, _) = asked {
                assert_eq!(head.fields().get(b"te"), Some(&b"trailers"[..]));
                connection.respond(stream, 103, [(&b"link"[..], &b"</a>"[..])], false);
                connection.respond(stream, 200, [], false);
                connection.send(stream, Bytes::from_static(b"page"), false);
                let mut fields = Fields::new();
                fields.push(b"x-sum", b"4");
                connection.send_trailers(stream, fields);
            }
            true
        });
    });
    run(async {
        let interims = Rc::new(Interims::default());
        let mut request = http2(Method::Get, "TE: trailers\r\nConnection: te\r\n");
        request.observer = Some(interims.clone());
        let response = group(&[&origin.address]).fetch(&HttpPool::new(), request).await.unwrap();
        assert_eq!((response.head.status, interims.0.take()), (200, vec![103]));
        let trailers = response.trailers.clone().unwrap();
        assert_eq!(read(response).await.unwrap(), b"page");
        assert_eq!(trailers.borrow().get(b"x-sum"), Some(&b"4"[..]));
    });
}

/// Starts an origin that refuses the first request of each connection with a number below `bad`, and answers all
/// others.
fn refusing(bad: usize) -> Origin {
    Origin::tcp(move |number, socket| {
        serve(socket, Http2ServerConfig::default(), |connection, asked| {
            if let ScriptEvent::Request(stream, ..) = asked {
                if number < bad && stream == 1 {
                    connection.reset(stream, ErrorCode::RefusedStream);
                } else {
                    answer(connection, stream, &format!("{number}:{stream}"));
                }
            }
            true
        });
    })
}

#[test]
fn refused_request_is_sent_once_more_even_if_post() {
    let origin = refusing(1);
    run(async {
        let group = keeping(&origin.address, 1);
        for body in [RequestPayload::Empty, RequestPayload::Bytes(Bytes::from_static(b"once"))] {
            let request = OriginRequest { body, ..http2(Method::Post, "") };
            let attempts = request.attempts.clone();
            let answer = text(&group, &HttpPool::new(), request).await.unwrap();
            assert!(answer == "0:3" || answer == "1:1", "{answer}");
            assert_eq!(attempts.get().len(), 1);
        }
    });
}

#[test]
fn another_peer_is_tried_where_one_refuses_again() {
    let stubborn = Origin::tcp(|_, socket| {
        serve(socket, Http2ServerConfig::default(), |connection, asked| {
            if let ScriptEvent::Request(stream, ..) = asked {
                connection.reset(stream, ErrorCode::RefusedStream);
            }
            true
        });
    });
    let other = numbered(Http2ServerConfig::default());
    run(async {
        let request = http2(Method::Post, "");
        let attempts = request.attempts.clone();
        let group = group(&[&stubborn.address, &other.address]);
        assert_eq!(text(&group, &HttpPool::new(), request).await.unwrap(), "0:1");
        assert_eq!(attempts.get().len(), 2);
        let lone = support::group(&[&stubborn.address]);
        let error = lone.fetch(&HttpPool::new(), http2(Method::Get, "")).await.unwrap_err();
        assert_eq!((error.kind(), error.status()), (&ErrorKind::Refused, 502));
    });
}

#[test]
fn a_connection_that_the_origin_leaves_is_not_used_again() {
    let origin = Origin::tcp(|number, socket| {
        serve(socket, Http2ServerConfig::default(), |connection, asked| {
            if let ScriptEvent::Request(stream, ..) = asked {
                answer(connection, stream, &format!("{number}:{stream}"));
                connection.shut_down();
            }
            true
        });
    });
    run(async {
        let (group, pool) = (keeping(&origin.address, 1), HttpPool::new());
        for expected in ["0:1", "1:1", "2:1"] {
            assert_eq!(text(&group, &pool, http2(Method::Post, "")).await.unwrap(), expected);
        }
    });
}

#[test]
fn an_idle_connection_that_the_origin_has_closed_is_found_out() {
    let origin = Origin::tcp(|number, socket| {
        serve(socket, Http2ServerConfig::default(), |connection, asked| {
            if let ScriptEvent::Request(stream, ..) = asked {
                answer(connection, stream, &number.to_string());
                return false;
            }
            true
        });
    });
    run(async {
        let (group, pool) = (keeping(&origin.address, 1), HttpPool::new());
        for expected in ["0", "1", "2"] {
            assert_eq!(text(&group, &pool, http2(Method::Get, "")).await.unwrap(), expected);
        }
    });
}

#[test]
fn an_origin_without_http_2_is_a_failure() {
    let origin = Origin::tcp(|_, socket| {
        let _ = socket.write_all(b"HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n");
        let _ = socket.read(&mut [0; 1000]);
    });
    run(async {
        let group = group(&[&origin.address]);
        let error = group.fetch(&HttpPool::new(), http2(Method::Get, "")).await.unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::InvalidHead);
        assert!(
            error.to_string().starts_with("upstream sent invalid http2 (not HTTP/2: the first frame"),
            "{error}"
        );
    });
}

#[test]
fn requests_waiting_for_connection_fail_when_it_cannot_be_made() {
    let unreachable = refused();
    run(async {
        let (group, pool) = (group(&[&unreachable.address]), HttpPool::new());
        let ask = || boxed(text(&group, &pool, http2(Method::Get, "")));
        for answer in together(vec![ask(), ask()]).await {
            assert_eq!(answer.unwrap_err().kind(), &ErrorKind::Connect);
        }
    });
}

#[test]
fn a_body_that_is_dropped_ends_its_stream_alone() {
    let (told, reset) = mpsc::channel();
    let origin = Origin::tcp(move |_, socket| {
        serve(socket, Http2ServerConfig::default(), |connection, asked| match asked {
            ScriptEvent::Request(1, ..) => connection.respond(1, 200, [], false),
            ScriptEvent::Request(stream, ..) => answer(connection, stream, "other"),
            ScriptEvent::Reset(stream) => told.send(stream).is_ok(),
            ScriptEvent::Data(..) => true,
        });
    });
    run(async {
        let (group, pool) = (keeping(&origin.address, 1), HttpPool::new());
        let endless = group.fetch(&pool, http2(Method::Get, "")).await.unwrap();
        drop(endless);
        assert_eq!(text(&group, &pool, http2(Method::Get, "")).await.unwrap(), "other");
        assert_eq!((reset.recv().unwrap(), origin.connections()), (1, 1));
    });
}

#[test]
fn a_silent_connection_gets_no_more_requests() {
    let origin = Origin::tcp(|number, socket| {
        serve(socket, Http2ServerConfig::default(), |connection, asked| match asked {
            ScriptEvent::Request(stream, ..) if number > 0 => answer(connection, stream, "other"),
            _ => true,
        });
    });
    run(async {
        let (group, pool) = (keeping(&origin.address, 1), HttpPool::new());
        let mut request = http2(Method::Post, "");
        request.timeouts.read_ms = 50;
        let error = group.fetch(&pool, request).await.unwrap_err();
        assert_eq!(error.kind(), &ErrorKind::Timeout);
        assert_eq!(text(&group, &pool, http2(Method::Post, "")).await.unwrap(), "other");
    });
}

#[test]
fn an_answer_that_breaks_off_is_an_error_and_not_an_end() {
    let origin = Origin::tcp(|_, socket| {
        serve(socket, Http2ServerConfig::default(), |connection, asked| {
            if let ScriptEvent::Request(stream, head, _) = asked {
                connection.respond(stream, 200, [], false);
                connection.send(stream, Bytes::from_static(b"begun"), false);
                if head.fields().get(b"x-reset").is_some() {
                    connection.schedule(usize::MAX);
                    connection.reset(stream, ErrorCode::Internal);
                    return true;
                }
                return false;
            }
            true
        });
    });
    run(async {
        for fields in ["X-Reset: 1\r\n", ""] {
            let group = group(&[&origin.address]);
            let response = group.fetch(&HttpPool::new(), http2(Method::Get, fields)).await.unwrap();
            assert!(read(response).await.is_err());
        }
    });
}
