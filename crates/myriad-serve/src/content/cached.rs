//! A location with a cache: look-up, waiting for who fetches, stale pages.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use myriad_encode::Coding;
use myriad_http::{Fields, Known, Method};
use myriad_log::Level;
use myriad_net::ResponseBody;
use myriad_policy::{
    BypassReason, CacheStatus, Failure, RequestFacts, Reuse, StoredFacts, VaryRule, bypass, reuse,
    wants_stored_only,
};
use myriad_store::{Claim, ClaimOptions, FlightEnd, FlightHead, FlightReader, KeyRef};
use myriad_upstream::RequestPayload;
use tokio::sync::oneshot;

use super::early;
use super::fetch::{self, NoAnswer, Own};
use super::nominated::Nominated;
use super::reader::FlightBody;
use super::stored::{self, Reading};
use super::{
    Step, Work, error, origin, other_codings, page, page_key, proxy_fields, purge, told, upload, way,
};
use crate::exchange::{Exchange, Request};
use crate::output::Answer;
use crate::runtime::{CachePlace, Caches, Handler, OriginPlace, Page, PageMeta, PageView};

/// How long a reader that has the head waits for the whole page, so that it can be sent compressed and with its tag.
/// An application that sends its page in one burst is done by then; one that streams is streamed on.
const WHOLE_PAGE: Duration = Duration::from_millis(20);

/// What stands for a variant that cannot be told. No other is of one byte: a field's name has NUL behind it.
pub(crate) const NO_VARIANT: &[u8] = b"\xff";

/// A page that is being fetched.
pub(crate) struct Wait {
    reader: FlightReader<PageMeta>,
    /// The leader's own part of the answer.
    own: Option<oneshot::Receiver<Own>>,
    stale: Option<Page>,
    /// `*_cache_lock_timeout`, where it counts.
    patience: Option<Duration>,
}

/// Chooses the cache of the request, and begins with it; without one the origin is asked.
pub(crate) fn choose(exchange: &mut Exchange, origin: &OriginPlace) -> Step {
    let named = match &origin.cache {
        Caches::One(cache) => return begin(exchange, origin, cache),
        Caches::None => return Step::Wait(Work::Origin),
        Caches::Named(named) => named,
    };
    let Exchange { request, frame } = exchange;
    let mut name = Vec::new();
    if let Err(error) = named.name.eval(request, frame, &mut name) {
        request.log(Level::Error, format_args!("{error}"));
        return Step::Error(500);
    }
    request.cache.chosen = named.find(&name);
    match origin.cache.of(request.cache.chosen) {
        Some(cache) => begin(exchange, origin, cache),
        None if name.is_empty() || name == b"off" => Step::Wait(Work::Origin),
        None => {
            request.log(Level::Error, format_args!("cache \"{}\" not found", name.escape_ascii()));
            Step::Error(500)
        }
    }
}

/// Looks the page up: a hit is answered here and now.
pub(crate) fn begin(exchange: &mut Exchange, origin: &OriginPlace, cache: &CachePlace) -> Step {
    match look_up(exchange, origin, cache) {
        Ok(step) => step,
        Err(error) => {
            exchange.request.log(Level::Error, format_args!("{error}"));
            Step::Error(500)
        }
    }
}

