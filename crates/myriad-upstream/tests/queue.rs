//! `max_conns` and `queue`: order of waiting requests, and requests that need not wait.

mod support;

use myriad_conf::model::UpstreamQueue;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;

use myriad_http::Method;
use myriad_upstream::{
    ErrorKind, Group, GroupConfig, HttpPool, OriginError, OriginRequest, OriginResponse, PeerConfig,
    PeerStates,
};
use support::{Origin, http, run};

/// Origin with endless responses, so that a request is active until it is dropped.
struct Endless {
    origin: Origin,
    /// Number of each request in the order of arrival.
    asked: Arc<Mutex<Vec<usize>>>,
}

impl Endless {
    fn start() -> Self {
        let asked = Arc::<Mutex<Vec<usize>>>::default();
        let seen = Arc::clone(&asked);
        let origin = Origin::tcp(move |_, socket| {
            let mut head = Vec::new();
            let mut byte = [0];
            while !head.ends_with(b"\r\n\r\n") && socket.read(&mut byte).is_ok_and(|read| read == 1) {
                head.push(byte[0]);
            }
            let head = String::from_utf8(head).unwrap();
            let Some((_, number)) = head.split_once("Number: ") else { return };
            seen.lock().unwrap().push(number.trim().parse().unwrap());
            socket.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nbegun").unwrap();
            let _ = socket.read(&mut byte);
        });
        Self { origin, asked }
    }

    fn asked(&self) -> Vec<usize> {
        self.asked.lock().unwrap().clone()
    }

    /// Returns a group with only this peer, which accepts a single request at a time.
    fn group(&self, queue: Option<UpstreamQueue>, registry: &PeerStates) -> Group {
        let peer = PeerConfig { max_conns: 1, ..PeerConfig::new(self.origin.address.clone()) };
        let single = GroupConfig::single(self.origin.address.clone());
        Group::new(GroupConfig { peers: vec![peer], queue, ..single }, registry)
    }
}

fn queue(most: u32) -> UpstreamQueue {
    UpstreamQueue { max: most, timeout_ms: 60_000 }
}

fn numbered(number: usize) -> OriginRequest {
    http(Method::Get, &format!("Number: {number}\r\n"))
}

type FetchFuture<'a> = Pin<Box<dyn Future<Output = Result<Box<OriginResponse>, OriginError>> + 'a>>;

fn begin<'a>(group: &'a Group, pool: &'a HttpPool, number: usize) -> FetchFuture<'a> {
    Box::pin(group.fetch(pool, numbered(number)))
}

/// Polls the request once and returns whether it is pending.
async fn waits(answered: &mut FetchFuture<'_>) -> bool {
    poll_fn(|cx| Poll::Ready(answered.as_mut().poll(cx).is_pending())).await
}

#[test]
fn queued_requests_wait_in_order_without_overtaking() {
    let endless = Endless::start();
    let (group, pool) = (endless.group(Some(queue(3)), &PeerStates::new()), HttpPool::new());
    run(async {
        let busy = begin(&group, &pool, 0).await.unwrap();
        let (mut first, mut second) = (begin(&group, &pool, 1), begin(&group, &pool, 2));
        assert!(waits(&mut first).await && waits(&mut second).await);
        drop(busy);
        // The peer is free, but another request is first in the queue.
        let mut late_request = begin(&group, &pool, 3);
        assert!(waits(&mut late_request).await && waits(&mut second).await);
        drop(first.await.unwrap());
        drop(second.await.unwrap());
        drop(late_request.await.unwrap());
    });
    assert_eq!(endless.asked(), [0, 1, 2, 3]);
}

#[test]
fn full_queue_rejects_requests_until_one_leaves() {
    let endless = Endless::start();
    let (group, pool) = (endless.group(Some(queue(1)), &PeerStates::new()), HttpPool::new());
    run(async {
        let busy = begin(&group, &pool, 0).await.unwrap();
        let mut gone = begin(&group, &pool, 1);
        assert!(waits(&mut gone).await);
        let refused = begin(&group, &pool, 2).await.unwrap_err();
        assert_eq!((refused.kind(), refused.status()), (&ErrorKind::NoLivePeer, 502));
        assert!(refused.to_string().contains("the queue of the upstream is full"), "{refused}");
        drop(gone);
        let mut next = begin(&group, &pool, 3);
        assert!(waits(&mut next).await);
        drop(busy);
        drop(next.await.unwrap());
    });
    assert_eq!(endless.asked(), [0, 3], "whoever has gone is not asked for");
}

#[test]
fn a_wait_ends_with_its_time() {
    let endless = Endless::start();
    let most = Some(UpstreamQueue { max: 9, timeout_ms: 1 });
    let (group, pool) = (endless.group(most, &PeerStates::new()), HttpPool::new());
    run(async {
        let busy = begin(&group, &pool, 0).await.unwrap();
        let late = begin(&group, &pool, 1).await.unwrap_err();
        assert_eq!(late.status(), 502);
        assert!(late.to_string().contains("no server of the upstream became free in time"), "{late}");
        drop(busy);
    });
    assert_eq!(endless.asked(), [0]);
}

#[test]
fn without_a_queue_a_busy_peer_is_no_peer() {
    let endless = Endless::start();
    let (group, pool) = (endless.group(None, &PeerStates::new()), HttpPool::new());
    run(async {
        let busy = begin(&group, &pool, 0).await.unwrap();
        let refused = begin(&group, &pool, 1).await.unwrap_err();
        assert_eq!((refused.kind(), refused.status()), (&ErrorKind::NoLivePeer, 502));
        drop(busy);
        drop(begin(&group, &pool, 2).await.unwrap());
    });
    assert_eq!(endless.asked(), [0, 2]);
}

#[test]
fn request_that_may_not_queue_fails_as_busy() {
    let endless = Endless::start();
    let (group, pool) = (endless.group(Some(queue(9)), &PeerStates::new()), HttpPool::new());
    run(async {
        let busy = begin(&group, &pool, 0).await.unwrap();
        let hasty = OriginRequest { queues: false, ..numbered(1) };
        assert_eq!(group.fetch(&pool, hasty).await.unwrap_err().kind(), &ErrorKind::Busy);
        drop(busy);
        let hasty = OriginRequest { queues: false, ..numbered(2) };
        drop(group.fetch(&pool, hasty).await.unwrap());
    });
    assert_eq!(endless.asked(), [0, 2]);
}

#[test]
fn request_finished_under_old_configuration_admits_waiter_of_new_one() {
    let endless = Endless::start();
    let (registry, pool) = (PeerStates::new(), HttpPool::new());
    let (before, after) =
        (endless.group(Some(queue(9)), &registry), endless.group(Some(queue(9)), &registry));
    run(async {
        let busy = begin(&before, &pool, 0).await.unwrap();
        let mut next = begin(&after, &pool, 1);
        assert!(waits(&mut next).await);
        drop(busy);
        drop(next.await.unwrap());
    });
    assert_eq!(endless.asked(), [0, 1]);
}
