//! Comparison of the response to a visitor with responses to requests without the visitor's inputs, for a suspected
//! page. At a hit, the visitor's request is repeated in the background.

use std::sync::Arc;

use myriad_http::{Fields, Method, ResponseHead};
use myriad_net::clock::now_ms;
use myriad_policy::{Rendering, VaryRule, without_visitor};
use myriad_store::page::{ComparisonResult, Page, PageZone};
use myriad_store::{Body, Selection};

use super::cause::find_cause;
use super::probe::{Prober, rendering_of_head};
use super::report::{self, Dependence};
use super::verifiable_page::varies_of;
use crate::adaptive_validity::contiguous;
use crate::journey_step::CacheContext;
use crate::work_budget::Reservation;
use myriad_exchange::exchange::{Exchange, Request};
use myriad_exchange::runtime::CachePlace;

/// Comparison that a response needs before responses for its page are shared again.
pub(crate) struct PendingComparison {
    /// Special fields of the request whose response differed from the stored page.
    reference: Arc<Fields>,
    /// Fields by which the response varies.
    varies: VaryRule,
    /// Response to the visitor, still without its body.
    own: Rendering,
}

/// Comparison in progress. Dropping it records the result.
struct RunningComparison {
    zone: Arc<PageZone>,
    key: Box<[u8]>,
    result: ComparisonResult,
}

impl RunningComparison {
    /// Begins a comparison; `None` if another one is in progress for the page, or if the page is not suspected.
    fn begin(exchange: &Exchange, cache: &CachePlace) -> Option<Self> {
        let key = &exchange.request.cache.key;
        let zone = Arc::clone(&cache.zone);
        let has_begun = zone.leak_samples.begin_comparison(key);
        has_begun.then(|| Self { zone, key: key.as_slice().into(), result: ComparisonResult::Unknown })
    }

    fn set_result(&mut self, result: ComparisonResult) {
        self.result = result;
    }
}

impl Drop for RunningComparison {
    fn drop(&mut self) {
        self.zone.leak_samples.end_comparison(&self.key, self.result);
    }
}

impl PendingComparison {
    /// Returns the comparison for the response to a request; `None` if its page is not suspected, or if the request has
    /// no inputs that other visitors lack. `selection` is the secondary key under which the response would be stored.
    /// `is_shared_fetch` is true if the origin received only fields that visitors share.
    pub(crate) fn of(
        request: &Request,
        cache: &CachePlace,
        (head, selection): (&ResponseHead, Option<&Selection>),
        is_shared_fetch: bool,
    ) -> Option<Self> {
        if cache.rules.leak_sampling.is_none() || is_shared_fetch {
            return None;
        }
        let reference = cache.zone.leak_samples.suspicion(&request.cache.key, now_ms())?;
        let (_, inputs) = without_visitor(request.received.head.fields(), Some(&reference));
        // Visitors share the response unless its stored variants differ, whatever `Vary` it has: the configuration may
        // ignore that field.
        let varies = varies_of(selection);
        (!inputs.is_empty()).then(|| Self { reference, varies, own: rendering_of_head(head) })
    }

    /// Starts the comparison with the response to `exchange`, unless another one is in progress for the page. `body` is
    /// that of the response; `None` if it was too long for memory, and cannot be compared. `valid_ms` is the validity
    /// of the response, in milliseconds.
    pub(crate) fn start(
        mut self,
        exchange: &Exchange,
        cached: CacheContext<'_>,
        body: Option<Body>,
        valid_ms: u64,
    ) {
        let Some(running) = RunningComparison::begin(exchange, cached.cache) else { return };
        // A request of another method is not repeated.
        let is_get = exchange.request.received.head.method() == Method::Get;
        let Some(body) = body.filter(|_| is_get) else { return };
        self.own.body = contiguous(&body).into_owned();
        let Self { reference, varies, own } = self;
        // The page is not shared before the comparison, which therefore does not wait for the budget.
        let comparison =
            VisitorComparison { reference, varies, own: Some(own), valid_ms, _reservation: None };
        comparison.spawn(running, exchange, cached);
    }
}

/// Starts the comparison of the response that a visitor would get, for a hit of a suspected page, unless another
/// comparison is in progress for the page. The visitor gets the stored page.
pub(super) fn start_for_hit(
    exchange: &Exchange,
    cached: CacheContext<'_>,
    page: &Page,
    (reference, reservation): (Arc<Fields>, Reservation),
) {
    let Some(running) = RunningComparison::begin(exchange, cached.cache) else { return };
    let valid_ms = page.meta().lifetime().valid_ms;
    let comparison = VisitorComparison {
        reference,
        varies: varies_of(page.selection()),
        own: None,
        valid_ms,
        _reservation: Some(reservation),
    };
    comparison.spawn(running, exchange, cached);
}

/// Comparison of the response to a visitor with responses to requests without the visitor's inputs.
struct VisitorComparison {
    /// Special fields of the request whose response differed from the stored page.
    reference: Arc<Fields>,
    /// Fields by which the response varies.
    varies: VaryRule,
    /// Response; `None` if the visitor got a stored page, so that the visitor's request must be repeated.
    own: Option<Rendering>,
    /// Validity of the page, in milliseconds.
    valid_ms: u64,
    /// Part of the budget that is reserved until the comparison is complete; `None` if the comparison needs no budget.
    _reservation: Option<Reservation>,
}

impl VisitorComparison {
    fn spawn(self, running: RunningComparison, exchange: &Exchange, cached: CacheContext<'_>) {
        let prober = Prober::without_address(exchange.snapshot(), cached.to_owned());
        tokio::task::spawn_local(Box::pin(async move {
            let mut running = running;
            let result = self.compare(&prober).await;
            running.set_result(result);
        }));
    }

    async fn compare(mut self, prober: &Prober) -> ComparisonResult {
        let is_hit = self.own.is_none();
        let unaffected = if is_hit { ComparisonResult::UnaffectedHit } else { ComparisonResult::Unaffected };
        let (base, inputs) = prober.without_visitor(Some(&self.reference), &self.varies);
        if inputs.is_empty() {
            return unaffected;
        }
        let Ok(stable) = prober.request_twice(&base).await else { return ComparisonResult::Unknown };
        let own = match self.own.take() {
            Some(own) => Some(own),
            None => prober.request(&base, &inputs).await,
        };
        let Some(own) = own else { return ComparisonResult::Unknown };
        if !stable.differs_from(&own) {
            return unaffected;
        }
        let Some(cause) = find_cause(prober, &stable, &base, inputs).await else {
            return ComparisonResult::Unknown;
        };
        let difference = stable.describe_difference(&cause.rendering);
        if !cause.input.identifies_visitor() {
            report::note_unkeyed(prober, &cause.input, difference.as_deref().unwrap_or_default());
            return ComparisonResult::Affected;
        }
        let visitor = prober.exchange().request.client().map(|address| address.to_string());
        let found = Dependence {
            input: &cause.input,
            difference,
            valid_ms: self.valid_ms,
            visitor: Some(visitor.unwrap_or_default()),
        };
        report::report(prober, &found);
        ComparisonResult::Affected
    }
}