fn look_up(
    exchange: &mut Exchange,
    origin: &OriginPlace,
    cache: &CachePlace,
) -> Result<Step, myriad_script::EvalError> {
    let Exchange { request, frame } = exchange;
    request.cache.fetched = false;
    // What another place found out before it sent the request on here belongs to the key of that place.
    request.cache.codings = None;
    request.cache.zone = cache.zone_number;
    if let Some(rules) = &cache.purge
        && purge::asks(request, frame, rules)?
    {
        return purge::page(exchange, cache, rules);
    }
    let condition = cache.bypass.any_true(request, frame)?;
    let facts = RequestFacts {
        method: request.head.method(),
        fields: request.head.fields(),
        has_body: !request.body.is_empty(),
        cache_bypass: condition,
    };
    let reason = bypass(&facts, &cache.rules);
    // The key may hold the body (`$request_body`), so it is read before the key is made.
    if reason.is_none_or(BypassReason::may_store) && !request.body.is_empty() {
        return Ok(Step::Wait(Work::Gather));
    }
    if let Some(reason) = reason
        && !reason.may_store()
    {
        request.cache.status = reason.status();
        return Ok(Step::Wait(Work::Origin));
    }
    request.as_get |= request.head.method() == Method::Head && cache.convert_head;
    page_key::write(request, frame, cache)?;
    if let Some(reason) = reason {
        request.cache.status = reason.status();
        if hides_fields(&exchange.request, origin) || told::is_own(exchange, cache)? {
            return Ok(Step::Wait(Work::Origin));
        }
        return Ok(lead_alone(exchange, origin, cache, None));
    }
    other_codings::choose(request, origin, cache);
    let now = request.received_ms;
    let fields = request.head.fields();
    let found = cache.zone.zone.get(
        KeyRef::new(&request.cache.key),
        |selector, variant| write_variant(selector, fields, variant),
        now,
    );
    match found {
        Some(page) if other_codings::is_outlived(request, &page) => {
            Ok(stale_or_fetch(exchange, origin, cache, None))
        }
        Some(page) if page.is_fresh(now) => {
            way::keep(&exchange.request);
            if early::is_due(exchange, cache, &page) && !hides_fields(&exchange.request, origin) {
                early::refresh(exchange, origin, cache, &page, lease_ms(origin));
            }
            Ok(serve(exchange, origin, page, CacheStatus::Hit))
        }
        None if let Some(step) = stored::seek(&mut exchange.request, cache) => Ok(step),
        found => Ok(stale_or_fetch(exchange, origin, cache, found)),
    }
}

/// Serves the page under the key that the rules came to for an earlier request like this one. None where there is no
/// fresh page, or the policy wants the long way.
pub(super) fn shortcut(exchange: &mut Exchange, origin: &OriginPlace) -> Option<Step> {
    let cache = origin.cache.fixed()?;
    let request = &mut exchange.request;
    let facts = RequestFacts {
        method: request.head.method(),
        fields: request.head.fields(),
        has_body: !request.body.is_empty(),
        cache_bypass: false,
    };
    if bypass(&facts, &cache.rules).is_some() || other_codings::are_asked(request) {
        return None;
    }
    let now = request.received_ms;
    let fields = request.head.fields();
    let page = cache.zone.zone.get(
        KeyRef::new(&request.cache.key),
        |selector, variant| write_variant(selector, fields, variant),
        now,
    )?;
    // What is made of its `Location` may hold what the rules have set.
    if page.meta().redirects && origin.http.as_ref().is_some_and(|http| !http.plain_redirects) {
        return None;
    }
    // What lies on disk alone takes the long way.
    if !page.is_fresh(now) || page.stored_body().is_some() || early::is_due(exchange, cache, &page) {
        return None;
    }
    let request = &mut exchange.request;
    request.cache.zone = cache.zone_number;
    request.as_get |= request.head.method() == Method::Head && cache.convert_head;
    Some(serve(exchange, origin, page, CacheStatus::Hit))
}

/// Reads the request's body into memory, then looks the page up. A body that is too long for that is passed on.
pub(crate) async fn gather(exchange: &mut Exchange) -> Step {
    let site = std::rc::Rc::clone(&exchange.request.site);
    let Handler::Origin(origin) = &site.runtime.place(exchange.request.place).handler else {
        return Step::Error(500);
    };
    let Some(cache) = origin.cache.of(exchange.request.cache.chosen) else { return Step::Error(500) };
    match upload::payload(exchange, origin).await {
        Ok(RequestPayload::Bytes(_) | RequestPayload::Empty) => begin(exchange, origin, cache),
        Ok(payload) => origin::pass_with(exchange, payload).await,
        Err(status) => Step::Error(status),
    }
}

/// Derives a request's variant from the field names that a stored page varies by.
pub(crate) fn write_variant(selector: &[u8], fields: &Fields, variant: &mut Vec<u8>) {
    if let Ok(rule) = VaryRule::parse([selector])
        && rule.write_variant(fields, variant).is_err()
    {
        // Too long to be told apart from others: a variant that no stored page bears.
        variant.extend_from_slice(NO_VARIANT);
    }
}

/// Whether the origin is not told something that the visitor said, since `Connection` names it: the key and the variant
/// may hold what the page does not follow from, so that it would be the wrong one for those who say the same and hide
/// nothing.
fn hides_fields(request: &Request, origin: &OriginPlace) -> bool {
    let Some(http) = origin.http.as_ref().filter(|_| origin.pass_request_headers) else { return false };
    let fields = request.head.fields();
    let nominated = Nominated::of(fields);
    !nominated.is_empty()
        && fields.iter_known().any(|(known, name, _)| !http.replaced.has(known, name) && nominated.has(name))
}

