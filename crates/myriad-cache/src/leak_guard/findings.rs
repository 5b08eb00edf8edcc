//! Records of leaks: log messages, findings, and quarantined pages.

use myriad_log::LogLevel;
use myriad_policy::{Leak, LeakKind, StoreRefusal};
use myriad_store::KeyRef;

use crate::invalidate::remove_from_cluster;
use crate::{other_codings, page};
use myriad_admin::protocol::escape_bytes;
use myriad_exchange::exchange::Request;
use myriad_exchange::runtime::CachePlace;
use myriad_store::page::{LeakedPage, LeakedValue};

/// Minimum and maximum time in milliseconds for which a page with confirmed leaks is not stored.
const QUARANTINE_MS: (u64, u64) = (60_000, 3_600_000);
/// Maximum length in bytes, before escaping, of names and paths in findings.
const MAX_NAME: usize = 256;

/// Returns the key and the URL label by which the leak guard identifies the page of a request.
pub(crate) fn page_of(request: &Request) -> LeakedPage<'_> {
    let [_, url] = page::address_of(request);
    LeakedPage { key: &request.cache.key, url }
}

/// Returns the description of a value that the page of a request contains. `what` is a text with the kind, name and
/// place of the value ([`what_of`]).
pub(super) fn leaked_value<'a>(
    request: &'a Request,
    kind: LeakKind,
    value: &'a [u8],
    what: &'a str,
) -> LeakedValue<'a> {
    LeakedValue { page: page_of(request), value, kind: kind.as_str(), what, client: request.client() }
}

/// Returns whether a recent verification has shown that a value occurs in the page of a request by coincidence.
pub(super) fn is_coincidence(request: &Request, cache: &CachePlace, kind: LeakKind, value: &[u8]) -> bool {
    let now = myriad_net::clock::now_ms();
    cache.zone.leaks.is_coincidence(&page_of(request), kind.as_str(), value, now)
}

/// Returns a text with the kind, name and place of leaked data, without its value.
pub(super) fn what_of(leak: &Leak) -> String {
    let name = if leak.name.is_empty() { String::new() } else { format!(" \"{}\"", shortened(&leak.name)) };
    let place =
        leak.field.as_ref().map_or("the body".to_owned(), |field| format!("field {}", shortened(field)));
    format!("{}{name} in {place}", leak.kind.as_str())
}

/// Returns host and path of the page of a request, for reports: the path as the client sent it, because an application
/// with one script has the same path for all pages after rewrites.
pub(super) fn page_name(request: &Request) -> String {
    let target = page::target_of(request);
    let path = target.split(|byte| *byte == b'?').next().unwrap_or_default();
    format!("{}{}", shortened(&request.route.host), shortened(path))
}

pub(super) fn shortened(text: &[u8]) -> String {
    escape_bytes(&text[..text.len().min(MAX_NAME)])
}

/// Records a leak, and logs it without the value, at a limited rate. Returns the time in milliseconds for which
/// requests for the page do not wait for each other (hit-for-miss); 0 if the client has caused this too often.
pub(crate) fn report(request: &Request, cache: &CachePlace, leak: &Leak) -> u64 {
    let now = myriad_net::clock::now_ms();
    let what = what_of(leak);
    let leaks = &cache.zone.leaks;
    let found = leaked_value(request, leak.kind, &leak.value, &what);
    leaks.add(&found, &page_name(request), now);
    if leaks.log_limit.admits(now) {
        let position =
            if leak.field.is_none() { format!(" (byte {})", leak.position) } else { String::new() };
        let remedy = match leak.kind {
            LeakKind::Cookie => ", or add the cookie to \"personal_cookies\"",
            _ => "",
        };
        request.log(
            LogLevel::Error,
            format_args!(
                "leak guard: the response is not shared, because it contains the {what}{position}; \
                 send \"Cache-Control: private\"{remedy}"
            ),
        );
    }
    if leaks.may_pass(&found, now) { StoreRefusal::Leak.hit_for_miss_ms() } else { 0 }
}

/// Records a confirmed leak. After the values of two clients, the page is quarantined: it is not stored for the time of
/// its validity ([`QUARANTINE_MS`] limits it), and its stored entries are removed. `valid_ms` is the validity in
/// milliseconds. Returns true if the page is quarantined.
pub(super) fn confirm(request: &Request, cache: &CachePlace, leak: &LeakedValue<'_>, valid_ms: u64) -> bool {
    let now = myriad_net::clock::now_ms();
    let is_quarantined = cache.zone.leaks.confirm(leak, now, quarantine_end(now, valid_ms));
    if is_quarantined {
        remove_page(request, cache);
    }
    is_quarantined
}

/// Records a leak that requests of the server itself confirmed. The page is quarantined: it is not stored for the time
/// of its validity ([`QUARANTINE_MS`] limits it), and its stored entries are removed. `valid_ms` is the validity in
/// milliseconds.
pub(super) fn confirm_alone(request: &Request, cache: &CachePlace, leak: &LeakedValue<'_>, valid_ms: u64) {
    cache.zone.leaks.confirm_alone(leak, quarantine_end(myriad_net::clock::now_ms(), valid_ms));
    remove_page(request, cache);
}

/// Removes the page of a request from the cache, under the keys that [`other_codings::keys_of_page`] returns, and from all
/// nodes of the cluster.
pub(super) fn remove_page(request: &Request, cache: &CachePlace) {
    let keys = other_codings::keys_of_page(request);
    for key in &keys {
        cache.zone.zone.remove_older(KeyRef::new(key), u64::MAX);
    }
    remove_from_cluster(request, cache, keys);
}

/// Returns the end of the quarantine of a page, in milliseconds of the process clock.
fn quarantine_end(now: u64, valid_ms: u64) -> u64 {
    let (least, most) = QUARANTINE_MS;
    now.saturating_add(valid_ms.clamp(least, most))
}
