//! A known visitor gets everybody's page, with parts of their own in it.
//!
//! The page is asked for as by a stranger: without cookies, and at the server's rules, so that nothing of the visitor reaches it
//! whatever those rules read. What a stranger may not have from the cache, the visitor asks the origin for, as ever.

use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;
use std::sync::LazyLock;

use myriad_bounded::Lru;
use myriad_esi::Cut;
use myriad_exchange::exchange::{Answer, Exchange, MadeFrom, Request, Sink, Step};
use myriad_exchange::runtime::CachePlace;
use myriad_exchange::subrequest;
use myriad_http::Method;
use myriad_net::ResponseBody;
use myriad_page::Page;
use myriad_policy::{CacheStatus, PersonalCookies, SharedFetch};
use parking_lot::Mutex;

use super::asking::For;
use super::cutting::cut_of;
use super::filling::fill;
use super::hosts;
use super::rules;
use super::visitor::{Visitor, pairs};
use crate::next::{Next, PassReason};

/// How long it is remembered that the fetch of a page was of no use to known visitors, so that each of them does not cause another.
const USELESS_MS: u64 = 30_000;
/// Most pages of which that is remembered.
const USELESS: u64 = 16_384;

/// The status of a stranger's request that was ended: [`is_in_vain`].
pub(crate) const IN_VAIN: u16 = 504;

/// A page whose fetch was of no use.
#[derive(Clone)]
struct Useless {
    /// Until when that is believed.
    until: u64,
    /// Why, as its origin has said.
    why: Option<Box<str>>,
}

/// Such pages, by a hash with a random seed.
static OF_NO_USE: LazyLock<(RandomState, Mutex<Lru<u64, Useless>>)> =
    LazyLock::new(|| (RandomState::new(), Mutex::new(Lru::new(USELESS))));

/// Returns whether a request that bypasses the cache for its personal cookies can get a page that allows known visitors.
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

/// Serves the page, or passes the request on where there is none for known visitors.
pub(crate) async fn run(exchange: &mut Exchange, cache: &CachePlace) -> Next {
    if let Some(answer) = page(exchange, &cache.rules.shared_fetch).await {
        return Next::Done(Step::Answer(answer));
    }
    exchange.request.cache.shown.status = Some(CacheStatus::Bypass);
    Next::Pass(PassReason::NotCut)
}

/// Why a page is not for known visitors, as its origin says.
fn why(page: &Page) -> Option<Box<str>> {
    let why = Cut::why_of(page.meta().cut())?;
    String::from_utf8(why.into_vec()).ok().map(Into::into)
}

/// Whether the next step of a stranger's journey would cost the origin something that no known visitor has anything of. What the page
/// says of that is noted.
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

/// Returns the request of an anonymous visitor for the same page, and the hash of the page; `None` if a recent fetch of the page was of
/// no use to known visitors.
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

/// Explains how a known visitor gets the page of anonymous visitors. Returns whether the page is for known visitors, `None` if only its
/// file or its origin says so; `Some(false)` if the visitor's request is passed to the origin.
pub(crate) fn explain(exchange: &mut Exchange, sink: &Rc<dyn Sink>) -> Option<bool> {
    let Some((_, mut stranger)) = anonymous_request(exchange) else { return Some(false) };
    stranger.request.received.sink = Some(Rc::clone(sink));
    let engine = stranger.request.site.engine;
    let answer = engine.explain_subrequest(&mut stranger)?;
    let MadeFrom::Page(page) = &answer.made_from else { return Some(false) };
    Some(is_for_known(page))
}

/// Returns whether known visitors can get a page: its origin has marked it, and the parts of visitors are cut out of it.
pub(crate) fn is_for_known(page: &Page) -> bool {
    cut_of(page).is_some_and(|cut| cut.known)
}

async fn page(exchange: &mut Exchange, shared: &SharedFetch) -> Option<Answer> {
    let (page, stranger) = anonymous_request(exchange)?;
    let mut came = subrequest::ask(stranger).await;
    // It is counted once, as the visitor's.
    let shown = std::mem::take(&mut came.exchange().request.cache.shown);
    let stored = if let MadeFrom::Page(page) = &came.answer.made_from { Some(page) } else { None };
    let Some(cut) = stored.and_then(cut_of).filter(|cut| cut.known) else {
        let why = stored.and_then(why).or(shown.because);
        // With this status the journey ends where it would be in vain.
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
    // Those of a stranger's first visit.
    answer.without(&[b"set-cookie"]);
    fill(exchange, &mut answer, &cut, For { visitor: Some(visitor), keeps_cookies: true });
    Some(answer)
}

/// Remembers that a page was fetched in vain. One that was stored already cost nothing.
fn note(page: u64, status: Option<CacheStatus>, why: Option<Box<str>>) {
    if matches!(status, Some(CacheStatus::Miss | CacheStatus::Expired)) {
        let until = myriad_net::clock::now_ms() + USELESS_MS;
        OF_NO_USE.1.lock().insert(page, Useless { until, why }, 1);
    }
}
