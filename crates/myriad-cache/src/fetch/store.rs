//! Storing of a response while its body arrives.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;

use bytes::Bytes;
use myriad_encode::{Coding, StreamDecoder};
use myriad_http::body::BoxBody;
use myriad_http::{Known, ResponseHead};
use myriad_log::LogLevel;
use myriad_policy::{ApplicationState, Lifetime, StoreRefusal};
use myriad_store::{
    BodyWriter, Capacity, CollectState, Completion, FetchFailure as StoreFailure, FlightWriter, Selection,
};
use myriad_upstream::{Attempts, OriginResponse};

use super::job::NextCause;
use super::report::{FetchReport, Reporter, report};
use crate::adaptive_validity::{self, Fetched, NoiseCheck};
use crate::assets;
use crate::companion::CompanionPage;
use crate::complete::complete_at;
use crate::disk;
use crate::esi::{self, Cutting};
use crate::journey_step::CacheContext;
use crate::leak_guard::ResponseGuard;
use crate::leak_guard::sampling::PendingComparison;
#[cfg(feature = "optimizer")]
use crate::optimize;
use crate::origin_fields;
use crate::page;
use crate::shared_fetch_headers;
use myriad_exchange::exchange::{Exchange, Request};
use myriad_exchange::runtime::CachePlace;
use myriad_origin::read_rate_limiter::ReadRateLimiter;
use myriad_origin::respond;
use myriad_store::page::{FetchPermit, Page, PageLease, PageMeta};

/// Response that may be stored, with everything needed to store it.
pub(super) struct AdmittedResponse {
    /// Response of the origin.
    pub response: Box<OriginResponse>,
    /// Lifetime: times until which the page is fresh and may be served stale.
    pub lifetime: Lifetime,
    /// Time when the head arrived, in milliseconds since the epoch.
    pub now: u64,
    /// Time when the request was sent to the origin, in milliseconds since the epoch.
    pub requested_at: u64,
    /// Limiter of the rate at which the body is read (`*_limit_rate`).
    pub pace: ReadRateLimiter,
    /// Slot among the concurrent fetches of the zone.
    pub fetching: FetchPermit,
    /// Secondary key of the response (the variant of the page by `Vary`); `None` if the response does not vary.
    pub selection: Option<Selection>,
    /// Additional entry under the page's other key (shared, or for other codings), in which the response is stored as
    /// well; `None` if it belongs under one key only.
    pub companion: Option<CompanionPage>,
    /// Lease with which the page is stored for the other nodes of the cluster; `None` if this fetch has none.
    pub lease: Option<Box<dyn PageLease>>,
    /// Attempts of the fetch, which report a fatal error of the application.
    pub attempts: Attempts,
    /// Check that caused this fetch, to find the noise of the page (text that differs at each rendering); `None` for
    /// other fetches.
    pub noise_check: Option<NoiseCheck>,
    /// Search of the leak guard for data of the visitor in the body.
    pub guard: ResponseGuard,
    /// Comparison with responses to requests without the visitor's inputs, if the page is suspected; otherwise `None`.
    pub comparison: Option<PendingComparison>,
}

