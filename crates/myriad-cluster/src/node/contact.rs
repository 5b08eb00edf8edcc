//! Time up to which a node has received and applied every purge of every member, and the rule for stored pages that
//! follows from it.

use super::{ClockMs, PartitionPolicy, Readiness};

/// Interval of updates of [`Readiness::StaleBefore`], in milliseconds.
const UPDATE_MS: u64 = 1000;

/// Freshness of a node.
#[derive(Debug)]
pub(super) struct ContactState {
    policy: PartitionPolicy,
    detection_ms: u64,
    started_at: ClockMs,
    /// Until this time, or the first complete check, pages that were stored before the start are not served.
    joining_until: Option<ClockMs>,
    fresh_at: Option<ClockMs>,
    /// Time up to which every purge of every member is durable here; `None` if unknown.
    durable_to: Option<ClockMs>,
    readiness: Readiness,
    is_partitioned: bool,
    /// True if `is_partitioned` changed and was not yet reported.
    has_partition_change: bool,
}

impl ContactState {
    pub(super) fn new(
        policy: PartitionPolicy,
        detection_ms: u64,
        fresh_at: Option<ClockMs>,
        now: ClockMs,
    ) -> Self {
        Self {
            policy,
            detection_ms,
            started_at: now,
            joining_until: Some(now + detection_ms),
            fresh_at,
            durable_to: fresh_at,
            readiness: Readiness::StaleBefore(now),
            is_partitioned: false,
            has_partition_change: false,
        }
    }

    /// Returns the partition state once after a change: true if a partition was detected, false if the node has contact
    /// again. Returns `None` if the state has not changed since the last call.
    pub(super) fn take_partition_change(&mut self) -> Option<bool> {
        std::mem::take(&mut self.has_partition_change).then_some(self.is_partitioned)
    }

    /// True if a partition is detected.
    pub(super) fn is_partitioned(&self) -> bool {
        self.is_partitioned
    }

    /// Time up to which every purge of every member is in effect; `None` if unknown.
    pub(super) fn fresh_at(&self) -> Option<ClockMs> {
        self.fresh_at
    }

    /// Time after which a partition is detected unless the node has contact again before.
    pub(super) fn partition_at(&self) -> ClockMs {
        self.fresh_at.map_or(0, |fresh_at| fresh_at + self.detection_ms)
    }

    /// Rule that was returned last.
    pub(super) fn readiness(&self) -> Readiness {
        self.readiness
    }

    /// Time up to which every purge of every member is durable here; `None` if unknown.
    pub(super) fn durable_to(&self) -> Option<ClockMs> {
        self.durable_to
    }

    /// Notes that every purge up to `fresh_at` is in effect.
    pub(super) fn note_fresh(&mut self, fresh_at: ClockMs) {
        self.fresh_at = self.fresh_at.max(Some(fresh_at));
    }

    /// Notes that every purge up to `fresh_at` is in effect and durable.
    pub(super) fn note_durable(&mut self, fresh_at: ClockMs) {
        self.note_fresh(fresh_at);
        self.durable_to = self.durable_to.max(Some(fresh_at));
    }

    /// Records that the node has read all records of the log since its start, and that all purges in them are in effect.
    pub(super) fn note_replayed(&mut self) {
        self.joining_until = None;
    }

    /// Time without confirmation after which pages are limited.
    fn limit_ms(&self) -> u64 {
        match self.policy {
            PartitionPolicy::Serve { bound_ms } => bound_ms.max(self.detection_ms),
            PartitionPolicy::Strict => self.detection_ms,
        }
    }

    /// Time at which a partition is detected unless the node has contact before. A node that starts is given the same time
    /// for its first contact as one that loses it; the rule for stored pages does not depend on this.
    fn detection_due_at(&self) -> ClockMs {
        self.fresh_at.map_or(self.started_at, |fresh_at| fresh_at.max(self.started_at))
            + self.detection_ms
            + 1
    }

