//! The fetch of a page: it belongs to nobody's connection, and goes on when the visitor who caused it has gone.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use myriad_encode::StreamDecoder;
use myriad_http::content_range::ContentRange;
use myriad_http::{Known, Method, ResponseHead};
use myriad_log::Level;
use myriad_policy::{
    Admission, CacheStatus, EntityTag, Failure, Lifetime, Refusal, ResponseFacts, Told, admit,
    is_large_request, takes_back,
};
use myriad_script::Builtin;
use myriad_store::{BodyWriter, Capacity, Failure as StoreFailure, FlightWriter, KeyRef, Push, Selection};
use myriad_upstream::{ErrorKind, OriginError, OriginRequest, OriginResponse, RequestPayload, Sent};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::early::Spent;
use super::group::Chosen;
use super::other_codings::{self, Beside};
use super::pace::Pace;
use super::params::{self, Purpose};
use super::revalidate::{self, Confirmed};
use super::{group, origin, page, purge, stored, told, validity};
use crate::exchange::variables::Source;
use crate::exchange::{Exchange, Request};
use crate::runtime::{CachePlace, Entry, Fetching, Handler, OriginPlace, Page, PageMeta, conditions};

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
    Failed(NoAnswer),
}

/// Why there is no answer: the status that says so, and the failure as the rules for stale pages tell it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoAnswer {
    /// The status.
    pub status: u16,
    /// The failure.
    pub failure: Failure,
}

impl NoAnswer {
    /// The bound of the zone's fetches is reached (`max_fetches=`, `fetch_queue=`).
    const TOO_MANY: Self = Self { status: 503, failure: Failure::Error };

    fn of(error: &OriginError) -> Self {
        Self { status: error.status(), failure: failure(error) }
    }

    /// The same as a flight tells it to all who follow: the status, and above it which failure.
    fn told(self) -> StoreFailure {
        let kind = match self.failure {
            Failure::Error => 1,
            Failure::Timeout => 2,
            Failure::InvalidHeader => 3,
            Failure::Http(_) => 0,
        };
        StoreFailure(kind * KIND + self.status)
    }

    /// What a flight has told.
    pub(crate) fn heard(told: StoreFailure) -> Self {
        let status = told.0 % KIND;
        let failure = match told.0 / KIND {
            1 => Failure::Error,
            2 => Failure::Timeout,
            3 => Failure::InvalidHeader,
            _ => Failure::Http(status),
        };
        Self { status, failure }
    }
}

/// More than any status.
const KIND: u16 = 1000;

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
    entry: Entry,
    chosen: Chosen,
    own: Option<oneshot::Sender<Own>>,
    /// The budget that an early refresh holds.
    spent: Option<Spent>,
    sought: Sought,
}

/// What a fetch is for.
struct Sought {
    method: Method,
    usable_page: bool,
    /// Whether the origin was asked to confirm what is stored.
    conditional: bool,
    /// Whether its key is that for other codings.
    apart: bool,
    beside: Option<Beside>,
    /// Whether what the origin says may be for its visitor alone: the request has bypassed the cache, or has a name and a
    /// password.
    own_request: bool,
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
    /// Its place among the fetches that fill the zone.
    fetching: Fetching,
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
    own: oneshot::Sender<Own>,
) {
    let Some(entry) = cache.zone.fetches.enter() else {
        deny(&exchange.request, cache, writer, Some(own));
        return;
    };
    begin(exchange, origin, cache, (writer, entry), Some(own), None);
}

/// As [`start`], behind the back of a visitor who gets the stale page.
pub(crate) fn start_behind(
    exchange: &mut Exchange,
    origin: &OriginPlace,
    cache: &CachePlace,
    writer: FlightWriter<PageMeta>,
    fetching: Fetching,
) {
    let flight = (writer, Entry::Now(fetching));
    exchange.request.cache.refresh = begin(exchange, origin, cache, flight, None, None);
}