/// Reads the body, and writes each piece to the page in flight, from which all waiters read it. A response that the
/// application marks as incomplete, or that a fatal error terminates, is forwarded to the waiters but not stored, which
/// is logged. A response with data of the visitor, or for a suspected page, is not stored either, and is forwarded only
/// to the client whose request fetched it. Returns the reason if the page must be fetched again.
pub(super) async fn store(
    exchange: &Exchange,
    cached: CacheContext<'_>,
    writer: FlightWriter<PageMeta>,
    reporter: Reporter,
    admitted: AdmittedResponse,
) -> Option<NextCause> {
    let AdmittedResponse {
        response,
        lifetime,
        now,
        requested_at,
        pace,
        fetching,
        selection,
        companion,
        lease,
        attempts,
        noise_check,
        mut guard,
        comparison,
    } = admitted;
    let OriginResponse { head, body, .. } = *response;
    let status = head.status;
    let coding = page::removed_coding(&exchange.request, &head);
    let mut meta = page_meta(exchange, cached, &head, lifetime, now, coding);
    let is_other =
        |selection: &&Selection| shared_fetch_headers::is_other_variant(&exchange.request, Some(*selection));
    let varies = selection.as_ref().filter(is_other).map(|selection| selection.selector.to_vec());
    let length = head.known(Known::ContentLength).and_then(respond::parse_length);
    let ApplicationState { incomplete: is_incomplete, counters: shows_counters, .. } =
        ApplicationState::of(&head.fields);
    let mut cutting = Cutting::begin(&exchange.request, &head);
    meta = with_expected_cut(&exchange.request, meta, &head, cutting.as_ref());
    let admission = myriad_store::Admission {
        head: Arc::new(meta.clone()),
        selection,
        length: if coding.is_some() || cutting.is_some() { None } else { length },
    };
    let mut writer = writer.admit(admission);
    if comparison.is_some() {
        writer.withdraw(now, StoreRefusal::Leak.hit_for_miss_ms());
    }
    report(reporter, varies.map_or(FetchReport::Admitted(head), FetchReport::OtherVariant));
    let incoming = IncomingBody { body, length, pace, fetching, decoder: coding.and_then(page::decoder) };
    let stages = BodyStages { exchange, cache: cached.cache, cutting: cutting.as_mut(), guard: &mut guard };
    let mut writer = receive_body(stages, writer, incoming).await?;
    if let Some(cutting) = cutting {
        let (rest, cut) = cutting.finish(&exchange.request);
        push(&mut writer, rest);
        meta = meta.with_cut(&cut.encode());
    }
    let discarded = |meta| Completion { meta, now, fresh_until: now, alternatives: Default::default() };
    if is_incomplete || attempts.had_fatal_error() {
        let why = if is_incomplete { "an incomplete response" } else { "a fatal error" };
        let what = format_args!("upstream reported {why}: the response is forwarded and not stored");
        exchange.request.log(LogLevel::Error, what);
        writer.discard(discarded(meta));
        return None;
    }
    if let Some(comparison) = comparison {
        comparison.start(exchange, cached, writer.body(), lifetime.valid_ms);
        writer.discard(discarded(meta));
        return None;
    }
    if guard.forbids_storing(&exchange.request, cached.cache) {
        writer.discard(discarded(meta));
        let verification = guard.verification(&exchange.request, cached.cache, &lifetime, status);
        return verification.map(NextCause::Verification);
    }
    let fetched = Fetched { requested_at, shows_counters, check: noise_check };
    let next = adaptive_validity::assess(exchange, cached.cache, &mut writer, &mut meta, fetched);
    if let Some(body) = writer.body() {
        if let Some(companion) = companion {
            companion.store(exchange, cached.cache, meta.clone(), &body);
        }
        assets::store_assets(exchange, cached, meta.view(), &body);
    }
    let page = complete_page(exchange, cached, writer, meta, myriad_net::clock::now_ms())?;
    if let Some(lease) = lease {
        lease.store(&page);
    }
    next.map(|check| NextCause::NoiseCheck(page, check))
}

/// Adds to the metadata of a page whose body has not been received yet the data about its ESI holes that is known from
/// its head.
fn with_expected_cut(
    request: &Request,
    meta: PageMeta,
    head: &ResponseHead,
    cutting: Option<&Cutting>,
) -> PageMeta {
    let cut = match cutting {
        Some(cutting) => cutting.to_come().to_vec(),
        None => esi::data_without_markup(request, head),
    };
    if cut.is_empty() { meta } else { meta.with_cut(&cut) }
}

/// Completes a page, which counts as stored at `stored_at` (milliseconds since the epoch). If it replaces a page with an
/// optimized form, also copies that form or starts to make a new one.
pub(super) fn complete_page(
    exchange: &Exchange,
    cached: CacheContext<'_>,
    writer: BodyWriter<PageMeta>,
    meta: PageMeta,
    stored_at: u64,
) -> Option<Page> {
    #[cfg(feature = "optimizer")]
    let previous = writer.previous().cloned();
    let page = complete_at(exchange, &cached.cache.zone, writer, meta, stored_at);
    #[cfg(feature = "optimizer")]
    if let (Some(previous), Some(page)) = (&previous, &page) {
        optimize::after_fetch(exchange, cached, previous, page);
    }
    page
}

/// Returns the metadata of a page that arrived at `now`, in milliseconds since the epoch.
fn page_meta(
    exchange: &Exchange,
    cached: CacheContext<'_>,
    head: &ResponseHead,
    lifetime: Lifetime,
    now: u64,
    coding: Option<Coding>,
) -> PageMeta {
    let marks = page::marks_of(&exchange.request, head);
    let meta = page::meta_of(head, cached.origin, &cached.cache.rules, lifetime, now, &marks, coding);
    let mut meta = origin_fields::store_fields(&exchange.request, meta, &head.fields, b"");
    meta.facts.response_time = page::response_time(&exchange.request);
    meta
}

