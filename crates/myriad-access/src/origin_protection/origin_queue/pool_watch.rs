//! Watch over the php-fpm pool of an origin, whose status limits the queue.

use std::sync::Arc;
use std::time::Duration;

use myriad_exchange::runtime::Place;
use myriad_upstream::fastcgi_protocol::PoolStatus;

use super::compile::OriginQueue;
use super::pool_children::WatchedPools;
use super::queue::OriginRequestQueue;
use super::settings::StatusRules;

/// Timeout of a request for php-fpm's status page.
const SLOWEST: Duration = Duration::from_secs(5);

/// Location whose `origin_queue` has `status=`, so that its php-fpm pools are watched.
pub struct WatchedLocation<'a> {
    place: &'a OriginQueue,
    rules: &'a StatusRules,
}

impl<'a> WatchedLocation<'a> {
    /// Returns the watched queue of a location; `None` without `origin_queue` with `status=`.
    pub fn of(place: &'a Place) -> Option<Self> {
        let place: &OriginQueue = place.features.get()?;
        let rules = place.rules.status.as_ref()?;
        Some(Self { place, rules })
    }

    /// Returns the name of the queue (`zone=`). All locations with the same name share one queue.
    pub fn zone(&self) -> &'a str {
        &self.place.rules.zone
    }

    /// Begins a watch over the pools of the queue. Returns `None` if this location is watched already. A new watch
    /// replaces older ones of the same queue.
    pub fn begin(&self) -> Option<PoolWatch> {
        if !self.place.begin_watching() {
            return None;
        }
        let queue = Arc::clone(&self.place.queue);
        let number = queue.with_children(|children| {
            children.watches += 1;
            children.watches
        });
        let (zone, rules) = (self.zone().to_owned(), self.rules.clone());
        Some(PoolWatch { queue, number, zone, rules, pools: WatchedPools::default(), is_lost: false })
    }
}

/// Watch that applies the status of php-fpm pools to a queue.
pub struct PoolWatch {
    queue: Arc<OriginRequestQueue>,
    number: u64,
    zone: String,
    rules: StatusRules,
    pools: WatchedPools,
    is_lost: bool,
}

impl PoolWatch {
    /// Returns whether a newer watch of the same queue has replaced this one.
    pub fn is_replaced(&self) -> bool {
        self.queue.with_children(|children| children.watches) != self.number
    }

    /// Returns the path of the status page (`status=`).
    pub fn path(&self) -> &[u8] {
        &self.rules.path
    }

    /// Returns the pause between two status requests.
    pub fn interval(&self) -> Duration {
        Duration::from_millis(self.rules.interval_ms)
    }

    /// Returns the timeout of a status request.
    pub fn timeout(&self) -> Duration {
        SLOWEST
    }

    /// Returns the number of slots that are taken: requests in flight to the origin.
    pub fn active(&self) -> u32 {
        self.queue.active()
    }

    /// Applies the result of a status request to the queue: addresses and status of the pools, and the number of
    /// children that requests and idle connections of this server may occupy (`ours`). With an error or without pools,
    /// the bound is removed and only `concurrency=` applies. A replaced watch does not change the bound. Returns a log
    /// line, and whether it reports a success, if the result differs from the previous one in success or failure;
    /// otherwise `None`.
    pub fn apply_status(
        &mut self,
        pools: Result<Vec<(String, PoolStatus)>, String>,
        ours: u32,
    ) -> Option<(bool, String)> {
        let found = pools.and_then(|pools| {
            self.pools.bound(&pools, ours).ok_or_else(|| "no location uses a FastCGI server".to_owned())
        });
        // The bound expires after three missed status requests and a timeout.
        let valid = self.interval() * 3 + SLOWEST;
        self.queue.with_children(|children| {
            if children.watches == self.number {
                children.set(found.as_ref().ok().copied(), valid);
            }
        });
        let (is_lost, zone) = (found.is_err(), &self.zone);
        if std::mem::replace(&mut self.is_lost, is_lost) == is_lost {
            return None;
        }
        Some(match found {
            Ok(_) => (true, format!("origin_queue \"{zone}\": the status of php-fpm is available again")),
            Err(why) => {
                let what = "the status of php-fpm is unavailable, only \"concurrency=\" limits the queue";
                (false, format!("origin_queue \"{zone}\": {what}: {why}"))
            }
        })
    }
}
