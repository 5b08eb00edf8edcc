//! A fetch that ends without an answer.

use myriad_log::Level;
use myriad_store::FlightWriter;

use super::no_answer::NoAnswer;
use super::report::{Report, Reporter, report};
use myriad_exchange::exchange::Request;
use myriad_exchange::runtime::CachePlace;
use myriad_page::PageMeta;

/// Ends a fetch that finds too many others in its zone: whoever waits gets the stale page, or 503.
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
            format_args!("too many fetches fill zone \"{name}\" (max_fetches, fetch_queue)"),
        );
    }
    give_up(writer, reporter, NoAnswer::TOO_MANY);
}

/// Tells everybody who waits that there is no answer.
pub(super) fn give_up(writer: FlightWriter<PageMeta>, reporter: Reporter, why: NoAnswer) {
    writer.fail(why.encode());
    report(reporter, Report::Failed(why));
}
