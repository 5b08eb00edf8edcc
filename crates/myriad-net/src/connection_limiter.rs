//! Limit of the connections of a worker (`worker_connections`).
//!
//! As in nginx, the limit covers client and upstream connections. Listeners take slots for clients; upstream
//! connections and UDP sessions take slots with [`ConnectionLimiter::take_slot`]. An eighth of the slots is reserved
//! for upstream connections, so that accepted clients can be served.
//!
//! If no slot is free, idle client connections are evicted, those with the longest idle time first; then connections
//! whose clients have sent or read nothing for [`STALL_TICKS`]. A connection whose request or response does not wait
//! for the client is never evicted.
//!
//! A scan over all client connections collects several candidates at once and is repeated when they are used up. A
//! change of activity costs one store ([`Activity`]).

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use tokio::sync::Notify;

use crate::activity::{Activity, AwaitedEvent};
use crate::connection::Connection;
use crate::deadline::{self, TICK_MS};
use crate::{memory_counters, pressure};

/// Time in ticks after which a stalled connection may be evicted (2 s): longer than the retransmission of a lost
/// packet.
const STALL_TICKS: i32 = (2000 / TICK_MS) as i32;
/// Minimum idle time in ticks (1 s) before a connection is evicted to free memory, because the request of a new
/// connection may be in transit.
const REST_TICKS: i32 = (1000 / TICK_MS) as i32;
/// Maximum number of eviction candidates that one scan of the connections collects, or an eighth of all connections if
/// that is more.
const GATHER: usize = 32;
/// Number of clients accepted even if the process is out of memory, or an eighth of the slots if that is more. The
/// memory may be used by data that no eviction frees, and cached responses can still be served.
const LEAST_CLIENTS: usize = 64;

/// Limiter of the connections of one worker (`worker_connections`). Cheap to clone; must stay on the worker's thread.
#[derive(Clone)]
pub struct ConnectionLimiter(Rc<LimiterState>);

struct LimiterState {
    /// Total number of slots (`worker_connections`).
    capacity: usize,
    /// Number of slots in use, by client and upstream connections and UDP sessions.
    used: Cell<usize>,
    /// Client connections, each at the index stored in its [`ClientGuard`]; `None` for an unused index.
    clients: RefCell<Vec<Option<LimiterClient>>>,
    /// Unused indexes of `clients`.
    free: RefCell<Vec<usize>>,
    /// Number of client connections.
    open: Cell<usize>,
    changed: Notify,
    /// Candidates for eviction with their activity at the time of the scan; the last one in the list is evicted next.
    next: RefCell<Vec<(usize, Activity)>>,
    /// For each [`NeededResource`], the tick of the last scan of `clients` if it found no connection to evict,
    /// otherwise `None`.
    last_failed_scan: [Cell<Option<u32>>; 2],
    shortage: Cell<Option<Shortage>>,
    /// Connections evicted to free memory since the last report.
    evicted_for_memory: Cell<EvictedForMemory>,
}

struct LimiterClient {
    connection: Weak<Connection>,
    /// Set while the connection occupies a slot of the limiter; cleared when it is evicted.
    has_slot: bool,
}

/// Evictions and refusals due to a shortage of slots or file descriptors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shortage {
    /// Number of idle connections evicted because of the shortage.
    pub idle: u32,
    /// Number of evicted connections whose clients stalled while sending a request or reading a response.
    pub stalled: u32,
    /// Set if no connection could be evicted: TCP or unix clients had to wait, or an HTTP/3 client, an upstream
    /// connection or a UDP session was refused.
    pub refused: bool,
    /// Set if file descriptors of the process were exhausted.
    pub descriptors: bool,
}

/// Numbers of connections evicted to free memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EvictedForMemory {
    /// Number of idle connections evicted to free memory.
    pub idle: u32,
    /// Number of connections evicted to free memory whose clients stalled while sending a request or reading a
    /// response.
    pub stalled: u32,
}

