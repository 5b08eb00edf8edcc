//! Bounded queue of encoded spans between request threads and the exporter thread.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Maximum total size of spans that wait to be sent, without the batch being sent, in bytes. It bounds the memory
/// independently of the number of spans, because clients influence their size.
const MOST_BYTES: usize = 16 << 20;
/// Maximum size of a batch of several spans, in bytes; a larger span is sent alone: gRPC receivers accept messages of 4
/// MB by default, and reject longer messages completely.
const MOST_OF_BATCH: usize = 2 << 20;

/// Bounded queue of encoded spans that wait to be sent to the collector.
pub(super) struct SpanQueue {
    state: Mutex<State>,
    /// Signalled when the first span is queued, a full batch becomes available, or the queue is closed.
    wake: Condvar,
    batch: usize,
    max_spans: usize,
    interval: Duration,
}

#[derive(Default)]
struct State {
    spans: Vec<Vec<u8>>,
    /// Total size of `spans` in bytes.
    bytes: usize,
    /// Start of the current interval: time at which the first span was added to an empty queue, or a batch was taken
    /// and spans remained. `None` while the queue is empty.
    since: Option<Instant>,
    /// Number of spans in the batch being sent.
    in_flight: usize,
    /// Number of spans dropped since this number was last read.
    dropped: u64,
    closed: bool,
}

impl SpanQueue {
    /// Creates a queue for `batch` times `count` spans, including those of the batch being sent. A batch that is not
    /// full is sent after `interval`.
    pub(super) fn new(batch: usize, count: usize, interval: Duration) -> Self {
        Self {
            state: Mutex::default(),
            wake: Condvar::new(),
            batch,
            max_spans: batch.saturating_mul(count),
            interval,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds spans up to the limits of the queue; drops and counts the rest.
    pub(super) fn push(&self, spans: impl IntoIterator<Item = Vec<u8>>) {
        let mut state = self.state();
        let was_due = self.is_batch_ready(&state);
        for span in spans {
            if state.spans.len() + state.in_flight >= self.max_spans || state.bytes + span.len() > MOST_BYTES
            {
                state.dropped += 1;
                continue;
            }
            state.bytes += span.len();
            state.spans.push(span);
        }
        let first = state.since.is_none() && !state.spans.is_empty();
        if first {
            state.since = Some(Instant::now());
        }
        // The thread sleeps until the interval is over, so it is woken when the interval starts, and once when a batch
        // is available. While its collector is unavailable, further spans do not wake it.
        if first || !was_due && self.is_batch_ready(&state) {
            self.wake.notify_one();
        }
    }

    /// Returns whether a full batch is waiting: enough spans or enough bytes.
    fn is_batch_ready(&self, state: &State) -> bool {
        state.spans.len() >= self.batch || state.bytes >= MOST_OF_BATCH
    }

    /// Blocks until a batch is due: it is full, the interval has elapsed, or the queue is closed. Returns its spans,
    /// which count against the size of the queue until [`Self::batch_done`]; `None` once the queue is closed and empty.
    pub(super) fn next(&self) -> Option<Vec<Vec<u8>>> {
        let mut state = self.state();
        loop {
            let over = state.since.map(|since| since + self.interval);
            let now = Instant::now();
            if self.is_batch_ready(&state) || state.closed || over.is_some_and(|over| over <= now) {
                return self.take_batch(&mut state);
            }
            state = match over {
                None => self.wake.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(over) => {
                    self.wake.wait_timeout(state, over - now).unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
    }

    fn take_batch(&self, state: &mut State) -> Option<Vec<Vec<u8>>> {
        let mut bytes = 0;
        let fits = |span: &&Vec<u8>| {
            bytes += span.len();
            bytes <= MOST_OF_BATCH
        };
        // A span that exceeds the size of a batch is sent alone.
        let count = state.spans.iter().take(self.batch).take_while(fits).count();
        let count = count.max(usize::from(!state.spans.is_empty()));
        let batch: Vec<_> = state.spans.drain(..count).collect();
        state.bytes -= batch.iter().map(Vec::len).sum::<usize>();
        state.in_flight = count;
        state.since = (!state.spans.is_empty()).then(Instant::now);
        (count > 0).then_some(batch)
    }

    /// Marks the current batch as sent or dropped: its spans no longer count against the size of the queue.
    pub(super) fn batch_done(&self) {
        self.state().in_flight = 0;
    }

    /// Returns the number of waiting spans, without those of the batch being sent.
    pub(super) fn waiting_spans(&self) -> usize {
        self.state().spans.len()
    }

    /// Returns the number of spans dropped since the previous call.
    pub(super) fn take_dropped(&self) -> u64 {
        std::mem::take(&mut self.state().dropped)
    }

    /// Closes the queue: [`Self::next`] returns the remaining spans without waiting, then `None`.
    pub(super) fn close(&self) {
        self.state().closed = true;
        self.wake.notify_one();
    }

    /// Waits for `time`, or until the queue is closed. Returns true if it is closed.
    pub(super) fn sleep_unless_closed(&self, time: Duration) -> bool {
        let end = Instant::now() + time;
        let mut state = self.state();
        while !state.closed {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return false;
            }
            state = self.wake.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_more_spans_wait_than_there_is_room_for_and_the_rest_is_counted() {
        let queue = SpanQueue::new(2, 2, Duration::from_hours(1));
        queue.push((0..6).map(|number| vec![number]));
        assert_eq!(queue.take_dropped(), 2);
        assert_eq!(queue.next(), Some(vec![vec![0], vec![1]]));
        queue.push([vec![7]]);
        assert_eq!(queue.take_dropped(), 1, "a batch that is being sent occupies a slot");
        queue.batch_done();
        queue.push([vec![8]]);
        assert_eq!((queue.next(), queue.take_dropped()), (Some(vec![vec![2], vec![3]]), 0));
        queue.close();
        assert_eq!((queue.next(), queue.next()), (Some(vec![vec![8]]), None));
    }

    #[test]
    fn spans_of_an_interval_are_a_batch() {
        let queue = SpanQueue::new(100, 2, Duration::from_millis(1));
        queue.push([vec![1]]);
        assert_eq!(queue.next(), Some(vec![vec![1]]));
    }

    #[test]
    fn a_batch_is_no_longer_than_a_collector_takes() {
        let queue = SpanQueue::new(1000, 1000, Duration::from_hours(1));
        queue.push((0..5).map(|_| vec![0; 1 << 20]));
        let lengths = std::iter::from_fn(|| {
            queue.close();
            queue.next()
        })
        .map(|batch| batch.len());
        assert_eq!(lengths.collect::<Vec<_>>(), [2, 2, 1]);
        let queue = SpanQueue::new(1000, 1000, Duration::from_hours(1));
        queue.push([vec![0; MOST_OF_BATCH + 1]]);
        assert_eq!(
            queue.next().map(|batch| batch.len()),
            Some(1),
            "a batch beyond the maximum size is sent without delay"
        );
    }

    #[test]
    fn bytes_are_bounded_too() {
        let queue = SpanQueue::new(1000, 1000, Duration::from_hours(1));
        queue.push((0..20).map(|_| vec![0; 1 << 20]));
        assert_eq!(queue.take_dropped(), 4);
    }
}
