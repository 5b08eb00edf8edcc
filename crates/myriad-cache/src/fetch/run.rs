//! A fetch runs: it waits for its place among the fetches of the zone, then asks the origin.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::Poll;

use myriad_log::Level;
use myriad_store::{Failure as StoreFailure, FlightWriter};
use myriad_upstream::{ErrorKind, OriginError, OriginRequest, Sent};

use super::end::{deny, give_up};
use super::job::{Answered, Job};
use super::judge::judge;
use super::no_answer::{NoAnswer, is_of_the_origin};
use super::report::{Report, report};
use crate::maintenance;
use crate::next::{Cached, Held};
use crate::shield;
use myriad_exchange::exchange::{Exchange, Request};
use myriad_exchange::runtime::OriginPlace;
use myriad_exchange::runtime::Who;
use myriad_origin::fetch::fetch as origin_fetch;
use myriad_origin::group;
use myriad_page::{Entry, PageMeta};

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
    place: &Arc<OriginPlace>,
    entry: Entry,
    (chosen, mut request): (Who, OriginRequest),
    waits: bool,
) -> Result<Answered, Unanswered> {
    let fetching = entry.pass(place.fetch.timeouts.connect_ms).await.ok_or(Unanswered::Denied)?;
    let group = group::settle(exchange, chosen).await.map_err(Unanswered::Nowhere)?;
    let asked = myriad_net::clock::now_ms();
    let fetched = origin_fetch(exchange, place, &group, &mut request, waits).await;
    let response = fetched.map_err(Unanswered::Failed)?;
    Ok(Answered { response, fetching, asked, attempts: request.attempts })
}

/// Does the work of a fetch until nobody waits for it any more. `ignores_abort` says that it goes on all the same once it
/// is sent.
async fn while_awaited<T>(
    writer: &mut FlightWriter<PageMeta>,
    (sent, ignores_abort): (Sent, bool),
    mut work: Pin<&mut impl Future<Output = T>>,
) -> Option<T> {
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

/// Notes what came of a fetch, where the origin has a part in it.
fn note(request: &Request, cached: Cached<'_>, answered: &Result<Answered, Unanswered>) {
    match answered {
        Ok(answered) => shield::note(request, cached, Ok(&answered.response.head)),
        Err(Unanswered::Failed(error)) if is_of_the_origin(error) => {
            shield::note(request, cached, Err(NoAnswer::of(error)));
        }
        Err(_) => {}
    }
}

/// Whether a refresh did not begin, since everybody else came first.
fn is_put_off(error: &OriginError, waits: bool) -> bool {
    !waits && matches!(error.kind(), ErrorKind::Busy | ErrorKind::NotAsked(_))
}

pub(super) async fn run(job: Job) {
    let Job { mut exchange, held, mut writer, request, entry, chosen, reporter, spent: _spent, sought } = job;
    let Held { origin: place, cache } = &held;
    // A refresh is for those who come later. What an application has been told to do it does, whoever has gone: where the
    // configuration says so, its page is kept.
    let until = (request.attempts.sent(), place.fetch.to_the_end);
    let answered = {
        let asking = pin!(ask(&mut exchange, place, entry, (chosen, request), reporter.is_some()));
        match reporter {
            Some(_) => while_awaited(&mut writer, until, asking).await,
            None => Some(asking.await),
        }
    };
    let Some(answered) = answered else {
        return exchange.request.log(Level::Info, format_args!("fetch ended, for nobody waits for it"));
    };
    // What came of it for one visitor alone says nothing of the page.
    let is_closed = matches!(&answered, Ok(answered) if maintenance::closed(&mut exchange, &answered.response.head).is_some());
    if !sought.own_request && !is_closed {
        note(&exchange.request, held.get(), &answered);
    }
    match answered {
        Ok(answered) => judge(&mut exchange, held.get(), writer, reporter, sought, answered).await,
        // A refresh that did not begin: the page stays stale, and the next visitor tries again.
        Err(Unanswered::Failed(error)) if is_put_off(&error, reporter.is_some()) => {
            exchange.request.log(Level::Info, format_args!("{error}, the stale page stays"));
        }
        // Who waits is another visitor, who may be within the limits: they ask anew, and one of them leads.
        Err(Unanswered::Failed(error)) if matches!(error.kind(), ErrorKind::Limited(_)) => {
            exchange.request.log(Level::Info, format_args!("{error}"));
            report(reporter, Report::Failed(NoAnswer::of(&error)));
            drop(writer);
        }
        Err(Unanswered::Failed(error)) => {
            exchange.request.log(Level::Error, format_args!("{error}"));
            give_up(writer, reporter, NoAnswer::of(&error));
        }
        Err(Unanswered::Nowhere(status)) => writer.fail(StoreFailure(status)),
        Err(Unanswered::Denied) => deny(&exchange.request, cache, writer, reporter),
    }
}
