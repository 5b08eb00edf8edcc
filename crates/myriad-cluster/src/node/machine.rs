//! The state machine.

use std::collections::VecDeque;

use super::{
    ClockMs, ClusterAction, ClusterEvent, LinkState, NodeCounters, NodeSettings, NodeStart, NodeStatus,
    Readiness,
};

/// One node of a cluster.
#[derive(Debug)]
pub struct ClusterNode {
    settings: NodeSettings,
    actions: VecDeque<ClusterAction>,
    link: LinkState,
    readiness: Readiness,
    counters: NodeCounters,
}

impl ClusterNode {
    /// Creates a node at the start of its process.
    pub fn new(settings: NodeSettings, start: NodeStart, now: ClockMs) -> Self {
        drop(start);
        Self {
            settings,
            actions: VecDeque::new(),
            link: LinkState::Disconnected,
            readiness: Readiness::StaleBefore(now),
            counters: NodeCounters::default(),
        }
    }

    /// Handles an event at the time `now`. Times never decrease.
    pub fn handle(&mut self, event: ClusterEvent, now: ClockMs) {
        let _ = (event, now, &self.settings);
    }

    /// Returns the next action that the caller must execute.
    pub fn next_action(&mut self) -> Option<ClusterAction> {
        self.actions.pop_front()
    }

    /// Returns the time at which [`ClusterEvent::Tick`] is due; `None` if only other events change the state.
    pub fn next_deadline(&self) -> Option<ClockMs> {
        None
    }

    /// Returns the status at the time `now`.
    pub fn status(&self, _now: ClockMs) -> NodeStatus {
        NodeStatus {
            link: self.link,
            read: None,
            applied: None,
            behind_ms: None,
            readiness: self.readiness,
            is_name_taken: false,
            members: Vec::new(),
            pending: Vec::new(),
            pending_count: 0,
            counters: self.counters,
        }
    }
}
