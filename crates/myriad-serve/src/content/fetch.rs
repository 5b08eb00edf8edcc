//! The fetch of a page: it belongs to nobody's connection, and goes on when the visitor who caused it has gone.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::Arc;

use myriad_http::content_range::ContentRange;
use myriad_http::{Known, Method, ResponseHead};
use myriad_policy::{Admission, EntityTag, Failure, Lifetime, ResponseFacts, Told, admit};
use myriad_store::{BodyWriter, Capacity, Failure as StoreFailure, FlightWriter, Selection};
use myriad_upstream::{ErrorKind, OriginError, OriginRequest, OriginResponse, RequestPayload};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::early::Spent;
use super::group::Chosen;
use super::other_codings::{self, Beside};
use super::pace::Pace;
use super::params::{self, Purpose};
use super::revalidate::{self, Confirmed};
use super::{group, origin, page, purge, stored, told, validity};
use crate::error_log::Level;
use crate::exchange::{Exchange, Request};
use crate::runtime::{CachePlace, Handler, OriginPlace, Page, PageMeta, conditions};

/// What the visitor who caused the fetch gets besides the page.
pub(crate) enum Own {
    /// The page is on its way into the cache; this is the origin's head, cookies and all.
    Admitted(ResponseHead),
    /// The page that was stored is confirmed.
    Confirmed,
    /// The page that was stored is confirmed, but what came with that is for this visitor alone, who has to ask.
    Unconfirmed,
    /// The answer is for one visitor alone, and was made without what this one says, who has to ask.
    Incomplete,
    /// The page on its way into the cache is another variant than this visitor's: it varies by these fields.
    Apart(Vec<u8>),
    /// The answer is for this visitor alone.
    Refused(OriginResponse),
    /// There is no answer.
    Failed(OriginError),
}

/// When a head came.
#[derive(Clone, Copy)]
pub(crate) struct Arrival {
    /// The time, ms since the epoch.
    pub now: u64,
    /// How long it took, ms.
    pub delay_ms: u64,
}

struct Job {
    exchange: Box<Exchange>,
    writer: FlightWriter<PageMeta>,
    request: OriginRequest,
    chosen: Chosen,
    own: Option<oneshot::Sender<Own>>,
    usable_page: bool,
    /// Whether the origin was asked to confirm what is stored.
    conditional: bool,
    /// The budget that an early refresh holds.
    spent: Option<Spent>,
    /// Whether its key is that for other codings.
    apart: bool,
    beside: Option<Beside>,
    /// What the origin is told in the place of the request's fields.
    told: Option<Told>,
}

/// An answer that is to be stored.
struct Admitted {
    response: OriginResponse,
    lifetime: Lifetime,
    /// When its head came, ms since the epoch.
    now: u64,
    pace: Pace,
    /// Which variant it is.
    selection: Option<Selection>,
    /// The other key that it is stored under.
    beside: Option<other_codings::Admitted>,
}

/// Starts the fetch of a page from a copy of the request. A fetch that cannot start frees the waiters at once.
pub(crate) fn start(
    exchange: &mut Exchange,
    origin: &OriginPlace,
    cache: &CachePlace,
    writer: FlightWriter<PageMeta>,
    own: Option<oneshot::Sender<Own>>,
) {
    begin(exchange, origin, cache, writer, own, None);
}

/// As [`start`], behind the back of a visitor who gets the stale page.
pub(crate) fn start_behind(
    exchange: &mut Exchange,
    origin: &OriginPlace,
    cache: &CachePlace,
    writer: FlightWriter<PageMeta>,
) {
    exchange.request.cache.refresh = begin(exchange, origin, cache, writer, None, None);
}

/// As [`start`], for a page that is still fresh: nobody waits for it.
pub(crate) fn start_early(
    exchange: &mut Exchange,
    origin: &OriginPlace,
    cache: &CachePlace,
    writer: FlightWriter<PageMeta>,
    spent: Spent,
) {
    begin(exchange, origin, cache, writer, None, Some(spent));
}

fn begin(
    exchange: &mut Exchange,
    origin: &OriginPlace,
    cache: &CachePlace,
    writer: FlightWriter<PageMeta>,
    own: Option<oneshot::Sender<Own>>,
    spent: Option<Spent>,
) -> Option<JoinHandle<()>> {
    let Ok(chosen) = group::of_place(exchange, origin) else {
        writer.fail(StoreFailure(502));
        return None;
    };
    let attempts = match &own {
        Some(_) => exchange.request.origin_mut().attempts.clone(),
        None => myriad_upstream::Attempts::default(),
    };
    let payload = match &exchange.request.gathered {
        Some(body) => body.payload(),
        None => RequestPayload::Empty,
    };
    let confirmable = writer.previous().filter(|page| is_confirmable(page, cache));
    let conditional = confirmable.is_some();
    let told = told::of(&exchange.request, cache, writer.previous());
    let purpose = Purpose::Store { confirms: confirmable, told: told.as_ref().map(|told| &told.fields) };
    let request = match params::make(exchange, origin, purpose, payload, attempts) {
        Ok(request) => request,
        Err(error) => {
            exchange.request.log(Level::Error, format_args!("{error}"));
            writer.fail(StoreFailure(500));
            return None;
        }
    };
    exchange.request.site.worker.counters.fetches.add(1);
    let stored = writer.previous().or(exchange.request.cache.stale.as_ref());
    let usable_page = stored.is_some_and(|page| page.meta().status < 500);
    let apart = other_codings::is_apart(&exchange.request);
    let beside = Beside::begin(&exchange.request, cache);
    let exchange = exchange.snapshot();
    let job =
        Job { exchange, writer, request, chosen, own, usable_page, conditional, spent, apart, beside, told };
    Some(tokio::task::spawn_local(run(job)))
}

