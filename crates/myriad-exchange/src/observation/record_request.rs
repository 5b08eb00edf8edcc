//! Addition of finished requests to the page rankings.

use crate::ranking::{Miss, RankedRequest, is_explained};
use myriad_http::Known;
use myriad_policy::CacheStatus;
use myriad_store::{KeyRef, RemovalReason};

use crate::exchange::Request;

/// Maximum length of a URL in rankings, in bytes. A longer URL is truncated and marked with `…`.
const LONGEST_URL: usize = 512;

/// Adds a finished request to the rankings of its worker, unless its head could not be parsed. At high rates, only
/// samples (with weights) are added of hits, of requests that used neither a cache nor an origin, and of misses that
/// took less than a millisecond with a status below 500; all other misses are added.
pub fn note(request: &Request) {
    // A request that could not be parsed has no URL.
    if request.route.uri.is_empty() {
        return;
    }
    let worker = &request.site.worker;
    let sight = &worker.observation;
    let miss = miss(request);
    let at_ms = match request.outcome.finished_ms {
        0 => myriad_net::clock::now_ms(),
        finished_ms => finished_ms,
    };
    let took_us = at_ms.saturating_sub(request.received.at_ms) * 1000;
    let sampling = match miss {
        None => Some(&sight.hits),
        Some(_) if took_us == 0 && request.outcome.head.status < 500 => Some(&sight.quick),
        Some(_) => None,
    };
    debug_assert!(miss.is_none_or(|(_, reason)| is_explained(reason)), "{miss:?} is not in REASONS");
    let Some(weight) = sampling.map_or(Some(1), |sampling| sampling.weight(at_ms)) else { return };
    let Some(tops) = sight.shared.tops.get(worker.number) else { return };
    let mut url = sight.url.borrow_mut();
    write_url(request, &mut url);
    let seen = RankedRequest {
        url: &url,
        weight,
        status: request.outcome.head.status,
        bytes: request.outcome.sent.bytes,
        at_ms,
        miss: miss.map(|(cache, reason)| Miss { cache, reason, took_us }),
    };
    tops.lock().note(&seen);
}

/// Returns the cache status and the reason of a miss; the status is empty if the location does not cache. `None` for a
/// page served from the cache (hit, stale, updating), and for requests that used neither a cache nor an origin.
fn miss(request: &Request) -> Option<(&'static str, &'static str)> {
    let shown = &request.cache.report;
    let status = match shown.status {
        Some(CacheStatus::Hit | CacheStatus::Stale | CacheStatus::Updating) => return None,
        Some(status) => status,
        None if request.origin.is_some() => {
            return Some(("", shown.reason.unwrap_or(failed(request, "no cache here"))));
        }
        None => return None,
    };
    let reason = shown.reason.unwrap_or_else(|| failed(request, of_status(request, status)));
    Some((status.as_str(), reason))
}

fn of_status(request: &Request, status: CacheStatus) -> &'static str {
    match status {
        CacheStatus::Expired | CacheStatus::Revalidated => "expired",
        CacheStatus::Bypass => "cache_bypass",
        _ => {
            let zone = request.site.runtime.zone_list.get(usize::from(request.cache.report.zone));
            let gone = zone
                .and_then(Option::as_ref)
                .map(|zone| zone.zone.removal_reason(KeyRef::new(&request.cache.key)));
            match gone.flatten() {
                Some(RemovalReason::Purged) => "purged",
                Some(RemovalReason::Evicted) => "evicted",
                None => "not stored",
            }
        }
    }
}

/// Returns `reason`, or "origin failed" if the response of the request has a status of 500 or higher.
fn failed(request: &Request, reason: &'static str) -> &'static str {
    if request.outcome.head.status >= 500 { "origin failed" } else { reason }
}

/// Replaces the contents of `url` by the URL of the request as the client sent it. A URL of more than [`LONGEST_URL`]
/// bytes is truncated to this length, and `…` is appended.
fn write_url(request: &Request, url: &mut Vec<u8>) {
    url.clear();
    let target = request.received.head.target();
    if target.starts_with(b"/") {
        url.extend_from_slice(request.scheme().as_bytes());
        url.extend_from_slice(b"://");
        url.extend_from_slice(request.received.head.known(Known::Host).unwrap_or(&request.route.host));
    }
    url.extend_from_slice(target);
    if url.len() > LONGEST_URL {
        url.truncate(LONGEST_URL);
        url.extend_from_slice("…".as_bytes());
    }
}
