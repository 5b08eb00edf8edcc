//! Number of concurrent requests for which php-fpm has children, computed from its status page.
//!
//! ```text
//! bound = children - children that process requests of other clients - connections in the backlog, at least 1
//! ```
//!
//! The child that writes the status is not counted as active. The number of requests of other clients is the number of
//! active children minus the number of slots that are taken here. A slot whose request waits in the backlog of the pool
//! therefore counts as a request of this server, and is subtracted again with the backlog.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use myriad_upstream::fastcgi_protocol::PoolStatus;
use myriad_upstream::fastcgi_protocol::pool_status::Manager;

/// Assumed minimum number of children of a php-fpm pool with `pm = ondemand`.
const ON_DEMAND: u32 = 4;

/// Bound of concurrent requests from the last status page of php-fpm, with its expiry.
#[derive(Debug, Default)]
pub(super) struct PoolChildren {
    seen: Option<(u32, Instant)>,
    /// Number of watches of the pool created so far, by which the latest one is recognized: only the latest may set the
    /// bound.
    pub watches: u64,
}

impl PoolChildren {
    /// Returns the bound of concurrent requests; `None` if it is not known or has expired.
    pub(super) fn bound(&self) -> Option<u32> {
        let (bound, until) = self.seen?;
        (Instant::now() < until).then_some(bound)
    }

    /// Sets the bound for the duration `valid`. `None` removes it: only `concurrency=` applies.
    pub(super) fn set(&mut self, bound: Option<u32>, valid: Duration) {
        self.seen = bound.map(|bound| (bound, Instant::now() + valid));
    }
}

/// State of php-fpm pools between status requests, by address of the pool.
#[derive(Debug, Default)]
pub(super) struct WatchedPools(HashMap<String, PoolState>);

#[derive(Debug)]
struct PoolState {
    /// Value of the counter "max children reached" in the pool's last status.
    reached: u64,
    /// Maximum number of children of the pool: their number when the counter last increased. `None` if it is not known,
    /// or was exceeded since.
    ceiling: Option<u32>,
}

impl WatchedPools {
    /// Returns the number of concurrent requests from this server for which these pools (address and status) together
    /// have children: all children, less those of other clients and the connections in the backlog, at least 1. Returns
    /// `None` if `pools` is empty. `ours` is the number of children that requests and idle connections of this server
    /// may occupy.
    pub(super) fn bound(&mut self, pools: &[(String, PoolStatus)], ours: u32) -> Option<u32> {
        self.0.retain(|address, _| pools.iter().any(|(known, _)| known == address));
        let (mut room, mut active, mut queued) = (0_u32, 0_u32, 0_u32);
        for (address, status) in pools {
            room = room.saturating_add(self.available_children(address, status));
            active = active.saturating_add(status.active.saturating_sub(1));
            queued = queued.saturating_add(status.listen_queue);
        }
        let others = active.saturating_sub(ours);
        (!pools.is_empty()).then(|| room.saturating_sub(others).saturating_sub(queued).max(1))
    }

    /// Returns the number of children that a pool has, or (with `pm = ondemand`) is expected to create when they are
    /// needed.
    fn available_children(&mut self, address: &str, status: &PoolStatus) -> u32 {
        let reached = status.max_children_reached;
        let pool = self.0.entry(address.to_owned()).or_insert(PoolState { reached, ceiling: None });
        if reached != pool.reached {
            *pool = PoolState { reached, ceiling: Some(status.total) };
        }
        pool.ceiling = pool.ceiling.filter(|ceiling| status.total <= *ceiling);
        match status.manager {
            // A dynamic pool creates children when few are idle, and reports the new number at the next status request.
            Manager::Static | Manager::Dynamic => status.total,
            Manager::OnDemand => pool.ceiling.unwrap_or(status.total.saturating_mul(2).max(ON_DEMAND)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(manager: Manager, active: u32, total: u32, listen_queue: u32) -> PoolStatus {
        PoolStatus { manager, listen_queue, idle: total - active, active, total, max_children_reached: 0 }
    }

    fn bound(status: PoolStatus, ours: u32) -> Option<u32> {
        WatchedPools::default().bound(&[("a".to_owned(), status)], ours)
    }

    #[test]
    fn children_that_work_for_others_are_not_counted_upon() {
        let of = |active, queued, ours| bound(status(Manager::Static, active, 8, queued), ours);
        assert_eq!(of(1, 0, 0), Some(8), "the child that wrote the status is free");
        assert_eq!(of(4, 0, 3), Some(8), "all active children process requests of this server");
        assert_eq!(of(4, 0, 0), Some(5), "three children process requests of other clients");
        assert_eq!(of(8, 0, 2), Some(3));
        assert_eq!(of(8, 0, 20), Some(8), "slots whose clients still read occupy no child");
    }

    #[test]
    fn backlog_lowers_the_bound_and_never_below_one() {
        let of = |active, queued, ours| bound(status(Manager::Dynamic, active, 8, queued), ours);
        // Seven of eight children process requests of this server, and three more of its requests wait in the backlog:
        // only the backlog is subtracted.
        assert_eq!(of(8, 3, 10), Some(5));
        assert_eq!(
            of(8, 2, 3),
            Some(2),
            "four children process requests of other clients, two connections wait"
        );
        assert_eq!(of(8, 400, 0), Some(1));
        assert_eq!(of(8, u32::MAX, 0), Some(1));
    }

    #[test]
    fn on_demand_pool_bound_grows_until_max_children_is_reached() {
        let mut pools = WatchedPools::default();
        let mut of = |total, reached| {
            let status =
                PoolStatus { max_children_reached: reached, ..status(Manager::OnDemand, 1, total, 0) };
            pools.bound(&[("a".to_owned(), status)], 0)
        };
        assert_eq!(of(1, 7), Some(4), "earlier exhaustion is not counted");
        assert_eq!(of(4, 7), Some(8));
        assert_eq!(of(6, 8), Some(6), "the pool needed more than six children");
        assert_eq!(of(2, 8), Some(6), "the pool can start six children again");
        assert_eq!(of(7, 8), Some(14), "its configuration has changed");
    }

    #[test]
    fn pools_of_several_servers_are_one_and_none_is_nothing() {
        let pools = ["a", "b"].map(|name| (name.to_owned(), status(Manager::Static, 2, 4, 0)));
        assert_eq!(WatchedPools::default().bound(&pools, 1), Some(7));
        assert_eq!(WatchedPools::default().bound(&[], 1), None);
    }

    #[test]
    fn expired_bound_has_no_effect() {
        let mut children = PoolChildren::default();
        assert_eq!(children.bound(), None);
        children.set(Some(3), Duration::from_hours(1));
        assert_eq!(children.bound(), Some(3));
        children.set(Some(3), Duration::ZERO);
        assert_eq!(children.bound(), None);
        children.set(None, Duration::from_hours(1));
        assert_eq!(children.bound(), None);
    }
}