fn is_confirmable(page: &Page, cache: &CachePlace) -> bool {
    cache.rules.revalidate && !conditions(page).is_empty()
}

async fn run(job: Job) {
    let Job { mut exchange, writer, request, chosen, own, usable_page, conditional, spent, .. } = job;
    let Job { apart, beside, told, .. } = job;
    let _spent = spent;
    let method = request.method;
    let site = std::rc::Rc::clone(&exchange.request.site);
    let Handler::Origin(place) = &site.runtime.place(exchange.request.place).handler else { return };
    let Some(cache) = place.cache.of(exchange.request.cache.chosen) else { return };
    let group = match group::settle(&mut exchange, chosen).await {
        Ok(group) => group,
        Err(status) => return writer.fail(StoreFailure(status)),
    };
    let asked = myriad_net::clock::now_ms();
    let response = match origin::fetch(&mut exchange, &group, request, own.is_some()).await {
        Ok(response) => response,
        Err(error) => {
            exchange.request.log(Level::Error, format_args!("{error}"));
            writer.fail(StoreFailure(error.status()));
            if let Some(own) = own {
                let _ = own.send(Own::Failed(error));
            }
            return;
        }
    };
    purge::by_origin(&exchange, Some(cache), &response.head).await;
    let now = myriad_net::clock::now_ms();
    let arrival = Arrival { now, delay_ms: now.saturating_sub(asked) };
    if conditional && response.head.status == 304 {
        let stored = writer.previous().map_or(200, |page| page.meta().status);
        let rules = validity::rules(&mut exchange, cache, &response.head, stored);
        let confirmed = revalidate::confirm(&exchange, place, &rules, writer, &response.head, arrival);
        if let Some(own) = own {
            let _ = own.send(match confirmed {
                Confirmed::Page => Own::Confirmed,
                Confirmed::Personal => Own::Unconfirmed,
            });
        }
        return;
    }
    let status = response.head.status;
    // The waiters would only find the same: they get their stale pages, or the status. What is stored stays for the next
    // failure, though the answer could be stored as well (`*_cache_use_stale http_404`).
    let stays = usable_page && cache.rules.use_stale.on_status(status);
    let hides_own = told::hides_own(&exchange.request, cache, told.as_ref(), status, &response.head.fields);
    let refused = |response| if hides_own { Own::Incomplete } else { Own::Refused(response) };
    let selection =
        page::selection(&response.head.fields, &cache.rules, &exchange.request, told.as_ref(), apart);
    let verdict = judge(&mut exchange, place, cache, &response.head, method, usable_page, arrival);
    match verdict {
        Admission::Store(_) if stays => {
            writer.fail(StoreFailure(status));
            if let Some(own) = own {
                let _ = own.send(Own::Refused(response));
            }
        }
        Admission::Refuse(why) => {
            if status >= 500 || stays {
                writer.fail(StoreFailure(status));
            } else {
                writer.uncacheable(now, why.hit_for_miss_ms());
            }
            if let Some(own) = own {
                let _ = own.send(refused(response));
            }
        }
        Admission::Store(_) if page::is_untellable(selection.as_ref()) => {
            writer.uncacheable(now, 0);
            if let Some(own) = own {
                let _ = own.send(refused(response));
            }
        }
        Admission::Store(lifetime) => {
            let pace = Pace::new(origin::limit_rate(&mut exchange, place));
            let beside = beside
                .and_then(|beside| beside.admit(&exchange, cache, &response.head.fields, told.as_ref()));
            let admitted = Admitted { response, lifetime, now, pace, selection, beside };
            store(&exchange, place, cache, writer, own, admitted).await;
        }
    }
}

fn judge(
    exchange: &mut Exchange,
    place: &OriginPlace,
    cache: &CachePlace,
    head: &ResponseHead,
    method: Method,
    usable_page: bool,
    arrival: Arrival,
) -> Admission {
    exchange.request.origin_mut().head = Some(head.clone());
    let rules = validity::rules(exchange, cache, head, head.status);
    let Exchange { request, frame } = exchange;
    // What cannot be judged is not stored.
    let no_cache = cache.no_cache.any_true(request, frame).unwrap_or(true);
    let redirects = head.fields.has(Known::XAccelRedirect) && !place.ignore_accel.redirect;
    let fields = request.head.fields();
    let facts = ResponseFacts {
        status: head.status,
        fields: &head.fields,
        method,
        authorization: fields.has(Known::Authorization),
        personal: false,
        piece: is_piece(request, head),
        no_cache: no_cache || redirects,
        // Requests below `*_cache_min_uses` do not come here.
        uses: u64::MAX,
        usable_page,
        delay_ms: arrival.delay_ms,
    };
    admit(&facts, &rules, arrival.now)
}

