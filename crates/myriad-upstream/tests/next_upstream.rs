//! Failures that are retried with another peer, and the state of the failed peer afterwards.

mod support;

use myriad_conf::{model::Balance, settings::NextUpstream};
use myriad_http::Method;
use myriad_upstream::{ErrorKind, Group, GroupConfig, OriginRequest, PeerConfig, PeerStates, RequestPayload};
use support::fastcgi::{answer, read_request, serve};
use support::{Made, Notes, Origin, TestSocketFolder, ask, fastcgi, group, refused, run};

fn good(folder: &TestSocketFolder) -> Origin {
    Origin::unix(&folder.socket(), |_, socket| {
        serve(socket, |request| answer(&format!("A: b\n\ngood{}", request.body.len())));
    })
}

fn answering(folder: &TestSocketFolder, reply: &'static str) -> Origin {
    Origin::unix(&folder.socket(), move |_, socket| serve(socket, |_| answer(reply)))
}

/// Starts an origin that reads the request and closes the connection.
fn hanging_up(folder: &TestSocketFolder) -> Origin {
    Origin::unix(&folder.socket(), |_, socket| {
        read_request(socket);
    })
}

/// Sends a request to a group of a bad peer, which is tried first, and a good peer. Returns the status, and whether the
/// good peer sent the response.
fn ask_both(bad: &Origin, request: OriginRequest) -> (u16, bool) {
    let folder = TestSocketFolder::new();
    let good = good(&folder);
    match run(ask(&group(&[&bad.address, &good.address]), request)) {
        Ok((status, body)) => (status, body.starts_with(b"good")),
        Err(error) => (error.status(), false),
    }
}

#[test]
fn a_dead_peer_is_made_good_by_the_next() {
    let folder = TestSocketFolder::new();
    let (dead, good) = (refused(), good(&folder));
    let group = group(&[&dead.address, &good.address]);
    let mut request = fastcgi(Method::Post, false);
    request.body = RequestPayload::Bytes("four".into());
    let (notes, attempts) = (Notes::attach(&mut request), request.attempts.clone());
    assert_eq!(run(ask(&group, request)).unwrap().1, b"good4");
    let message = "retried: connect() failed (111: Connection refused) while connecting to upstream";
    assert_eq!(notes.take(), [message]);
    let addresses: Vec<_> = attempts.get().iter().map(|a| (a.address.to_string(), a.status)).collect();
    assert_eq!(addresses, [(dead.address.to_string(), 502), (good.address.to_string(), 200)]);
    assert_eq!((group.peers()[0].failures, group.peers()[0].available), (1, false));
}

#[test]
fn an_unsent_stream_goes_to_the_next_peer_whole() {
    let folder = TestSocketFolder::new();
    let (dead, good) = (refused(), good(&folder));
    let mut request = fastcgi(Method::Post, false);
    request.body = RequestPayload::Stream(Box::pin(Made::new(100_000)), Some(100_000));
    assert_eq!(run(ask(&group(&[&dead.address, &good.address]), request)).unwrap().1, b"good100000");
}

#[test]
fn what_was_sent_is_repeated_only_where_that_is_safe() {
    let folder = TestSocketFolder::new();
    let bad = hanging_up(&folder);
    assert_eq!(ask_both(&bad, fastcgi(Method::Get, false)), (200, true));
    assert_eq!(ask_both(&bad, fastcgi(Method::Put, false)), (200, true));
    assert_eq!(ask_both(&bad, fastcgi(Method::Post, false)), (502, false));
    let mut request = fastcgi(Method::Post, false);
    request.retry.non_idempotent = true;
    assert_eq!(ask_both(&bad, request), (200, true));
    let mut request = fastcgi(Method::Put, false);
    request.body = RequestPayload::Stream(Box::pin(Made::new(10)), Some(10));
    assert_eq!(ask_both(&bad, request), (502, false), "the body is gone");
}

/// Returns rules that allow another peer for this reason only.
fn only(word: &str) -> NextUpstream {
    let mut next = NextUpstream::OFF;
    let condition = match word {
        "error" => &mut next.error,
        "timeout" => &mut next.timeout,
        "invalid_header" => &mut next.invalid_header,
        "http_500" => &mut next.http_500,
        "http_503" => &mut next.http_503,
        "http_404" => &mut next.http_404,
        word => panic!("{word}"),
    };
    *condition = true;
    next
}

#[test]
fn each_condition_of_next_upstream_counts_alone() {
    let folders: Vec<_> = (0..5).map(|_| TestSocketFolder::new()).collect();
    let silent = Origin::unix(&folders[0].socket(), |_, socket| {
        read_request(socket);
        let _ = std::io::Read::read(socket, &mut [0]);
    });
    let closing = hanging_up(&folders[1]);
    let broken = answering(&folders[2], "Bad header\r\rx\n\n");
    let failing = answering(&folders[3], "Status: 503\n\nbad");
    let absent = answering(&folders[4], "Status: 404\n\nbad");
    for (bad, word, status) in [
        (&silent, "timeout", 504),
        (&closing, "error", 502),
        (&broken, "invalid_header", 502),
        (&failing, "http_503", 503),
        (&absent, "http_404", 404),
    ] {
        for set in ["error", "timeout", "invalid_header", "http_503", "http_404", "http_500"] {
            let mut request = fastcgi(Method::Get, false);
            // The timeout also applies to the good peer.
            if word == "timeout" && set != word {
                request.timeouts.read_ms = 30;
            }
            request.retry = only(set);
            let expected = if set == word { (200, true) } else { (status, false) };
            assert_eq!(ask_both(bad, request), expected, "{word} with {set}");
        }
    }
}

