//! Serves a known visitor the shared page, filled with the parts of this visitor.
//!
//! The page is requested as by an anonymous client: without cookies, and under the rules of the server, so that no data
//! of the visitor affects the page. If the cache has no page for an anonymous client, the visitor's own request goes to
//! the origin.

use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;
use std::sync::LazyLock;

use myriad_base::bounded::Lru;
use myriad_exchange::exchange::{Answer, Exchange, MadeFrom, Request, Sink, Step};
use myriad_exchange::runtime::CachePlace;
use myriad_exchange::subrequest;
use myriad_http::Method;
use myriad_net::ResponseBody;
use myriad_policy::{CacheStatus, PersonalCookies, SharedFetch};
use myriad_script::esi::Cut;
use myriad_store::page::Page;
use parking_lot::Mutex;

use super::asking::For;
use super::cutting::cut_of;
use super::filling::fill;
use super::hosts;
use super::rules;
use super::visitor::{Visitor, pairs};
use crate::next::{Next, PassReason};

/// Time that a useless fetch of a page is remembered, in milliseconds, so that not every known visitor causes another
/// fetch.
const USELESS_MS: u64 = 30_000;
/// Maximum number of remembered pages.
const USELESS: u64 = 16_384;

/// Status of an anonymous request that was aborted by [`is_in_vain`].
pub(crate) const IN_VAIN: u16 = 504;

/// Page whose fetch was useless to known visitors.
#[derive(Clone)]
struct Useless {
    /// Expiry of this entry, in ms since the epoch.
    until: u64,
    /// Reason given by the page's origin.
    why: Option<Box<str>>,
}

/// Useless pages, by a hash with a random seed.
static OF_NO_USE: LazyLock<(RandomState, Mutex<Lru<u64, Useless>>)> =
    LazyLock::new(|| (RandomState::new(), Mutex::new(Lru::new(USELESS))));

/// Returns whether a request that bypasses the cache for its personal cookies can get a page that allows known
/// visitors.
pub(crate) fn may_read(request: &Request, personal: &PersonalCookies) -> bool {
    let Some(rules) = rules::of(request).filter(|rules| !rules.cookies.known.is_empty()) else {
        return false;
    };
    let head = &request.received.head;
    let is_known = |pair: &[u8]| rules.cookies.known.matches_cookie_header(pair).is_some();
    let is_harmless = |pair: &[u8]| personal.matches_cookie_header(pair).is_none() || is_known(pair);
    matches!(head.method(), Method::Get | Method::Head)
        && !request.is_subrequest()
        && !request.cache.journey.stored_only
        && pairs(head.fields()).all(is_harmless)
        && pairs(head.fields()).any(is_known)
}

/// Serves the page, or passes the request to the origin if no page for known visitors exists.
pub(crate) async fn run(exchange: &mut Exchange, cache: &CachePlace) -> Next {
    if let Some(answer) = page(exchange, &cache.rules.shared_fetch).await {
        return Next::Done(Step::Answer(answer));
    }
    exchange.request.cache.shown.status = Some(CacheStatus::Bypass);
    Next::Pass(PassReason::NotCut)
}

/// Returns the origin's reason why a page is not for known visitors.
fn why(page: &Page) -> Option<Box<str>> {
    let why = Cut::why_of(page.meta().cut())?;
    String::from_utf8(why.into_vec()).ok().map(Into::into)
}

/// Returns whether the next step of an anonymous request would send a request to the origin without a benefit for known
/// visitors. The page's reason is recorded.
pub(crate) fn is_in_vain(request: &mut Request, next: &Next) -> bool {
    let is_vain = would_be_in_vain(request, next);
    if let (true, Next::Claim(Some(page)) | Next::Lead(Some(page)) | Next::Refresh(page, _)) = (is_vain, next)
    {
        request.cache.shown.because = why(page);
    }
    is_vain
}