    /// Returns the new rule for stored pages, if it changes at `now`.
    pub(super) fn update(&mut self, now: ClockMs) -> Option<Readiness> {
        if self.joining_until.is_some_and(|until| now >= until) {
            self.joining_until = None;
        }
        let limit_ms = self.limit_ms();
        let is_partitioned = now >= self.detection_due_at();
        self.has_partition_change ^= is_partitioned != self.is_partitioned;
        self.is_partitioned = is_partitioned;
        let oldest = now.saturating_sub(limit_ms);
        let next = if self.joining_until.is_some() {
            Readiness::StaleBefore(self.started_at)
        } else if self.fresh_at.is_some_and(|fresh_at| fresh_at >= oldest) {
            Readiness::Serving
        } else {
            match self.policy {
                PartitionPolicy::Serve { .. } => Readiness::StaleBefore(oldest.max(self.started_at)),
                PartitionPolicy::Strict => Readiness::StaleBefore(ClockMs::MAX),
            }
        };
        let is_change = match (self.readiness, next) {
            (old, new) if old == new => false,
            (Readiness::StaleBefore(old), Readiness::StaleBefore(new)) => {
                new >= old.saturating_add(UPDATE_MS)
            }
            _ => true,
        };
        is_change.then(|| {
            self.readiness = next;
            next
        })
    }

    /// Time at which [`ContactState::update`] is due.
    pub(super) fn deadline(&self) -> Option<ClockMs> {
        let rule_due_at = match self.readiness {
            Readiness::Serving => self.fresh_at.map(|fresh_at| fresh_at + self.limit_ms() + 1),
            Readiness::StaleBefore(_) if self.joining_until.is_some() => self.joining_until,
            Readiness::StaleBefore(ClockMs::MAX) => None,
            Readiness::StaleBefore(old) => Some(old + UPDATE_MS + self.limit_ms()),
        };
        let detection_due_at = (!self.is_partitioned).then(|| self.detection_due_at());
        rule_due_at.into_iter().chain(detection_due_at).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVE: PartitionPolicy = PartitionPolicy::Serve { bound_ms: 60_000 };

    #[test]
    fn pages_are_served_until_the_bound_and_then_limited_by_age() {
        let mut contact = ContactState::new(SERVE, 5000, None, 1000);
        assert_eq!(contact.readiness(), Readiness::StaleBefore(1000));
        contact.note_replayed();
        contact.note_fresh(2000);
        assert_eq!(contact.update(2100), Some(Readiness::Serving));
        assert_eq!((contact.take_partition_change(), contact.deadline()), (None, Some(7001)));
        assert_eq!((contact.update(7001), contact.take_partition_change()), (None, Some(true)));
        assert_eq!((contact.update(62_000), contact.deadline()), (None, Some(62_001)));
        assert_eq!(contact.update(62_001), Some(Readiness::StaleBefore(2001)));
        assert_eq!((contact.update(62_500), contact.deadline()), (None, Some(63_001)));
        assert_eq!(contact.update(63_001), Some(Readiness::StaleBefore(3001)));
        contact.note_fresh(63_000);
        assert_eq!(contact.update(63_002), Some(Readiness::Serving));
        assert_eq!((contact.take_partition_change(), contact.take_partition_change()), (Some(false), None));
    }

    #[test]
    fn strict_revalidates_everything_once_a_partition_is_detected() {
        let mut contact = ContactState::new(PartitionPolicy::Strict, 5000, None, 0);
        contact.note_replayed();
        contact.note_fresh(100);
        assert_eq!(contact.update(5100), Some(Readiness::Serving));
        assert_eq!(contact.update(5101), Some(Readiness::StaleBefore(ClockMs::MAX)));
        assert_eq!(contact.deadline(), None);
    }

    #[test]
    fn starting_node_detects_a_partition_only_if_it_has_no_contact_in_time() {
        for stored in [None, Some(2000)] {
            let mut contact = ContactState::new(PartitionPolicy::Strict, 5000, stored, 10_000);
            contact.note_replayed();
            contact.update(10_100);
            assert!(!contact.is_partitioned() && matches!(contact.readiness(), Readiness::StaleBefore(_)));
            assert_eq!(contact.deadline(), Some(15_001));
            contact.update(15_000);
            assert_eq!(contact.take_partition_change(), None);
            contact.update(15_001);
            assert_eq!(contact.take_partition_change(), Some(true));
        }
    }

    #[test]
    fn a_restarted_node_waits_for_its_replay_then_its_policy_decides() {
        let mut contact = ContactState::new(SERVE, 5000, Some(9000), 10_000);
        assert_eq!(contact.update(14_999), None);
        assert_eq!(contact.deadline(), Some(15_000));
        assert_eq!(contact.update(15_000), Some(Readiness::Serving));
        let mut contact = ContactState::new(SERVE, 5000, None, 10_000);
        assert_eq!((contact.update(15_000), contact.readiness()), (None, Readiness::StaleBefore(10_000)));
    }
}
