use myriad_store::{FlightWriter, KeyRef};

use super::*;
use crate::testing::{head, held, keyed, site, store, words};
use myriad_serve::testing::block_on;

/// Request that waits for the fetch of its page.
struct WaitingRequest {
    exchange: Box<Exchange>,
    writer: Option<FlightWriter<PageMeta>>,
    reader: FlightReader<PageMeta>,
    stale: Option<Page>,
}

impl WaitingRequest {
    fn on(directives: &str) -> Self {
        let exchange = keyed(&site(directives), &[]);
        let key = KeyRef::new(&exchange.request.cache.key);
        let writer = held(&exchange).cache.zone.zone.fetch_unshared(key, exchange.request.received.at_ms);
        let reader = writer.reader();
        Self { exchange, writer: Some(writer), reader, stale: None }
    }

    fn with_stale(directives: &str) -> Self {
        let mut exchange = keyed(&site(directives), &[]);
        let stale = Some(store(&mut exchange, &head(200, &[]), 0));
        let key = KeyRef::new(&exchange.request.cache.key);
        let writer = held(&exchange).cache.zone.zone.fetch_unshared(key, exchange.request.received.at_ms);
        let reader = writer.reader();
        Self { exchange, writer: Some(writer), reader, stale }
    }

    fn writer(&mut self) -> FlightWriter<PageMeta> {
        self.writer.take().expect("a fetch")
    }

    /// Waits like a request that did not start the fetch.
    fn wait(self, patience: Option<Duration>) -> (String, Box<Exchange>) {
        self.follow(None, patience)
    }

    /// Waits like the request that started the fetch, with this report or without any.
    fn after_report(self, told: Option<FetchReport>) -> (String, Box<Exchange>) {
        let (sender, report) = oneshot::channel();
        match told {
            Some(told) => assert!(sender.send(told).is_ok()),
            None => drop(sender),
        }
        self.follow(Some(report), None)
    }

    fn follow(
        mut self,
        report: Option<oneshot::Receiver<FetchReport>>,
        patience: Option<Duration>,
    ) -> (String, Box<Exchange>) {
        let held = held(&self.exchange);
        let follow = FlightWait { reader: self.reader, report, stale: self.stale, timeout: patience };
        let next = block_on(run(&mut self.exchange, held.get(), follow));
        (words(&next), self.exchange)
    }
}

#[test]
fn failed_fetch_returns_its_status() {
    let mut waiting = WaitingRequest::on("");
    waiting.writer().fail(NoResponse { status: 504, failure: RefreshFailure::Timeout }.encode());
    assert_eq!(waiting.wait(None).0, "error 504");
}

#[test]
fn stale_page_stands_in_for_the_failures_that_the_rules_name() {
    for (directives, expected) in [
        ("fastcgi_cache_use_stale timeout;", "serve Stale"),
        ("fastcgi_cache_use_stale invalid_header;", "error 504"),
    ] {
        let mut waiting = WaitingRequest::with_stale(directives);
        waiting.writer().fail(NoResponse { status: 504, failure: RefreshFailure::Timeout }.encode());
        assert_eq!(waiting.wait(None).0, expected);
    }
}

#[test]
fn page_that_may_not_be_stored_is_asked_for_by_each() {
    let mut waiting = WaitingRequest::on("");
    waiting.writer().uncacheable(0, 0);
    assert_eq!(waiting.wait(None).0, "pass NotShared");
}

#[test]
fn abandoned_fetch_is_retried_a_bounded_number_of_times() {
    let mut waiting = WaitingRequest::on("");
    drop(waiting.writer());
    let (next, exchange) = waiting.wait(None);
    assert_eq!((&*next, exchange.request.cache.lookup.retries), ("claim false", 1));
    let mut waiting = WaitingRequest::on("");
    waiting.exchange.request.cache.lookup.retries = RETRIES;
    drop(waiting.writer());
    assert_eq!(waiting.wait(None).0, "pass NotShared");
}

#[test]
fn waiter_fetches_separately_after_lock_timeout() {
    let waiting = WaitingRequest::on("");
    assert_eq!(waiting.wait(Some(Duration::from_millis(1))).0, "pass LockTimeout");
}

#[test]
fn leader_of_failed_fetch_gets_its_status_or_stale_page() {
    let failed = || Some(FetchReport::Failed(NoResponse { status: 503, failure: RefreshFailure::Error }));
    assert_eq!(WaitingRequest::on("").after_report(failed()).0, "error 503");
    assert_eq!(
        WaitingRequest::with_stale("fastcgi_cache_use_stale error;").after_report(failed()).0,
        "serve Stale"
    );
}

#[test]
fn leader_of_unstarted_fetch_gets_502() {
    assert_eq!(WaitingRequest::on("").after_report(None).0, "error 502");
}

#[test]
fn leader_fetches_separately_when_shared_fetch_is_insufficient() {
    for told in [FetchReport::Incomplete, FetchReport::Unconfirmed] {
        assert_eq!(WaitingRequest::on("").after_report(Some(told)).0, "pass NotShared");
    }
}

#[test]
fn leader_of_another_variant_claims_its_own() {
    let (next, exchange) =
        WaitingRequest::on("").after_report(Some(FetchReport::OtherVariant(b"accept-language".to_vec())));
    assert_eq!(next, "claim false");
    assert_eq!(exchange.request.cache.varies.as_deref(), Some(&b"accept-language"[..]));
}

#[test]
fn leader_of_confirmed_page_is_revalidated() {
    let mut waiting = WaitingRequest::with_stale("");
    let page = waiting.stale.clone().expect("a page");
    let zone = std::sync::Arc::clone(&held(&waiting.exchange).cache);
    let writer = zone.zone.zone.refresh_unshared(&page, waiting.exchange.request.received.at_ms, 1000);
    waiting.reader = writer.reader();
    writer.reuse_previous();
    assert_eq!(waiting.after_report(Some(FetchReport::Confirmed)).0, "serve Revalidated");
}
