//! Comparison of the response to a visitor with responses to requests without the visitor's inputs, for a suspected
//! page. At a hit, the visitor's request is repeated in the background.

use std::sync::Arc;

use myriad_http::{Fields, Method, ResponseHead};
use myriad_net::clock::now_ms;
use myriad_policy::{Rendering, RequestInput, StableRendering, VaryRule, without_browser, without_visitor};
use myriad_store::page::{ComparisonResult, Page, PageZone, SuspectedPage};
use myriad_store::{Body, Selection};

use super::cause::find_cause;
use super::origin_time::ORIGIN_TIME;
use super::page_check::{depends_on_browser, is_stored, remove};
use super::probe::{Prober, Unverifiable, rendering_of_head};
use super::report::{self, Dependence};
use super::verifiable_page::{rendering_of, varies_of};
use crate::adaptive_validity::contiguous;
use crate::journey_step::CacheContext;
use crate::work_budget::Reservation;
use myriad_exchange::exchange::{Exchange, Request};
use myriad_exchange::runtime::CachePlace;

/// Comparison that a response needs before responses for its page are shared again.
pub(crate) struct PendingComparison {
    suspected: SuspectedPage,
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
    /// Inputs of the request (cookies, header fields) to which the result of the comparison applies.
    inputs: Vec<RequestInput>,
}

impl RunningComparison {
    /// Begins a comparison; `None` if another one is in progress for the page, the page is not suspected, or no more
    /// comparisons are permitted.
    fn begin(exchange: &Exchange, cache: &CachePlace, inputs: Vec<RequestInput>) -> Option<Self> {
        let key = &exchange.request.cache.key;
        let zone = Arc::clone(&cache.zone);
        let has_begun = zone.leak_samples.begin_comparison(key);
        has_begun.then(|| Self {
            zone,
            key: key.as_slice().into(),
            result: ComparisonResult::Unknown,
            inputs,
        })
    }

    fn set_result(&mut self, result: ComparisonResult, cause: Option<RequestInput>) {
        self.result = result;
        if let Some(cause) = cause {
            self.inputs = vec![cause];
        }
    }
}

impl Drop for RunningComparison {
    fn drop(&mut self) {
        self.zone.leak_samples.end_comparison(&self.key, self.result, &self.inputs);
    }
}

impl PendingComparison {
    /// Returns the comparison for the response to a request; `None` if the response can be shared without a comparison,
    /// because sampling is off, its page is not suspected, or earlier comparisons cover all inputs of the visitor.
    /// `selection` is the secondary key under which the response would be stored. `is_shared_fetch` is true if the
    /// origin received only fields that visitors share; no comparison is needed then.
    pub(crate) fn of(
        request: &Request,
        cache: &CachePlace,
        (head, selection): (&ResponseHead, Option<&Selection>),
        is_shared_fetch: bool,
    ) -> Option<Self> {
        if cache.rules.leak_sampling.is_none() || is_shared_fetch {
            return None;
        }
        let (key, samples) = (&request.cache.key, &cache.zone.leak_samples);
        let suspected = samples.suspicion(key, now_ms())?;
        let (_, inputs) = without_visitor(request.received.head.fields(), Some(&suspected.fields));
        // Visitors share the response unless its stored variants differ, whatever `Vary` it has: the configuration may
        // ignore that field.
        let varies = varies_of(selection);
        samples.withholds(key, &inputs).then(|| Self { suspected, varies, own: rendering_of_head(head) })
    }

    /// Starts the comparison with the response to `exchange`, unless another one is in progress for the page. `body` is
    /// the body of the response; `None` if it was too long for memory. Such a response, and one to a method other than
    /// GET, is not compared: the result is [`ComparisonResult::Unknown`]. `valid_ms` is the validity of the response,
    /// in milliseconds.
    pub(crate) fn start(
        mut self,
        exchange: &Exchange,
        cached: CacheContext<'_>,
        body: Option<Body>,
        valid_ms: u64,
    ) {
        let inputs = all_inputs(&exchange.request, &self.suspected);
        let Some(running) = RunningComparison::begin(exchange, cached.cache, inputs) else { return };
        // A request of another method is not repeated.
        let is_get = exchange.request.received.head.method() == Method::Get;
        let Some(body) = body.filter(|_| is_get) else { return };
        self.own.body = contiguous(&body).into_owned();
        let Self { suspected, varies, own } = self;
        // The page is not shared before the comparison, which therefore does not wait for the budget.
        let comparison = VisitorComparison {
            suspected,
            varies,
            own: VisitorResponse::Fetched(own),
            valid_ms,
            _reservation: None,
        };
        comparison.spawn(running, exchange, cached);
    }
}

