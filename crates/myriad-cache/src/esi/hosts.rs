//! Hosts whose application cuts pages for known visitors. Where none has been seen to, the fetch of a page for everybody would be of no
//! use to a known visitor, who would then cost the origin two; so it is tried once in a while alone.

use std::hash::{BuildHasher, RandomState};
use std::sync::LazyLock;

use myriad_bounded::Lru;
use parking_lot::Mutex;

/// How long a host counts as one that cuts pages after one of them, milliseconds.
const SPEAKS_MS: u64 = 3_600_000;
/// How long a host is not tried again, milliseconds.
const PAUSE_MS: u64 = 60_000;
/// Most hosts that are remembered.
const HOSTS: u64 = 4_096;

/// Until when a host counts, by a hash with a random seed: as one that cuts, or as one that was tried.
#[derive(Clone, Copy)]
enum Seen {
    Cuts(u64),
    Tried(u64),
}

static SEEN: LazyLock<(RandomState, Mutex<Lru<u64, Seen>>)> =
    LazyLock::new(|| (RandomState::new(), Mutex::new(Lru::new(HOSTS))));

/// Notes that a host has a page for known visitors.
pub(super) fn speaks(host: &[u8], now: u64) {
    SEEN.1.lock().insert(SEEN.0.hash_one(host), Seen::Cuts(now + SPEAKS_MS), 1);
}

/// Whether a known visitor may cause the fetch of a page for everybody.
pub(super) fn may_fetch(host: &[u8], now: u64) -> bool {
    let host = SEEN.0.hash_one(host);
    let mut seen = SEEN.1.lock();
    match seen.get(&host) {
        Some(Seen::Cuts(until)) if now < *until => return true,
        Some(Seen::Tried(until)) if now < *until => return false,
        _ => {}
    }
    seen.insert(host, Seen::Tried(now + PAUSE_MS), 1);
    true
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
    fn host_that_has_one_is_asked_as_often_as_it_takes() {
        let host = b"often.test";
        may_fetch(host, 0);
        speaks(host, 1);
        assert!(may_fetch(host, 2) && may_fetch(host, SPEAKS_MS) && may_fetch(host, SPEAKS_MS + 1));
        assert!(!may_fetch(host, SPEAKS_MS + 2));
    }
}
