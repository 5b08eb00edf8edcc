//! Value of `$upstream_cache_status`: the result of the cache lookup for a request.

/// Cache status of a request, with the meanings of nginx's `$upstream_cache_status`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CacheStatus {
    /// No page was stored; the response is from the origin.
    Miss,
    /// The cache was bypassed because of a `*_cache_bypass` condition or any other
    /// [`BypassReason`](crate::BypassReason) except the method.
    Bypass,
    /// The stored page was expired; the response is from the origin.
    Expired,
    /// An expired page was served, for example because the origin failed, or because this request refreshes it in the
    /// background.
    Stale,
    /// An expired page was served because another request is refreshing it.
    Updating,
    /// The origin confirmed an expired page by a 304, and the page was served.
    Revalidated,
    /// A fresh page was served.
    Hit,
}

impl CacheStatus {
    /// All statuses, in nginx's order.
    pub const ALL: [CacheStatus; 7] = [
        CacheStatus::Miss,
        CacheStatus::Bypass,
        CacheStatus::Expired,
        CacheStatus::Stale,
        CacheStatus::Updating,
        CacheStatus::Revalidated,
        CacheStatus::Hit,
    ];

    /// Returns the value of `$upstream_cache_status`.
    pub const fn as_str(self) -> &'static str {
        match self {
            CacheStatus::Miss => "MISS",
            CacheStatus::Bypass => "BYPASS",
            CacheStatus::Expired => "EXPIRED",
            CacheStatus::Stale => "STALE",
            CacheStatus::Updating => "UPDATING",
            CacheStatus::Revalidated => "REVALIDATED",
            CacheStatus::Hit => "HIT",
        }
    }
}