/// Starts the comparison of the response that a visitor would get, for a hit of a suspected page, unless it would show no
/// more than earlier comparisons, another comparison is in progress for the page, or the budget of `budget_ppm` is used
/// up. The visitor gets the stored page.
pub(super) fn start_for_hit(
    exchange: &Exchange,
    cached: CacheContext<'_>,
    page: &Page,
    suspected: SuspectedPage,
    budget_ppm: u32,
) {
    let inputs = all_inputs(&exchange.request, &suspected);
    let samples = &cached.cache.zone.leak_samples;
    // The number of comparisons is limited: only those that show something new are made.
    if !samples.is_new(&exchange.request.cache.key, page.generation(), &inputs) {
        return;
    }
    let Some(reservation) = ORIGIN_TIME.reserve(budget_ppm, now_ms()) else { return };
    let Some(running) = RunningComparison::begin(exchange, cached.cache, inputs) else { return };
    let comparison = VisitorComparison {
        suspected,
        varies: varies_of(page.selection()),
        own: VisitorResponse::Hit(page.clone()),
        valid_ms: page.meta().lifetime().valid_ms,
        _reservation: Some(reservation),
    };
    comparison.spawn(running, exchange, cached);
}

/// Returns the inputs that requests of other visitors may lack: cookies, credentials, special fields that differ from
/// those of the suspected page, and fields of the browser (such as `User-Agent`); without the client's address.
fn all_inputs(request: &Request, suspected: &SuspectedPage) -> Vec<RequestInput> {
    let (mut base, mut inputs) = without_visitor(request.received.head.fields(), Some(&suspected.fields));
    inputs.extend(without_browser(&mut base));
    inputs
}

/// Response that a visitor got: from the origin, or from the cache.
enum VisitorResponse {
    /// Response of the origin to the visitor's request.
    Fetched(Rendering),
    /// Stored page. The visitor's request must be repeated to get the response of the origin to it.
    Hit(Page),
}

/// Comparison of the response to a visitor with responses to requests without the visitor's inputs.
struct VisitorComparison {
    suspected: SuspectedPage,
    /// Fields by which the response varies.
    varies: VaryRule,
    own: VisitorResponse,
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
            let (result, cause) = self.compare(&prober).await;
            running.set_result(result, cause);
        }));
    }

    /// Returns the result with the input that changes the page, if it identifies the visitor.
    async fn compare(self, prober: &Prober) -> (ComparisonResult, Option<RequestInput>) {
        const UNKNOWN: (ComparisonResult, Option<RequestInput>) = (ComparisonResult::Unknown, None);
        let unaffected = match self.own {
            VisitorResponse::Fetched(_) => ComparisonResult::Unaffected,
            VisitorResponse::Hit(_) => ComparisonResult::UnaffectedHit,
        };
        let (base, inputs) = prober.without_visitor(Some(&self.suspected.fields), &self.varies);
        if inputs.is_empty() && matches!(self.own, VisitorResponse::Fetched(_)) {
            return (unaffected, None);
        }
        let Ok(mut stable) = prober.request_twice(&base).await else { return UNKNOWN };
        let own = match &self.own {
            VisitorResponse::Fetched(own) => own.clone(),
            VisitorResponse::Hit(page) => {
                let Ok((checked, is_removed)) = self.removes(prober, (stable, &base), page).await else {
                    return UNKNOWN;
                };
                if is_removed {
                    return (ComparisonResult::Removed, None);
                }
                if inputs.is_empty() {
                    return (unaffected, None);
                }
                stable = checked;
                let Some(own) = prober.request(&base, &inputs).await else { return UNKNOWN };
                own
            }
        };
        let Ok((stable, differs)) = prober.check_difference(stable, &base, &own).await else {
            return UNKNOWN;
        };
        if !differs {
            return (unaffected, None);
        }
        let Some(cause) = find_cause(prober, &stable, &base, inputs).await else { return UNKNOWN };
        let difference = stable.describe_difference(&cause.rendering);
        if !cause.input.identifies_visitor() {
            report::note_unkeyed(prober, &cause.input, difference.as_deref().unwrap_or_default());
            return (ComparisonResult::AffectedByOther, None);
        }
        let visitor = prober.exchange().request.client().map(|address| address.to_string());
        let found = Dependence {
            input: &cause.input,
            difference,
            valid_ms: self.valid_ms,
            visitor: Some(visitor.unwrap_or_default()),
        };
        report::report(prober, &found);
        (ComparisonResult::Affected, Some(cause.input))
    }

    /// Removes the stored page if it differs from the response to a request without the visitor's inputs, unless the page
    /// depends on the browser, or was replaced meanwhile. Returns the response with its noise, and whether the page was
    /// removed.
    async fn removes(
        &self,
        prober: &Prober,
        (stable, base): (StableRendering, &Fields),
        page: &Page,
    ) -> Result<(StableRendering, bool), Unverifiable> {
        if self.suspected.depends_on_other {
            return Ok((stable, false));
        }
        let stored = rendering_of(page);
        let (stable, differs) = prober.check_difference(stable, base, &stored).await?;
        let Some(difference) = stable.describe_difference(&stored).filter(|_| differs) else {
            let samples = &prober.cached().cache.zone.leak_samples;
            samples.note_equal(&prober.exchange().request.cache.key, page.generation());
            return Ok((stable, false));
        };
        let is_removed =
            !depends_on_browser(prober, &stable, base, &self.varies).await && is_stored(prober, page);
        if is_removed {
            remove(prober, &difference);
        }
        Ok((stable, is_removed))
    }
}
