//! Serves a known visitor the shared page, with the visitor's own parts in its holes.
//!
//! The page is requested as by an anonymous client: under the rules of the server, and without cookies except those in
//! the cache key, such as a currency, so that no other data of the visitor affects the page. If there is no such page,
//! or if the origin must first compare it with the visitor's own page, the visitor's request goes to the origin.

use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use myriad_base::bounded::Lru;
use myriad_exchange::exchange::{
    ContentResponse, DecisionSink, Exchange, PhaseStep, Request, ResponseSource,
};
use myriad_exchange::runtime::CachePlace;
use myriad_exchange::subrequest;
use myriad_http::{Known, Method};
use myriad_log::LogLevel;
use myriad_net::ResponseBody;
use myriad_policy::{CachePolicy, CacheStatus, SharedFetch};
use myriad_script::esi::PageHoles;
use myriad_store::page::{Page, RecentPurges};
use parking_lot::Mutex;

use super::comparison::{self, Access};
use super::cutting::cut_of;
use super::filled_page::fill;
use super::hosts;
use super::part_requests::{self, PartAudience, PartOwner};
use super::private_response::{self, PrivateLookup};
use super::rules;
use super::unstored_response;
use super::visitor::{Visitor, VisitorRequest};
use crate::journey_step::{CacheContext, JourneyStep, PassReason};

/// Time in milliseconds for which a shared fetch whose page is not marked for known visitors is remembered, so that not
/// every known visitor causes another fetch.
const USELESS_MS: u64 = 30_000;
/// Maximum number of pages that are recorded as not marked for known visitors.
const USELESS: u64 = 16_384;

/// Status of a request that may only use pages of the cache and got none: because of [`is_useless_fetch`], because it
/// must not read the cache, or because its location has no cache.
pub(crate) const USELESS_FETCH: u16 = 504;

/// Page whose shared fetch did not help known visitors, because it has no ESI markup for them.
#[derive(Clone)]
struct UselessPage {
    /// Time until which the page is remembered, in milliseconds since the epoch.
    until: u64,
    /// Reason that the origin gave for not marking the page for known visitors; `None` if it gave none.
    why: Option<Box<str>>,
}

/// Pages that were recently fetched without ESI markup for known visitors, by a hash with a random seed.
static USELESS_PAGES: LazyLock<(RandomState, Mutex<Lru<u64, UselessPage>>)> =
    LazyLock::new(|| (RandomState::new(), Mutex::new(Lru::new(USELESS))));

/// Returns whether a request with personal cookies may get a shared page: it is a GET or HEAD of a client (no
/// subrequest, and no request of the server itself), all its personal cookies are known cookies (`esi_known_cookies`)
/// or part of the cache key, and it has a known cookie.
pub(crate) fn may_read(request: &Request, policy: &CachePolicy) -> bool {
    let Some(rules) = rules::of(request).filter(|rules| !rules.cookies.known.is_empty()) else {
        return false;
    };
    let head = &request.received.head;
    let is_known = |pair: &[u8]| rules.cookies.known.matches_cookie_header(pair).is_some();
    let is_personal = |pair: &[u8]| policy.personal.matches_cookie_header(pair).is_some();
    let is_harmless =
        |pair: &[u8]| !is_personal(pair) || is_known(pair) || policy.shared_fetch.has_in_key(pair);
    matches!(head.method(), Method::Get | Method::Head)
        && !request.is_subrequest()
        && !request.cache.lookup.stored_only
        && head.fields().cookie_pairs().all(is_harmless)
        && head.fields().cookie_pairs().any(is_known)
}

/// Serves a response that is stored for this visitor, or the shared page with the known visitor's own ESI parts. Passes
/// the request to the origin if there is neither, if the response may be stored for this visitor but is not stored yet,
/// and if the origin must first compare the page. If a condition of the configuration cannot be evaluated, logs the
/// error and responds with 500.
pub(crate) async fn run(exchange: &mut Exchange, cached: CacheContext<'_>) -> JourneyStep {
    match private_response::look_up(exchange, cached.cache) {
        Ok(PrivateLookup::Stored(response)) => {
            exchange.request.cache.report.status = Some(CacheStatus::Hit);
            return JourneyStep::Done(unstored_response::respond(exchange, cached.origin, response));
        }
        Ok(PrivateLookup::Missing) => {}
        Ok(PrivateLookup::NotPrivate) => {
            if let Some(answer) = page(exchange, cached.cache).await {
                return JourneyStep::Done(PhaseStep::Answer(answer));
            }
        }
        Err(error) => {
            exchange.request.log(LogLevel::Error, format_args!("{error}"));
            return JourneyStep::Done(PhaseStep::Error(500));
        }
    }
    exchange.request.cache.report.status = Some(CacheStatus::Bypass);
    JourneyStep::Pass(PassReason::NotCut)
}

