//! Reused connections, and connections that can no longer be reused.

mod support;

use std::io::Write;
use std::os::unix::net::UnixListener;
use std::sync::mpsc;
use std::thread;
use std::time::{Duration, Instant};

use bytes::Bytes;
use myriad_http::Method;
use myriad_upstream::{Group, HttpPool, KeepAlive, PeerAddress, RequestPayload};
use support::fastcgi::{answer, read_request, serve};
use support::{Origin, TestSocketFolder, ask, fastcgi, group, http, keeping, keeping_as, most, read, run};

/// Starts an origin that answers each request with the number of its connection.
fn numbered(folder: &TestSocketFolder) -> Origin {
    Origin::unix(&folder.socket(), |number, socket| serve(socket, |_| answer(&format!("A: b\n\n{number}"))))
}

async fn body(group: &Group, method: Method) -> Vec<u8> {
    ask(group, fastcgi(method, true)).await.unwrap().1
}

#[test]
fn idle_fastcgi_connection_is_reused() {
    let folder = TestSocketFolder::new();
    let origin = numbered(&folder);
    run(async {
        let group = keeping(&origin.address, 2);
        for _ in 0..5 {
            assert_eq!(body(&group, Method::Get).await, b"0");
            assert_eq!(group.peers()[0].idle_fastcgi, 1);
        }
        let request = fastcgi(Method::Get, true);
        let attempts = request.attempts.clone();
        ask(&group, request).await.unwrap();
        assert!(attempts.get()[0].reused);
    });
}

#[test]
fn fastcgi_connections_are_reused_only_if_both_directives_allow_it() {
    for (connections, keep_conn) in [(0, true), (0, false), (2, false)] {
        let folder = TestSocketFolder::new();
        let origin = numbered(&folder);
        run(async {
            let group = keeping(&origin.address, connections);
            for number in ["0", "1"] {
                let (_, body) = ask(&group, fastcgi(Method::Get, keep_conn)).await.unwrap();
                assert_eq!(body, number.as_bytes());
            }
        });
    }
}

#[test]
fn idle_fastcgi_connections_are_let_go_after_a_second() {
    let folder = TestSocketFolder::new();
    let (closed, wait) = mpsc::channel();
    let origin = Origin::unix(&folder.socket(), move |_, socket| {
        serve(socket, |_| answer("A: b\n\n"));
        closed.send(()).unwrap();
    });
    run(async {
        let group = keeping_as(&origin.address, most(2));
        let began = Instant::now();
        body(&group, Method::Get).await;
        tokio::time::sleep(Duration::from_millis(500)).await;
        let early = wait.try_recv().is_ok();
        assert!(!early || began.elapsed() > Duration::from_millis(900), "it is kept for a while");
        while !early && wait.try_recv().is_err() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert_eq!(group.peers()[0].idle_fastcgi, 0);
    });
}

#[test]
fn idle_connections_do_not_exceed_configured_number() {
    let folder = TestSocketFolder::new();
    let origin = Origin::unix(&folder.socket(), |_, socket| {
        serve(socket, |_| {
            thread::sleep(Duration::from_millis(50));
            answer("A: b\n\n")
        });
    });
    run(async {
        let group = keeping(&origin.address, 1);
        let pool = HttpPool::new();
        let (a, b) =
            (group.fetch(&pool, fastcgi(Method::Get, true)), group.fetch(&pool, fastcgi(Method::Get, true)));
        let (a, b) = both(a, b).await;
        read(a.unwrap()).await.unwrap();
        read(b.unwrap()).await.unwrap();
        assert_eq!(origin.connections(), 2);
        assert_eq!(group.peers()[0].idle_fastcgi, 1);
    });
}

/// Polls two futures concurrently.
async fn both<A, B>(a: impl Future<Output = A>, b: impl Future<Output = B>) -> (A, B) {
    let (mut a, mut b) = (Box::pin(a), Box::pin(b));
    let (mut done_a, mut done_b) = (None, None);
    std::future::poll_fn(move |cx| {
        use std::task::Poll;
        if done_a.is_none()
            && let Poll::Ready(result) = a.as_mut().poll(cx)
        {
            done_a = Some(result);
        }
        if done_b.is_none()
            && let Poll::Ready(result) = b.as_mut().poll(cx)
        {
            done_b = Some(result);
        }
        if done_a.is_some() && done_b.is_some() {
            return Poll::Ready((done_a.take().unwrap(), done_b.take().unwrap()));
        }
        Poll::Pending
    })
    .await
}

