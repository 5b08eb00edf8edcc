//! Tests of requests to an origin with a queue.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::Poll;

use bytes::Bytes;
use myriad_access::origin_protection::origin_queue::set_retry_after;
use myriad_access::origin_protection::{OriginPermit, admit_to_origin};
use myriad_base::memory::PressureStage;
use myriad_exchange::exchange::Exchange;
use myriad_http::ResponseHead;
use myriad_http::body::FullBody;
use myriad_serve::testing::{TestSite, block_on, immediate_answer};
use myriad_upstream::{ErrorKind, OriginResponse, PeerAddress};

/// Returns a request that has reached a location with an origin.
fn begun(site: &TestSite, target: &str) -> Box<Exchange> {
    let mut exchange = site.exchange(target, &[]);
    assert!(immediate_answer(&mut exchange).is_none(), "{target} was answered without an origin");
    exchange
}

fn site(directives: &str) -> TestSite {
    TestSite::new(
        "map $arg_class $class { default normal; ~(?<named>.+) $named; }",
        &format!("location / {{ fastcgi_pass 127.0.0.1:9; {directives} }}"),
    )
}

fn asked(site: &TestSite, target: &str) -> Result<OriginPermit, u16> {
    let mut exchange = begun(site, target);
    block_on(admit_to_origin(&mut exchange, true)).map_err(|error| match error.kind() {
        ErrorKind::NotSent(status) => *status,
        other => panic!("{other:?}"),
    })
}

#[test]
fn request_beyond_slots_and_queue_is_not_asked_for() {
    let site = site("origin_queue zone=t_beyond concurrency=1 queue=0;");
    let first = asked(&site, "/").expect("a slot");
    assert_eq!(asked(&site, "/").err(), Some(503));
    drop(first);
    assert!(asked(&site, "/").is_ok());
}

#[test]
fn wait_ends_with_its_timeout() {
    let site = site("origin_queue zone=t_late concurrency=1 queue=1 timeout=20ms;");
    let _first = asked(&site, "/").expect("a slot");
    assert_eq!(asked(&site, "/").err(), Some(503));
}

#[test]
fn waiting_request_is_called_when_another_ends_the_better_class_first() {
    let site = site("origin_queue zone=t_called concurrency=1 queue=9; origin_priority $class;");
    let first = asked(&site, "/").expect("a slot");
    let order = std::cell::RefCell::new(Vec::new());
    let go = async |class: &'static str| {
        let mut exchange = begun(&site, &format!("/?class={class}"));
        let permit = admit_to_origin(&mut exchange, true).await.expect("a slot");
        order.borrow_mut().push(class);
        drop(permit);
    };
    let mut going: Vec<Pin<Box<dyn Future<Output = ()> + '_>>> = Vec::new();
    for class in ["last", "odd", "high"] {
        going.push(Box::pin(go(class)));
    }
    let mut first = Some(first);
    block_on(poll_fn(|cx| {
        going.retain_mut(|one| one.as_mut().poll(cx).is_pending());
        // All requests are waiting.
        first = None;
        if going.is_empty() { Poll::Ready(()) } else { Poll::Pending }
    }));
    let order = order.take();
    assert_eq!(order, ["high", "odd", "last"]);
}

#[test]
fn part_of_a_page_does_not_wait_for_the_page_around_it() {
    let site = site("origin_queue zone=t_part concurrency=1 queue=0;");
    let mut page = begun(&site, "/");
    let _permit = block_on(admit_to_origin(&mut page, true)).expect("a slot");
    let mut part = page.child(b"/part", b"").expect("a subrequest");
    assert!(immediate_answer(&mut part).is_none());
    assert!(block_on(admit_to_origin(&mut part, true)).is_ok());
    assert!(asked(&site, "/").is_err(), "the slot is not available for other requests");
}

#[test]
fn mirrored_request_comes_last_and_takes_a_slot_of_its_own() {
    let site = site("origin_queue zone=t_mirrored concurrency=1 queue=1;");
    let mut page = begun(&site, "/");
    let permit = block_on(admit_to_origin(&mut page, true)).expect("a slot");
    let mirrored = |page: &mut Exchange| {
        let mut mirrored = page.child(b"/mirrored", b"").expect("a subrequest");
        mirrored.go_to_background();
        assert!(immediate_answer(&mut mirrored).is_none());
        mirrored
    };
    let (mut first, mut second) = (mirrored(&mut page), mirrored(&mut page));
    let mut waiting = pin!(admit_to_origin(&mut first, true));
    let mut visitor = begun(&site, "/");
    let mut asking = pin!(admit_to_origin(&mut visitor, true));
    let mut permit = Some(permit);
    let came = block_on(poll_fn(|cx| {
        if permit.is_some() {
            assert!(waiting.as_mut().poll(cx).is_pending(), "the request of the mirrored page has the slot");
            assert!(asking.as_mut().poll(cx).is_pending());
            let Poll::Ready(Err(error)) = waiting.as_mut().poll(cx) else {
                panic!("the background request must yield to a visitor")
            };
            assert_eq!(error.kind(), &ErrorKind::NotSent(503));
            permit = None;
        }
        asking.as_mut().poll(cx)
    }));
    drop(came.expect("the slot"));
    assert!(block_on(admit_to_origin(&mut second, true)).is_ok(), "a slot is available again");
}

