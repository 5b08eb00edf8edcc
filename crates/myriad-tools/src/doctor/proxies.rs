//! Check for proxies in front of Myriad that it does not trust.

use crate::doctor::facts::{StackFacts, UntrustedSenders};
use crate::doctor::finding::{CheckReport, DoctorFinding};

/// Minimum number of requests with `X-Forwarded-For` by which the doctor considers their sender a proxy.
const FEWEST: u64 = 3;

pub(crate) fn check(facts: &StackFacts, list: &mut Vec<DoctorFinding>) {
    let report = CheckReport::new("trusted-proxy", list);
    let senders = match &facts.senders {
        Ok(senders) => senders,
        Err(why) => {
            return report.unseen(
                why,
                "run the doctor on the machine that runs Myriad, as root or as the user that started it",
            );
        }
    };
    let all = senders.requests.iter().map(|(_, requests)| requests).sum::<u64>() + senders.others;
    match only_proxy(senders, all) {
        Some((option, requests)) => report.warn(
            format!(
                "{requests} requests with X-Forwarded-For came from {option}, which is not a trusted proxy: limits and logs use \
                     its address instead of the client addresses"
            ),
            format!("if this is your proxy or CDN, start Myriad with --trusted-proxy {option}"),
        ),
        None if all == 0 => report.fine("no untrusted sender sends X-Forwarded-For"),
        None => report.fine(format!("{all} requests from untrusted senders contain X-Forwarded-For, which is ignored")),
    }
}

/// Returns the sender of at least nine in ten of the `all` requests with `X-Forwarded-For`, and the number of its
/// requests; `None` if there is none, or if it sent fewer than [`FEWEST`]. Clients that forge addresses are many
/// different senders.
fn only_proxy(senders: &UntrustedSenders, all: u64) -> Option<(&str, u64)> {
    let (option, requests) = senders.requests.iter().max_by_key(|(_, requests)| *requests)?;
    (*requests >= FEWEST && requests * 10 >= all * 9).then_some((option, *requests))
}