#[test]
fn workers_share_fastcgi_connections() {
    let folder = TestSocketFolder::new();
    let origin = numbered(&folder);
    let group = keeping(&origin.address, 2);
    thread::scope(|scope| {
        for _ in 0..3 {
            let result = scope.spawn(|| run(body(&group, Method::Get))).join();
            assert_eq!(result.unwrap(), b"0");
        }
    });
}

#[test]
fn requests_of_a_connection_are_bounded() {
    let folder = TestSocketFolder::new();
    let origin = numbered(&folder);
    run(async {
        let keepalive = KeepAlive { requests: 2, fastcgi_timeout_ms: 60_000, ..most(2) };
        let group = keeping_as(&origin.address, keepalive);
        let mut bodies = Vec::new();
        for _ in 0..5 {
            bodies.push(body(&group, Method::Get).await);
        }
        assert_eq!(bodies, [b"0", b"0", b"1", b"1", b"2"]);
    });
}

#[test]
fn php_restart_is_not_noticed_by_the_next_request() {
    let folder = TestSocketFolder::new();
    let (stop, stopped) = mpsc::channel::<()>();
    let path = folder.socket();
    let first = UnixListener::bind(&path).unwrap();
    let old = thread::spawn(move || {
        let (mut socket, _) = first.accept().unwrap();
        read_request(&mut socket).unwrap();
        socket.write_all(&answer("A: b\n\nold")).unwrap();
        stopped.recv().unwrap();
    });
    run(async {
        let group = keeping(&PeerAddress::Unix(path.clone()), 2);
        assert_eq!(body(&group, Method::Get).await, b"old");
        assert_eq!(group.peers()[0].idle_fastcgi, 1);
        stop.send(()).unwrap();
        old.join().unwrap();
        std::fs::remove_file(&path).unwrap();
        let _new = Origin::unix(&path, |_, socket| serve(socket, |_| answer("A: b\n\nnew")));
        for method in [Method::Get, Method::Post] {
            assert_eq!(body(&group, method).await, b"new");
        }
    });
}

#[test]
fn request_is_retried_once_if_reused_connection_closes() {
    let folder = TestSocketFolder::new();
    let origin = Origin::unix(&folder.socket(), |number, socket| {
        read_request(socket).unwrap();
        socket.write_all(&answer(&format!("A: b\n\n{number}"))).unwrap();
        // Reads the next request and closes the connection without a response.
        read_request(socket);
    });
    run(async {
        let group = keeping(&origin.address, 2);
        assert_eq!(body(&group, Method::Get).await, b"0");
        let mut request = fastcgi(Method::Get, true);
        request.body = RequestPayload::Bytes(Bytes::from_static(b"again"));
        let attempts = request.attempts.clone();
        assert_eq!(ask(&group, request).await.unwrap().1, b"1");
        assert_eq!(attempts.get().len(), 1, "the stale connection is no attempt");
        assert!(!attempts.get()[0].reused);
        assert_eq!(group.peers()[0].failures, 0);
    });
}

#[test]
fn unrepeatable_request_never_uses_idle_connection() {
    let folder = TestSocketFolder::new();
    let origin = numbered(&folder);
    run(async {
        let group = keeping(&origin.address, 4);
        assert_eq!(body(&group, Method::Get).await, b"0");
        assert_eq!(body(&group, Method::Post).await, b"1");
        let mut request = fastcgi(Method::Put, true);
        request.body = RequestPayload::Stream(Box::pin(support::Made::new(10)), Some(10));
        assert_eq!(ask(&group, request).await.unwrap().1, b"2");
    });
}

#[test]
fn an_unread_body_closes_its_connection() {
    let folder = TestSocketFolder::new();
    let origin = Origin::unix(&folder.socket(), |number, socket| {
        serve(socket, |_| answer(&format!("A: b\n\n{number}{}", "x".repeat(500_000))));
    });
    run(async {
        let group = keeping(&origin.address, 2);
        drop(group.fetch(&HttpPool::new(), fastcgi(Method::Get, true)).await.unwrap());
        assert_eq!((group.peers()[0].idle_fastcgi, group.peers()[0].active), (0, 0));
        assert_eq!(body(&group, Method::Get).await[0], b'1');
    });
}