fn stale_or_fetch(
    exchange: &mut Exchange,
    origin: &OriginPlace,
    cache: &CachePlace,
    stale: Option<Page>,
) -> Step {
    let now = exchange.request.received_ms;
    if let Some(page) = &stale {
        match reuse(&facts_of(page), &cache.rules, now, page.is_updating(now), None) {
            Reuse::Serve(status) => return serve(exchange, origin, page.clone(), status),
            Reuse::ServeStaleAndRefresh => {
                let hides = hides_fields(&exchange.request, origin);
                let address = Some(page::address_of(&exchange.request));
                // Where too many fetches fill the zone, the page stays stale until a later visitor comes.
                let status = match cache.zone.fetches.begin().filter(|_| !hides) {
                    Some(fetching) => {
                        let writer = cache.zone.zone.begin_refresh(page, now, lease_ms(origin), address);
                        match writer {
                            Some(writer) => {
                                exchange.request.cache.stale = Some(page.clone());
                                fetch::start_behind(exchange, origin, cache, writer, fetching);
                                CacheStatus::Stale
                            }
                            None => CacheStatus::Updating,
                        }
                    }
                    None => CacheStatus::Stale,
                };
                return serve(exchange, origin, page.clone(), status);
            }
            Reuse::Fetch { .. } | Reuse::PassFailure => {}
        }
    }
    exchange.request.cache.status =
        Some(if stale.is_some() { CacheStatus::Expired } else { CacheStatus::Miss });
    exchange.request.cache.stale = stale.clone().or_else(|| other_codings::stand_in(&exchange.request));
    if cache.rules.rfc9111 && wants_stored_only(exchange.request.head.fields()) {
        return Step::Error(504);
    }
    // A text of `*_no_cache` that cannot be made keeps the answer out.
    if hides_fields(&exchange.request, origin) || told::is_own(exchange, cache).unwrap_or(true) {
        return Step::Wait(Work::Origin);
    }
    // What an origin answers to a name and a password may be for them alone: nobody waits for it.
    if exchange.request.head.fields().has(Known::Authorization) && !cache.rules.authorization_in_key {
        return lead_alone(exchange, origin, cache, stale.as_ref());
    }
    if begins_beyond(&exchange.request, cache.max_range_offset)
        || stale.is_none() && is_seldom(&exchange.request, cache)
    {
        return Step::Wait(Work::Origin);
    }
    claim(exchange, origin, cache, stale)
}

/// Whether the page was asked for less often than `*_cache_min_uses` wants: then the visitor gets what they ask the origin
/// for, a part of it too, as in nginx.
fn is_seldom(request: &Request, cache: &CachePlace) -> bool {
    let least = cache.rules.min_uses;
    let key = KeyRef::new(&request.cache.key);
    least > 1 && u64::from(cache.zone.zone.uses(key, request.received_ms)) < least
}

/// `*_cache_max_range_offset`: so that somebody who wants the end of a film need not wait for all of it. 0 is for any range.
fn begins_beyond(request: &Request, offset: Option<u64>) -> bool {
    let (Some(offset), Some(range)) = (offset, request.head.known(Known::Range)) else { return false };
    if offset == 0 {
        return true;
    }
    let Some((unit, ranges)) = range.split_at_checked(6) else { return false };
    if !unit.eq_ignore_ascii_case(b"bytes=") {
        return false;
    }
    let first = ranges.trim_ascii().split(|byte| *byte == b'-').next().unwrap_or_default();
    // `bytes=-500` counts from an end that only the origin knows.
    let first = std::str::from_utf8(first).ok().filter(|digits| !digits.is_empty());
    first.is_none_or(|digits| digits.trim().parse::<u64>().is_ok_and(|first| first >= offset))
}

fn facts_of(page: &Page) -> StoredFacts {
    let lifetime = page.meta().lifetime();
    // A soft purge ends the freshness of the object, not that of its head.
    let invalid = page.fresh_until() == 0;
    let ended = if invalid { u64::MAX } else { page.fresh_until() };
    StoredFacts { lifetime: lifetime.ended_by(ended), validators: false, invalid }
}

