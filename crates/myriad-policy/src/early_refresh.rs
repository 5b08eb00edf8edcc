//! Decides whether a page is refreshed before it expires, so that frequently requested pages do not become stale.

use crate::{CachePolicy, Lifetime, ValiditySource};

/// Minimum validity of a page for a refresh before it expires, in ms. Pages with a shorter validity are refreshed when
/// they expire, which causes less work for the origin.
const SHORTEST_MS: u64 = 10_000;

/// Minimum number of hits, since the page was stored, for a refresh before it expires; 1 for an adaptive validity.
const HOT: u32 = 32;

/// Returns whether a fresh page with `hits` hits is refreshed now, before it expires. Requires
/// `*_cache_background_update`, a validity of at least 10 s, at least 32 hits, and that less than a tenth of the
/// validity remains. For a page with an adaptive validity, which is not served stale during a refresh, one hit and less
/// than a quarter suffice. `now` is in ms since the epoch.
pub fn refreshes_early(lifetime: &Lifetime, hits: u32, rules: &CachePolicy, now: u64) -> bool {
    let left = lifetime.fresh_until.saturating_sub(now);
    let (min_hits, part) = if lifetime.source == ValiditySource::Adaptive { (1, 4) } else { (HOT, 10) };
    rules.background_update
        && hits >= min_hits
        && lifetime.valid_ms >= SHORTEST_MS
        && (1..lifetime.valid_ms / part).contains(&left)
}

#[cfg(test)]
mod tests {
    use super::*;
    const UNTIL: u64 = 1_000_000;

    fn lifetime(valid_ms: u64) -> Lifetime {
        Lifetime {
            fresh_until: UNTIL,
            stale_updating_until: UNTIL,
            stale_error_until: UNTIL,
            must_revalidate: false,
            valid_ms,
            source: ValiditySource::CacheValid,
            born: None,
        }
    }

    #[test]
    fn only_hot_pages_in_the_last_tenth_of_a_long_validity_are_refreshed_early() {
        let rules = CachePolicy { background_update: true, ..CachePolicy::default() };
        let early = |valid_ms, hits, now| refreshes_early(&lifetime(valid_ms), hits, &rules, now);
        assert!(early(60_000, HOT, UNTIL - 5_999) && early(60_000, HOT, UNTIL - 1));
        assert!(!early(60_000, HOT, UNTIL - 6_000), "not yet");
        assert!(
            !early(60_000, HOT, UNTIL) && !early(60_000, HOT, UNTIL + 1),
            "that is a refresh of a stale page"
        );
        assert!(!early(60_000, HOT - 1, UNTIL - 1), "not hot");
        assert!(early(10_000, HOT, UNTIL - 999) && !early(9_999, HOT, UNTIL - 1), "too short");
        let adaptive = Lifetime { source: ValiditySource::Adaptive, ..lifetime(60_000) };
        let early = |hits, now| refreshes_early(&adaptive, hits, &rules, now);
        assert!(early(1, UNTIL - 14_999) && !early(1, UNTIL - 15_000) && !early(0, UNTIL - 1));
        let off = CachePolicy { background_update: false, ..rules };
        assert!(!refreshes_early(&lifetime(60_000), HOT, &off, UNTIL - 1));
    }
}