/// Returns the reason stored with a page why it is not for known visitors, or must be compared; `None` if there is
/// none, or if it is not UTF-8.
fn why(page: &Page) -> Option<Box<str>> {
    let why = PageHoles::why_of(page.meta().cut())?;
    String::from_utf8(why.into_vec()).ok().map(Into::into)
}

/// Returns whether the next step of an anonymous request would contact the origin without a benefit for known visitors.
/// If so, records the reason stored with the page, if any, for `$upstream_cache_reason`.
pub(crate) fn is_useless_fetch(request: &mut Request, next: &JourneyStep) -> bool {
    let is_vain = would_be_useless(request, next);
    if let (
        true,
        JourneyStep::Claim(Some(page)) | JourneyStep::Lead(Some(page)) | JourneyStep::Refresh(page, _),
    ) = (is_vain, next)
    {
        request.cache.report.explanation = why(page);
    }
    is_vain
}

fn would_be_useless(request: &Request, next: &JourneyStep) -> bool {
    let is_for_others = |page: &Page| !PageHoles::is_known(page.meta().cut());
    match next {
        JourneyStep::Pass(_) | JourneyStep::PassBody(_) => true,
        JourneyStep::Claim(_) | JourneyStep::Lead(_) | JourneyStep::Refresh(..)
            if request.cache.lookup.fetches_nothing =>
        {
            true
        }
        JourneyStep::Claim(page) | JourneyStep::Lead(page) => {
            let (host, now) = (&request.route.host, request.received.at_ms);
            // Explaining a request must not count as an attempt.
            let may_fetch =
                if request.received.sink.is_some() { hosts::would_fetch } else { hosts::may_fetch };
            page.as_ref().is_some_and(is_for_others) || !may_fetch(host, now)
        }
        JourneyStep::Refresh(page, _) => is_for_others(page),
        _ => false,
    }
}

/// Returns a request like that of an anonymous visitor for the same page, with the visitor's cookies in the cache key,
/// and the hash of the page. `None` if a recent fetch found the page not marked for known visitors (the origin's reason
/// is then recorded for `$upstream_cache_reason`), or if no such request can be created.
fn anonymous_request(exchange: &mut Exchange, shared: &SharedFetch) -> Option<(u64, Box<Exchange>)> {
    let request = &exchange.request;
    let head = &request.received.head;
    let keyed = shared.keyed_pairs(head.fields()).join(&b"; "[..]);
    let page = USELESS_PAGES.0.hash_one((&request.route.host, request.scheme(), head.target(), &keyed));
    let now = request.received.at_ms;
    if let Some(useless) = USELESS_PAGES.1.lock().get(&page).filter(|useless| now < useless.until).cloned() {
        exchange.request.cache.report.explanation = useless.why;
        return None;
    }
    let mut anonymous = exchange.anonymous_request()?;
    if !keyed.is_empty() {
        anonymous.request.received.head.fields_mut().push_known(Known::Cookie, &keyed);
    }
    anonymous.request.cache.lookup.stored_only = true;
    Some((page, anonymous))
}

/// Explains how a known visitor gets the shared page.
///
/// Returns whether known visitors get the page without a comparison; `None` if this depends on a file or on the origin.
/// With `Some(false)`, the visitor's own request goes to the origin, unless a comparison has permitted the page.
pub(crate) fn explain(
    exchange: &mut Exchange,
    shared: &SharedFetch,
    sink: &Rc<dyn DecisionSink>,
) -> Option<bool> {
    let Some((_, mut stranger)) = anonymous_request(exchange, shared) else { return Some(false) };
    stranger.request.received.sink = Some(Rc::clone(sink));
    let engine = stranger.request.site.engine;
    let answer = engine.explain_subrequest(&mut stranger)?;
    let ResponseSource::Page(page) = &answer.source else { return Some(false) };
    Some(is_for_known(page))
}