/// Slot taken by [`ConnectionLimiter::take_slot`]. Dropping it frees the slot.
pub struct ConnectionSlot {
    state: Rc<LimiterState>,
}

impl ConnectionLimiter {
    /// Creates a limiter with `most` slots (`worker_connections`).
    pub fn new(most: usize) -> Self {
        Self(Rc::new(LimiterState {
            capacity: most,
            used: Cell::new(0),
            clients: RefCell::default(),
            free: RefCell::default(),
            open: Cell::new(0),
            changed: Notify::new(),
            next: RefCell::default(),
            last_failed_scan: Default::default(),
            shortage: Cell::new(None),
            evicted_for_memory: Cell::default(),
        }))
    }

    /// Takes a slot for an upstream connection or a UDP session of `stream`. If all slots are occupied, evicts a client
    /// connection; returns `None` if none can be evicted.
    pub fn take_slot(&self) -> Option<ConnectionSlot> {
        if self.0.used.get() >= self.0.capacity && !self.evict_one() {
            self.record_shortage(|shortage| shortage.refused = true);
            return None;
        }
        self.0.occupy();
        Some(ConnectionSlot { state: Rc::clone(&self.0) })
    }

    /// Returns the total number of slots.
    pub fn capacity(&self) -> usize {
        self.0.capacity
    }

    /// Returns the number of open client connections.
    pub fn clients(&self) -> usize {
        self.0.open.get()
    }

    /// Returns the effects of shortages since the last call; `None` if there was no shortage.
    pub fn take_shortage(&self) -> Option<Shortage> {
        self.0.shortage.take()
    }

    /// Evicts up to `count` connections to free memory: first connections that have been idle for at least a second,
    /// then connections stalled for at least two seconds, in each case those with the longest wait first. Returns the
    /// number of evictions for memory since the last call, including those for new connections.
    pub fn evict_for_memory(&self, count: usize) -> EvictedForMemory {
        for _ in 0..count {
            if !self.evict_one_for_memory() {
                break;
            }
        }
        self.0.evicted_for_memory.take()
    }

    fn evict_one_for_memory(&self) -> bool {
        let Some(waited) = self.evict_oldest(NeededResource::Memory) else { return false };
        let mut evicted = self.0.evicted_for_memory.get();
        match waited {
            AwaitedEvent::Idle => evicted.idle += 1,
            AwaitedEvent::Stalled => evicted.stalled += 1,
        }
        self.0.evicted_for_memory.set(evicted);
        true
    }

    /// Returns true if a new client may not be accepted for lack of memory. Never true below a minimum number of
    /// clients (see [`LEAST_CLIENTS`]).
    fn is_memory_exhausted(&self) -> bool {
        memory_counters::is_exhausted() && self.0.open.get() >= LEAST_CLIENTS.max(self.0.capacity / 8)
    }

    /// Returns true if all slots available to client connections are in use.
    pub(crate) fn is_full(&self) -> bool {
        self.0.used.get() >= self.0.capacity - self.0.capacity / 8
    }

    /// Returns true if a new client can be accepted: a slot is free and memory is available, or a connection can be
    /// evicted.
    pub(crate) fn has_room(&self) -> bool {
        self.needed_resource().is_none_or(|want| self.ensure_candidate(want))
    }

    /// Returns the resource (slot or memory) that an eviction must free for a new client; `None` if a slot is free and
    /// memory is available.
    fn needed_resource(&self) -> Option<NeededResource> {
        if self.is_full() {
            Some(NeededResource::Slot)
        } else {
            self.is_memory_exhausted().then_some(NeededResource::Memory)
        }
    }

    /// Returns true if a new client can only be accepted after an eviction, for lack of a slot or of memory.
    #[cfg(feature = "http3")]
    pub(crate) fn is_short(&self) -> bool {
        self.needed_resource().is_some()
    }

