//! Slots of an origin, and the requests that wait for a slot. All workers share a queue, and it survives reloads: it is
//! found by its name.
//!
//! The lock is never held across an await point. The work under it is a few operations on maps whose size is bounded by
//! `queue=`.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock, Weak};
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::oneshot;

use super::class::{CLASSES, PriorityClass, rank};
use super::learned_limit::LearnedLimit;
use super::pool_children::PoolChildren;
use super::settings::{Concurrency, ConcurrencyLimit, OriginQueueRules};

/// Queues of the process by name. An entry is valid while a configuration or a request references its queue.
static QUEUES: LazyLock<Mutex<HashMap<String, Weak<OriginRequestQueue>>>> = LazyLock::new(Mutex::default);

/// Queue of requests to an origin, with the number of slots that are taken.
#[derive(Debug, Default)]
pub(super) struct OriginRequestQueue(Mutex<QueueState>);

#[derive(Debug, Default)]
struct QueueState {
    /// Number of slots that are taken: requests in flight to the origin.
    active: u32,
    /// Waiting requests by class and by number; in each class the oldest request has the smallest number.
    waiting: [BTreeMap<u64, QueuedRequest>; CLASSES],
    next: u64,
    learnt: LearnedLimit,
    /// Bound of concurrent requests from the status page of php-fpm, if a location has `status=`.
    children: PoolChildren,
    /// Limit of the location whose request arrived last, even if it was rejected; `None` before the first request.
    bound: Option<ConcurrencyLimit>,
}

#[derive(Debug)]
struct QueuedRequest {
    since: Instant,
    /// Limit of the request's location, which may be lower than that of other locations with the same queue.
    bound: ConcurrencyLimit,
    lift_ms: u64,
    notify: oneshot::Sender<QueueSlot>,
}

/// Slot of the queue: permission to send a request to the origin. Dropping it passes the slot to the next waiting
/// request.
#[derive(Debug)]
pub(super) struct QueueSlot {
    queue: Arc<OriginRequestQueue>,
    taken_at: Instant,
    bound: ConcurrencyLimit,
}

/// Position of a waiting request; dropping it leaves the queue.
#[derive(Debug)]
pub(super) struct QueueTicket {
    queue: Arc<OriginRequestQueue>,
    class: PriorityClass,
    number: u64,
    receiver: oneshot::Receiver<QueueSlot>,
}

/// Result of entering the queue.
#[derive(Debug)]
pub(super) enum QueueEntry {
    /// A slot was free.
    Slot(QueueSlot),
    /// No slot is free, or other requests are waiting: the request waits.
    Waiting(QueueTicket),
    /// The queue is full, and no waiting request has a lower class.
    Full,
}

/// Reason why a waiting request received no slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueueRefusal {
    /// The wait timed out.
    TimedOut,
    /// A request of a higher class took the position in the queue.
    Displaced,
}

/// Returns the queue with this name, created on first use. All locations with this name share it, across reloads.
pub(super) fn queue_named(name: &str) -> Arc<OriginRequestQueue> {
    let mut queues = QUEUES.lock();
    if let Some(queue) = queues.get(name).and_then(Weak::upgrade) {
        return queue;
    }
    queues.retain(|_, queue| queue.strong_count() > 0);
    let queue = Arc::default();
    queues.insert(name.to_owned(), Arc::downgrade(&queue));
    queue
}

/// State of one queue at one moment, for reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueReport {
    /// Name of the queue (`zone=`).
    pub name: String,
    /// Number of slots that are taken: requests in flight at the origin, with `release=head` only those whose response
    /// head has not arrived.
    pub in_flight: u32,
    /// Number of requests that wait for a slot.
    pub waiting: u64,
    /// Limit on concurrent requests for the location whose request arrived last; `None` before the first request.
    pub limit: Option<u32>,
}

