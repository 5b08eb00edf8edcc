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
    without_visitor,
};
use myriad_store::KeyRef;
use myriad_store::page::{Page, PageZone, write_variant};

use super::budget;
use super::cause::find_cause;
use super::probe::Prober;
use super::report::{self, Dependence};
use super::verifiable_page::{is_verifiable, rendering_of};
use crate::journey_step::CacheContext;
use crate::leak_guard::findings::remove_page;
use myriad_exchange::exchange::Exchange;

/// Maximum number of attempts to start a check within the budget.
const MAX_ATTEMPTS: u32 = 12;
/// Time between two such attempts.
const BUDGET_PAUSE: Duration = Duration::from_secs(5);

/// Check that waits for its time. Dropping it releases its place among the waiting checks.
struct WaitingCheck {
    zone: Arc<PageZone>,
    key: Box<[u8]>,
    is_sent: bool,
}

impl Drop for WaitingCheck {
    fn drop(&mut self) {
        self.zone.leak_samples.end_wait(&self.key, self.is_sent);
    }
}

/// Starts the check of the page that a request got, after the configured delay.
pub(super) fn start(exchange: &Exchange, cached: CacheContext<'_>, rules: LeakSampling) {
    let mut waiting = WaitingCheck {
        zone: Arc::clone(&cached.cache.zone),
        key: exchange.request.cache.key.as_slice().into(),
        is_sent: false,
    };
    let prober = Prober::new(exchange.snapshot(), cached.to_owned());
    tokio::task::spawn_local(Box::pin(async move {
        tokio::time::sleep(Duration::from_millis(rules.delay_ms)).await;
        let counts = &waiting.zone.leak_samples.counts;
        let mut attempts = 1;
        while !budget::has_time(rules.budget_ppm, now_ms()) {
            if attempts == MAX_ATTEMPTS {
                counts.over_budget.fetch_add(1, Relaxed);
                return;
            }
            attempts += 1;
            tokio::time::sleep(BUDGET_PAUSE).await;
        }
        let Some(page) = stored_page(&prober) else { return };
        counts.pages.fetch_add(1, Relaxed);
        waiting.is_sent = true;
        drop(waiting);
        check(&prober, &page).await;
    }));
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
    let zone = &prober.cached().cache.zone;
    let fields = request.received.head.fields();
    let (base, _) = without_visitor(fields, None, |pair| prober.has_in_key(pair));
    let stable = match prober.request_twice(&base).await {
        Ok(stable) => stable,
        Err(is_unstable) => {
            if is_unstable && zone.leak_samples.note_unstable(&request.cache.key) {
                let page = report::page_name(request);
                let what = "cannot be verified, because the upstream answers equal requests differently";
                request.log(LogLevel::Notice, format_args!("leak guard: page \"{page}\" {what}"));
            }
            return;
        }
    };
    // All fetches of such a page send the same fields: a difference is a change without a purge.
    let is_shared_fetch = prober.cached().cache.rules.shared_fetch.on;
    match stable.describe_difference(&rendering_of(page)) {
        Some(difference) if !is_shared_fetch => suspect(prober, fields, &difference),
        _ => vary(prober, &stable, base, page).await,
    }
}

/// Removes a page that differs from the responses to requests without data of a visitor. Its next fetches are compared.
fn suspect(prober: &Prober, fields: &Fields, difference: &str) {
    let request = &prober.exchange().request;
    let zone = &prober.cached().cache.zone;
    zone.leak_samples.suspect(&request.cache.key, special_fields(fields), now_ms());
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

/// Requests a page as another browser, with canaries in fields that are not in the key, and reports an input that changes
/// the page.
async fn vary(prober: &Prober, stable: &StableRendering, base: Fields, page: &Page) {
    let varies = page.selection().and_then(|selection| VaryRule::parse([&*selection.selector]).ok());
    let varies = varies.unwrap_or_default();
    let canary = Canary::new(RandomState::new().hash_one(now_ms()));
    let mut inputs = other_browser(&base, &varies);
    inputs.push(RequestInput::Address);
    inputs.extend(canary.inputs(&base));
    inputs.retain(|input| !varies.has(input.name()) && prober.is_unkeyed(&base, input));
    let Some(varied) = prober.request(&base, &inputs).await else { return };
    let repeated = canary.find(&varied.body).or_else(|| canary.find(&varied.location));
    if let Some(field) = repeated {
        let found = inputs.iter().find(|input| input.name() == field.as_bytes());
        if let Some(input) = found {
            report::report(
                prober,
                &Dependence { input, difference: None, valid_ms: valid_ms(page), visitor: None },
            );
        }
    } else if stable.differs_from(&varied)
        && let Some(cause) = find_cause(prober, stable, &base, inputs).await
    {
        let difference = stable.describe_difference(&cause.rendering);
        report::note_unkeyed(prober, &cause.input, difference.as_deref().unwrap_or_default());
    }
}

fn valid_ms(page: &Page) -> u64 {
    page.meta().lifetime().valid_ms
}