/// As [`start`], for a page that is still fresh: nobody waits for it.
pub(crate) fn start_early(
    exchange: &mut Exchange,
    origin: &OriginPlace,
    cache: &CachePlace,
    writer: FlightWriter<PageMeta>,
    (fetching, spent): (Fetching, Spent),
) {
    begin(exchange, origin, cache, (writer, Entry::Now(fetching)), None, Some(spent));
}

/// Too many fetches fill the zone: whoever waits gets the stale page, or 503.
fn deny(
    request: &Request,
    cache: &CachePlace,
    writer: FlightWriter<PageMeta>,
    own: Option<oneshot::Sender<Own>>,
) {
    let zone = &cache.zone;
    if zone.fetches.told.admits(myriad_net::clock::now_ms()) {
        let name = zone.zone.name();
        request.log(
            Level::Error,
            format_args!("too many fetches fill zone \"{name}\" (max_fetches, fetch_queue)"),
        );
    }
    give_up(writer, own, NoAnswer::TOO_MANY);
}

/// Tells everybody who waits that there is no answer.
fn give_up(writer: FlightWriter<PageMeta>, own: Option<oneshot::Sender<Own>>, why: NoAnswer) {
    writer.fail(why.told());
    if let Some(own) = own {
        let _ = own.send(Own::Failed(why));
    }
}

fn begin(
    exchange: &mut Exchange,
    origin: &OriginPlace,
    cache: &CachePlace,
    (writer, entry): (FlightWriter<PageMeta>, Entry),
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
        // Behind a stale page: whoever has no page at all comes first.
        Ok(request) => OriginRequest { queues: own.is_some(), ..request },
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
    let own_request = exchange.request.cache.status == Some(CacheStatus::Bypass)
        || exchange.request.head.fields().has(Known::Authorization) && !cache.rules.authorization_in_key;
    let exchange = exchange.snapshot();
    let sought =
        Sought { method: request.method, usable_page, conditional, apart, beside, own_request, told };
    let job = Job { exchange, writer, request, entry, chosen, own, spent, sought };
    Some(tokio::task::spawn_local(run(job)))
}

fn is_confirmable(page: &Page, cache: &CachePlace) -> bool {
    cache.rules.revalidate && !conditions(page).is_empty()
}

/// An answer's head, and its body to come.
struct Answered {
    response: OriginResponse,
    fetching: Fetching,
    /// When it was asked for, ms since the epoch.
    asked: u64,
}

/// Why a fetch ends without an answer.
enum Unanswered {
    /// The bound of the zone's fetches kept it waiting for too long.
    Denied,
    /// It is not known who is to be asked; the status that says so.
    Nowhere(u16),
    /// The origin gave none.
    Failed(OriginError),
}

/// Waits for its turn, then asks the origin.
async fn ask(
    exchange: &mut Exchange,
    place: &OriginPlace,
    entry: Entry,
    (chosen, request): (Chosen, OriginRequest),
    waits: bool,
) -> Result<Answered, Unanswered> {
    let fetching = entry.pass(place.timeouts.connect_ms).await.ok_or(Unanswered::Denied)?;
    let group = group::settle(exchange, chosen).await.map_err(Unanswered::Nowhere)?;
    let asked = myriad_net::clock::now_ms();
    let fetched = origin::fetch(exchange, &group, request, waits).await;
    let response = fetched.map_err(Unanswered::Failed)?;
    Ok(Answered { response, fetching, asked })
}

/// Does the work of a fetch until nobody waits for it any more. `ignores_abort` says that it goes on all the same once it
/// is sent.
async fn while_awaited<T>(
    writer: &mut FlightWriter<PageMeta>,
    (sent, ignores_abort): (Sent, bool),
    work: impl Future<Output = T>,
) -> Option<T> {
    let mut work = pin!(work);
    poll_fn(|cx| {
        // Whoever asks and hangs up at once has nobody connected to.
        if !sent.has_begun() && writer.poll_unread(cx).is_ready() {
            return Poll::Ready(None);
        }
        if let Poll::Ready(done) = work.as_mut().poll(cx) {
            return Poll::Ready(Some(done));
        }
        let is_over = !(ignores_abort && sent.has_begun()) && writer.poll_unread(cx).is_ready();
        if is_over { Poll::Ready(None) } else { Poll::Pending }
    })
    .await
}

