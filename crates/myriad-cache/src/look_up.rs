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
use crate::origin_protection;
use crate::other_codings;
use crate::shared_fetch_headers;
use myriad_admin::purge::request as purge;
use myriad_exchange::exchange::{Exchange, PhaseStep, shortcut};
use myriad_exchange::keys::page_key;
use myriad_store::page::write_variant;

/// Looks the page up. A configured text that cannot be evaluated results in a 500 response.
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
    let reason = bypass(&facts, &cache.rules);
    if reason == Some(BypassReason::PersonalCookie) && esi::may_read(request, &cache.rules.personal) {
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
        Some(page) if page.is_fresh(now) => {
            shortcut::store(&exchange.request);
            if early_refresh::is_due(exchange, cache, &page) && !hides_fields(&exchange.request, origin) {
                JourneyStep::Refresh(page, RefreshReason::Early)
            } else {
                JourneyStep::Serve(page, CacheStatus::Hit)
            }
        }
        Some(page) => JourneyStep::Stale(Some(page)),
        None => JourneyStep::Seek,
    })
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{head, held, set_method, site, store, words};

    fn looked_up(exchange: &mut Exchange) -> String {
        let held = held(exchange);
        words(&run(exchange, held.get()))
    }

    #[test]
    fn page_that_memory_does_not_have_is_sought_on_disk() {
        let mut exchange = site("").exchange("/a", &[]);
        assert_eq!(looked_up(&mut exchange), "seek");
        assert_eq!(exchange.request.cache.key, b"/a");
    }

    #[test]
    fn fresh_page_is_a_hit_and_one_that_is_over_is_stale() {
        for (fresh_ms, expected) in [(60_000, "serve Hit"), (0, "stale true")] {
            let site = site("");
            store(&mut site.exchange("/a", &[]), &head(200, &[]), fresh_ms);
            assert_eq!(looked_up(&mut site.exchange("/a", &[])), expected);
            assert_eq!(looked_up(&mut site.exchange("/b", &[])), "seek");
        }
    }

    #[test]
    fn request_that_may_neither_read_nor_fill_the_cache_is_passed() {
        let site = site("");
        store(&mut site.exchange("/a", &[]), &head(200, &[]), 60_000);
        for (fields, reason) in [
            (&[("Authorization", "Basic YTpi")][..], "pass Bypass(Authorization)"),
            (&[("Cookie", "wordpress_logged_in_1=x")], "pass Bypass(PersonalCookie)"),
            (&[("Upgrade", "websocket")], "pass Bypass(Upgrade)"),
        ] {
            assert_eq!(looked_up(&mut site.exchange("/a", fields)), reason);
        }
        let mut exchange = site.exchange("/a", &[]);
        set_method(&mut exchange, "DELETE");
        assert_eq!(looked_up(&mut exchange), "pass Bypass(Method)");
        assert_eq!(exchange.request.cache.report.status, None);
    }

    #[test]
    fn bypass_condition_skips_the_look_up_and_no_cache_the_store_too() {
        let bypassed = site("fastcgi_cache_bypass $arg_x;");
        assert_eq!(looked_up(&mut bypassed.exchange("/a?x=1", &[])), "lead false");
        assert_eq!(looked_up(&mut bypassed.exchange("/a?x=0", &[])), "seek");
        let excluded = site("shared_fetch_headers on; fastcgi_cache_bypass $arg_x; fastcgi_no_cache $arg_x;");
        assert_eq!(looked_up(&mut excluded.exchange("/a?x=1", &[])), "pass Unstored");
    }

    #[test]
    fn head_shares_the_page_of_get() {
        let site = site("");
        store(&mut site.exchange("/a", &[]), &head(200, &[]), 60_000);
        let mut exchange = site.exchange("/a", &[]);
        set_method(&mut exchange, "HEAD");
        assert_eq!(looked_up(&mut exchange), "serve Hit");
        assert!(exchange.request.route.as_get);
    }

    #[test]
    fn variants_are_distinguished_by_vary_fields() {
        let site = site("");
        let german = &[("Accept-Language", "de")];
        store(&mut site.exchange("/a", german), &head(200, &[("Vary", "Accept-Language")]), 60_000);
        assert_eq!(looked_up(&mut site.exchange("/a", german)), "serve Hit");
        assert_eq!(looked_up(&mut site.exchange("/a", &[("Accept-Language", "fr")])), "seek");
    }
}
