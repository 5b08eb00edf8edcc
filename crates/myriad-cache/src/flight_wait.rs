//! Wait for a page in flight: by the request that started the fetch, and by concurrent requests.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use myriad_access::origin_protection::origin_queue::set_retry_after;
use myriad_http::Method;
use myriad_net::ResponseBody;
use myriad_policy::{CacheStatus, RefreshFailure, StoreRefusal};
use myriad_store::{FlightEnd, FlightHead, FlightReader};
use tokio::sync::oneshot;

use crate::age::age_s;
use crate::esi;
use crate::fetch::{FetchReport, NoResponse};
use crate::journey_step::{CacheContext, FlightWait, JourneyStep, PassReason};
use crate::leader_cookies;
use crate::origin_fields;
use crate::page;
use crate::reader::FlightBody;
use crate::stale_fallback::stale_instead;
use myriad_exchange::exchange::{ContentResponse, Exchange, PhaseStep};
use myriad_origin::respond;
use myriad_origin::rewrite;
use myriad_store::page::{Page, PageMeta, PageView, write_variant};

/// Maximum time that a reader waits for the complete page once it has the head: a complete page can be sent compressed
/// and with its entity tag.
///
/// An application that writes its response in one burst finishes within this time. A page that takes longer is
/// streamed, unless it can only be used once it is complete; the wait for such a page has no limit.
const MAX_WHOLE_WAIT: Duration = Duration::from_millis(20);

/// Maximum number of times that a request claims the page again after an unusable result.
const RETRIES: u8 = 3;

/// Waits for the page. Returns the step that serves it, or the next step after a failure.
pub(crate) async fn run(
    exchange: &mut Exchange,
    cached: CacheContext<'_>,
    follow: FlightWait,
) -> JourneyStep {
    let FlightWait { reader, report, stale, timeout: patience } = follow;
    if let Some(report) = report {
        return lead(exchange, cached, reader, report, stale).await;
    }
    exchange.request.cache.report.collapsed = true;
    let _wait = exchange.request.begin_wait("cache_lock");
    wait(exchange, cached, reader, stale, patience).await
}

/// Waits for the page as the request that started the fetch: first for the report of the fetch, then for the page,
/// unless the report results in another step.
async fn lead(
    exchange: &mut Exchange,
    cached: CacheContext<'_>,
    reader: FlightReader<PageMeta>,
    report: oneshot::Receiver<FetchReport>,
    stale: Option<Page>,
) -> JourneyStep {
    match report.await {
        Ok(FetchReport::Admitted(head)) => {
            exchange.request.origin_mut().head = Some(head);
            exchange.request.cache.lookup.fetched = true;
            wait(exchange, cached, reader, stale, None).await
        }
        Ok(FetchReport::OfCluster) => {
            exchange.request.cache.report.status = Some(CacheStatus::Hit);
            wait(exchange, cached, reader, stale, None).await
        }
        Ok(FetchReport::Confirmed) => {
            exchange.request.cache.report.status = Some(CacheStatus::Revalidated);
            wait(exchange, cached, reader, stale, None).await
        }
        Ok(FetchReport::OtherVariant(varies)) if exchange.request.cache.lookup.retries < RETRIES => {
            exchange.request.cache.lookup.retries += 1;
            exchange.request.cache.varies = Some(varies);
            JourneyStep::Claim(stale)
        }
        Ok(FetchReport::Unconfirmed | FetchReport::Incomplete | FetchReport::OtherVariant(_)) => {
            JourneyStep::Pass(PassReason::NotShared)
        }
        Ok(FetchReport::Refused(response, why)) => {
            exchange.request.cache.report.reason = Some(why);
            let failure = RefreshFailure::Http(response.head.status);
            match stale_instead(&exchange.request, cached, stale, failure) {
                Some(next) => next,
                None => JourneyStep::Done(esi::respond(exchange, cached.origin, response)),
            }
        }
        Ok(FetchReport::Closed(response)) => {
            exchange.request.cache.report.reason = Some("maintenance");
            JourneyStep::Done(esi::respond(exchange, cached.origin, response))
        }
        Ok(FetchReport::Failed(why)) => failed(exchange, cached, stale, why),
        // The task of the fetch finished without a report, for example because the worker shuts down.
        Err(_) => failed(exchange, cached, stale, NoResponse::unbuildable(502)),
    }
}