/// Returns the state of all queues, sorted by name.
pub fn reports() -> Vec<QueueReport> {
    let queues: Vec<(String, Arc<OriginRequestQueue>)> = {
        let queues = QUEUES.lock();
        queues.iter().filter_map(|(name, queue)| Some((name.clone(), queue.upgrade()?))).collect()
    };
    let mut reports: Vec<QueueReport> = queues.into_iter().map(|(name, queue)| queue.report(name)).collect();
    reports.sort_by(|one, other| one.name.cmp(&other.name));
    reports
}

impl OriginRequestQueue {
    fn report(&self, name: String) -> QueueReport {
        let state = self.0.lock();
        let limit = state.bound.map(|bound| state.max_slots(bound));
        QueueReport { name, in_flight: state.active, waiting: state.waiting_count() as u64, limit }
    }

    /// Takes a slot, or else a position in the queue. If the queue is full, the latest request of the lowest class is
    /// displaced, provided that its class is lower than `class`; otherwise the result is `Full`. A class above normal
    /// counts as normal while requests of that class occupy half of the queue.
    pub(super) fn enter(self: &Arc<Self>, rules: &OriginQueueRules, class: PriorityClass) -> QueueEntry {
        let mut state = self.0.lock();
        let class = state.allowed_class(class, rules.max_waiting);
        state.bound = Some(rules.bound());
        if state.waiting_count() == 0 && state.has_room(rules.bound()) {
            state.active += 1;
            return QueueEntry::Slot(self.slot(rules.bound()));
        }
        if state.waiting_count() >= rules.max_waiting as usize && !state.displace(class) {
            return QueueEntry::Full;
        }
        let (call, called) = oneshot::channel();
        let number = state.next;
        state.next += 1;
        let lift_ms = rules.timeout_ms / CLASSES as u64;
        let waiter = QueuedRequest { since: Instant::now(), bound: rules.bound(), lift_ms, notify: call };
        state.waiting[class.index()].insert(number, waiter);
        drop(state);
        // A slot may be free that the waiting requests of another location could not use because of its lower limit.
        self.hand_out_slots();
        QueueEntry::Waiting(QueueTicket { queue: Arc::clone(self), class, number, receiver: called })
    }

    /// Passes free slots to the next waiting requests.
    fn hand_out_slots(self: &Arc<Self>) {
        loop {
            let called = self.0.lock().take_next(Instant::now());
            let Some(QueuedRequest { notify: call, bound, .. }) = called else { return };
            // If the waiting request has left in the meantime, the slot is dropped and thereby released.
            drop(call.send(self.slot(bound)));
        }
    }

    fn slot(self: &Arc<Self>, bound: ConcurrencyLimit) -> QueueSlot {
        QueueSlot { queue: Arc::clone(self), taken_at: Instant::now(), bound }
    }

    /// Returns the number of slots that are taken.
    pub(super) fn active(&self) -> u32 {
        self.0.lock().active
    }

    /// Applies `change` to the bound from php-fpm's status, and then passes slots that have become free to waiting
    /// requests.
    pub(super) fn with_children<T>(self: &Arc<Self>, change: impl FnOnce(&mut PoolChildren) -> T) -> T {
        let changed = change(&mut self.0.lock().children);
        self.hand_out_slots();
        changed
    }

    /// Returns the number of slots that are taken, and the number of waiting requests.
    #[cfg(test)]
    pub(super) fn active_and_waiting(&self) -> (u32, usize) {
        let state = self.0.lock();
        (state.active, state.waiting_count())
    }
}

impl QueueState {
    fn waiting_count(&self) -> usize {
        self.waiting.iter().map(BTreeMap::len).sum()
    }

    /// Returns the class in which a request waits. If requests of its class already occupy half of the queue, a class
    /// above normal is lowered to normal. This limits the damage if clients forge the criterion of the class, for
    /// example a cookie.
    fn allowed_class(&self, class: PriorityClass, most_waiting: u32) -> PriorityClass {
        let is_taken = self.waiting[class.index()].len() >= most_waiting.div_ceil(2) as usize;
        if is_taken { class.max(PriorityClass::NORMAL) } else { class }
    }

