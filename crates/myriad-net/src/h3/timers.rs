//! Timers of the connections of a QUIC listener.
//!
//! The timer of a connection changes with every datagram, nearly always to a later time. Only an earlier time is
//! inserted into the heap. When an entry expires, the connection computes its current timer again.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Instant;

/// Heap of timers of all connections of a listener, by connection index.
#[derive(Debug, Default)]
pub(super) struct Timers {
    heap: BinaryHeap<Reverse<(Instant, usize)>>,
    /// Earliest time in the heap for each connection index; `None` if there is none.
    set: Vec<Option<Instant>>,
}

impl Timers {
    /// Schedules the connection at index `place` for processing at `at` or earlier.
    pub(super) fn set(&mut self, place: usize, at: Instant) {
        if self.set.len() <= place {
            self.set.resize(place + 1, None);
        }
        if self.set[place].is_none_or(|known| at < known) {
            self.set[place] = Some(at);
            self.heap.push(Reverse((at, place)));
        }
    }

    /// Returns the index of the next connection whose timer has expired at `now`, and removes its timer; `None` if
    /// there is none.
    pub(super) fn due(&mut self, now: Instant) -> Option<usize> {
        while let Some(Reverse((at, place))) = self.heap.peek().copied() {
            if at > now {
                return None;
            }
            self.heap.pop();
            // Skips an entry that was replaced by an earlier time.
            if self.set[place] == Some(at) {
                self.set[place] = None;
                return Some(place);
            }
        }
        None
    }

    /// Returns the earliest time in the heap, at which [`Self::due`] must be called; `None` if it is empty.
    pub(super) fn next(&self) -> Option<Instant> {
        self.heap.peek().map(|Reverse((at, _))| *at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_place_is_due_once_at_its_earliest_time() {
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        let mut timers = Timers::default();
        timers.set(3, at(30));
        timers.set(1, at(20));
        timers.set(3, at(10));
        timers.set(3, at(40));
        assert_eq!((timers.next(), timers.due(at(9))), (Some(at(10)), None));
        assert_eq!(timers.due(at(10)), Some(3));
        assert_eq!(timers.due(at(10)), None);
        assert_eq!(timers.due(at(50)), Some(1));
        assert_eq!((timers.due(at(50)), timers.next()), (None, None));
    }
}
