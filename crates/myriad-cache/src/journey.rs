//! Execution of the steps of a cached request ([`crate::journey_step`]). Each step returns the next one.

use std::sync::Arc;

use myriad_http::Method;
use myriad_log::LogLevel;
use myriad_policy::{CacheStatus, RequestFacts, bypass};
use myriad_store::KeyRef;

use crate::journey_step::{CacheContext, JourneyStep, PassReason};
use crate::leak_guard::sampling;
use crate::{
    assets, claim, disk, early_hints_stored, early_refresh, esi, explain, flight_wait, look_up,
    origin_protection, other_codings, pass, read_body, refresh, serve, stale, unlocked_fetch,
};
use myriad_exchange::exchange::{Exchange, PhaseStep};
use myriad_exchange::runtime::{Caches, OriginPlace};
use myriad_store::page::write_variant;

/// Starts the steps of a request with the cache of the location, which a variable may select. Without a cache, the
/// request goes to the origin. A name that is not a zone or cannot be evaluated is logged and results in a 500
/// response.
pub(crate) fn begin(exchange: &mut Exchange, origin: &Arc<OriginPlace>) -> PhaseStep {
    let named = match &origin.cache {
        Caches::One(cache) => return run(exchange, CacheContext { origin, cache }, JourneyStep::LookUp),
        Caches::None => return uncached(exchange, origin),
        Caches::Named(named) => named,
    };
    let Exchange { request, frame } = exchange;
    let mut name = Vec::new();
    if let Err(error) = named.name.eval(request, frame, &mut name) {
        request.log(LogLevel::Error, format_args!("{error}"));
        return PhaseStep::Error(500);
    }
    request.cache.chosen = named.find(&name);
    match origin.cache.of(request.cache.chosen) {
        Some(cache) => run(exchange, CacheContext { origin, cache }, JourneyStep::LookUp),
        None if name.is_empty() || name == b"off" => uncached(exchange, origin),
        None => {
            let (name, zones) = (name.escape_ascii(), named.places.iter().map(|(zone, _)| &**zone));
            let zones = zones.collect::<Vec<_>>().join(", ");
            request.log(
                LogLevel::Error,
                format_args!(
                    "cache \"{name}\" not found: the variables in \"*_cache\" must evaluate to the name of a zone \
                     (\"keys_zone=\": {zones}), or to \"off\""
                ),
            );
            PhaseStep::Error(500)
        }
    }
}

/// Sends the request to the origin of a location without a cache. If the request is only explained, stops the
/// explanation. A request that may only use stored pages gets the status [`esi::USELESS_FETCH`].
fn uncached(exchange: &mut Exchange, origin: &Arc<OriginPlace>) -> PhaseStep {
    if exchange.request.received.sink.is_some() {
        return explain::uncached(exchange);
    }
    if exchange.request.cache.lookup.stored_only {
        return PhaseStep::Error(esi::USELESS_FETCH);
    }
    let origin = Arc::clone(origin);
    PhaseStep::wait(async move |exchange| pass::uncached(exchange, &origin).await)
}

