//! The value of `$upstream_cache_status`: what the cache did for a request.

/// `$upstream_cache_status`, with nginx's meanings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CacheStatus {
    /// Nothing was stored: the origin answered.
    Miss,
    /// The cache was passed by: a `*_cache_bypass` condition, a personal cookie, `Authorization`.
    Bypass,
    /// The stored page had expired: the origin answered.
    Expired,
    /// An expired page was served because the origin failed, or while this request's refresh runs in the background.
    Stale,
    /// An expired page was served because another request is refreshing it.
    Updating,
    /// The origin confirmed an expired page with a 304, and it was served.
    Revalidated,
    /// A fresh page was served.
    Hit,
}

impl CacheStatus {
    /// Every status, in nginx's order.
    pub const ALL: [CacheStatus; 7] = [
        CacheStatus::Miss,
        CacheStatus::Bypass,
        CacheStatus::Expired,
        CacheStatus::Stale,
        CacheStatus::Updating,
        CacheStatus::Revalidated,
        CacheStatus::Hit,
    ];

    /// The value of `$upstream_cache_status`.
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
