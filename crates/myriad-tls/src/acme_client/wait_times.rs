//! Times for which a certificate waits for the other nodes of a cluster, one per reason.

/// Reason for which a node does not order a certificate now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WaitReason {
    /// Another node orders the certificate.
    OtherNode,
    /// Another order validates a name of the certificate. A name has one challenge of the type `tls-alpn-01` at a time.
    OtherOrder,
    /// The last order has failed, of this node or of another one, and the pause after it has not passed.
    Failure,
    /// The other nodes cannot be reached.
    Unreachable,
}

/// Time in seconds after which a node without a usable certificate orders it for itself, if it cannot reach the other nodes.
const ALONE_AFTER_S: u64 = 60;
/// Time in seconds for which a node waits before it takes over the right of another one to order a certificate. It is
/// longer than any order ([`LONGEST_ORDER`](crate::acme_client::LONGEST_ORDER), and the download of the certificate).
pub(crate) const TAKE_OVER_AFTER_S: u64 = 20 * 60;

impl WaitReason {
    /// Returns the text of the reason for log messages about the certificate.
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::OtherNode => "another node of the cluster orders it",
            Self::OtherOrder => "another order validates one of its names",
            Self::Failure => "the last order of a node of the cluster has failed",
            Self::Unreachable => "the other nodes of the cluster cannot be reached",
        }
    }
}

/// Times since which the order of a certificate waits, in seconds since the Unix epoch. Each reason has a separate
/// time, so that a short loss of the connection after a long wait for another node does not count as a long loss.
#[derive(Default)]
pub(crate) struct WaitTimes {
    other_node_since_s: Option<u64>,
    other_order_since_s: Option<u64>,
    unreachable_since_s: Option<u64>,
    is_paused: bool,
    /// True if the other nodes were reached at least once.
    has_reached: bool,
}

/// State of the wait of an order for a reason, returned by [`WaitTimes::begin`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    /// True if the order did not wait for this reason before.
    pub is_first: bool,
    /// True if the other nodes could not be reached for so long that a node without a usable certificate orders it for
    /// itself. Waits for other reasons have no such limit.
    pub is_over: bool,
}

impl WaitTimes {
    /// Records that the order waits for `reason` at `now_s` (seconds since the Unix epoch). Each reason except
    /// `Unreachable` resets the time of `Unreachable`; `Failure` resets all times.
    pub(crate) fn begin(&mut self, reason: WaitReason, now_s: u64) -> Wait {
        let was_paused = self.is_paused;
        if reason != WaitReason::Unreachable {
            self.unreachable_since_s = None;
            self.is_paused = reason == WaitReason::Failure;
            self.has_reached |= reason != WaitReason::OtherOrder;
        }
        let since_s = match reason {
            WaitReason::OtherNode => &mut self.other_node_since_s,
            WaitReason::OtherOrder => &mut self.other_order_since_s,
            WaitReason::Failure => {
                (self.other_node_since_s, self.other_order_since_s) = (None, None);
                return Wait { is_first: !was_paused, is_over: false };
            }
            WaitReason::Unreachable => &mut self.unreachable_since_s,
        };
        let is_first = since_s.is_none();
        let elapsed_s = now_s.saturating_sub(*since_s.get_or_insert(now_s));
        let is_over = reason == WaitReason::Unreachable && elapsed_s >= ALONE_AFTER_S;
        Wait { is_first, is_over }
    }

    /// Returns true if the order has waited for another node, or for another order, for at least [`TAKE_OVER_AFTER_S`].
    pub(crate) fn takes_over(&self, now_s: u64) -> bool {
        let is_long = |since_s: Option<u64>| {
            since_s.is_some_and(|since_s| now_s.saturating_sub(since_s) >= TAKE_OVER_AFTER_S)
        };
        is_long(self.other_node_since_s) || is_long(self.other_order_since_s)
    }

    /// Resets all times, because the right to order was granted, so that the other nodes were reached.
    pub(crate) fn clear(&mut self) {
        *self = Self { has_reached: true, ..Self::default() };
    }

    /// Returns true if the other nodes were reached at least once.
    pub(crate) fn has_reached(&self) -> bool {
        self.has_reached
    }

    /// Returns true if the order waits because an earlier order has failed.
    pub(crate) fn is_paused(&self) -> bool {
        self.is_paused
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_loss_of_the_connection_is_not_a_long_one_after_a_wait_for_another_node() {
        let mut times = WaitTimes::default();
        assert_eq!(times.begin(WaitReason::OtherNode, 0), Wait { is_first: true, is_over: false });
        assert_eq!(times.begin(WaitReason::OtherNode, 600), Wait { is_first: false, is_over: false });
        assert_eq!(times.begin(WaitReason::Unreachable, 602), Wait { is_first: true, is_over: false });
        assert_eq!(times.begin(WaitReason::Unreachable, 661), Wait { is_first: false, is_over: false });
        assert!(!times.begin(WaitReason::OtherNode, 662).is_over);
        assert!(!times.begin(WaitReason::Unreachable, 664).is_over, "the connection existed meanwhile");
        assert!(times.begin(WaitReason::Unreachable, 664 + ALONE_AFTER_S).is_over);
    }

    #[test]
    fn wait_for_another_node_continues_during_a_loss_of_the_connection() {
        let mut times = WaitTimes::default();
        times.begin(WaitReason::OtherNode, 0);
        times.begin(WaitReason::Unreachable, 10);
        times.begin(WaitReason::OtherNode, TAKE_OVER_AFTER_S - 1);
        assert!(!times.takes_over(TAKE_OVER_AFTER_S - 1) && times.takes_over(TAKE_OVER_AFTER_S));
    }

    #[test]
    fn pause_after_failures_has_no_limit_and_resets_the_other_times() {
        let mut times = WaitTimes::default();
        times.begin(WaitReason::OtherNode, 0);
        assert!(times.begin(WaitReason::Failure, 10).is_first && times.is_paused());
        for now_s in [43_200, 432_000] {
            assert_eq!(times.begin(WaitReason::Failure, now_s), Wait { is_first: false, is_over: false });
            assert!(!times.takes_over(now_s));
        }
        times.begin(WaitReason::OtherNode, 432_000);
        assert!(!times.takes_over(432_001));
    }
}
