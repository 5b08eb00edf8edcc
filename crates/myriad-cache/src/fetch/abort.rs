//! End of a fetch that got no response.

use myriad_log::LogLevel;
use myriad_store::FlightWriter;

use super::no_response::NoResponse;
use super::report::{FetchReport, Reporter, report};
use myriad_exchange::exchange::Request;
use myriad_exchange::runtime::CachePlace;
use myriad_store::page::PageMeta;

/// Rejects a fetch because its zone has too many fetches. All waiters get the stale page or a 503 response.
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
            format_args!("too many fetches in flight for zone \"{name}\" (max_fetches, fetch_queue)"),
        );
    }
    abort_fetch(writer, reporter, NoResponse::TOO_MANY);
}

/// Ends a fetch without a response, for all waiters and the request that started it.
pub(super) fn abort_fetch(writer: FlightWriter<PageMeta>, reporter: Reporter, why: NoResponse) {
    writer.fail(why.encode());
    report(reporter, FetchReport::Failed(why));
}