/// Runs steps, starting with `next`, until the request is finished or has to wait. A request that is only explained
/// stops before the first step that would have an effect.
pub(crate) fn run(exchange: &mut Exchange, cached: CacheContext<'_>, mut next: JourneyStep) -> PhaseStep {
    loop {
        next = match next {
            JourneyStep::Done(step) => return assets::replace_missing(exchange, cached, step),
            next if exchange.request.cache.lookup.stored_only
                && esi::is_useless_fetch(&mut exchange.request, &next) =>
            {
                return PhaseStep::Error(esi::USELESS_FETCH);
            }
            JourneyStep::LookUp => look_up::run(exchange, cached),
            JourneyStep::Serve(page, status) => serve::run(exchange, cached, page, status),
            JourneyStep::Seek => disk::seek(exchange, cached),
            JourneyStep::Stale(page) => stale::run(exchange, cached, page),
            JourneyStep::Known if exchange.request.received.sink.is_some() => {
                return explain::known(exchange, cached);
            }
            next if exchange.request.received.sink.is_some() => {
                return explain::stop(exchange, cached, &next);
            }
            JourneyStep::Load(file) => disk::load(exchange, cached, file),
            JourneyStep::Refresh(page, occasion) => refresh::run(exchange, cached, page, occasion),
            JourneyStep::Claim(page) => {
                early_hints_stored::of_page(&exchange.request, page.as_ref());
                claim::run(exchange, cached, page)
            }
            JourneyStep::Lead(page) => unlocked_fetch::run(exchange, cached, page.as_ref()),
            JourneyStep::Wait(ms) => {
                return wait(cached, async move |exchange, _| {
                    origin_protection::wait(exchange, ms).await;
                    JourneyStep::LookUp
                });
            }
            JourneyStep::Known => {
                return wait(cached, async |exchange, cached| esi::run(exchange, cached).await);
            }
            JourneyStep::Gather => {
                return wait(cached, async |exchange, cached| read_body::run(exchange, cached).await);
            }
            JourneyStep::Read(reader) => return wait(cached, async |_, _| disk::read(reader).await),
            JourneyStep::Open(page, status) => {
                return wait(cached, async move |exchange, cached| {
                    disk::open(exchange, cached, page, status).await
                });
            }
            JourneyStep::Follow(flight) => {
                return wait(cached, async |exchange, cached| {
                    flight_wait::run(exchange, cached, flight).await
                });
            }
            JourneyStep::Pass(reason) => {
                if matches!(reason, PassReason::Bypass(_) | PassReason::NotCut | PassReason::Unstored) {
                    early_hints_stored::of_shared_page(exchange, cached);
                }
                // A reason set by the fetch is more specific.
                exchange.request.cache.report.reason.get_or_insert(reason.as_str());
                return wait(cached, async |exchange, cached| pass::run(exchange, cached, None).await);
            }
            JourneyStep::PassBody(body) => {
                return wait(cached, async |exchange, cached| pass::run(exchange, cached, Some(body)).await);
            }
        }
    }
}

/// Returns a step that waits for `work`, and then runs the step that `work` returned and the following ones.
fn wait(
    cached: CacheContext<'_>,
    work: impl AsyncFnOnce(&mut Exchange, CacheContext<'_>) -> JourneyStep + 'static,
) -> PhaseStep {
    let held = cached.to_owned();
    PhaseStep::wait(async move |exchange| {
        let next = work(exchange, held.get()).await;
        run(exchange, held.get(), next)
    })
}

/// Serves the page under the cache key that an earlier request with equal routing inputs has computed, without
/// evaluating rewrites and locations again.
///
/// Returns `None` if no fresh page is stored in memory, or if the request needs the full processing.
pub(crate) fn shortcut(exchange: &mut Exchange, origin: &Arc<OriginPlace>) -> Option<PhaseStep> {
    let cache = origin.cache.fixed()?;
    let request = &mut exchange.request;
    let facts = RequestFacts {
        method: request.received.head.method(),
        fields: request.received.head.fields(),
        has_body: !request.upload.body.is_empty(),
        cache_bypass: false,
    };
    if bypass(&facts, &cache.rules).is_some() || other_codings::may_need_other_codings(request) {
        return None;
    }
    // A suspected page needs the full processing at each hit.
    if sampling::may_be_suspected(cache, &request.cache.key) {
        return None;
    }
    let now = request.received.at_ms;
    let fields = request.received.head.fields();
    let page = cache.zone.zone.get(
        KeyRef::new(&request.cache.key),
        |selector, variant| write_variant(selector, fields, variant),
        now,
    )?;
    // The rewritten `Location` may contain variables that the rules set.
    if page.meta().redirects && !origin.protocol.has_plain_redirects() {
        return None;
    }
    // Pages with a body on disk, and pages due for a refresh or a verification, need the full processing.
    if !page.is_fresh(now)
        || page.stored_body().is_some()
        || early_refresh::is_due(exchange, cache, &page)
        || sampling::is_due_by_hits(cache, &page)
    {
        return None;
    }
    let request = &mut exchange.request;
    request.cache.report.zone = cache.zone_number;
    request.route.as_get |= request.received.head.method() == Method::Head && cache.convert_head;
    let cached = CacheContext { origin, cache };
    match serve::run(exchange, cached, page, CacheStatus::Hit) {
        JourneyStep::Done(step) => Some(assets::replace_missing(exchange, cached, step)),
        next => Some(run(exchange, cached, next)),
    }
}
