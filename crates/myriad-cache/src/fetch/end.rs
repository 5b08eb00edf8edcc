//! End of a fetch without a response.

use myriad_log::Level;
use myriad_store::FlightWriter;

use super::no_answer::NoAnswer;
use super::report::{Report, Reporter, report};
use myriad_exchange::exchange::Request;
use myriad_exchange::runtime::CachePlace;
use myriad_store::page::PageMeta;

/// Aborts a fetch because its zone has too many fetches. All waiters get the stale page, or 503.
pub(super) fn deny(
    request: &Request,
    cache: &CachePlace,
    writer: FlightWriter<PageMeta>,
    reporter: Reporter,
) {
    let zone = &cache.zone;
    if zone.fetches.told.admits(myriad_net::clock::now_ms()) {
        let name = zone.zone.name();
        request.log(
            Level::Error,
            format_args!("too many fetches in flight for zone \"{name}\" (max_fetches, fetch_queue)"),
        );
    }
    give_up(writer, reporter, NoAnswer::TOO_MANY);
}

/// Reports a fetch without a response to all waiters.
pub(super) fn give_up(writer: FlightWriter<PageMeta>, reporter: Reporter, why: NoAnswer) {
    writer.fail(why.encode());
    report(reporter, Report::Failed(why));
}
