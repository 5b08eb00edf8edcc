//! Helpers for unit tests of the steps: a cache in front of an origin that cannot be reached.

use std::sync::Arc;

use bytes::Bytes;
use myriad_http::{HttpVersion, RequestHead, ResponseHead};
use myriad_policy::{Lifetime, ValiditySource};
use myriad_store::{Admission, KeyRef};

use crate::complete::complete;
use crate::journey_step::{JourneyStep, OwnedCacheContext};
use crate::page;
use myriad_exchange::exchange::{Exchange, PhaseStep};
use myriad_exchange::keys::page_key;
use myriad_serve::testing::TestSite;
use myriad_store::page::{Page, write_variant};

/// Returns a site with one location that has an origin, a cache and these directives.
pub(super) fn site(directives: &str) -> TestSite {
    site_of(&format!("fastcgi_pass unix:/nowhere/php.sock; fastcgi_cache ONE; {directives}"))
}

/// Returns a site with a zone `ONE` and a location with these directives.
pub(super) fn site_of(directives: &str) -> TestSite {
    let http =
        "fastcgi_cache_path /nowhere/cache keys_zone=ONE:1m; fastcgi_cache_key $http_host$request_uri;";
    TestSite::new(http, &format!("location / {{ {directives} }}"))
}

/// Returns the origin and the cache of the request's location.
pub(super) fn held(exchange: &Exchange) -> OwnedCacheContext {
    let origin = exchange.request.place().handler.origin().expect("an origin");
    let cache = origin.cache.fixed().expect("a cache");
    OwnedCacheContext { origin: Arc::clone(origin), cache: Arc::clone(cache) }
}

/// Returns a request for `/a` whose cache key is written.
pub(super) fn keyed(site: &TestSite, fields: &[(&str, &str)]) -> Box<Exchange> {
    let mut exchange = site.exchange("/a", fields);
    let held = held(&exchange);
    page_key::of(&mut exchange, &held.cache).expect("a key");
    exchange
}

/// Replaces the method of a request.
pub(super) fn set_method(exchange: &mut Exchange, method: &str) {
    let fields = exchange.request.received.head.fields().clone();
    let target = exchange.request.received.head.target().to_vec();
    *exchange.request.received.head =
        RequestHead::from_parts(method.as_bytes(), &target, HttpVersion::Http11, fields.iter());
}

/// Returns a response head of an origin.
pub(super) fn head(status: u16, fields: &[(&str, &str)]) -> ResponseHead {
    let mut head = ResponseHead::new(status);
    for (name, value) in fields {
        head.fields.push(name.as_bytes(), value.as_bytes());
    }
    head
}

/// Stores the response to a request. It is fresh for `fresh_ms` milliseconds; with 0 it is stale immediately.
pub(super) fn store(exchange: &mut Exchange, head: &ResponseHead, fresh_ms: u64) -> Page {
    let held = held(exchange);
    let key = page_key::of(exchange, &held.cache).expect("a key");
    let now = exchange.request.received.at_ms;
    let lifetime = Lifetime {
        fresh_until: if fresh_ms == 0 { now - 1 } else { now + fresh_ms },
        stale_updating_until: 0,
        stale_error_until: 0,
        must_revalidate: false,
        valid_ms: fresh_ms,
        source: ValiditySource::MaxAge,
        born: None,
    };
    let coding = page::removed_coding(&exchange.request, head);
    let marks = page::marks_of(&exchange.request, head);
    let meta = page::meta_of(head, &held.origin, &held.cache.rules, lifetime, now, &marks, coding);
    let selection = page::selection(
        &head.fields,
        &held.cache.rules,
        exchange.request.received.head.fields(),
        None,
        false,
    );
    let zone = &held.cache.zone.zone;
    let writer = zone.fetch_unshared(KeyRef::new(&key), now);
    let mut writer = writer.admit(Admission { head: Arc::new(meta.clone()), selection, length: None });
    writer.push(Bytes::from_static(b"a page"));
    complete(exchange, &held.cache.zone, writer, meta);
    let fields = exchange.request.received.head.fields();
    let found =
        zone.peek_variant(KeyRef::new(&key), |selector, variant| write_variant(selector, fields, variant));
    found.expect("the page that was stored")
}

/// Returns a text that describes a step, for assertions.
pub(super) fn words(next: &JourneyStep) -> String {
    match next {
        JourneyStep::Done(PhaseStep::Answer(answer)) => format!("answer {}", answer.status),
        JourneyStep::Done(PhaseStep::Error(status)) => format!("error {status}"),
        JourneyStep::Done(_) => "done".to_owned(),
        JourneyStep::LookUp => "look up".to_owned(),
        JourneyStep::Known => "known".to_owned(),
        JourneyStep::Wait(ms) => format!("wait {ms}"),
        JourneyStep::Gather => "gather".to_owned(),
        JourneyStep::Seek => "seek".to_owned(),
        JourneyStep::Load(_) => "load".to_owned(),
        JourneyStep::Read(_) => "read".to_owned(),
        JourneyStep::Serve(_, status) => format!("serve {status:?}"),
        JourneyStep::Open(_, status) => format!("open {status:?}"),
        JourneyStep::Refresh(_, occasion) => format!("refresh {occasion:?}"),
        JourneyStep::Stale(page) => format!("stale {}", page.is_some()),
        JourneyStep::Claim(page) => format!("claim {}", page.is_some()),
        JourneyStep::Lead(page) => format!("lead {}", page.is_some()),
        JourneyStep::Follow(follow) if follow.report.is_some() => "follow as leader".to_owned(),
        JourneyStep::Follow(follow) => format!("follow for {:?}", follow.timeout),
        JourneyStep::Pass(reason) => format!("pass {reason:?}"),
        JourneyStep::PassBody(_) => "pass with body".to_owned(),
    }
}
