//! Reasons of cache misses: the words of `$upstream_cache_reason`, those used only in rankings, and a sentence for
//! each.

/// Words with their explanations and possible remedies.
pub const REASONS: &[(&str, &str)] = &[
    ("authorization", "The request had a name and password (Authorization), and the key does not hold them."),
    ("body", "The request had a body that the key does not tell."),
    ("cache-control", "The application sent Cache-Control: no-store or no-cache."),
    ("cache_bypass", "A condition of *_cache_bypass held, so that the page was not looked for."),
    ("connection names fields", "Connection named fields of the request, which the origin is not told."),
    (
        "evicted",
        "The page had been stored, and gave way to others: the zone's memory was full, or nobody had asked for the page within inactive=.",
    ),
    (
        "expired",
        "The stored page had expired, or says itself that it has: *_cache_valid gives pages a longer time, *_cache_background_update serves them meanwhile.",
    ),
    ("far range", "The range began beyond *_cache_max_range_offset."),
    ("large request", "The origin refused a request that is unusually large: that says nothing of the page."),
    ("lock_timeout", "The page was being fetched, and was waited for too long (*_cache_lock_timeout)."),
    ("method", "The method is none of those that the cache answers (*_cache_methods)."),
    ("min_uses", "The page was asked for less often than *_cache_min_uses wants."),
    ("no cache here", "The location that passed the request on has no cache."),
    ("no validity", "Neither the application nor *_cache_valid said how long the page may be stored."),
    ("no_cache", "A condition of *_no_cache kept the page out."),
    ("not shared", "The answer that was waited for was for another visitor alone."),
    (
        "not stored",
        "Nothing was stored under the key: the first request for it, or the first since a restart.",
    ),
    ("origin failed", "The application did not answer, or answered with an error."),
    (
        "personal cookie",
        "The request or the answer had a cookie of one visitor (personal_cookies), such as that of somebody who is logged in.",
    ),
    ("personal cookie, page not cut", "The visitor is known, and the page has no parts of their own (ESI)."),
    ("personal request", "The request that was sent carried a cookie of one visitor."),
    ("piece", "What is stored under the key is a piece of an answer (slice)."),
    ("private", "The application sent Cache-Control: private."),
    ("purged", "A purge had taken the page out."),
    ("request error", "The origin refused the request itself: that says nothing of the page."),
    ("server error", "The application answered with an error, and a page that may stand in is stored."),
    ("set-cookie", "The application sent Set-Cookie: what it sets, each visitor must get for themselves."),
    ("status", "The status is none that is stored."),
    ("surrogate-control", "Surrogate-Control or X-LiteSpeed-Cache-Control said so."),
    ("upgrade", "The request wanted another protocol on its connection."),
    ("use_stale", "The answer was an error for which *_cache_use_stale serves the stored page."),
    ("vary", "The answer varies by everything (Vary: *), or by more than can be kept."),
    ("x-accel-expires", "The application sent X-Accel-Expires of 0 or in the past."),
];

/// Returns the sentence of a word.
pub fn sentence(word: &str) -> Option<&'static str> {
    let at = REASONS.binary_search_by(|(known, _)| (*known).cmp(word)).ok()?;
    Some(REASONS[at].1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_is_found() {
        assert!(REASONS.is_sorted_by(|one, other| one.0 < other.0));
        assert!(REASONS.iter().all(|(word, text)| sentence(word) == Some(text)));
        assert_eq!(sentence("other"), None);
    }
}