fn would_be_in_vain(request: &Request, next: &Next) -> bool {
    let is_for_others = |page: &Page| !Cut::is_known(page.meta().cut());
    match next {
        Next::Pass(_) | Next::PassBody(_) => true,
        Next::Claim(_) | Next::Lead(_) | Next::Refresh(..) if request.cache.journey.fetches_nothing => true,
        Next::Claim(page) | Next::Lead(page) => {
            let (host, now) = (&request.route.host, request.received.at_ms);
            // An explanation is not counted as an attempt.
            let may_fetch =
                if request.received.sink.is_some() { hosts::would_fetch } else { hosts::may_fetch };
            page.as_ref().is_some_and(is_for_others) || !may_fetch(host, now)
        }
        Next::Refresh(page, _) => is_for_others(page),
        _ => false,
    }
}

/// Returns the request of an anonymous visitor for the same page, and the hash of the page; `None` if a recent fetch of
/// the page was useless to known visitors.
fn anonymous_request(exchange: &mut Exchange) -> Option<(u64, Box<Exchange>)> {
    let request = &exchange.request;
    let page = OF_NO_USE.0.hash_one((&request.route.host, request.scheme(), request.received.head.target()));
    let now = request.received.at_ms;
    if let Some(useless) = OF_NO_USE.1.lock().get(&page).filter(|useless| now < useless.until).cloned() {
        exchange.request.cache.shown.because = useless.why;
        return None;
    }
    let mut stranger = exchange.stranger()?;
    stranger.request.cache.journey.stored_only = true;
    Some((page, stranger))
}

/// Explains how a known visitor gets the page of anonymous visitors.
///
/// Returns whether the page is for known visitors; `None` if this depends on its file or its origin. `Some(false)` also
/// means that the visitor's request is passed to the origin.
pub(crate) fn explain(exchange: &mut Exchange, sink: &Rc<dyn Sink>) -> Option<bool> {
    let Some((_, mut stranger)) = anonymous_request(exchange) else { return Some(false) };
    stranger.request.received.sink = Some(Rc::clone(sink));
    let engine = stranger.request.site.engine;
    let answer = engine.explain_subrequest(&mut stranger)?;
    let MadeFrom::Page(page) = &answer.made_from else { return Some(false) };
    Some(is_for_known(page))
}

/// Returns whether known visitors can get a page: its origin has marked it, and the parts of visitors are cut out of
/// it.
pub(crate) fn is_for_known(page: &Page) -> bool {
    cut_of(page).is_some_and(|cut| cut.known)
}

async fn page(exchange: &mut Exchange, shared: &SharedFetch) -> Option<Answer> {
    let (page, stranger) = anonymous_request(exchange)?;
    let mut came = subrequest::ask(stranger).await;
    // The page is counted once, for the visitor's request.
    let shown = std::mem::take(&mut came.exchange().request.cache.shown);
    let stored = if let MadeFrom::Page(page) = &came.answer.made_from { Some(page) } else { None };
    let Some(cut) = stored.and_then(cut_of).filter(|cut| cut.known) else {
        let why = stored.and_then(why).or(shown.because);
        // This status means that the journey stopped before a useless fetch.
        if came.answer.status != IN_VAIN {
            note(page, shown.status, why.clone());
        }
        exchange.request.cache.shown.because = why;
        return None;
    };
    let cookies = &rules::of(&exchange.request)?.cookies;
    let visitor = Visitor::of(&exchange.request, cookies, shared)?;
    let mut answer = std::mem::replace(&mut came.answer, Answer::new(0, ResponseBody::None));
    exchange.request.cache.shown = shown;
    // These are cookies of the anonymous request.
    answer.without(&[b"set-cookie"]);
    fill(exchange, &mut answer, &cut, For { visitor: Some(visitor), keeps_cookies: true });
    Some(answer)
}

/// Records a useless fetch of a page. A page that was already stored is not recorded, because it cost nothing.
fn note(page: u64, status: Option<CacheStatus>, why: Option<Box<str>>) {
    if matches!(status, Some(CacheStatus::Miss | CacheStatus::Expired)) {
        let until = myriad_net::clock::now_ms() + USELESS_MS;
        OF_NO_USE.1.lock().insert(page, Useless { until, why }, 1);
    }
}