/// Reads a request head; returns `false` at the end of the stream.
fn read_http(socket: &mut dyn support::TestSocket) -> bool {
    let (mut head, mut byte) = (Vec::new(), [0]);
    while !head.ends_with(b"\r\n\r\n") {
        if !socket.read(&mut byte).is_ok_and(|read| read == 1) {
            return false;
        }
        head.push(byte[0]);
    }
    true
}

/// Answers every request of a connection with `reply`.
fn serve_http(socket: &mut dyn support::TestSocket, reply: &str) {
    while read_http(socket) && socket.write_all(reply.as_bytes()).is_ok() {}
}

#[test]
fn http_connections_are_reused_only_after_clean_responses() {
    for (reply, kept) in [
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", true),
        ("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", true),
        ("HTTP/1.1 204 No Content\r\n\r\n", true),
        ("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok", false),
        ("HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", false),
        ("HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 2\r\n\r\nok", true),
        ("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok and more", false),
    ] {
        let origin = Origin::tcp(move |_, socket| serve_http(socket, reply));
        run(async {
            let (group, pool) = (keeping(&origin.address, 2), HttpPool::new());
            for _ in 0..3 {
                let response = group.fetch(&pool, http(Method::Get, "")).await.unwrap();
                let body = read(response).await.unwrap();
                assert!(body == b"ok" || body.is_empty());
            }
            assert_eq!(origin.connections(), if kept { 1 } else { 3 }, "{reply:?}");
        });
    }
}

#[test]
fn each_worker_has_its_own_http_connection_pool() {
    let origin = Origin::tcp(|_, socket| serve_http(socket, "HTTP/1.1 204 No Content\r\n\r\n"));
    run(async {
        let (group, pools) = (keeping(&origin.address, 2), [HttpPool::new(), HttpPool::new()]);
        for pool in pools.iter().chain(&pools) {
            group.fetch(pool, http(Method::Get, "")).await.unwrap();
        }
        assert_eq!(origin.connections(), 2);
    });
}

#[test]
fn a_group_without_keep_alive_closes() {
    let origin = Origin::tcp(|_, socket| serve_http(socket, "HTTP/1.1 204 No Content\r\n\r\n"));
    run(async {
        let (group, pool) = (group(&[&origin.address]), HttpPool::new());
        for _ in 0..2 {
            group.fetch(&pool, http(Method::Get, "")).await.unwrap();
        }
        assert_eq!(origin.connections(), 2);
    });
}

#[test]
fn unsolicited_response_on_idle_connection_answers_no_request() {
    // If the runtime has polled the connection since, it has detected the close; otherwise a system call is needed.
    for polls in [false, true] {
        let (say, told) = mpsc::channel();
        let (done, said) = mpsc::channel();
        let logged = std::sync::Mutex::new(told);
        let origin = Origin::tcp(move |number, socket| {
            read_http(socket);
            socket.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").unwrap();
            if number == 0 {
                logged.lock().unwrap().recv().unwrap();
                socket.write_all(b"HTTP/1.1 408 Request Time-out\r\nContent-Length: 0\r\n\r\n").unwrap();
                done.send(()).unwrap();
                read_http(socket);
            }
        });
        run(async {
            let (group, pool) = (keeping(&origin.address, 2), HttpPool::new());
            group.fetch(&pool, http(Method::Get, "")).await.unwrap();
            say.send(()).unwrap();
            said.recv().unwrap();
            if polls {
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            assert_eq!(group.fetch(&pool, http(Method::Get, "")).await.unwrap().head.status, 200);
            assert_eq!(origin.connections(), 2, "polls: {polls}");
        });
    }
}

#[test]
fn connection_with_unfinished_upload_is_not_reused() {
    let origin = Origin::tcp(|number, socket| {
        serve_http(socket, &format!("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n{number}"));
    });
    run(async {
        let (group, pool) = (keeping(&origin.address, 2), HttpPool::new());
        let mut request = http(Method::Put, "Content-Length: 10\r\n");
        let delay = Some(Box::pin(tokio::time::sleep(Duration::from_secs(20))));
        request.body =
            RequestPayload::Stream(Box::pin(support::Made { delay, ..support::Made::new(10) }), Some(10));
        assert_eq!(read(group.fetch(&pool, request).await.unwrap()).await.unwrap(), b"0");
        let response = group.fetch(&pool, http(Method::Get, "")).await.unwrap();
        assert_eq!(read(response).await.unwrap(), b"1");
    });
}
