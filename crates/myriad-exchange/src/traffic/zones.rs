//! Counters that survive reloads: those of the workers, and the traffic zones by name.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;

use super::queues::{QueueCounts, QueueSums};
use super::zone::{TrafficZone, ZoneKind};
use crate::counters::Counters;

type ZoneKey = (ZoneKind, Box<str>);

/// Counters of a worker process, which survive reloads.
#[derive(Debug)]
pub struct Traffic {
    /// Time at which the process started counting, in milliseconds since the epoch.
    pub began_ms: u64,
    /// Counters of the workers, by worker number.
    pub workers: Arc<[Arc<Counters>]>,
    /// Traffic zones in use by a configuration, including old configurations with unfinished requests.
    zones: Mutex<HashMap<ZoneKey, Weak<TrafficZone>>>,
    /// Queues of origins that have been used, by name.
    queues: Mutex<BTreeMap<Box<str>, Arc<QueueCounts>>>,
}

impl Default for Traffic {
    fn default() -> Self {
        Self::new(1)
    }
}

impl Traffic {
    /// Creates counters for this number of workers.
    pub fn new(workers: usize) -> Self {
        Self {
            began_ms: myriad_net::clock::wall_ms(),
            workers: (0..workers).map(|_| Arc::default()).collect(),
            zones: Mutex::default(),
            queues: Mutex::default(),
        }
    }

    /// Returns the traffic zone with a kind and name, creating it if necessary. `is_named` is true if the name comes
    /// from a `status_zone`.
    pub fn zone(&self, kind: ZoneKind, name: &str, is_named: bool) -> Arc<TrafficZone> {
        let mut zones = self.zones.lock();
        let key = (kind, Box::from(name));
        let known = zones.get(&key).and_then(Weak::upgrade);
        let zone = known.unwrap_or_else(|| {
            let zone = Arc::new(TrafficZone::new(kind, name, self.workers.len()));
            zones.insert(key, Arc::downgrade(&zone));
            zone
        });
        if is_named {
            zone.mark_named();
        }
        zone
    }

    /// Returns the counts of the queue with a name, creating them if necessary.
    pub fn queue(&self, name: &str) -> Arc<QueueCounts> {
        let mut queues = self.queues.lock();
        if let Some(known) = queues.get(name) {
            return Arc::clone(known);
        }
        Arc::clone(queues.entry(name.into()).or_default())
    }

    /// Returns the counts of all queues, sorted by name.
    pub(super) fn queues(&self) -> Vec<QueueSums> {
        self.queues.lock().iter().map(|(name, counts)| counts.sums(name)).collect()
    }

    /// Removes the entries of zones that no configuration uses any more.
    pub fn prune(&self) {
        self.zones.lock().retain(|_, zone| zone.strong_count() > 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zone_retains_counts_until_no_configuration_has_it() {
        let traffic = Traffic::new(2);
        let before = traffic.zone(ZoneKind::Server, "a", false);
        before.begin(1);
        let after = traffic.zone(ZoneKind::Server, "a", true);
        assert!(Arc::ptr_eq(&before, &after));
        assert_eq!((after.sums().requests, after.sums().is_named), (1, true));
        assert_eq!(traffic.zone(ZoneKind::Location, "a", true).sums().requests, 0);
        drop((before, after));
        traffic.prune();
        assert!(traffic.zones.lock().is_empty());
        assert_eq!(traffic.zone(ZoneKind::Server, "a", false).sums().requests, 0);
    }
}