    fn has_room(&self, bound: ConcurrencyLimit) -> bool {
        self.active < self.max_slots(bound)
    }

    /// Returns the number of slots that a location with this limit may use: `concurrency=`, reduced to the number of
    /// php-fpm's children if the location has `status=` and that number is known.
    fn max_slots(&self, bound: ConcurrencyLimit) -> u32 {
        let most = match bound.concurrency {
            Concurrency::Fixed(number) => number,
            Concurrency::Learned { max: most } => self.learnt.bound(most),
        };
        let children = self.children.bound().filter(|_| bound.uses_pool_status);
        children.map_or(most, |children| most.min(children))
    }

    /// Removes the next request (the oldest of the highest class, including the effect of waiting) from the queue and
    /// takes a slot for it. Returns `None` if the queue is empty, or if the next request's location may use no more
    /// slots.
    fn take_next(&mut self, now: Instant) -> Option<QueuedRequest> {
        let firsts = self.waiting.iter().enumerate().filter_map(|(class, waiting)| {
            let (number, waiter) = waiting.first_key_value()?;
            let waited = now.saturating_duration_since(waiter.since).as_millis() as u64;
            Some((rank(class, waited, waiter.lift_ms), *number, class))
        });
        let (_, number, class) = firsts.min()?;
        if !self.has_room(self.waiting[class].get(&number)?.bound) {
            return None;
        }
        self.active += 1;
        self.waiting[class].remove(&number)
    }

    /// Displaces the latest request of the lowest class, provided that its class is lower than `class`. Returns whether
    /// a request was displaced.
    fn displace(&mut self, class: PriorityClass) -> bool {
        let mut worse = self.waiting[class.index() + 1..].iter_mut().rev();
        worse.find_map(BTreeMap::pop_last).is_some()
    }
}

impl QueueTicket {
    /// Waits for a slot, at most `timeout_ms` milliseconds. Returns an error if the wait times out, or if a request of
    /// a higher class takes the position.
    pub(super) async fn wait(mut self, timeout_ms: u64) -> Result<QueueSlot, QueueRefusal> {
        match tokio::time::timeout(Duration::from_millis(timeout_ms), &mut self.receiver).await {
            Ok(Ok(slot)) => Ok(slot),
            Ok(Err(_)) => Err(QueueRefusal::Displaced),
            Err(_) => Err(QueueRefusal::TimedOut),
        }
    }
}

impl Drop for QueueTicket {
    fn drop(&mut self) {
        let left = self.queue.0.lock().waiting[self.class.index()].remove(&self.number);
        if left.is_some() {
            // The request that left may have been first in the queue, and the only one whose limit did not permit a
            // slot.
            self.queue.hand_out_slots();
        }
    }
}

impl QueueSlot {
    /// Records that the response head has arrived. With `concurrency=auto`, the time since the slot was taken adjusts
    /// the learned bound.
    pub(super) fn record_response_head(&self) {
        if let Concurrency::Learned { max: most } = self.bound.concurrency {
            let ms = self.taken_at.elapsed().as_millis() as u64;
            let mut state = self.queue.0.lock();
            let active = state.active;
            state.learnt.record_response(ms, active, most);
        }
    }
}

