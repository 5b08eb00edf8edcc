//! Comparison of the response to a visitor with responses to requests without the visitor's inputs, for a suspected page.

use myriad_http::{Fields, ResponseHead};
use myriad_net::clock::now_ms;
use myriad_policy::{Rendering, RequestInput, without_visitor};
use myriad_store::Body;
use myriad_store::page::ComparisonResult;

use super::cause::find_cause;
use super::probe::{Prober, rendering_of_head};
use super::report::{self, Dependence};
use crate::adaptive_validity::contiguous;
use crate::journey_step::CacheContext;
use myriad_exchange::exchange::{Exchange, Request};
use myriad_exchange::runtime::CachePlace;

/// Comparison that a response needs before responses for its page are shared again.
pub(crate) struct PendingComparison {
    /// Fields of a request without the visitor's inputs.
    base: Fields,
    /// Inputs of the visitor.
    inputs: Vec<RequestInput>,
    /// Response, without its body.
    own: Rendering,
}

impl PendingComparison {
    /// Returns the comparison for the response to a request; `None` if its page is not suspected, or if the request has no
    /// inputs that other visitors lack. `is_shared_fetch` is true if the origin received only fields that visitors share.
    pub(crate) fn of(
        request: &Request,
        cache: &CachePlace,
        head: &ResponseHead,
        is_shared_fetch: bool,
    ) -> Option<Self> {
        if cache.rules.leak_sampling.is_none() || is_shared_fetch {
            return None;
        }
        let others = cache.zone.leak_samples.suspicion(&request.cache.key, now_ms())?;
        let fields = request.received.head.fields();
        let rules = &cache.rules.shared_fetch;
        let (base, inputs) = without_visitor(fields, Some(&others), |pair| rules.has_in_key(pair));
        (!inputs.is_empty()).then(|| Self { base, inputs, own: rendering_of_head(head) })
    }

    /// Starts the comparison with the response to `exchange`, unless another one is in progress for the page. `body` is that of
    /// the response; `None` if it was too long for memory, and cannot be compared. `valid_ms` is the validity of the response,
    /// in milliseconds.
    pub(crate) fn start(
        mut self,
        exchange: &Exchange,
        cached: CacheContext<'_>,
        body: Option<Body>,
        valid_ms: u64,
    ) {
        let Some(body) = body else { return };
        self.own.body = contiguous(&body).into_owned();
        let samples = &cached.cache.zone.leak_samples;
        if !samples.begin_comparison(&exchange.request.cache.key) {
            return;
        }
        let prober = Prober::new(exchange.snapshot(), cached.to_owned());
        tokio::task::spawn_local(Box::pin(async move {
            let result = self.compare(&prober, valid_ms).await;
            let key = &prober.exchange().request.cache.key;
            prober.cached().cache.zone.leak_samples.end_comparison(key, result);
        }));
    }

    async fn compare(self, prober: &Prober, valid_ms: u64) -> ComparisonResult {
        let Ok(stable) = prober.request_twice(&self.base).await else { return ComparisonResult::Unknown };
        if !stable.differs_from(&self.own) {
            return ComparisonResult::Unaffected;
        }
        let Some(cause) = find_cause(prober, &stable, &self.base, self.inputs).await else {
            return ComparisonResult::Unknown;
        };
        let visitor = prober.exchange().request.client().map(|address| address.to_string());
        report::report(
            prober,
            &Dependence {
                input: &cause.input,
                difference: stable.describe_difference(&cause.rendering),
                valid_ms,
                visitor: Some(visitor.unwrap_or_default()),
            },
        );
        ComparisonResult::Affected
    }
}
