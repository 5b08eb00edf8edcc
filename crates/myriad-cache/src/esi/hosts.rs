//! Hosts whose application marks pages for known visitors.
//!
//! For other hosts, a shared fetch is useless to a known visitor: the origin would get two requests instead of one. It
//! is therefore tried only once a minute for each host.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use myriad_base::bounded::Lru;
use parking_lot::Mutex;

/// Time in milliseconds for which a host counts as sending pages with ESI markup for known visitors, after it has sent
/// such a page.
const CUTS_MS: u64 = 3_600_000;
/// Minimum time in milliseconds between two shared fetches tried for known visitors on a host that sends no pages with
/// ESI markup for known visitors.
const PAUSE_MS: u64 = 60_000;
/// Maximum number of hosts whose state is stored.
const HOSTS: u64 = 4_096;

/// State of a host, with the time until which it applies, in milliseconds since the epoch.
#[derive(Clone, Copy)]
enum HostState {
    /// The host has sent a page with ESI markup for known visitors; this counts until the time.
    Cuts(u64),
    /// A shared fetch was tried for a known visitor of the host; before the time, none is tried again.
    Tried(u64),
}

impl HostState {
    fn is_current(self, now: u64) -> bool {
        let (Self::Cuts(until) | Self::Tried(until)) = self;
        now < until
    }

    fn allows_fetch(self) -> bool {
        matches!(self, Self::Cuts(_))
    }
}

/// States of hosts, by a hash of the host with a random seed.
static HOST_STATES: LazyLock<(RandomState, Mutex<Lru<u64, HostState>>)> =
    LazyLock::new(|| (RandomState::new(), Mutex::new(Lru::new(HOSTS))));

/// Records that a host has sent a page with ESI markup for known visitors. `now` is in milliseconds since the epoch.
pub(super) fn record_cutting(host: &[u8], now: u64) {
    HOST_STATES.1.lock().insert(HOST_STATES.0.hash_one(host), HostState::Cuts(now + CUTS_MS), 1);
}

/// Returns whether a known visitor's request may cause a shared fetch (for all clients). True if the host has sent ESI
/// markup for known visitors within [`CUTS_MS`]. Otherwise true if no fetch was tried within [`PAUSE_MS`]; this then
/// counts as an attempt.
pub(super) fn may_fetch(host: &[u8], now: u64) -> bool {
    let host = HOST_STATES.0.hash_one(host);
    let mut seen = HOST_STATES.1.lock();
    match seen.get(&host).copied() {
        Some(known) if known.is_current(now) => known.allows_fetch(),
        _ => {
            seen.insert(host, HostState::Tried(now + PAUSE_MS), 1);
            true
        }
    }
}

/// Returns what [`may_fetch`] would return, without counting an attempt.
pub(super) fn would_fetch(host: &[u8], now: u64) -> bool {
    let seen = HOST_STATES.1.lock().get(&HOST_STATES.0.hash_one(host)).copied();
    seen.is_none_or(|known| !known.is_current(now) || known.allows_fetch())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_that_has_no_such_page_is_tried_once_a_minute() {
        let host = b"never.test";
        assert!(may_fetch(host, 0) && !may_fetch(host, PAUSE_MS - 1) && may_fetch(host, PAUSE_MS));
    }

    #[test]
    fn explanation_is_no_attempt() {
        let host = b"explained.test";
        assert!(would_fetch(host, 0) && would_fetch(host, 0) && may_fetch(host, 0));
        assert!(!would_fetch(host, PAUSE_MS - 1) && would_fetch(host, PAUSE_MS));
        record_cutting(host, PAUSE_MS);
        assert!(would_fetch(host, PAUSE_MS + 1));
    }

    #[test]
    fn host_that_has_one_is_asked_as_often_as_it_takes() {
        let host = b"often.test";
        may_fetch(host, 0);
        record_cutting(host, 1);
        assert!(may_fetch(host, 2) && may_fetch(host, CUTS_MS) && may_fetch(host, CUTS_MS + 1));
        assert!(!may_fetch(host, CUTS_MS + 2));
    }
}
