//! Look-up of a page in memory: applies the policy that decides whether the request may read the cache, and writes the
//! cache key.

use myriad_access::origin_protection::origin_query_limit::OriginFetch;
use myriad_http::Method;
use myriad_log::LogLevel;
use myriad_policy::{BypassReason, CacheStatus, RequestFacts, bypass};
use myriad_script::EvalError;
use myriad_store::KeyRef;

use crate::early_refresh;
use crate::esi;
use crate::explain;
use crate::hidden_fields::hides_fields;
use crate::journey_step::{CacheContext, JourneyStep, PassReason, RefreshReason};
use crate::leak_guard::sampling;
use crate::origin_protection;
use crate::other_codings;
use crate::refresh;
use crate::share;
use crate::shared_fetch_headers;
use myriad_admin::purge::request as purge;
use myriad_exchange::exchange::{Exchange, PhaseStep, shortcut};
use myriad_exchange::keys::page_key;
use myriad_store::page::{Page, write_variant};

/// Looks the page up, or executes the purge if the request is a purge request. If a configured text cannot be
/// evaluated, logs the error and responds with 500.
pub(crate) fn run(exchange: &mut Exchange, cached: CacheContext<'_>) -> JourneyStep {
    match look_up(exchange, cached) {
        Ok(next) => next,
        Err(error) => {
            exchange.request.log(LogLevel::Error, format_args!("{error}"));
            JourneyStep::Done(PhaseStep::Error(500))
        }
    }
}

fn look_up(exchange: &mut Exchange, cached: CacheContext<'_>) -> Result<JourneyStep, EvalError> {
    let CacheContext { origin, cache } = cached;
    let Exchange { request, frame } = exchange;
    request.cache.lookup.fetched = false;
    request.cache.origin_fields = None;
    // The values of another location, from which the request was redirected, belong to the key of that location.
    request.cache.codings = None;
    request.cache.report.zone = cache.zone_number;
    if let Some(rules) = &cache.purge
        && purge::is_purge_request(request, frame, rules)?
    {
        return purge::purge_page(exchange, cache, rules).map(JourneyStep::Done);
    }
    let condition = cache.bypass.any_true(request, frame)?;
    let facts = RequestFacts {
        method: request.received.head.method(),
        fields: request.received.head.fields(),
        has_body: !request.upload.body.is_empty(),
        cache_bypass: condition,
    };
    let mut reason = bypass(&facts, &cache.rules);
    if let Some(excluded) = reason {
        if share::needs_body(request, cache, excluded) {
            return Ok(JourneyStep::Gather);
        }
        if share::applies(exchange, cache, excluded)? {
            reason = None;
        }
    }
    let request = &mut exchange.request;
    if reason == Some(BypassReason::PersonalCookie) && esi::may_read(request, &cache.rules) {
        return Ok(JourneyStep::Known);
    }
    if reason.is_some() && request.cache.lookup.stored_only {
        return Ok(JourneyStep::Done(PhaseStep::Error(esi::USELESS_FETCH)));
    }
    // A request that bypasses the cache always needs the origin, so it is limited here; other requests after the
    // look-up.
    if reason.is_some()
        && let Some(limited) = origin_protection::judge(exchange, OriginFetch::Bypassing)
    {
        return Ok(limited.into());
    }
    let Exchange { request, frame } = exchange;
    // The key may contain the body (`$request_body`), so the body is read before the key is written.
    if reason.is_none_or(BypassReason::may_store) && !request.upload.body.is_empty() {
        return Ok(JourneyStep::Gather);
    }
    if let Some(reason) = reason
        && !reason.may_store()
    {
        request.cache.report.status = reason.status();
        explain::bypassed(exchange, cache, reason);
        return Ok(JourneyStep::Pass(PassReason::Bypass(reason)));
    }
    request.route.as_get |= request.received.head.method() == Method::Head && cache.convert_head;
    page_key::write(request, frame, cache)?;
    if let Some(page) = request.cache.lookup.refreshed_ahead.take() {
        return refresh::run_ahead(exchange, cached, &page);
    }
    if let Some(reason) = reason {
        return fetch_unread(exchange, cached, reason);
    }
    other_codings::choose(request, origin, cache);
    let now = request.received.at_ms;
    let fields = request.received.head.fields();
    let found = cache.zone.zone.get(
        KeyRef::new(&request.cache.key),
        |selector, variant| write_variant(selector, fields, variant),
        now,
    );
    explain::read(request, cache);
    Ok(match found {
        Some(page) if other_codings::is_older_than_shared(request, &page) => JourneyStep::Stale(None),
        Some(page) if page.is_fresh(now) => serve_fresh(exchange, cached, page),
        Some(page) => JourneyStep::Stale(Some(page)),
        None => JourneyStep::Seek,
    })
}

/// Returns the next step of a request whose page is fresh. Also stores the routing result for the shortcut of similar
/// requests, and starts the sampled verification of the page if it is due.
fn serve_fresh(exchange: &Exchange, cached: CacheContext<'_>, page: Page) -> JourneyStep {
    let CacheContext { origin, cache } = cached;
    shortcut::store(&exchange.request);
    if sampling::is_due(cache, &exchange.request.cache.key, &page) {
        sampling::start(exchange, cached, &page);
    }
    if early_refresh::is_due(exchange, cache, &page) && !hides_fields(&exchange.request, origin) {
        JourneyStep::Refresh(page, RefreshReason::Early)
    } else {
        JourneyStep::Serve(page, CacheStatus::Hit)
    }
}

/// Returns the next step of a request that must not read the cache, but whose response may be stored.
fn fetch_unread(
    exchange: &mut Exchange,
    cached: CacheContext<'_>,
    reason: BypassReason,
) -> Result<JourneyStep, EvalError> {
    let CacheContext { origin, cache } = cached;
    let shown = &mut exchange.request.cache.report;
    shown.reason = Some(reason.as_str());
    shown.status = reason.status();
    explain::bypassed(exchange, cache, reason);
    Ok(if hides_fields(&exchange.request, origin) {
        JourneyStep::Pass(PassReason::HiddenFields)
    } else if shared_fetch_headers::is_fetched_alone(exchange, cache)? {
        JourneyStep::Pass(PassReason::Unstored)
    } else {
        JourneyStep::Lead(None)
    })
}
