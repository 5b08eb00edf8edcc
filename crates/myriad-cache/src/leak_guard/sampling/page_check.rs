//! Check of a stored page by requests without data of a visitor.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use myriad_http::Fields;
use myriad_log::LogLevel;
use myriad_net::clock::now_ms;
use myriad_policy::{
    Canary, LeakSampling, RequestInput, StableRendering, VaryRule, other_browser, special_fields,
};
use myriad_store::KeyRef;
use myriad_store::page::{Page, PageZone, SampleCause, write_variant};

use super::cause::find_cause;
use super::origin_time::ORIGIN_TIME;
use super::probe::{Prober, Unverifiable};
use super::report::{self, Dependence};
use super::verifiable_page::{is_verifiable, rendering_of, varies_of};
use crate::journey_step::CacheContext;
use crate::leak_guard::findings::remove_page;
use crate::work_budget::Reservation;
use myriad_exchange::exchange::Exchange;

/// Maximum number of attempts to start a check within the budget.
const MAX_ATTEMPTS: u32 = 12;
/// Time between two attempts to start a check within the budget.
const BUDGET_PAUSE: Duration = Duration::from_secs(5);

/// Check of a page that waits for its delay and for the budget. Dropping it removes the check from the number of
/// waiting checks.
struct WaitingCheck {
    zone: Arc<PageZone>,
    key: Box<[u8]>,
    cause: SampleCause,
    is_started: bool,
}

impl WaitingCheck {
    fn set_started(&mut self) {
        self.is_started = true;
    }
}

impl Drop for WaitingCheck {
    fn drop(&mut self) {
        self.zone.leak_samples.end_wait(&self.key, self.cause, self.is_started);
    }
}

/// Starts the check of the page that a request got, after the configured delay. The page is not checked if it is no
/// longer fresh then, if it cannot be verified, or if the budget remains used up for about a minute.
pub(super) fn start(exchange: &Exchange, cached: CacheContext<'_>, rules: LeakSampling, cause: SampleCause) {
    let waiting = WaitingCheck {
        zone: Arc::clone(&cached.cache.zone),
        key: exchange.request.cache.key.as_slice().into(),
        cause,
        is_started: false,
    };
    let prober = Prober::new(exchange.snapshot(), cached.to_owned());
    tokio::task::spawn_local(Box::pin(async move {
        let mut waiting = waiting;
        tokio::time::sleep(Duration::from_millis(rules.delay_ms)).await;
        let zone = Arc::clone(&waiting.zone);
        let counts = &zone.leak_samples.counts;
        let Some(_reservation) = wait_for_budget(rules.budget_ppm).await else {
            counts.over_budget.fetch_add(1, Relaxed);
            return;
        };
        let Some(page) = stored_page(&prober) else { return };
        counts.pages.fetch_add(1, Relaxed);
        waiting.set_started();
        check(&prober, &page).await;
    }));
}

/// Waits until the budget has time for a verification, and reserves that time; `None` if the budget is used up for
/// about a minute.
async fn wait_for_budget(ppm: u32) -> Option<Reservation> {
    for _ in 1..MAX_ATTEMPTS {
        if let Some(reservation) = ORIGIN_TIME.reserve(ppm, now_ms()) {
            return Some(reservation);
        }
        tokio::time::sleep(BUDGET_PAUSE).await;
    }
    ORIGIN_TIME.reserve(ppm, now_ms())
}

/// Returns the stored page of a request, if it is fresh and can be verified.
fn stored_page(prober: &Prober) -> Option<Page> {
    let request = &prober.exchange().request;
    let fields = request.received.head.fields();
    let page =
        prober.cached().cache.zone.zone.peek_variant(KeyRef::new(&request.cache.key), |selector, variant| {
            write_variant(selector, fields, variant);
        });
    page.filter(|page| page.is_fresh(now_ms()) && is_verifiable(request, page))
}

async fn check(prober: &Prober, page: &Page) {
    let request = &prober.exchange().request;
    let fields = request.received.head.fields();
    let varies = varies_of(page.selection());
    let (base, _) = prober.without_visitor(None, &varies);
    let stable = match prober.request_twice(&base).await {
        Ok(stable) => stable,
        Err(reason) => return note_unverifiable(prober, reason),
    };
    // With shared fetches, all fetches of a page send the same fields, so a difference is a change without a purge.
    let is_shared_fetch = prober.cached().cache.rules.shared_fetch.on;
    let stored = rendering_of(page);
    let (stable, differs) = match prober.check_difference(stable, &base, &stored).await {
        Ok(checked) => checked,
        Err(reason) => return note_unverifiable(prober, reason),
    };
    if let Some(difference) = stable.describe_difference(&stored).filter(|_| differs && !is_shared_fetch) {
        if depends_on_browser(prober, &stable, &base, &varies).await {
            return;
        }
        suspect(prober, page, fields, &difference);
    }
    vary(prober, stable, (base, &varies), page).await;
}