    /// Evicts a connection if no slot is left for clients or memory is exhausted. Returns true if a client can be
    /// accepted.
    pub(crate) fn make_room(&self) -> bool {
        match self.needed_resource() {
            None => true,
            Some(NeededResource::Memory) => self.evict_one_for_memory(),
            Some(NeededResource::Slot) => {
                let evicted = self.evict_one();
                if !evicted {
                    self.record_shortage(|shortage| shortage.refused = true);
                }
                evicted
            }
        }
    }

    /// Records that a client could not be accepted because no slot was free and no connection could be evicted. Does
    /// nothing if a slot is free: the client was then refused for lack of memory.
    pub(crate) fn record_refusal(&self) {
        // Lack of memory is not a lack of slots.
        if self.is_full() {
            self.record_shortage(|shortage| shortage.refused = true);
        }
    }

    /// Evicts up to `count` connections because the process is out of file descriptors. The descriptors are closed once
    /// the tasks of the connections have run.
    pub fn free_descriptors(&self, count: usize) {
        self.record_shortage(|shortage| shortage.descriptors = true);
        for _ in 0..count {
            if !self.evict_one() {
                return;
            }
        }
    }

    /// Waits until a slot is freed or a client connection is closed. Returns immediately if one of these happened since
    /// the last call.
    pub(crate) async fn slot_freed(&self) {
        self.0.changed.notified().await;
    }

    /// Calls `visit` with each open client connection.
    pub(crate) fn each_client(&self, mut visit: impl FnMut(Rc<Connection>)) {
        let all = self.0.clients.borrow();
        all.iter().flatten().filter_map(|client| client.connection.upgrade()).for_each(&mut visit);
    }

    fn record_shortage(&self, change: impl FnOnce(&mut Shortage)) {
        let mut shortage = self.0.shortage.get().unwrap_or_default();
        change(&mut shortage);
        self.0.shortage.set(Some(shortage));
    }

    /// Evicts one connection for lack of slots or file descriptors and records the shortage. Returns false if none can
    /// be evicted.
    fn evict_one(&self) -> bool {
        let Some(waited) = self.evict_oldest(NeededResource::Slot) else { return false };
        self.record_shortage(|shortage| match waited {
            AwaitedEvent::Stalled => shortage.stalled += 1,
            AwaitedEvent::Idle => shortage.idle += 1,
        });
        true
    }

    /// Evicts the next candidate and frees its slot immediately. Returns the event that the connection waited for;
    /// `None` if no connection can be evicted.
    fn evict_oldest(&self, want: NeededResource) -> Option<AwaitedEvent> {
        if !self.ensure_candidate(want) {
            return None;
        }
        let (at, activity) = self.0.next.borrow_mut().pop()?;
        let connection = self.0.clients.borrow_mut()[at].as_mut().and_then(|client| {
            client.has_slot = false;
            client.connection.upgrade()
        });
        let connection = connection?;
        self.0.release();
        let waited = activity.awaited_event(connection.requests.get()).unwrap_or(AwaitedEvent::Idle);
        connection.evict();
        Some(waited)
    }

    /// Ensures that the last entry of `next` can be evicted; scans if necessary. Returns false if no connection can be
    /// evicted.
    fn ensure_candidate(&self, want: NeededResource) -> bool {
        let tick = deadline::tick();
        loop {
            let mut next = self.0.next.borrow_mut();
            while let Some((at, activity)) = next.last() {
                let clients = self.0.clients.borrow();
                let now = clients[*at].as_ref().and_then(LimiterClient::activity);
                if now.is_some_and(|(now, waiting, _)| {
                    now == *activity && is_evictable(now, waiting, tick, want)
                }) {
                    return true;
                }
                next.pop();
            }
            drop(next);
            if !self.collect_candidates(want) {
                return false;
            }
        }
    }

