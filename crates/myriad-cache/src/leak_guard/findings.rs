//! Records of leaks: log messages, findings, and quarantined pages.

use myriad_log::LogLevel;
use myriad_policy::{Leak, LeakKind, Lifetime};
use myriad_store::KeyRef;

use crate::other_codings;
use myriad_admin::protocol::escape_bytes;
use myriad_exchange::exchange::Request;
use myriad_exchange::runtime::CachePlace;

/// Minimum and maximum time in milliseconds for which a page with a confirmed finding is not stored.
const QUARANTINE_MS: (u64, u64) = (60_000, 3_600_000);
/// Maximum length in bytes of names and paths in findings.
const MAX_NAME: usize = 256;

/// Records a leak, and logs it without the value.
pub(crate) fn report(request: &Request, cache: &CachePlace, leak: &Leak) {
    let now = myriad_net::clock::now_ms();
    let text = |bytes: &[u8]| escape_bytes(&bytes[..bytes.len().min(MAX_NAME)]);
    let name = if leak.name.is_empty() { String::new() } else { format!(" \"{}\"", text(&leak.name)) };
    let place = leak.field.as_ref().map_or("the body".to_owned(), |field| format!("field {}", text(field)));
    let what = format!("{}{name} in {place}", leak.kind.as_str());
    let leaks = &cache.zone.leaks;
    let page = format!("{}{}", text(&request.route.host), text(&request.route.uri));
    leaks.add(&request.cache.key, &page, &what, now);
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
                "leak guard: the response is not shared, because it contains the {what}{position}; send \"Cache-Control: private\"{remedy}"
            ),
        );
    }
}

/// Records a confirmed leak. After two values, the page is not stored for the time of its validity, and its stored entries
/// are removed.
pub(super) fn confirm(request: &Request, cache: &CachePlace, value: &[u8], lifetime: &Lifetime) {
    let (least, most) = QUARANTINE_MS;
    let until = myriad_net::clock::now_ms().saturating_add(lifetime.valid_ms.clamp(least, most));
    if cache.zone.leaks.confirm(&request.cache.key, value, until) {
        for key in other_codings::keys_of_page(request) {
            cache.zone.zone.remove_older(KeyRef::new(&key), u64::MAX);
        }
    }
}

/// Returns the name under which a value is recorded as a coincidence: in another page, it may be a leak.
pub(super) fn name_in_page(request: &Request, kind: LeakKind, value: &[u8]) -> Vec<u8> {
    [kind.as_str().as_bytes(), b" ", value, b" ", &request.cache.key].concat()
}