fn claim(exchange: &mut Exchange, origin: &OriginPlace, cache: &CachePlace, stale: Option<Page>) -> Step {
    let Some(lock) = cache.rules.lock else { return lead_alone(exchange, origin, cache, stale.as_ref()) };
    let request = &exchange.request;
    let now = myriad_net::clock::now_ms();
    let fields = request.head.fields();
    let address = Some(page::address_of(request));
    let claimed = cache.zone.zone.claim(
        KeyRef::new(&request.cache.key),
        |selector, variant| write_variant(selector, fields, variant),
        |page| page.is_fresh(now) && !other_codings::is_outlived(request, page),
        ClaimOptions { now, lock_age_ms: lock.age_ms.unwrap_or(u64::MAX), address },
    );
    match claimed {
        Claim::Hit(page) => serve(exchange, origin, page, CacheStatus::Hit),
        Claim::Lead(writer) => {
            request.site.worker.counters.misses.add(1);
            let reader = writer.reader();
            let (sender, own) = oneshot::channel();
            fetch::start(exchange, origin, cache, writer, sender);
            let stale = stale.or_else(|| exchange.request.cache.stale.clone());
            Step::Wait(Work::Page(Wait { reader, own: Some(own), stale, patience: None }))
        }
        Claim::Follow(reader) => {
            let patience = lock.timeout_ms.map(Duration::from_millis);
            let stale = stale.or_else(|| exchange.request.cache.stale.clone());
            Step::Wait(Work::Page(Wait { reader, own: None, stale, patience }))
        }
        // What was for one visitor a moment ago is, most likely, for this one too.
        Claim::Pass if cache.rules.shared_fetch.hides_cookies(exchange.request.head.fields()) => {
            Step::Wait(Work::Origin)
        }
        Claim::Pass => lead_alone(exchange, origin, cache, stale.as_ref()),
    }
}

/// Fetches without waiting for anyone; the answer may still be stored.
fn lead_alone(
    exchange: &mut Exchange,
    origin: &OriginPlace,
    cache: &CachePlace,
    stale: Option<&Page>,
) -> Step {
    exchange.request.site.worker.counters.misses.add(1);
    let now = myriad_net::clock::now_ms();
    // What would only stand in for a failure is of another key.
    let writer = match stale.filter(|page| *page.key() == *exchange.request.cache.key) {
        Some(page) => cache.zone.zone.refresh_alone(page, now, lease_ms(origin)),
        None => cache.zone.zone.fetch_alone(KeyRef::new(&exchange.request.cache.key), now),
    };
    let reader = writer.reader();
    let (sender, own) = oneshot::channel();
    fetch::start(exchange, origin, cache, writer, sender);
    let stale = exchange.request.cache.stale.clone();
    Step::Wait(Work::Page(Wait { reader, own: Some(own), stale, patience: None }))
}

/// How long a page counts as updating, ms: as long as a fetch may take before its head is there.
fn lease_ms(origin: &OriginPlace) -> u64 {
    origin.timeouts.read_ms.saturating_add(origin.timeouts.connect_ms)
}

/// Waits for the page that somebody, or this request itself, fetches.
pub(crate) async fn wait(exchange: &mut Exchange, wait: Wait) -> Step {
    let site = std::rc::Rc::clone(&exchange.request.site);
    let Handler::Origin(origin) = &site.runtime.place(exchange.request.place).handler else {
        return Step::Error(500);
    };
    let Some(cache) = origin.cache.of(exchange.request.cache.chosen) else { return Step::Error(500) };
    let Wait { reader, own, stale, patience } = wait;
    let Some(own) = own else { return follow(exchange, origin, cache, reader, stale, patience).await };
    match own.await {
        Ok(Own::Admitted(head)) => {
            exchange.request.origin_mut().head = Some(head);
            exchange.request.cache.fetched = true;
            follow(exchange, origin, cache, reader, stale, None).await
        }
        Ok(Own::Confirmed) => {
            exchange.request.cache.status = Some(CacheStatus::Revalidated);
            follow(exchange, origin, cache, reader, stale, None).await
        }
        Ok(Own::Apart(varies)) if exchange.request.retries < 3 => {
            exchange.request.retries += 1;
            exchange.request.cache.varies = Some(varies);
            claim(exchange, origin, cache, stale)
        }
        Ok(Own::Unconfirmed | Own::Incomplete | Own::Apart(_)) => Step::Wait(Work::Origin),
        Ok(Own::Refused(response)) => {
            let status = response.head.status;
            match stale_after(exchange, origin, cache, stale, Failure::Http(status)) {
                Some(step) => step,
                None => origin::respond(exchange, origin, response),
            }
        }
        Ok(Own::Failed(why)) => {
            let failed = stale_after(exchange, origin, cache, stale, why.failure);
            failed.unwrap_or(Step::Error(why.status))
        }
        // The fetch did not begin, since a name has no address, or was abandoned, as when the worker ends.
        Err(_) => stale_after(exchange, origin, cache, stale, Failure::Error).unwrap_or(Step::Error(502)),
    }
}