/// Reports a page that differs at each request ([`Unverifiable::Unstable`]), once. Does nothing for another reason.
fn note_unverifiable(prober: &Prober, reason: Unverifiable) {
    let request = &prober.exchange().request;
    let samples = &prober.cached().cache.zone.leak_samples;
    if reason == Unverifiable::Unstable && samples.note_unstable(&request.cache.key) {
        let page = report::page_name(request);
        let what = "cannot be verified, because the upstream answers equal requests differently";
        request.log(LogLevel::Notice, format_args!("leak guard: page \"{page}\" {what}"));
    }
}

/// Returns true if a single input of the browser, or the address of the client, changes the page each time although
/// it is not in the key, and reports this input. The stored page may then differ only because another browser
/// requested it. False also if a request fails.
pub(super) async fn depends_on_browser(
    prober: &Prober,
    stable: &StableRendering,
    base: &Fields,
    varies: &VaryRule,
) -> bool {
    let inputs = inputs_of_browser(prober, base, varies);
    let Some(cause) = find_cause(prober, stable, base, inputs).await else { return false };
    let difference = stable.describe_difference(&cause.rendering);
    report::note_unkeyed(prober, &cause.input, difference.as_deref().unwrap_or_default());
    true
}

/// Returns the inputs of another browser at another address, without those that are in the key.
fn inputs_of_browser(prober: &Prober, base: &Fields, varies: &VaryRule) -> Vec<RequestInput> {
    let mut inputs = other_browser(base, varies);
    inputs.push(RequestInput::Address);
    inputs.retain(|input| prober.is_unkeyed(base, input));
    inputs
}

/// Removes a page that differs from the responses to requests without data of a visitor, marks it as suspected so that
/// its next fetches are compared, and logs this. Does nothing if the page was replaced or removed meanwhile, or is no
/// longer fresh.
fn suspect(prober: &Prober, page: &Page, fields: &Fields, difference: &str) {
    if !is_stored(prober, page) {
        return;
    }
    let samples = &prober.cached().cache.zone.leak_samples;
    samples.suspect(&prober.exchange().request.cache.key, special_fields(fields), now_ms());
    remove(prober, difference);
}

/// Returns whether a page is still stored and fresh, so that it was neither replaced nor removed.
pub(super) fn is_stored(prober: &Prober, page: &Page) -> bool {
    stored_page(prober).is_some_and(|now| now.generation() == page.generation())
}

/// Removes a suspected page with a difference from the response to a request without data of a visitor, and logs this.
pub(super) fn remove(prober: &Prober, difference: &str) {
    let request = &prober.exchange().request;
    remove_page(request, prober.cached().cache);
    let page = report::page_name(request);
    request.log(
        LogLevel::Notice,
        format_args!(
            "leak guard: page \"{page}\" has {difference} in the response to a request without cookies; it was removed, and \
             its next responses are compared before they are shared"
        ),
    );
}

/// Requests a page as another browser, with canaries in fields that are not in the key. Reports an input that changes
/// the page, or whose canary the page contains.
async fn vary(prober: &Prober, stable: StableRendering, (base, varies): (Fields, &VaryRule), page: &Page) {
    let canary = Canary::new(RandomState::new().hash_one(now_ms()));
    let mut inputs = inputs_of_browser(prober, &base, varies);
    let canaries = canary.inputs(&base).into_iter();
    inputs.extend(
        canaries.filter(|input| !varies.distinguishes(input.name()) && prober.is_unkeyed(&base, input)),
    );
    let varied = prober.request(&base, &inputs).await;
    // A firewall may refuse a request with so many fields.
    let Some(varied) = varied.filter(|varied| varied.status != 403) else { return };
    let repeated = canary.find(&varied.body).or_else(|| canary.find(&varied.location));
    let repeated = repeated.and_then(|field| inputs.iter().find(|input| input.name() == field.as_bytes()));
    if let Some(input) = repeated {
        if input.name() == b"referer" {
            // Forms contain the URL of the previous page (`Referer`), to return to that page.
            report::note_unkeyed(prober, input, "");
        } else {
            let found = Dependence { input, difference: None, valid_ms: valid_ms(page), visitor: None };
            report::report(prober, &found);
        }
    } else if let Ok((stable, true)) = prober.check_difference(stable, &base, &varied).await
        && let Some(cause) = find_cause(prober, &stable, &base, inputs).await
    {
        let difference = stable.describe_difference(&cause.rendering);
        report::note_unkeyed(prober, &cause.input, difference.as_deref().unwrap_or_default());
    }
}

fn valid_ms(page: &Page) -> u64 {
    page.meta().lifetime().valid_ms
}