/// Waits for the head of the page, up to `patience` (`None` for no limit), then briefly for the complete page
/// ([`whole`]). Returns the step that serves or streams the page, passes the request to the origin or claims the page
/// again; after a failed fetch, the step that serves a stale page or an error.
async fn wait(
    exchange: &mut Exchange,
    cached: CacheContext<'_>,
    mut reader: FlightReader<PageMeta>,
    stale: Option<Page>,
    patience: Option<Duration>,
) -> JourneyStep {
    let status = exchange.request.cache.report.status.unwrap_or(CacheStatus::Miss);
    let Some(head) = head(exchange, &mut reader, patience).await else {
        // As configured by the lock timeout, this request is sent to the origin and its response is not stored.
        return JourneyStep::Pass(PassReason::LockTimeout);
    };
    let end = match &head {
        FlightHead::Head(meta) => whole(exchange, meta.view(), &mut reader).await,
        _ => None,
    };
    // The body contains data of the visitor. Only the request that started the fetch gets it.
    if reader.is_withdrawn() {
        exchange.request.cache.report.reason = Some(StoreRefusal::Leak.as_str());
    }
    match head {
        FlightHead::Object(page) => JourneyStep::Serve(page, status),
        FlightHead::Head(meta) => match end {
            Some(FlightEnd::Object(page)) => JourneyStep::Serve(page, status),
            // The body turned out to be for one client.
            Some(FlightEnd::Uncacheable) => JourneyStep::Pass(PassReason::NotShared),
            // The holes of a page can only be filled once the page is complete.
            _ if needs_whole(exchange, meta.view()) => JourneyStep::Pass(PassReason::NotShared),
            _ => JourneyStep::Done(PhaseStep::Answer(streaming(exchange, cached, meta.view(), reader))),
        },
        FlightHead::Failed(code) => failed(exchange, cached, stale, NoResponse::decode(code)),
        FlightHead::Mismatch | FlightHead::Aborted if exchange.request.cache.lookup.retries < RETRIES => {
            exchange.request.cache.lookup.retries += 1;
            JourneyStep::Claim(stale)
        }
        FlightHead::Uncacheable | FlightHead::Mismatch | FlightHead::Aborted => {
            JourneyStep::Pass(PassReason::NotShared)
        }
    }
}

/// Serves a stale page, or else an error status, after a fetch without a usable response.
fn failed(
    exchange: &mut Exchange,
    cached: CacheContext<'_>,
    stale: Option<Page>,
    why: NoResponse,
) -> JourneyStep {
    if let Some(next) = stale_instead(&exchange.request, cached, stale, why.failure) {
        return next;
    }
    if let RefreshFailure::NotAsked(status) = why.failure {
        set_retry_after(exchange, status);
    }
    JourneyStep::Done(PhaseStep::Error(why.status))
}

async fn head(
    exchange: &Exchange,
    reader: &mut FlightReader<PageMeta>,
    patience: Option<Duration>,
) -> Option<FlightHead<PageMeta>> {
    let fields = exchange.request.received.head.fields();
    let arrives =
        poll_fn(|cx| reader.poll_head(cx, |selector, variant| write_variant(selector, fields, variant)));
    match patience {
        None => Some(arrives.await),
        Some(patience) => tokio::time::timeout(patience, arrives).await.ok(),
    }
}

/// Returns whether the page in flight can only be used once it is complete: the request accepts stored pages only, or
/// the page has ESI holes to fill.
fn needs_whole(exchange: &Exchange, meta: PageView<'_>) -> bool {
    exchange.request.cache.lookup.stored_only || esi::is_filled(meta.cut())
}

/// Waits for the complete page, for [`MAX_WHOLE_WAIT`] at most, or without limit if the page can only be used once it
/// is complete. Returns the result of the fetch; `None` if the time is over.
async fn whole(
    exchange: &Exchange,
    meta: PageView<'_>,
    reader: &mut FlightReader<PageMeta>,
) -> Option<FlightEnd<PageMeta>> {
    let fields = exchange.request.received.head.fields();
    let mut end = None;
    let arrives = poll_fn(|cx| {
        let polled = reader.poll_end(cx, |selector, variant| write_variant(selector, fields, variant));
        if let Poll::Ready(polled) = polled {
            end = Some(polled);
            return Poll::Ready(());
        }
        Poll::Pending
    });
    if needs_whole(exchange, meta) {
        arrives.await;
    } else {
        let _ = tokio::time::timeout(MAX_WHOLE_WAIT, arrives).await;
    }
    end
}

/// Returns a response whose body is streamed from the page in flight.
fn streaming(
    exchange: &mut Exchange,
    cached: CacheContext<'_>,
    meta: PageView<'_>,
    reader: FlightReader<PageMeta>,
) -> ContentResponse {
    let origin = cached.origin;
    let mut answer = page::answer_of_head(meta);
    exchange.request.cache.report.stored = !reader.is_withdrawn();
    origin_fields::show_head(&mut exchange.request, meta);
    answer.own_head = origin.answer.passes_head;
    let length = reader.announced();
    answer.ranges = length.is_some() && meta.status == 200;
    // For HEAD, only the head is sent: without a length if it is not known yet.
    let ahead =
        respond::ahead(&origin.ahead).filter(|_| exchange.request.received.head.method() != Method::Head);
    answer.body = ResponseBody::Stream(Box::pin(FlightBody::new(reader, ahead)), length);
    answer.compressible = !meta.no_transform;
    if meta.redirects {
        rewrite::rewrite(exchange, origin, &mut answer);
    }
    leader_cookies::append(exchange, cached, &mut answer);
    answer.age_s = meta.lifetime().born.and_then(|born| age_s(exchange, origin, born));
    answer
}
