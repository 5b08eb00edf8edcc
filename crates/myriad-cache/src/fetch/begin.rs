//! Start of a fetch: the request to the origin is made from a copy of the client's request.

use myriad_http::Known;
use myriad_log::Level;
use myriad_policy::CacheStatus;
use myriad_store::{Failure as StoreFailure, FlightWriter};
use myriad_upstream::{OriginRequest, RequestPayload};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::end::deny;
use super::job::{Job, Sought};
use super::report::{Report, Reporter};
use super::run::run;
use crate::companion::Companion;
use crate::early::Spent;
use crate::next::Cached;
use crate::other_codings;
use crate::told;
use myriad_exchange::exchange::{Exchange, Purpose};
use myriad_exchange::runtime::{CachePlace, MakeError};
use myriad_origin::group;
use myriad_origin::make;
use myriad_store::page::{Entry, Fetching, Page, PageMeta, conditions};

/// Starts the fetch of a page from a copy of the request. If the fetch cannot start, the waiters are released at once.
pub(crate) fn start(
    exchange: &mut Exchange,
    cached: Cached<'_>,
    writer: FlightWriter<PageMeta>,
    reporter: oneshot::Sender<Report>,
) {
    let Some(entry) = cached.cache.zone.fetches.enter() else {
        deny(&exchange.request, cached.cache, writer, Some(reporter));
        return;
    };
    begin(exchange, cached, (writer, entry), Some(reporter), None);
}

/// Like [`start`], in the background of a request that gets the stale page.
pub(crate) fn start_behind(
    exchange: &mut Exchange,
    cached: Cached<'_>,
    writer: FlightWriter<PageMeta>,
    fetching: Fetching,
) {
    let flight = (writer, Entry::Now(fetching));
    exchange.request.cache.refresh = begin(exchange, cached, flight, None, None);
}

/// Like [`start`], for a page that is still fresh. No request waits for it.
pub(crate) fn start_early(
    exchange: &mut Exchange,
    cached: Cached<'_>,
    writer: FlightWriter<PageMeta>,
    (fetching, spent): (Fetching, Spent),
) {
    begin(exchange, cached, (writer, Entry::Now(fetching)), None, Some(spent));
}

fn begin(
    exchange: &mut Exchange,
    cached: Cached<'_>,
    (writer, entry): (FlightWriter<PageMeta>, Entry),
    reporter: Reporter,
    spent: Option<Spent>,
) -> Option<JoinHandle<()>> {
    let Cached { origin, cache } = cached;
    let Ok(chosen) = group::of_place(exchange, origin) else {
        writer.fail(StoreFailure(502));
        return None;
    };
    let attempts = match &reporter {
        Some(_) => exchange.request.origin_mut().attempts.clone(),
        None => myriad_upstream::Attempts::default(),
    };
    let payload = match &exchange.request.upload.gathered {
        Some(body) => body.payload(),
        None => RequestPayload::Empty,
    };
    let confirmable = writer.previous().filter(|page| is_confirmable(page, cache));
    let conditional = confirmable.is_some();
    let told = told::of(&exchange.request, cache, writer.previous());
    let purpose = Purpose::Store { confirms: confirmable, told: told.as_ref().map(|told| &told.fields) };
    let request = match make::make(exchange, origin, purpose, payload, attempts) {
        // Background refreshes do not queue: requests without any page have priority.
        Ok(request) => OriginRequest { queues: reporter.is_some(), ..request },
        Err(error) => {
            exchange.request.log(Level::Error, format_args!("{error}"));
            match error {
                // The waiters' requests may be within the size limit, so one of them leads instead.
                MakeError::Size(_) => drop(writer),
                MakeError::Eval(_) | MakeError::Tls(_) => writer.fail(StoreFailure(500)),
            }
            return None;
        }
    };
    exchange.request.count_fetch();
    let stored = writer.previous().or(exchange.request.cache.stale.as_ref());
    let usable_page = stored.is_some_and(|page| page.meta().status < 500);
    let apart = other_codings::is_apart(&exchange.request);
    let companion = Companion::begin(&exchange.request, cache);
    let own_request = exchange.request.cache.shown.status == Some(CacheStatus::Bypass)
        || exchange.request.received.head.fields().has(Known::Authorization)
            && !cache.rules.authorization_in_key;
    let exchange = exchange.snapshot();
    let sought =
        Sought { method: request.method, usable_page, conditional, apart, companion, own_request, told };
    let held = cached.hold();
    let job = Job { exchange, held, writer, request, entry, chosen, reporter, spent, sought };
    // Boxed because the runtime moves the future several times.
    Some(tokio::task::spawn_local(Box::pin(run(job))))
}

fn is_confirmable(page: &Page, cache: &CachePlace) -> bool {
    cache.rules.revalidate && !conditions(page).is_empty()
}
