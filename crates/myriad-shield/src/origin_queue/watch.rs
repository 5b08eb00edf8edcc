//! The pool of an origin, watched: what its status says bounds the queue.

use std::sync::Arc;
use std::time::Duration;

use myriad_exchange::runtime::Place;
use myriad_fastcgi::PoolStatus;

use super::children::Pools;
use super::compile::OriginQueue;
use super::queue::Queue;
use super::settings::StatusRules;

/// The longest that one question may take; slower answers are none.
const SLOWEST: Duration = Duration::from_secs(5);

/// The queue of a place whose origin is asked for its status (`status=`).
pub struct StatusPlace<'a> {
    place: &'a OriginQueue,
    rules: &'a StatusRules,
}

impl<'a> StatusPlace<'a> {
    /// That of a place; none where it has none.
    pub fn of(place: &'a Place) -> Option<Self> {
        let place: &OriginQueue = place.features.get()?;
        let rules = place.rules.status.as_ref()?;
        Some(Self { place, rules })
    }

    /// The name of its zone: all places of it share one queue.
    pub fn zone(&self) -> &'a str {
        &self.place.rules.zone
    }

    /// The watch over the zone's pools, for the first who asks; from then on older ones are over.
    pub fn begin(&self) -> Option<Watch> {
        if !self.place.begin_watching() {
            return None;
        }
        let queue = Arc::clone(&self.place.queue);
        let number = queue.with_children(|children| {
            children.watches += 1;
            children.watches
        });
        let (zone, rules) = (self.zone().to_owned(), self.rules.clone());
        Some(Watch { queue, number, zone, rules, pools: Pools::default(), is_lost: false })
    }
}

/// Who tells a queue what its pools say of themselves.
pub struct Watch {
    queue: Arc<Queue>,
    number: u64,
    zone: String,
    rules: StatusRules,
    pools: Pools,
    is_lost: bool,
}

impl Watch {
    /// Whether a newer one has taken its place.
    pub fn is_over(&self) -> bool {
        self.queue.with_children(|children| children.watches) != self.number
    }

    /// What the pools are asked for.
    pub fn path(&self) -> &[u8] {
        &self.rules.path
    }

    /// The pause between two questions.
    pub fn interval(&self) -> Duration {
        Duration::from_millis(self.rules.interval_ms)
    }

    /// The longest that one question may take.
    pub fn slowest(&self) -> Duration {
        SLOWEST
    }

    /// Requests that are with the origin now.
    pub fn active(&self) -> u32 {
        self.queue.active()
    }

    /// Bounds the queue by what the pools say, each with its address, while `ours` requests were with them. Where that is an error, the
    /// queue is bounded as if nobody were asked. Returns what is to be told, when one follows the other: whether it is good news, and the
    /// line.
    pub fn note(
        &mut self,
        pools: Result<Vec<(String, PoolStatus)>, String>,
        ours: u32,
    ) -> Option<(bool, String)> {
        let found = pools.and_then(|pools| {
            self.pools.bound(&pools, ours).ok_or_else(|| "no place has a FastCGI server to ask".to_owned())
        });
        // Three that are missed are one too many.
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
            Ok(_) => (true, format!("origin_queue \"{zone}\": the status of php-fpm is read again")),
            Err(why) => {
                let what = "the status of php-fpm cannot be read, \"concurrency=\" alone bounds the queue";
                (false, format!("origin_queue \"{zone}\": {what}: {why}"))
            }
        })
    }
}
