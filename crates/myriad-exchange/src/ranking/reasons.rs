//! Explanations of reasons of cache misses: of words in `$upstream_cache_reason`, and of words used only in rankings.

/// Words with their explanations and possible remedies, sorted by word.
pub const REASONS: &[(&str, &str)] = &[
    ("authorization", "The request had an Authorization header, which is not part of the cache key."),
    ("body", "The request had a body, which is not part of the cache key."),
    ("cache-control", "The application sent Cache-Control: no-store or no-cache."),
    ("cache_bypass", "A condition of *_cache_bypass was true, so that the stored page was not used."),
    (
        "connection names fields",
        "The Connection header of the request names fields, which are not forwarded to the origin.",
    ),
    (
        "evicted",
        "The page was stored, but was evicted: the zone was out of memory, or no client requested the page within inactive=.",
    ),
    (
        "expired",
        "The stored page has expired, or its headers mark it as expired: *_cache_valid sets a longer lifetime, \
             *_cache_background_update serves it during the update. With *_cache_adaptive, a page expires later the longer its \
             content has been equal.",
    ),
    ("far range", "The range starts after *_cache_max_range_offset."),
    (
        "large request",
        "The origin rejected the request because it is unusually large; this does not apply to the page in general.",
    ),
    (
        "leak",
        "The response contained data of the visitor, such as the value of a cookie, or a response with such data was confirmed \
             for this page recently: leak_guard did not share it. The error log names the data.",
    ),
    (
        "lock_timeout",
        "Another request fetched the page, and the wait for it timed out (*_cache_lock_timeout).",
    ),
    (
        "maintenance",
        "The application is in maintenance: its 503 response is sent instead of any page (cache_maintenance).",
    ),
    ("method", "The cache does not serve this method (*_cache_methods)."),
    ("min_uses", "The page was requested less often than *_cache_min_uses requires."),
    ("no cache here", "The location that forwarded the request has no cache."),
    ("no validity", "Neither the application nor *_cache_valid sets how long the page may be stored."),
    ("no_cache", "A condition of *_no_cache was true, so that the page was not stored."),
    ("not shared", "The request waited for a response that was for another visitor only."),
    (
        "not stored",
        "No page was stored under the key: this was its first request, or its first request since a restart.",
    ),
    ("origin failed", "The application did not respond, or responded with an error."),
    (
        "personal cookie",
        "The request or the response had a personal cookie (personal_cookies), such as that of a logged-in visitor.",
    ),
    (
        "personal cookie, page not cut",
        "The request had a personal cookie, and the page has no separate personal parts (ESI).",
    ),
    ("personal request", "The request to the origin had a personal cookie."),
    ("piece", "The cache stores a slice of the response under the key (slice)."),
    ("private", "The application sent Cache-Control: private."),
    ("purged", "A purge removed the page."),
    ("request error", "The origin rejected this request; this does not apply to the page in general."),
    ("server error", "The application responded with an error, and a stored page can be served instead."),
    ("set-cookie", "The application sent Set-Cookie: each visitor must get a cookie of their own."),
    ("status", "Responses with this status are not stored."),
    ("surrogate-control", "Surrogate-Control does not allow storing the page."),
    (
        "unapproved",
        "The request uses the cache because of *_cache_share, and the application did not set how long its response may be stored.",
    ),
    (
        "unsearched",
        "The response could not be searched for data of the visitor: the request has more than 96 values, such as cookies, or the \
             body has a content coding that Myriad cannot decode (leak_guard).",
    ),
    ("upgrade", "The request asked for another protocol on its connection (Upgrade)."),
    ("use_stale", "The response was an error for which *_cache_use_stale serves the stored page."),
    (
        "vary",
        "The response varies by everything (Vary: *), or by header fields with longer names or values than the cache supports.",
    ),
    ("x-accel-expires", "The application sent X-Accel-Expires: 0."),
    ("x-litespeed-cache-control", "X-LiteSpeed-Cache-Control does not allow storing the page."),
];

/// Returns true if [`REASONS`] contains an explanation of `word`, a reason of a cache miss.
pub(crate) fn is_explained(word: &str) -> bool {
    REASONS.binary_search_by(|(known, _)| (*known).cmp(word)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_found() {
        assert!(REASONS.is_sorted_by(|one, other| one.0 < other.0));
        assert!(REASONS.iter().all(|(word, _)| is_explained(word)));
        assert!(!is_explained("other"));
    }
}