/// Whether an answer is the piece that the request's key names (`slice`).
fn is_piece(request: &Request, head: &ResponseHead) -> bool {
    let range = head.fields.get(b"content-range").and_then(ContentRange::parse);
    let (Some(slice), Some(part)) = (request.slice.get(), range) else { return false };
    part.range.start == slice.start && part.complete.is_some()
}

async fn store(
    exchange: &Exchange,
    place: &OriginPlace,
    cache: &CachePlace,
    writer: FlightWriter<PageMeta>,
    own: Option<oneshot::Sender<Own>>,
    admitted: Admitted,
) {
    let Admitted { response, lifetime, now, mut pace, selection, beside } = admitted;
    let OriginResponse { head, mut body, .. } = response;
    let meta =
        page::meta_of(&head, place, &cache.rules, lifetime, now, &page::marks_of(&exchange.request, &head));
    let varies = selection.as_ref().filter(|own| told::is_of_others(&exchange.request, Some(*own)));
    let varies = varies.map(|selection| selection.selector.to_vec());
    let length = head.known(Known::ContentLength).and_then(origin::parse_length);
    let coding = page::origin_coding(&head);
    let admission = myriad_store::Admission {
        head: Arc::new(meta.clone()),
        selection,
        length: if coding.is_some() { None } else { length },
    };
    let mut writer = writer.admit(admission);
    if let Some(own) = own {
        let _ = own.send(varies.map_or(Own::Admitted(head), Own::Apart));
    }
    let mut decoder = coding.and_then(page::decoder);
    let mut arrived = 0;
    loop {
        match stored::capacity(&mut writer).await {
            Capacity::Ready => {}
            Capacity::Abandoned => return,
        }
        pace.wait().await;
        let piece = poll_fn(|cx| Pin::as_mut(&mut body).poll_data(cx)).await;
        match piece {
            Some(Ok(piece)) => {
                pace.took(piece.len());
                arrived += piece.len() as u64;
                let Ok(piece) = page::decoded(decoder.as_mut(), piece) else {
                    exchange.request.log(Level::Error, format_args!("upstream sent a broken content coding"));
                    return writer.fail(StoreFailure(502));
                };
                writer.push(piece);
            }
            Some(Err(error)) => {
                exchange.request.log(Level::Error, format_args!("{error}"));
                return writer.fail(StoreFailure(502));
            }
            None => break,
        }
    }
    // A body that is not there at all needs no end.
    if arrived > 0 && decoder.is_some_and(|decoder| decoder.finish().is_err()) {
        exchange.request.log(Level::Error, format_args!("upstream cut a content coding short"));
        return writer.fail(StoreFailure(502));
    }
    if length.is_some_and(|length| length != arrived) {
        exchange.request.log(Level::Error, format_args!("upstream prematurely closed connection"));
        return writer.fail(StoreFailure(502));
    }
    if let (Some(beside), Some(body)) = (beside, writer.body()) {
        beside.store(exchange, meta.clone(), &body);
    }
    complete(exchange, writer, meta);
}

/// The page is whole: its tag, its first encoding, and into the store.
pub(super) fn complete(exchange: &Exchange, mut writer: BodyWriter<PageMeta>, mut meta: PageMeta) {
    let Some(body) = writer.body() else {
        meta.facts.tag = meta.facts.tag.or_else(|| writer.spilled().map(EntityTag::made));
        let fresh_until = meta.facts.lifetime().fresh_until;
        let now = myriad_net::clock::now_ms();
        let alternatives = [const { None }; myriad_store::ALTERNATIVES];
        writer.complete(myriad_store::Completion { meta, now, fresh_until, alternatives });
        return;
    };
    let alternatives = match writer.unchanged() {
        Some(previous) => page::alternatives_of(&previous),
        None => page::first_encodings(exchange, meta.view(), &body),
    };
    if meta.facts.tag.is_none() && meta.facts.status != 206 {
        meta.facts.tag = Some(page::tag_of(&body));
    }
    let fresh_until = meta.facts.lifetime().fresh_until;
    let now = myriad_net::clock::now_ms();
    writer.complete(myriad_store::Completion { meta, now, fresh_until, alternatives });
}

/// The failure as the rules for stale pages tell it.
pub(crate) fn failure(error: &OriginError) -> Failure {
    match error.kind() {
        ErrorKind::Timeout => Failure::Timeout,
        ErrorKind::InvalidHead | ErrorKind::TooLargeHead => Failure::InvalidHeader,
        _ => Failure::Error,
    }
}