impl Drop for QueueSlot {
    fn drop(&mut self) {
        {
            let mut state = self.queue.0.lock();
            state.active = state.active.saturating_sub(1);
        }
        self.queue.hand_out_slots();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rules(concurrency: u32, most_waiting: u32) -> OriginQueueRules {
        let concurrency = Concurrency::Fixed(concurrency);
        OriginQueueRules {
            zone: String::new(),
            concurrency,
            max_waiting: most_waiting,
            timeout_ms: 60_000,
            until_head: false,
            status: None,
        }
    }

    fn class(name: &str) -> PriorityClass {
        PriorityClass::parse(name.as_bytes()).expect("a class")
    }

    fn slot(entered: QueueEntry) -> QueueSlot {
        match entered {
            QueueEntry::Slot(slot) => slot,
            other => panic!("{other:?}"),
        }
    }

    fn turn(entered: QueueEntry) -> QueueTicket {
        match entered {
            QueueEntry::Waiting(turn) => turn,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn slots_are_bounded_and_so_is_the_queue() {
        let (queue, rules) = (Arc::new(OriginRequestQueue::default()), rules(2, 1));
        let first = slot(queue.enter(&rules, PriorityClass::NORMAL));
        let _second = slot(queue.enter(&rules, PriorityClass::NORMAL));
        let mut third = turn(queue.enter(&rules, PriorityClass::NORMAL));
        assert!(matches!(queue.enter(&rules, PriorityClass::NORMAL), QueueEntry::Full));
        assert!(third.receiver.try_recv().is_err());
        drop(first);
        let given = third.receiver.try_recv().expect("the released slot");
        assert_eq!(queue.active_and_waiting(), (2, 0));
        drop(given);
        assert_eq!(queue.active_and_waiting(), (1, 0));
    }

    #[test]
    fn better_class_comes_first_and_each_class_in_its_order() {
        let (queue, rules) = (Arc::new(OriginRequestQueue::default()), rules(1, 10));
        let mut held = slot(queue.enter(&rules, PriorityClass::NORMAL));
        let classes = ["last", "low", "normal", "high", "normal", "last"];
        let mut turns: Vec<_> =
            classes.into_iter().map(|name| turn(queue.enter(&rules, class(name)))).collect();
        let mut order = Vec::new();
        while order.len() < classes.len() {
            drop(held);
            let called = turns.iter_mut().enumerate().find_map(|(index, turn)| {
                let slot = turn.receiver.try_recv().ok()?;
                Some((index, slot))
            });
            let (index, slot) = called.expect("the next waiting request");
            order.push(index);
            held = slot;
        }
        assert_eq!(order, [3, 2, 4, 1, 0, 5]);
    }

    #[test]
    fn long_wait_raises_last_class_above_later_arrivals() {
        let (queue, rules) = (Arc::new(OriginRequestQueue::default()), rules(1, 10));
        let held = slot(queue.enter(&rules, PriorityClass::NORMAL));
        let last = turn(queue.enter(&rules, PriorityClass::LAST));
        let high = turn(queue.enter(&rules, class("high")));
        let mut state = queue.0.lock();
        state.active = 0;
        let soon = Instant::now() + Duration::from_secs(30);
        let waiter = state.take_next(soon).expect("the next waiting request");
        assert_eq!(waiter.lift_ms, 15_000);
        assert!(
            state.waiting[3].len() == 1,
            "30 s of 60 s raise the priority by two classes, which does not precede the first"
        );
        state.active = 0;
        let mut other = turn_of(&mut state, PriorityClass::parse(b"high").expect("a class"));
        assert!(state.take_next(Instant::now() + Duration::from_secs(46)).is_some());
        assert!(state.waiting[3].is_empty(), "46 s raise it to the first class, where it is the oldest");
        assert!(other.try_recv().is_err());
        drop(state);
        drop((held, last, high));
    }

    /// Adds a request that begins to wait 46 seconds from now.
    fn turn_of(state: &mut QueueState, class: PriorityClass) -> oneshot::Receiver<QueueSlot> {
        let (call, called) = oneshot::channel();
        let since = Instant::now() + Duration::from_secs(46);
        let bound = ConcurrencyLimit { concurrency: Concurrency::Fixed(1), uses_pool_status: false };
        let waiter = QueuedRequest { since, bound, lift_ms: 15_000, notify: call };
        state.waiting[class.index()].insert(state.next, waiter);
        state.next += 1;
        called
    }

    #[test]
    fn full_queue_gives_the_place_of_the_worst_to_a_better_class_only() {
        let (queue, rules) = (Arc::new(OriginRequestQueue::default()), rules(1, 2));
        let _held = slot(queue.enter(&rules, PriorityClass::NORMAL));
        let mut first = turn(queue.enter(&rules, PriorityClass::LAST));
        let mut second = turn(queue.enter(&rules, PriorityClass::LAST));
        assert!(matches!(queue.enter(&rules, PriorityClass::LAST), QueueEntry::Full));
        let _better = turn(queue.enter(&rules, PriorityClass::NORMAL));
        assert_eq!(second.receiver.try_recv().err(), Some(oneshot::error::TryRecvError::Closed));
        assert_eq!(first.receiver.try_recv().err(), Some(oneshot::error::TryRecvError::Empty));
        assert_eq!(queue.active_and_waiting(), (1, 2));
    }

    #[test]
    fn first_class_has_half_of_the_queue_and_no_more() {
        let (queue, rules) = (Arc::new(OriginRequestQueue::default()), rules(1, 4));
        let _held = slot(queue.enter(&rules, PriorityClass::NORMAL));
        let mut normal: Vec<_> = (0..4).map(|_| turn(queue.enter(&rules, PriorityClass::NORMAL))).collect();
        let high: Vec<_> = (0..2).map(|_| turn(queue.enter(&rules, class("high")))).collect();
        assert!(
            matches!(queue.enter(&rules, class("high")), QueueEntry::Full),
            "beyond half of the queue, the high class has no precedence"
        );
        let waits = |turn: &mut QueueTicket| {
            turn.receiver.try_recv().err() == Some(oneshot::error::TryRecvError::Empty)
        };
        assert_eq!(normal.iter_mut().map(waits).collect::<Vec<_>>(), [true, true, false, false]);
        drop(high);
        assert!(
            turn(queue.enter(&rules, class("high"))).class < PriorityClass::NORMAL,
            "the queue has space again"
        );
    }

    #[test]
    fn cancelled_waiter_is_skipped_and_its_slot_is_passed_on() {
        let (queue, rules) = (Arc::new(OriginRequestQueue::default()), rules(1, 10));
        let held = slot(queue.enter(&rules, PriorityClass::NORMAL));
        let gone = turn(queue.enter(&rules, PriorityClass::NORMAL));
        let late = turn(queue.enter(&rules, PriorityClass::NORMAL));
        let mut stays = turn(queue.enter(&rules, PriorityClass::NORMAL));
        drop(gone);
        assert_eq!(queue.active_and_waiting(), (1, 2));
        drop(held);
        // The slot has been sent to this request, which leaves without having received it.
        drop(late);
        assert!(stays.receiver.try_recv().is_ok());
        assert_eq!(queue.active_and_waiting(), (0, 0));
    }

    #[test]
    fn queue_is_found_by_its_name_as_long_as_somebody_has_it() {
        let one = queue_named("found_by_its_name");
        let held = slot(one.enter(&rules(1, 0), PriorityClass::NORMAL));
        drop(one);
        assert_eq!(queue_named("found_by_its_name").active_and_waiting(), (1, 0));
        drop(held);
        assert_eq!(queue_named("found_by_its_name").active_and_waiting(), (0, 0));
    }

    #[test]
    fn threads_never_take_more_slots_than_there_are() {
        let queue: Arc<OriginRequestQueue> = Arc::default();
        let rules = rules(3, 1000);
        std::thread::scope(|scope| {
            for seed in 0..4_u64 {
                let (queue, rules) = (&queue, &rules);
                scope.spawn(move || {
                    let mut held = Vec::new();
                    for step in 0..2_000_u64 {
                        match queue.enter(
                            rules,
                            if (step + seed) % 3 == 0 { PriorityClass::LAST } else { PriorityClass::NORMAL },
                        ) {
                            QueueEntry::Slot(slot) => held.push((Some(slot), None)),
                            QueueEntry::Waiting(turn) => held.push((None, Some(turn))),
                            QueueEntry::Full => {}
                        }
                        assert!(queue.active_and_waiting().0 <= 3);
                        if step % 2 == seed % 2 && !held.is_empty() {
                            held.remove((step as usize * 7) % held.len());
                        }
                    }
                });
            }
        });
        assert_eq!(queue.active_and_waiting(), (0, 0), "all slots and queue entries are released");
    }
}