async fn run(job: Job) {
    let Job { mut exchange, mut writer, request, entry, chosen, own, spent: _spent, sought } = job;
    let site = std::rc::Rc::clone(&exchange.request.site);
    let Handler::Origin(place) = &site.runtime.place(exchange.request.place).handler else { return };
    let Some(cache) = place.cache.of(exchange.request.cache.chosen) else { return };
    // A refresh is for those who come later. What an application has been told to do it does, whoever has gone: where the
    // configuration says so, its page is kept.
    let until = (request.attempts.sent(), place.ignore_client_abort);
    let asking = ask(&mut exchange, place, entry, (chosen, request), own.is_some());
    let answered = match own {
        Some(_) => while_awaited(&mut writer, until, asking).await,
        None => Some(asking.await),
    };
    let Some(answered) = answered else {
        return exchange.request.log(Level::Info, format_args!("fetch ended, for nobody waits for it"));
    };
    match answered {
        Ok(answered) => take(&mut exchange, (place, cache), writer, own, sought, answered).await,
        // A refresh that did not begin: the page stays stale, and the next visitor tries again.
        Err(Unanswered::Failed(error)) if *error.kind() == ErrorKind::Busy => {
            exchange.request.log(Level::Info, format_args!("{error}, the stale page stays"));
        }
        Err(Unanswered::Failed(error)) => {
            exchange.request.log(Level::Error, format_args!("{error}"));
            give_up(writer, own, NoAnswer::of(&error));
        }
        Err(Unanswered::Nowhere(status)) => writer.fail(StoreFailure(status)),
        Err(Unanswered::Denied) => deny(&exchange.request, cache, writer, own),
    }
}