/// Body of a response that is being received.
struct IncomingBody {
    body: BoxBody,
    /// Value of `Content-Length`; `None` if the response has none.
    length: Option<u64>,
    /// Limiter of the rate at which the body is read (`*_limit_rate`).
    pace: ReadRateLimiter,
    /// Slot among the concurrent fetches of the zone.
    fetching: FetchPermit,
    /// Decoder of a content coding in which the zone does not store pages; `None` to store the body as received.
    decoder: Option<StreamDecoder>,
}

/// Stages through which a decoded body passes before it is stored.
struct BodyStages<'a> {
    exchange: &'a Exchange,
    cache: &'a CachePlace,
    /// Removal of ESI markup; `None` for a page without it.
    cutting: Option<&'a mut Cutting>,
    /// Search of the leak guard for data of the visitor in the body.
    guard: &'a mut ResponseGuard,
}

/// Receives a body and stores it piece by piece. Returns `None` if it fails, which is logged and reported to the
/// readers, or if no reader is left and the page is not stored.
async fn receive_body(
    mut stages: BodyStages<'_>,
    mut writer: BodyWriter<PageMeta>,
    incoming: IncomingBody,
) -> Option<BodyWriter<PageMeta>> {
    let exchange = stages.exchange;
    let IncomingBody { mut body, length, mut pace, fetching, mut decoder } = incoming;
    let fail = |writer: BodyWriter<PageMeta>, what: std::fmt::Arguments<'_>| {
        exchange.request.log(LogLevel::Error, what);
        writer.fail(StoreFailure(502));
        None
    };
    let mut fetching = Some(fetching);
    let mut arrived = 0;
    loop {
        match disk::capacity(&mut writer).await {
            Capacity::Ready => {}
            Capacity::Abandoned => return None,
        }
        // A page that is too large for the zone is read at the speed of its slowest reader; it gives up its slot, so
        // that it does not delay other fetches.
        fetching = fetching.filter(|_| writer.state() == CollectState::Ok || writer.is_spilling());
        pace.wait().await;
        let piece = poll_fn(|cx| Pin::as_mut(&mut body).poll_data(cx)).await;
        match piece {
            Some(Ok(piece)) => {
                pace.count_read(piece.len());
                arrived += piece.len() as u64;
                match fill(&mut writer, decoder.as_mut(), &mut stages, piece).await {
                    FillResult::Wanted => {}
                    FillResult::Abandoned => return None,
                    FillResult::Corrupt => {
                        let what = "upstream sent an invalid content coding: the page is not stored";
                        return fail(writer, format_args!("{what}"));
                    }
                }
            }
            Some(Err(error)) => return fail(writer, format_args!("{error}")),
            None => break,
        }
    }
    // An empty body is valid although it lacks the trailer of its coding.
    if arrived > 0 && decoder.is_some_and(|decoder| decoder.finish().is_err()) {
        let what = "upstream sent an incomplete content coding: the page is not stored";
        return fail(writer, format_args!("{what}"));
    }
    if length.is_some_and(|length| length != arrived) {
        return fail(writer, format_args!("upstream prematurely closed connection"));
    }
    Some(writer)
}

/// Result of storing a piece of a body.
enum FillResult {
    /// The piece was stored; the next piece can be read.
    Wanted,
    /// The fetch must stop: no request reads the page any more, and the page is too long to be stored.
    Abandoned,
    /// The piece cannot be decoded, because its content coding is invalid.
    Corrupt,
}

/// Decodes a piece of a body, searches it for data of the visitor, cuts out ESI markup, and stores the rest. Decoded
/// data is stored in windows; before each further window, the writer must have capacity.
async fn fill(
    writer: &mut BodyWriter<PageMeta>,
    mut decoder: Option<&mut StreamDecoder>,
    stages: &mut BodyStages<'_>,
    mut piece: Bytes,
) -> FillResult {
    loop {
        let Ok((window, drained)) = page::decoded(decoder.as_deref_mut(), &mut piece) else {
            return FillResult::Corrupt;
        };
        stages.guard.examine(stages.exchange, stages.cache, writer, &window).await;
        match &mut stages.cutting {
            Some(cutting) => push(writer, cutting.push(&window)),
            None => drop(writer.push(window)),
        }
        if drained {
            return FillResult::Wanted;
        }
        // Decoding uses CPU time, so other tasks may run between two windows.
        tokio::task::yield_now().await;
        if let Capacity::Abandoned = disk::capacity(writer).await {
            return FillResult::Abandoned;
        }
    }
}

/// Stores the text of a piece of the page from which markup was cut out; does nothing if the text is empty.
fn push(writer: &mut BodyWriter<PageMeta>, text: Bytes) {
    if !text.is_empty() {
        writer.push(text);
    }
}
