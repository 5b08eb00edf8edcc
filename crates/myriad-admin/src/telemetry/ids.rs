//! Generation of trace and span identifiers: a keyed hash of a counter. Each thread has its own random keys, so that
//! identifiers are unpredictable and do not collide between threads.

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};

use myriad_exchange::trace_context::{SpanId, TraceId};

thread_local! {
    static KEYS: (RandomState, RandomState) = (RandomState::new(), RandomState::new());
    static COUNTER: Cell<u64> = const { Cell::new(0) };
}

/// Returns the identifier of a new trace.
pub(crate) fn trace() -> TraceId {
    let (high, low) = next();
    TraceId::of(high, low)
}

/// Returns the identifier of a new span.
pub(crate) fn span() -> SpanId {
    SpanId::of(next().0)
}

fn next() -> (u64, u64) {
    let count = COUNTER.get().wrapping_add(1);
    COUNTER.set(count);
    KEYS.with(|(first, second)| (first.hash_one(count), second.hash_one(count)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_are_alike() {
        let threads: Vec<_> = (0..4)
            .map(|_| std::thread::spawn(|| (0..10_000).map(|_| *span().bytes()).collect::<Vec<_>>()))
            .collect();
        let mut all: Vec<_> = threads
            .into_iter()
            .flat_map(|thread| thread.join().expect("the thread does not panic"))
            .collect();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), 40_000);
        assert_ne!(trace(), trace());
    }
}
