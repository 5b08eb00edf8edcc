//! Value of `$upstream_cache_status`: the result of the cache lookup for a request.

/// `$upstream_cache_status`, with nginx's meanings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CacheStatus {
    /// No page was stored; the response is from the origin.
    Miss,
    /// The cache was bypassed: a `*_cache_bypass` condition, a personal cookie, `Authorization`.
    Bypass,
    /// The stored page was expired; the response is from the origin.
    Expired,
    /// An expired page was served because the origin failed, or because this request refreshes it in the background.
    Stale,
    /// An expired page was served because another request is refreshing it.
    Updating,
    /// The origin validated an expired page with a 304, and it was served.
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
