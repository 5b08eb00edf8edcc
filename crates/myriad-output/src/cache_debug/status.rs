//! Value of `Cache-Status` (RFC 9211). This cache is appended to the list, which starts with the cache nearest to the
//! origin.

use std::borrow::Cow;
use std::fmt::Write;

use myriad_exchange::exchange::CacheReport;
use myriad_net::ResponseText;
use myriad_policy::CacheStatus;

/// Returns the number of seconds until a page becomes stale: negative if it is stale already, `None` if
/// `fresh_until_ms` is 0, because a purge made it stale.
pub(super) fn seconds_left(fresh_until_ms: u64, now_ms: u64) -> Option<i64> {
    let seconds = |ms: u64| i64::try_from(ms / 1000).unwrap_or(i64::MAX);
    match fresh_until_ms {
        0 => None,
        _ if fresh_until_ms >= now_ms => Some(seconds(fresh_until_ms - now_ms)),
        _ => Some(-seconds(now_ms - fresh_until_ms).max(1)),
    }
}

/// Returns whether a status means that the response is a stored page that the origin has not confirmed for this
/// request.
pub(super) fn is_hit(status: CacheStatus) -> bool {
    matches!(status, CacheStatus::Hit | CacheStatus::Stale | CacheStatus::Updating)
}

/// Appends `Cache-Status` with the entry of this cache, called `name`. It contains hit or reason of the fetch,
/// remaining freshness (`ttl_s`), and as detail the status `STALE` or `UPDATING`, or for other responses that were not
/// stored the `reason`. Unless it is a hit, it also contains the status of the origin (`forwarded`; 304 after a
/// revalidation), `stored` and `collapsed`.
pub(super) fn add(
    name: &str,
    (status, shown): (CacheStatus, &CacheReport),
    reason: Option<Cow<'_, str>>,
    (ttl_s, forwarded): (Option<i64>, Option<u16>),
    head: &mut ResponseText,
) {
    let mut member = name.to_owned();
    let is_hit = is_hit(status);
    // RFC 9211 section 2.2: reason why the request was forwarded.
    let fwd = match status {
        CacheStatus::Miss => "uri-miss",
        CacheStatus::Expired | CacheStatus::Revalidated => "stale",
        CacheStatus::Bypass if shown.reason == Some("method") => "method",
        CacheStatus::Bypass => "bypass",
        CacheStatus::Hit | CacheStatus::Stale | CacheStatus::Updating => "",
    };
    member.push_str(if is_hit { "; hit" } else { "; fwd=" });
    member.push_str(fwd);
    if !is_hit {
        let forwarded = if status == CacheStatus::Revalidated { Some(304) } else { forwarded };
        if let Some(forwarded) = forwarded.filter(|_| !shown.collapsed) {
            let _ = write!(member, "; fwd-status={forwarded}");
        }
        member.push_str(if shown.stored { "; stored" } else { "" });
        member.push_str(if shown.collapsed { "; collapsed" } else { "" });
    }
    if let Some(ttl_s) = ttl_s {
        let _ = write!(member, "; ttl={ttl_s}");
    }
    let detail = match status {
        CacheStatus::Stale | CacheStatus::Updating => Some(status.as_str().into()),
        _ => reason.filter(|_| !shown.stored),
    };
    if let Some(detail) = detail {
        let _ = write!(member, "; detail=\"{detail}\"");
    }
    head.append_field(b"Cache-Status", member.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_left_are_below_zero_for_what_is_stale() {
        assert_eq!(seconds_left(5_999, 1_000), Some(4));
        assert_eq!(seconds_left(1_000, 1_000), Some(0));
        assert_eq!(seconds_left(1_000, 1_001), Some(-1));
        assert_eq!(seconds_left(1_000, 9_500), Some(-8));
        assert_eq!(seconds_left(0, 9_500), None);
    }
}
