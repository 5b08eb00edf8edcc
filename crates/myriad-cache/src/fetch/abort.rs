//! Completion of a fetch that got no usable response.

use myriad_log::LogLevel;
use myriad_store::FlightWriter;

use super::no_response::NoResponse;
use super::report::{FetchReport, Reporter, report};
use myriad_exchange::exchange::Request;
use myriad_exchange::runtime::CachePlace;
use myriad_store::page::PageMeta;

/// Completes a fetch that got no slot among the concurrent fetches of its zone. Each waiter gets a stale page if
/// `*_cache_use_stale error` permits it, otherwise a 503 response. Logs an error, at a limited rate.
pub(super) fn reject_fetch(
    request: &Request,
    cache: &CachePlace,
    writer: FlightWriter<PageMeta>,
    reporter: Reporter,
) {
    let zone = &cache.zone;
    if zone.fetches.log_limit.admits(myriad_net::clock::now_ms()) {
        let name = zone.zone.name();
        request.log(
            LogLevel::Error,
            format_args!(
                "too many fetches in flight for zone \"{name}\": waiting requests get a stale page or 503; raise \
                 max_fetches or fetch_queue"
            ),
        );
    }
    abort_fetch(writer, reporter, NoResponse::TOO_MANY);
}

/// Completes a fetch without a usable response: sends the reason to all waiters and to the request that started the
/// fetch.
pub(super) fn abort_fetch(writer: FlightWriter<PageMeta>, reporter: Reporter, why: NoResponse) {
    writer.fail(why.encode());
    report(reporter, FetchReport::Failed(why));
}
