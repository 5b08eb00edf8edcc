//! Times and progress of the regular work of a node.

use std::collections::VecDeque;

use super::{BatchNumber, ClockMs, NodeTimings};
use crate::record::{EntryId, StartId};

/// Interval of writes of the position file while the position does not change, in milliseconds.
const IDLE_STORE_MS: u64 = 10_000;
/// Time for the last appends when the process stops, in milliseconds.
const SHUTDOWN_MS: u64 = 2000;
/// Minimum interval of new connections because a server refuses writes, in milliseconds.
const RECONNECT_MS: u64 = 1000;

/// Progress of a stop.
///
/// ```text
///   Running ── Shutdown ──> Sending ── purges are in the log, or 2 s ──> Leaving ── record written ──> Storing ──> Stopped
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StopState {
    Running,
    /// Own purges are sent to the log, at most until `until`.
    Sending {
        is_leaving: bool,
        until: ClockMs,
    },
    /// The record that the node has left is being written.
    Leaving {
        until: ClockMs,
    },
    /// The position file is being written.
    Storing {
        until: ClockMs,
    },
    Stopped,
}

/// Record of another process in this node's place.
#[derive(Debug)]
pub(super) struct RivalRecord {
    pub(super) start: StartId,
    pub(super) counter: u64,
    pub(super) changed_at: ClockMs,
}

/// State of regular work.
#[derive(Debug)]
pub(super) struct UpkeepState {
    pub(super) heartbeat_at: ClockMs,
    /// True if the next heartbeat does not read the members.
    pub(super) skips_next_read: bool,
    /// Counters of the newest member record that was sent, and of the newest that Valkey confirmed.
    pub(super) sent_counter: u64,
    pub(super) confirmed_counter: u64,
    pub(super) rival: Option<RivalRecord>,
    pub(super) reconnect_after: ClockMs,
    pub(super) samples: VecDeque<(ClockMs, EntryId)>,
    pub(super) sample_at: ClockMs,
    pub(super) has_change: bool,
    pub(super) store: Option<BatchNumber>,
    pub(super) stored_at: ClockMs,
    pub(super) stop: StopState,
}

impl UpkeepState {
    pub(super) fn new(now: ClockMs) -> Self {
        Self {
            heartbeat_at: now,
            skips_next_read: false,
            sent_counter: 0,
            confirmed_counter: 0,
            rival: None,
            reconnect_after: now,
            samples: VecDeque::new(),
            sample_at: now,
            has_change: false,
            store: None,
            stored_at: now,
            stop: StopState::Running,
        }
    }

    /// Requires a heartbeat now, which reads the members.
    pub(super) fn request_heartbeat(&mut self, now: ClockMs) {
        self.heartbeat_at = now;
        self.skips_next_read = false;
    }

    /// Notes that Valkey has executed the write of a member record.
    pub(super) fn confirm_member(&mut self, counter: u64) {
        self.confirmed_counter = self.confirmed_counter.max(counter);
    }

    /// Returns true if another process, which started later, uses the name of this node.
    pub(super) fn is_name_taken(&self) -> bool {
        self.rival.is_some()
    }

    /// Returns true if the last new connections because of refused writes are long enough ago.
    pub(super) fn may_reconnect(&mut self, now: ClockMs) -> bool {
        let may = now >= self.reconnect_after;
        if may {
            self.reconnect_after = now + RECONNECT_MS;
        }
        may
    }

    /// Notes that the contents of the position file changed.
    pub(super) fn note_change(&mut self) {
        self.has_change = true;
    }

    /// Time at which the position file is written.
    pub(super) fn store_due_at(&self, timings: &NodeTimings) -> Option<ClockMs> {
        let interval = if self.has_change { timings.store_ms } else { IDLE_STORE_MS.max(timings.store_ms) };
        (self.store.is_none() && self.stop == StopState::Running && !self.is_name_taken())
            .then_some(self.stored_at + interval)
    }

    /// Begins to stop.
    pub(super) fn begin_shutdown(&mut self, is_leaving: bool, now: ClockMs) {
        if self.stop == StopState::Running {
            self.stop = StopState::Sending { is_leaving, until: now + SHUTDOWN_MS };
        }
    }

    /// Returns true once the node has stopped.
    pub(super) fn has_stopped(&self) -> bool {
        self.stop == StopState::Stopped
    }

    /// Deadline of the current step of the stop; `None` if the node is not stopping or has stopped.
    pub(super) fn shutdown_due_at(&self) -> Option<ClockMs> {
        match self.stop {
            StopState::Running | StopState::Stopped => None,
            StopState::Sending { until, .. }
            | StopState::Leaving { until }
            | StopState::Storing { until } => Some(until),
        }
    }

    /// Returns true once the node has left or its position is being stored for the last time.
    pub(super) fn is_leaving(&self) -> bool {
        matches!(self.stop, StopState::Leaving { .. } | StopState::Storing { .. })
    }
}