#[test]
fn slot_is_free_when_the_last_byte_of_the_answer_has_come() {
    let site = site("origin_queue zone=t_last concurrency=1 queue=0;");
    let permit = asked(&site, "/").expect("a slot");
    let mut response = OriginResponse {
        head: ResponseHead::new(200),
        body: Box::pin(FullBody::new(Bytes::from_static(b"page"))),
        upgraded: None,
        peer: PeerAddress::parse("127.0.0.1:9", None).expect("an address"),
        trailers: None,
        sid: None,
    };
    permit.response_head_arrived(&mut response);
    assert!(asked(&site, "/").is_err());
    let piece = block_on(poll_fn(|cx| response.body.as_mut().poll_data(cx)));
    assert!(matches!(piece, Some(Ok(piece)) if &piece[..] == b"page"));
    assert!(asked(&site, "/").is_ok(), "the slot is released without another read");
}

#[test]
fn location_without_queue_admits_all_requests() {
    let site = TestSite::new(
        "",
        "origin_queue zone=t_off concurrency=1 queue=0;
         location / { fastcgi_pass 127.0.0.1:9; }
         location /off { fastcgi_pass 127.0.0.1:9; origin_queue off; }",
    );
    let _first = asked(&site, "/").expect("a slot");
    assert!(asked(&site, "/").is_err());
    assert!(asked(&site, "/off").is_ok());
}

#[test]
fn retry_after_is_sent_with_503() {
    let site = site("origin_queue zone=t_again concurrency=1 timeout=1500ms;");
    let mut exchange = begun(&site, "/");
    set_retry_after(&mut exchange, 429);
    assert!(exchange.request.errors.carried.is_none());
    set_retry_after(&mut exchange, 503);
    let lines = exchange.request.errors.carried.map(|carried| carried.lines);
    assert_eq!(lines.as_deref(), Some(&b"Retry-After: 2\r\n"[..]));
}

#[test]
fn without_memory_no_origin_is_asked_and_visitors_come_again_later() {
    let site = TestSite::new("", "location / { fastcgi_pass 127.0.0.1:9; }");
    let mut exchange = begun(&site, "/");
    let pressure = std::sync::Arc::clone(&exchange.request.runtime().pressure);
    pressure.note(Some(100), PressureStage::Closing);
    assert!(asked(&site, "/").is_ok());
    pressure.note(Some(100), PressureStage::Refusing);
    assert_eq!(asked(&site, "/").err(), Some(503));
    set_retry_after(&mut exchange, 503);
    let lines = exchange.request.errors.carried.map(|carried| carried.lines);
    assert_eq!(lines.as_deref(), Some(&b"Retry-After: 5\r\n"[..]));
    assert_eq!(pressure.sums(pressure.resident()).refused, 1);
}

#[test]
fn limit_of_requests_under_way_counts_while_the_origin_is_asked() {
    let site = TestSite::new(
        "limit_conn_zone $arg_who zone=t_under_way:1m;",
        "location / { fastcgi_pass 127.0.0.1:9; limit_conn t_under_way 1 origin_only; limit_conn_status 429; }",
    );
    let mut exchange = begun(&site, "/?who=a");
    let permit = block_on(admit_to_origin(&mut exchange, true)).expect("the first");
    let mut second = begun(&site, "/?who=a");
    let refused = block_on(admit_to_origin(&mut second, true)).err().expect("one at once");
    assert_eq!(refused.kind(), &ErrorKind::Limited(429));
    assert!(block_on(admit_to_origin(&mut begun(&site, "/?who=b"), true)).is_ok());
    assert!(block_on(admit_to_origin(&mut second, false)).is_ok(), "a refresh is not counted");
    let mut part = exchange.child(b"/part", b"who=a").expect("a subrequest");
    assert!(immediate_answer(&mut part).is_none());
    assert!(block_on(admit_to_origin(&mut part, true)).is_ok(), "a subrequest is counted with its page");
    drop(permit);
    assert!(block_on(admit_to_origin(&mut second, true)).is_ok());
}

#[test]
fn limit_of_requests_in_time_counts_each_that_goes_to_the_origin() {
    let site = TestSite::new(
        "limit_req_zone $arg_who zone=t_in_time:1m rate=1r/m;",
        "location / { fastcgi_pass 127.0.0.1:9; limit_req zone=t_in_time burst=1 nodelay origin_only; }",
    );
    let came: Vec<_> = (0..4).map(|_| asked_limited(&site)).collect();
    assert_eq!(came, [None, None, Some(ErrorKind::Limited(503)), Some(ErrorKind::Limited(503))]);
}

fn asked_limited(site: &TestSite) -> Option<ErrorKind> {
    block_on(admit_to_origin(&mut begun(site, "/?who=a"), true)).err().map(|error| error.kind().clone())
}