    /// Scans all connections and stores candidates for eviction in `next`: idle connections before stalled ones, those
    /// with the longest wait first. Returns false if there are none, or if a scan for `want` or for a slot has found
    /// none in this tick already.
    fn collect_candidates(&self, want: NeededResource) -> bool {
        let now = deadline::tick();
        // A connection that is evictable for memory is also evictable for a slot, but not vice versa.
        if [NeededResource::Slot, want]
            .iter()
            .any(|of| self.0.last_failed_scan[*of as usize].get() == Some(now))
        {
            return false;
        }
        let clients = self.0.clients.borrow();
        let mut found: Vec<_> = clients
            .iter()
            .enumerate()
            .filter_map(|(at, client)| {
                let (activity, waiting, id) = client.as_ref()?.activity()?;
                is_evictable(activity, waiting, now, want).then_some((
                    waiting,
                    activity.since(),
                    id,
                    at,
                    activity,
                ))
            })
            .collect();
        let count = GATHER.max(clients.len() / 8);
        if found.len() > count {
            found.select_nth_unstable_by_key(count, |(waiting, since, id, ..)| (*waiting, *since, *id));
            found.truncate(count);
        }
        found.sort_unstable_by_key(|(waiting, since, id, ..)| std::cmp::Reverse((*waiting, *since, *id)));
        self.0.last_failed_scan[want as usize].set(found.is_empty().then_some(now));
        *self.0.next.borrow_mut() = found.iter().map(|(.., at, activity)| (*at, *activity)).collect();
        !found.is_empty()
    }
}

/// Resource that an eviction frees.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NeededResource {
    Slot,
    Memory,
}

/// Returns true if a connection that has waited since `activity` may be evicted to free `want`.
fn is_evictable(activity: Activity, waiting: AwaitedEvent, now: u32, want: NeededResource) -> bool {
    let waited = now.wrapping_sub(activity.since()).cast_signed();
    match (waiting, want) {
        (AwaitedEvent::Idle, NeededResource::Slot) => true,
        (AwaitedEvent::Idle, NeededResource::Memory) => waited >= REST_TICKS,
        (AwaitedEvent::Stalled, _) => waited >= STALL_TICKS,
    }
}

impl LimiterClient {
    /// Returns the activity, the awaited event and the number of the connection; `None` if it has no slot or is busy.
    fn activity(&self) -> Option<(Activity, AwaitedEvent, u64)> {
        let connection = self.connection.upgrade().filter(|_| self.has_slot)?;
        let activity = connection.activity.get();
        Some((activity, activity.awaited_event(connection.requests.get())?, connection.id))
    }
}

impl LimiterState {
    fn occupy(&self) {
        self.used.set(self.used.get() + 1);
        self.update_pressure();
    }

    fn update_pressure(&self) {
        pressure::set(self.used.get() > self.capacity / 4 * 3);
    }

    fn release(&self) {
        self.used.set(self.used.get() - 1);
        self.update_pressure();
        self.changed.notify_one();
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        self.state.release();
    }
}

/// Connection slot and registration of a client connection in the limiter while its driver runs. Dropping it frees
/// both.
pub(crate) struct ClientGuard {
    state: Rc<LimiterState>,
    /// Index of the connection in `LimiterState::clients`.
    at: usize,
}

impl ClientGuard {
    /// Registers a client connection and occupies a slot without a check: the listener has checked that a slot is free.
    pub(crate) fn new(limiter: &ConnectionLimiter, connection: &Rc<Connection>) -> Self {
        let inner = &limiter.0;
        inner.occupy();
        inner.open.set(inner.open.get() + 1);
        let mut clients = inner.clients.borrow_mut();
        let at = inner.free.borrow_mut().pop().unwrap_or_else(|| {
            clients.push(None);
            clients.len() - 1
        });
        clients[at] = Some(LimiterClient { connection: Rc::downgrade(connection), has_slot: true });
        Self { state: Rc::clone(inner), at }
    }
}

impl Drop for ClientGuard {
    fn drop(&mut self) {
        let inner = &self.state;
        inner.open.set(inner.open.get() - 1);
        let client = inner.clients.borrow_mut()[self.at].take();
        inner.free.borrow_mut().push(self.at);
        if client.is_some_and(|client| client.has_slot) {
            inner.release();
        } else {
            inner.changed.notify_one();
        }
    }
}

#[cfg(test)]
mod tests;
