//! The fields.

use myriad_net::Head;
use myriad_policy::CacheStatus;

use myriad_exchange::exchange::Request;
use myriad_exchange::runtime::DebugRules;

/// The request field that asks for the key.
const ASKED: &[u8] = b"x-cache-debug";

/// Adds `X-Cache` and `X-Cache-Age`; the key and the zone for those who ask and may know.
pub(crate) fn add(request: &Request, rules: &DebugRules, head: &mut Head) {
    let facts = &request.cache;
    let Some(status) = facts.shown.status else { return };
    if !rules.said_already {
        head.field(b"X-Cache", status.as_str().as_bytes());
    }
    // What was fetched for this very request is not stored before, whether or not it was whole by now.
    let is_fetched = matches!(status, CacheStatus::Miss | CacheStatus::Expired | CacheStatus::Bypass);
    if let Some(age) = facts.shown.age_s.filter(|_| !is_fetched) {
        head.number(b"X-Cache-Age", age);
    }
    if request.received.head.fields().get_all(ASKED).next().is_none()
        || request.may_administer(rules.from.as_deref()).is_err()
    {
        return;
    }
    if let Some(Some(zone)) = request.runtime().zone_list.get(usize::from(facts.shown.zone)) {
        head.field(b"X-Cache-Zone", zone.zone.name().as_bytes());
    }
    // A key may hold any byte.
    head.field(b"X-Cache-Key", facts.key.escape_ascii().to_string().as_bytes());
}