#[test]
fn the_last_peer_has_the_last_word() {
    let folders = [TestSocketFolder::new(), TestSocketFolder::new()];
    let origins =
        [answering(&folders[0], "Status: 500\n\nfirst"), answering(&folders[1], "Status: 500\n\nlast")];
    let mut request = fastcgi(Method::Get, false);
    request.retry.http_500 = true;
    let attempts = request.attempts.clone();
    let group = group(&[&origins[0].address, &origins[1].address]);
    assert_eq!(run(ask(&group, request)).unwrap(), (500, b"last".to_vec()));
    assert_eq!(attempts.get().len(), 2);
    assert!(group.peers().iter().all(|peer| peer.failures == 1 && peer.active == 0));
}

#[test]
fn not_found_is_no_failure_of_the_peer() {
    let folder = TestSocketFolder::new();
    let bad = answering(&folder, "Status: 404\n\nbad");
    let dead = refused();
    let mut request = fastcgi(Method::Get, false);
    request.retry.http_404 = true;
    let group = group(&[&bad.address, &dead.address]);
    assert_eq!(run(ask(&group, request)).unwrap_err().kind(), &ErrorKind::Connect);
    assert_eq!((group.peers()[0].failures, group.peers()[1].failures), (0, 1));
}

#[test]
fn tries_and_time_are_bounded() {
    let dead = [refused(), refused(), refused()];
    for (tries, made) in [(0, 3), (1, 1), (2, 2), (9, 3)] {
        let mut request = fastcgi(Method::Get, false);
        request.retry.tries = tries;
        let attempts = request.attempts.clone();
        let group = group(&[&dead[0].address, &dead[1].address, &dead[2].address]);
        assert_eq!(run(ask(&group, request)).unwrap_err().kind(), &ErrorKind::Connect);
        assert_eq!(attempts.get().len(), made);
    }
    let folder = TestSocketFolder::new();
    let silent = Origin::unix(&folder.socket(), |_, socket| {
        read_request(socket);
        let _ = std::io::Read::read(socket, &mut [0]);
    });
    let mut request = fastcgi(Method::Get, false);
    request.timeouts.read_ms = 60;
    request.retry.timeout_ms = 50;
    assert_eq!(ask_both(&silent, request), (504, false));
}

#[test]
fn when_no_peer_is_live_the_request_after_tries_again() {
    let dead = [refused(), refused()];
    let group = group(&[&dead[0].address, &dead[1].address]);
    assert_eq!(run(ask(&group, fastcgi(Method::Get, false))).unwrap_err().kind(), &ErrorKind::Connect);
    let request = fastcgi(Method::Get, false);
    let attempts = request.attempts.clone();
    let error = run(ask(&group, request)).unwrap_err();
    assert_eq!(error.to_string(), "no live upstreams while connecting to upstream");
    assert_eq!((error.status(), error.kind(), error.peer()), (502, &ErrorKind::NoLivePeer, None));
    assert_eq!((&*attempts.get()[0].address, attempts.get()[0].status), ("php", 502));
    assert_eq!(run(ask(&group, fastcgi(Method::Get, false))).unwrap_err().kind(), &ErrorKind::Connect);
}

#[test]
fn failure_without_remaining_live_peer_is_followed_by_attempt_named_after_group() {
    let dead = [refused(), refused()];
    let mut first = PeerConfig::new(dead[0].address.clone());
    first.max_fails = 0;
    let peers = vec![first, PeerConfig::new(dead[1].address.clone())];
    let config =
        GroupConfig { name: "php".to_owned(), peers, ..GroupConfig::single(dead[0].address.clone()) };
    let group = Group::new(config, &PeerStates::new());
    // The second peer fails and is excluded from now on.
    assert_eq!(run(ask(&group, fastcgi(Method::Get, false))).unwrap_err().kind(), &ErrorKind::Connect);
    let request = fastcgi(Method::Get, false);
    let attempts = request.attempts.clone();
    assert_eq!(run(ask(&group, request)).unwrap_err().kind(), &ErrorKind::NoLivePeer);
    let tried: Vec<_> = attempts.get().iter().map(|attempt| attempt.address.to_string()).collect();
    assert_eq!(tried, [dead[0].address.to_string(), "php".to_owned()]);
}

#[test]
fn a_lone_peer_is_asked_however_often_it_failed() {
    let folder = TestSocketFolder::new();
    let address = myriad_upstream::PeerAddress::Unix(folder.socket());
    let group = group(&[&address]);
    for _ in 0..3 {
        assert_eq!(run(ask(&group, fastcgi(Method::Get, false))).unwrap_err().kind(), &ErrorKind::Connect);
    }
    let _origin = good(&folder);
    assert_eq!(run(ask(&group, fastcgi(Method::Get, false))).unwrap().1, b"good0");
}

#[test]
fn health_outlives_the_group_it_was_learnt_in() {
    let folder = TestSocketFolder::new();
    let (dead, good, registry) = (refused(), good(&folder), PeerStates::new());
    let config = GroupConfig {
        name: "php".to_owned(),
        peers: vec![PeerConfig::new(dead.address.clone()), PeerConfig::new(good.address.clone())],
        balance: Balance::RoundRobin,
        keepalive: myriad_upstream::KeepAlive::default(),
        queue: None,
        sticky: false,
        names: None,
        zone: None,
    };
    let old = Group::new(config.clone(), &registry);
    run(ask(&old, fastcgi(Method::Get, false))).unwrap();
    let new = Group::new(config.clone(), &registry);
    drop(old);
    registry.prune();
    assert!(!Group::new(config.clone(), &registry).peers()[0].available);
    drop(new);
    registry.prune();
    assert!(Group::new(config, &registry).peers()[0].available, "nobody used it any more");
}