/// Does what an answer asks for: stores it, confirms what is stored, or passes it on to the visitor who caused the fetch.
async fn take(
    exchange: &mut Exchange,
    (place, cache): (&OriginPlace, &CachePlace),
    writer: FlightWriter<PageMeta>,
    own: Option<oneshot::Sender<Own>>,
    sought: Sought,
    answered: Answered,
) {
    let Sought { method, usable_page, conditional, apart, beside, own_request, told } = sought;
    let Answered { response, fetching, asked } = answered;
    purge::by_origin(exchange, Some(cache), &response.head).await;
    let now = myriad_net::clock::now_ms();
    let arrival = Arrival { now, delay_ms: now.saturating_sub(asked) };
    if conditional && response.head.status == 304 {
        let stored = writer.previous().map_or(200, |page| page.meta().status);
        let rules = validity::rules(exchange, cache, &response.head, stored);
        let generation = writer.generation();
        let confirmed = revalidate::confirm(exchange, place, &rules, writer, &response.head, arrival);
        if matches!(confirmed, Confirmed::Personal(Some(why)) if takes_back(304, why, false, own_request)) {
            take_back(exchange, cache, generation);
        }
        if let Some(own) = own {
            let _ = own.send(match confirmed {
                Confirmed::Page => Own::Confirmed,
                Confirmed::Personal(_) => Own::Unconfirmed,
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
    let verdict = judge(exchange, place, cache, &response.head, method, usable_page, arrival);
    match verdict {
        Admission::Store(_) if stays => {
            writer.fail(StoreFailure(status));
            if let Some(own) = own {
                let _ = own.send(Own::Refused(response));
            }
        }
        Admission::Refuse(why) => {
            if why.is_of_the_request() && !stays {
                // The waiters ask anew, each as they would have: one of them leads.
                drop(writer);
            } else if status >= 500 || stays {
                writer.fail(StoreFailure(status));
            } else {
                let of_the_answer = why == Refusal::NoCache && is_kept_out_for_all(exchange, place, cache);
                let names_it = cache.rules.use_stale.on_status(status);
                if !names_it && takes_back(status, why, of_the_answer, own_request) {
                    take_back(exchange, cache, writer.generation());
                }
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
            let pace = Pace::new(origin::limit_rate(exchange, place));
            let beside =
                beside.and_then(|beside| beside.admit(exchange, cache, &response.head.fields, told.as_ref()));
            let admitted = Admitted { response, lifetime, now, pace, fetching, selection, beside };
            store(exchange, place, cache, writer, own, admitted).await;
        }
    }
}

/// Removes what is stored of the page from before this fetch, also for other codings: the origin has taken it back. First,
/// then its waiters are freed: who asks next finds no stale page.
fn take_back(exchange: &Exchange, cache: &CachePlace, generation: u64) {
    for key in other_codings::keys_of_page(&exchange.request) {
        cache.zone.zone.remove_older(KeyRef::new(&key), generation);
    }
}

/// Whether an answer is kept out of the cache for whoever asks: by a text of `*_no_cache` that follows from the answer alone,
/// or since it leads elsewhere (`X-Accel-Redirect`).
fn is_kept_out_for_all(exchange: &mut Exchange, place: &OriginPlace, cache: &CachePlace) -> bool {
    let Exchange { request, frame } = exchange;
    let head = request.origin.as_ref().and_then(|facts| facts.head.as_ref());
    let leads_elsewhere = head.is_some_and(|head| is_accel_redirect(head, place));
    let variables = &request.site.runtime.variables;
    let of_the_answer = |id: Builtin| {
        matches!(
            variables[id.0 as usize],
            Source::OriginField(_) | Source::OriginCookie(_) | Source::OriginStatus
        )
    };
    leads_elsewhere || cache.no_cache.any_true_of(&*request, frame, of_the_answer).unwrap_or(false)
}

fn is_accel_redirect(head: &ResponseHead, place: &OriginPlace) -> bool {
    head.fields.has(Known::XAccelRedirect) && !place.ignore_accel.redirect
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
    let redirects = is_accel_redirect(head, place);
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
        large_request: is_large_request(fields),
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
    let Admitted { response, lifetime, now, mut pace, fetching, selection, beside } = admitted;
    let mut fetching = Some(fetching);
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
        // What is too long for the zone fills it no more: it follows its slowest reader, who must not hold up other fetches.
        fetching = fetching.filter(|_| writer.state() == Push::Ok || writer.is_spilling());
        pace.wait().await;
        let piece = poll_fn(|cx| Pin::as_mut(&mut body).poll_data(cx)).await;
        match piece {
            Some(Ok(piece)) => {
                pace.took(piece.len());
                arrived += piece.len() as u64;
                match fill(&mut writer, decoder.as_mut(), piece).await {
                    Filling::Wanted => {}
                    Filling::Abandoned => return,
                    Filling::Corrupt => {
                        let what = format_args!("upstream sent a broken content coding");
                        exchange.request.log(Level::Error, what);
                        return writer.fail(StoreFailure(502));
                    }
                }
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

/// How a piece of a body has gone into the zone.
enum Filling {
    /// The next one is wanted.
    Wanted,
    /// Nobody wants more.
    Abandoned,
    /// Its coding is broken.
    Corrupt,
}

/// Stores a piece of a body. One that comes to much is stored a window at a time, each of which waits until it is wanted.
async fn fill(
    writer: &mut BodyWriter<PageMeta>,
    mut decoder: Option<&mut StreamDecoder>,
    mut piece: Bytes,
) -> Filling {
    loop {
        let Ok((window, drained)) = page::decoded(decoder.as_deref_mut(), &mut piece) else {
            return Filling::Corrupt;
        };
        writer.push(window);
        if drained {
            return Filling::Wanted;
        }
        // Unpacking is work: others have their turn between two windows.
        tokio::task::yield_now().await;
        if let Capacity::Abandoned = stored::capacity(writer).await {
            return Filling::Abandoned;
        }
    }
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