async fn follow(
    exchange: &mut Exchange,
    origin: &OriginPlace,
    cache: &CachePlace,
    mut reader: FlightReader<PageMeta>,
    stale: Option<Page>,
    patience: Option<Duration>,
) -> Step {
    let status = exchange.request.cache.status.unwrap_or(CacheStatus::Miss);
    let Some(head) = head(exchange, &mut reader, patience).await else {
        // `*_cache_lock_timeout`: asked for by the configuration; the answer is not stored.
        return Step::Wait(Work::Origin);
    };
    match head {
        FlightHead::Object(page) => serve(exchange, origin, page, status),
        FlightHead::Head(meta) => match whole(exchange, &mut reader).await {
            Some(page) => serve(exchange, origin, page, status),
            None => Step::Answer(streaming(exchange, origin, meta.view(), reader)),
        },
        FlightHead::Failed(told) => {
            let why = NoAnswer::heard(told);
            let failed = stale_after(exchange, origin, cache, stale, why.failure);
            failed.unwrap_or(Step::Error(why.status))
        }
        FlightHead::Mismatch | FlightHead::Aborted if exchange.request.retries < 3 => {
            exchange.request.retries += 1;
            claim(exchange, origin, cache, stale)
        }
        FlightHead::Uncacheable | FlightHead::Mismatch | FlightHead::Aborted => Step::Wait(Work::Origin),
    }
}

async fn head(
    exchange: &Exchange,
    reader: &mut FlightReader<PageMeta>,
    patience: Option<Duration>,
) -> Option<FlightHead<PageMeta>> {
    let fields = exchange.request.head.fields();
    let arrives =
        poll_fn(|cx| reader.poll_head(cx, |selector, variant| write_variant(selector, fields, variant)));
    match patience {
        None => Some(arrives.await),
        Some(patience) => tokio::time::timeout(patience, arrives).await.ok(),
    }
}

/// The whole page, if it is there soon.
async fn whole(exchange: &Exchange, reader: &mut FlightReader<PageMeta>) -> Option<Page> {
    let fields = exchange.request.head.fields();
    let mut end = None;
    let arrives = poll_fn(|cx| {
        let polled = reader.poll_end(cx, |selector, variant| write_variant(selector, fields, variant));
        if let Poll::Ready(polled) = polled {
            end = Some(polled);
            return Poll::Ready(());
        }
        Poll::Pending
    });
    let _ = tokio::time::timeout(WHOLE_PAGE, arrives).await;
    match end {
        Some(FlightEnd::Object(page)) => Some(page),
        _ => None,
    }
}

/// An answer whose body follows the fetch.
fn streaming(
    exchange: &mut Exchange,
    origin: &OriginPlace,
    meta: PageView<'_>,
    reader: FlightReader<PageMeta>,
) -> Answer {
    let mut answer = page::answer_of_head(meta);
    answer.own_head = origin.passes_head;
    let length = reader.announced();
    answer.ranges = length.is_some() && meta.status == 200;
    // A HEAD gets the head of this body, which says no length where none is known yet; the driver sends nothing of it.
    let ahead = origin::ahead(origin).filter(|_| exchange.request.head.method() != Method::Head);
    answer.body = ResponseBody::Stream(Box::pin(FlightBody::new(reader, ahead)), length);
    answer.compressible = !meta.no_transform;
    if meta.redirects {
        proxy_fields::rewrite(exchange, origin, &mut answer);
    }
    own_cookies(exchange, origin, &mut answer);
    answer.age_s = meta.lifetime().born.and_then(|born| age_s(exchange, origin, born));
    answer
}

