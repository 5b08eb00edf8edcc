//! Serves a stored file in place of a file that the origin no longer has.

use std::future::poll_fn;

use myriad_exchange::exchange::{ContentResponse, Exchange, PhaseStep, Request};
use myriad_http::Method;
use myriad_policy::CacheStatus;
use myriad_store::KeyRef;
use myriad_store::page::Page;

use super::{is_asset, key_of, of};
use crate::journey_step::{CacheContext, JourneyStep};
use crate::serve;

/// Replaces a 404 or 410 response by the file that `cache_keep_assets` has stored for the request. The response is
/// unchanged if stored files do not apply to the request ([`asset_key`]), if the file is not stored, or if its
/// retention time is over. Other steps are unchanged.
pub(crate) fn replace_missing(
    exchange: &mut Exchange,
    cached: CacheContext<'_>,
    step: PhaseStep,
) -> PhaseStep {
    match step {
        PhaseStep::Answer(answer) if matches!(answer.status, 404 | 410) => match asset_key(&exchange.request)
        {
            Some(key) => find(exchange, cached, &key, answer),
            None => PhaseStep::Answer(answer),
        },
        step => step,
    }
}

/// Returns the cache key under which the requested file may be stored by `cache_keep_assets`. `None` without the
/// directive, for methods other than GET and HEAD, for paths without the extension of a style sheet or script, for
/// subrequests and other requests that the server creates, and for requests that are only explained.
fn asset_key(request: &Request) -> Option<Vec<u8>> {
    of(request)?;
    let path = request.sent_uri()?.split(|byte| *byte == b'?').next().unwrap_or_default();
    let reads = matches!(request.received.head.method(), Method::Get | Method::Head);
    let is_for_somebody = !request.is_subrequest() && !request.cache.lookup.stored_only;
    (reads && is_for_somebody && request.received.sink.is_none() && is_asset(path))
        .then(|| key_of(request, path))
}

fn find(exchange: &mut Exchange, cached: CacheContext<'_>, key: &[u8], answer: ContentResponse) -> PhaseStep {
    let zone = &cached.cache.zone.zone;
    let now = exchange.request.received.at_ms;
    if let Some(page) = zone.get(KeyRef::new(key), |_, _| {}, now) {
        return serve(exchange, cached, page, answer);
    }
    // After a restart, the file may only be on disk.
    let reader =
        zone.seek(KeyRef::new(key), |_, _| {}).and_then(|file| zone.load(KeyRef::new(key), file, now));
    let Some(mut reader) = reader else { return PhaseStep::Answer(answer) };
    let (held, key) = (cached.to_owned(), key.to_vec());
    PhaseStep::wait(async move |exchange: &mut Exchange| {
        poll_fn(|cx| reader.poll_end(cx, |_, _| {}).map(drop)).await;
        match held.cache.zone.zone.get(KeyRef::new(&key), |_, _| {}, now) {
            Some(page) => serve(exchange, held.get(), page, answer),
            None => PhaseStep::Answer(answer),
        }
    })
}

/// Serves the stored file in `page`; serves `answer`, the response of the origin, if the retention time of the file is
/// over, or if the file cannot be served without a wait.
fn serve(
    exchange: &mut Exchange,
    cached: CacheContext<'_>,
    page: Page,
    answer: ContentResponse,
) -> PhaseStep {
    if exchange.request.received.at_ms >= page.meta().lifetime().fresh_until {
        return PhaseStep::Answer(answer);
    }
    match serve::run(exchange, cached, page, CacheStatus::Stale) {
        JourneyStep::Done(step) => step,
        _ => PhaseStep::Answer(answer),
    }
}