/// Returns whether known visitors can get a stored page without a comparison: the origin has marked the page for known
/// visitors without requiring a comparison, and its ESI markup has been cut out.
pub(crate) fn is_for_known(page: &Page) -> bool {
    cut_of(page).is_some_and(|cut| cut.for_known_visitors && cut.compared.is_none())
}

async fn page(exchange: &mut Exchange, cache: &CachePlace) -> Option<ContentResponse> {
    let shared = &cache.rules.shared_fetch;
    let (hash, stranger) = anonymous_request(exchange, shared)?;
    let mut came = subrequest::execute(stranger).await;
    // The result is only reported for the visitor's request.
    let shown = std::mem::take(&mut came.exchange().request.cache.report);
    let stored = if let ResponseSource::Page(page) = &came.response.source { Some(page) } else { None };
    let of_known = |page| Some((page, cut_of(page).filter(|cut| cut.for_known_visitors)?));
    let Some((page, cut)) = stored.and_then(of_known) else {
        let why = stored.and_then(why).or(shown.explanation);
        // This status means that the anonymous request stopped before a useless fetch.
        if came.response.status != USELESS_FETCH {
            note(hash, shown.status, why.clone());
        }
        exchange.request.cache.report.explanation = why;
        return None;
    };
    let cookies = &rules::of(&exchange.request)?.cookies;
    let visitor = Visitor::of(&VisitorRequest::from(&exchange.request), cookies, shared)?;
    let purges = &cache.zone.recent_purges;
    if let Some(word) = &cut.compared {
        let version = page.meta().version(page.stored_at(), word);
        let class = personal_class(exchange, &visitor, (&cut, &version), purges).await;
        let access = comparison::check(&exchange.request, class.as_deref(), &version).await;
        if let Access::Compared(next) = access {
            comparison::begin(&exchange.request, visitor, purges, next);
            exchange.request.cache.report.explanation = why(page);
            return None;
        }
    }
    let mut answer = std::mem::replace(&mut came.response, ContentResponse::new(0, ResponseBody::None));
    exchange.request.cache.report = shown;
    // Cookies for the anonymous client, not for this visitor.
    answer.without(&[b"set-cookie"]);
    let owner = PartOwner { visitor, purges: Arc::clone(purges) };
    fill(exchange, &mut answer, &cut, PartAudience { visitor: Some(owner), sends_cookies: true });
    Some(answer)
}

/// Returns the class of a visitor. If it is not stored, and this version of the page is permitted for some class,
/// requests it together with the parts of the page. `None` if the class is still unknown then, if the page requests no
/// parts together, or if no parts are stored (`esi_private_cache off`).
async fn personal_class(
    exchange: &mut Exchange,
    visitor: &Visitor,
    (cut, version): (&PageHoles, &str),
    purges: &Arc<RecentPurges>,
) -> Option<Bytes> {
    let target = part_requests::class_target(cut);
    let stored = comparison::stored_class(&exchange.request, visitor, target.as_deref());
    if stored.is_some() || !comparison::is_permitted_for_some(&exchange.request, version) {
        return stored;
    }
    // Without memory for parts, the class would be requested at each view.
    let rules = rules::of(&exchange.request).filter(|rules| rules.private.valid_ms > 0)?.clone();
    let owner = PartOwner { visitor: visitor.clone(), purges: Arc::clone(purges) };
    part_requests::fetch_class(exchange.body_companion(), owner, &rules, cut, target.clone()?).await;
    comparison::stored_class(&exchange.request, visitor, target.as_deref())
}

/// Records that a page is not marked for known visitors, with the origin's reason `why`, if the page was fetched for
/// this request (status `MISS` or `EXPIRED`). A page that was already stored is not recorded, because no fetch was
/// needed.
fn note(page: u64, status: Option<CacheStatus>, why: Option<Box<str>>) {
    if matches!(status, Some(CacheStatus::Miss | CacheStatus::Expired)) {
        let until = myriad_net::clock::now_ms() + USELESS_MS;
        USELESS_PAGES.1.lock().insert(page, UselessPage { until, why }, 1);
    }
}