/// A stale page in the place of a failure, where the rules allow it.
fn stale_after(
    exchange: &mut Exchange,
    origin: &OriginPlace,
    cache: &CachePlace,
    stale: Option<Page>,
    failure: Failure,
) -> Option<Step> {
    let page = stale?;
    let now = myriad_net::clock::now_ms();
    let mut facts = facts_of(&page);
    if *page.key() != *exchange.request.cache.key {
        // It only stands in: fresh as it may be, it is none of this request's.
        facts.lifetime.fresh_until = facts.lifetime.fresh_until.min(now);
    }
    match reuse(&facts, &cache.rules, now, false, Some(failure)) {
        Reuse::Serve(status) => Some(serve(exchange, origin, page, status)),
        _ => None,
    }
}

/// The stale page of a request that was passed to the origin by itself, in the place of the failure that came of it.
pub(crate) fn stale_instead(exchange: &mut Exchange, origin: &OriginPlace, failure: Failure) -> Option<Step> {
    let cache = origin.cache.of(exchange.request.cache.chosen)?;
    let stale = exchange.request.cache.stale.take();
    stale_after(exchange, origin, cache, stale, failure)
}

/// Goes to the origin though a page seemed to be there.
pub(super) fn fetch_anew(exchange: &mut Exchange, origin: &OriginPlace, cache: &CachePlace) -> Step {
    stale_or_fetch(exchange, origin, cache, None)
}

/// Serves a stored page.
pub(super) fn serve(exchange: &mut Exchange, origin: &OriginPlace, page: Page, status: CacheStatus) -> Step {
    if stored::must_open(&exchange.request, &page) {
        return Step::Wait(Work::Stored(Reading::Open(page, status)));
    }
    let request = &mut exchange.request;
    request.cache.status = Some(status);
    request.cache.age_s = Some(request.received_ms.saturating_sub(page.stored_at()) / 1000);
    if status != CacheStatus::Miss && status != CacheStatus::Expired {
        request.site.worker.counters.hits.add(1);
    }
    let code = page.meta().status;
    if code == 206 && request.slice.get().is_none() {
        // A piece, whose key another place made; nothing here asked for it.
        return Step::Wait(Work::Origin);
    }
    if origin.intercept_errors && code >= 300 && error::has_page_now(exchange, code) {
        return Step::Error(code);
    }
    let redirects = page.meta().redirects;
    let born = page.meta().lifetime().born.unwrap_or(page.stored_at());
    let on_disk = stored::body(&mut exchange.request, &page);
    let mut answer = page::answer(&exchange.request, origin, page);
    if let Some(body) = on_disk.filter(|_| answer.coding == Coding::Identity) {
        answer.body = body;
    }
    answer.own_head = origin.passes_head;
    if redirects {
        proxy_fields::rewrite_page(exchange, origin, &mut answer);
    }
    own_cookies(exchange, origin, &mut answer);
    answer.age_s = age_s(exchange, origin, born);
    Step::Answer(answer)
}

/// `Age` in seconds of a page that was made at `born`, ms since the epoch: where it was not fetched or confirmed for this very
/// request (RFC 9111 section 5.1), or came with an age of its own.
fn age_s(exchange: &Exchange, origin: &OriginPlace, born: u64) -> Option<u64> {
    let request = &exchange.request;
    if request.cache.status == Some(CacheStatus::Revalidated)
        || origin.hide.iter().any(|hidden| **hidden == *b"age")
    {
        return None;
    }
    let head = request.origin.as_ref().and_then(|facts| facts.head.as_ref());
    if request.cache.fetched && !head.is_some_and(|head| head.fields.has(Known::Age)) {
        return None;
    }
    let now = request.received_ms.max(myriad_net::clock::now_ms());
    Some(now.saturating_sub(born) / 1000)
}

/// The visitor who caused the fetch gets the cookies that came with it; nobody else does. What another place answered
/// before an `X-Accel-Redirect` is not meant: its cookies are carried along as lines.
fn own_cookies(exchange: &mut Exchange, origin: &OriginPlace, answer: &mut Answer) {
    if !exchange.request.cache.fetched {
        return;
    }
    let Some(head) = exchange.request.origin.as_ref().and_then(|facts| facts.head.as_ref()) else { return };
    let mut cookies = Answer::new(0, ResponseBody::None);
    for cookie in head.fields.known_all(myriad_http::Known::SetCookie) {
        if origin::passes(Some(myriad_http::Known::SetCookie), b"Set-Cookie", origin, true) {
            cookies.field(b"Set-Cookie", cookie);
        }
    }
    proxy_fields::rewrite(exchange, origin, &mut cookies);
    answer.lines.extend_from_slice(&cookies.lines);
}
