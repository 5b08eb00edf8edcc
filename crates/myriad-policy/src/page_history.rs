//! Adaptive validity (`*_cache_adaptive`): the longer the content of a page has been equal, the longer it is valid.

use crate::page_comparison::Noise;
use crate::{Lifetime, ValiditySource};

/// Time after a purge in which a fetched page is valid for [`AFTER_PURGE_VALID_MS`] only, in ms: a replica of the
/// database may not have the change yet.
pub const AFTER_PURGE_MS: u64 = 10_000;
/// Maximum validity of a page that is fetched directly after a purge, in ms.
const AFTER_PURGE_VALID_MS: u64 = 10_000;
/// Time for which the content of a page must have been equal for a validity of more than an hour, in ms.
const STABLE_MS: u64 = 24 * HOUR_MS;
const HOUR_MS: u64 = 3_600_000;

/// Result of earlier renderings of a page, stored with it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageHistory {
    /// Time since which the content is known to be equal, in ms since the epoch. All renderings since then were equal,
    /// apart from noise.
    pub equal_since: u64,
    /// Places that differ at each rendering.
    pub noise: Noise,
    /// True if two successive renderings were compared to find the noise.
    pub is_noise_known: bool,
}

impl PageHistory {
    /// Returns the history of a page that was rendered for the first time at `now`, or has changed.
    pub fn new(now: u64) -> Self {
        Self { equal_since: now, ..Self::default() }
    }

    /// Limits a lifetime from the origin's response to half the time for which the content is known to be equal, at most
    /// an hour if the content has changed within the last day, but at least to `min_ms`. A page that is fetched directly
    /// after a purge is valid for at most 10 s. Shorter lifetimes, and those that the configuration or a heuristic sets,
    /// are returned unchanged.
    pub fn limit(&self, lifetime: Lifetime, min_ms: u64, now: u64, is_after_purge: bool) -> Lifetime {
        let longest = if is_after_purge {
            AFTER_PURGE_VALID_MS
        } else {
            let equal_ms = now.saturating_sub(self.equal_since);
            let most = if equal_ms < STABLE_MS { HOUR_MS } else { u64::MAX };
            (equal_ms / 2).min(most).max(min_ms)
        };
        let fresh_until = now.saturating_add(longest);
        if !lifetime.source.is_from_response() || lifetime.fresh_until <= fresh_until {
            return lifetime;
        }
        Lifetime { valid_ms: longest, source: ValiditySource::Adaptive, ..lifetime.expired_by(fresh_until) }
    }

    /// Returns the history with its time moved by `ms`, for another clock.
    #[must_use]
    pub fn shifted(self, ms: i64) -> Self {
        Self { equal_since: self.equal_since.saturating_add_signed(ms), ..self }
    }

    /// Returns the form in which a history is stored: the time (little-endian), a flag, and the places with noise.
    pub fn encode(&self) -> Vec<u8> {
        let mut out = self.equal_since.to_le_bytes().to_vec();
        out.push(u8::from(self.is_noise_known));
        self.noise.encode(&mut out);
        out
    }

    /// Parses the form that [`PageHistory::encode`] returns; `None` for other bytes.
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (time, rest) = bytes.split_first_chunk()?;
        let (flag, places) = rest.split_first()?;
        Some(Self {
            equal_since: u64::from_le_bytes(*time),
            noise: Noise::decode(places)?,
            is_noise_known: *flag == 1,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_000_000_000;
    const MINUTE: u64 = 60_000;
    const DAY: u64 = 1440 * MINUTE;

    fn lifetime(valid_ms: u64, source: ValiditySource) -> Lifetime {
        Lifetime {
            fresh_until: NOW + valid_ms,
            stale_updating_until: NOW + valid_ms,
            stale_error_until: NOW + valid_ms,
            must_revalidate: false,
            valid_ms,
            source,
            born: None,
        }
    }

    fn valid(history: &PageHistory, lifetime: Lifetime, is_after_purge: bool) -> u64 {
        let limited = history.limit(lifetime, MINUTE, NOW, is_after_purge);
        assert_eq!(limited.fresh_until, NOW + limited.valid_ms);
        limited.valid_ms
    }

    #[test]
    fn validity_is_half_the_time_of_equal_content_within_its_bounds() {
        let day = lifetime(DAY, ValiditySource::XAccelExpires);
        let since = |ms| PageHistory::new(NOW - ms);
        assert_eq!(valid(&since(0), day, false), MINUTE);
        assert_eq!(valid(&since(10 * MINUTE), day, false), 5 * MINUTE);
        assert_eq!(valid(&since(900_000_000), day, false), DAY, "the origin's validity is the maximum");
        assert_eq!(valid(&since(20 * 60 * MINUTE), day, false), 60 * MINUTE, "changed within the last day");
        assert_eq!(valid(&since(DAY), day, false), DAY / 2);
        assert_eq!(valid(&since(10 * MINUTE), day, true), 10_000);
        let short = lifetime(30_000, ValiditySource::XAccelExpires);
        assert_eq!(since(0).limit(short, MINUTE, NOW, false), short);
        let configured = lifetime(DAY, ValiditySource::CacheValid);
        assert_eq!(since(0).limit(configured, MINUTE, NOW, true), configured);
    }

    #[test]
    fn history_round_trips() {
        let noise = Noise::between(b"a b c d e f g 1 h", b"a b c d e f g 2 h").unwrap();
        let history = PageHistory { equal_since: NOW, noise, is_noise_known: true };
        assert_eq!(PageHistory::decode(&history.encode()), Some(history.clone()));
        assert_eq!(PageHistory::decode(&history.encode()[..12]), None);
        assert_eq!(history.shifted(-5).equal_since, NOW - 5);
    }
}
