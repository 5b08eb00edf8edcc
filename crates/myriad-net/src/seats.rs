//! Connection limit of a worker: client and upstream connections together (`worker_connections`).
//!
//! As in nginx, the limit covers all connections of a worker: a fetch needs a descriptor and memory as a client
//! connection does. The listener takes the seat of a client; a connection to an origin takes one with [`Seats::take`].
//! An eighth of the seats is reserved for origins, so that accepted clients can be served.
//!
//! If no seat is free, idle connections are evicted, the oldest first; then connections whose clients have sent or read
//! nothing for [`STALL_TICKS`]. A connection with a request in progress is never evicted.
//!
//! The oldest connections are found by a scan over all connections that collects many of them. A request costs one
//! store ([`Activity`]), and a new connection some entries of a scan.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use tokio::sync::Notify;

use crate::activity::{Activity, Waiting};
use crate::connection::Connection;
use crate::deadline::{self, TICK_MS};
use crate::{memory_figures, pressure};

/// Time in ticks after which a stalled connection may be evicted: longer than the retransmission of a lost packet.
const STALL_TICKS: i32 = (2000 / TICK_MS) as i32;
/// Minimum idle time in ticks before a connection is closed to free memory: the request of a new connection may be in
/// transit.
const REST_TICKS: i32 = (1000 / TICK_MS) as i32;
/// Minimum number of connections collected by one scan; an eighth of all connections if that is more.
const GATHER: usize = 32;
/// Number of clients accepted even if the process is out of memory; an eighth of the seats if that is more. The memory
/// may be used by data that no connection can free, and stored pages are still served.
const LEAST_CLIENTS: usize = 64;

/// Seats of one worker. Cheap to clone; stays on the worker's thread.
#[derive(Clone)]
pub struct Seats(Rc<Inner>);

struct Inner {
    most: usize,
    taken: Cell<usize>,
    /// Client connections, each at the index in its guard.
    clients: RefCell<Vec<Option<Client>>>,
    free: RefCell<Vec<usize>>,
    open: Cell<usize>,
    changed: Notify,
    /// Connections to evict next, in reverse order.
    next: RefCell<Vec<(usize, Activity)>>,
    /// Tick of the last scan without a result, for each [`Want`].
    in_vain: [Cell<Option<u32>>; 2],
    shortage: Cell<Option<Shortage>>,
    /// Connections closed to free memory for new connections.
    relieved: Cell<Relieved>,
}

struct Client {
    connection: Weak<Connection>,
    /// Set while the connection has a seat, until it is evicted.
    is_seated: bool,
}

/// Effects of a shortage of seats or descriptors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shortage {
    /// Number of idle connections evicted.
    pub idle: u32,
    /// Number of evicted connections whose clients stalled in a head, a body or a response.
    pub stalled: u32,
    /// Set if no connection could be evicted, so that new connections wait or upstream connections failed.
    pub refused: bool,
    /// Set if the process was out of descriptors.
    pub descriptors: bool,
}

/// Connections closed to free memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Relieved {
    /// Number of idle connections.
    pub idle: u32,
    /// Number of connections whose clients stalled in a head, a body or a response.
    pub stalled: u32,
}

/// Seat in use; dropping it frees the seat.
pub struct Seat {
    seats: Rc<Inner>,
}

impl Seats {
    /// Creates the seats of a worker, `most` in number (`worker_connections`).
    pub fn new(most: usize) -> Self {
        Self(Rc::new(Inner {
            most,
            taken: Cell::new(0),
            clients: RefCell::default(),
            free: RefCell::default(),
            open: Cell::new(0),
            changed: Notify::new(),
            next: RefCell::default(),
            in_vain: Default::default(),
            shortage: Cell::new(None),
            relieved: Cell::default(),
        }))
    }

    /// Takes a seat for a connection other than a client's. If all seats are taken, evicts a client connection; returns
    /// `None` if none can be evicted.
    pub fn take(&self) -> Option<Seat> {
        if self.0.taken.get() >= self.0.most && !self.reclaim() {
            self.note(|shortage| shortage.refused = true);
            return None;
        }
        self.0.sit();
        Some(Seat { seats: Rc::clone(&self.0) })
    }

    /// Returns the number of seats.
    pub fn most(&self) -> usize {
        self.0.most
    }

    /// Returns the number of open client connections.
    pub fn clients(&self) -> usize {
        self.0.open.get()
    }

    /// Returns the effects of a shortage since the last call; `None` if there was no shortage.
    pub fn take_shortage(&self) -> Option<Shortage> {
        self.0.shortage.take()
    }

    /// Closes up to `count` connections to free memory: idle connections first, the oldest first, then stalled
    /// connections. Returns the number of connections closed, including those closed for new connections since the last
    /// call.
    pub fn relieve(&self, count: usize) -> Relieved {
        for _ in 0..count {
            if !self.close_for_memory() {
                break;
            }
        }
        self.0.relieved.take()
    }

    fn close_for_memory(&self) -> bool {
        let Some(waited) = self.close_one(Want::Memory) else { return false };
        let mut relieved = self.0.relieved.get();
        match waited {
            Waiting::Idle => relieved.idle += 1,
            Waiting::Stalled => relieved.stalled += 1,
        }
        self.0.relieved.set(relieved);
        true
    }

    /// Returns whether the process has no memory for another client. A minimum number of clients is always accepted.
    fn is_spent(&self) -> bool {
        memory_figures::is_spent() && self.0.open.get() >= LEAST_CLIENTS.max(self.0.most / 8)
    }

    /// Returns whether all seats available to clients are taken.
    pub(crate) fn is_full(&self) -> bool {
        self.0.taken.get() >= self.0.most - self.0.most / 8
    }

    /// Returns whether a new connection can be accepted: a seat is free or a connection can be evicted.
    pub(crate) fn has_room(&self) -> bool {
        self.want().is_none_or(|want| self.find(want))
    }

    /// Returns the resource that an eviction must free for a new connection; `None` if a seat is free and memory is
    /// available.
    fn want(&self) -> Option<Want> {
        if self.is_full() { Some(Want::Seats) } else { self.is_spent().then_some(Want::Memory) }
    }

    /// Returns whether a new connection requires an eviction.
    #[cfg(feature = "http3")]
    pub(crate) fn is_short(&self) -> bool {
        self.want().is_some()
    }

    /// Evicts a connection if all seats of clients are taken or memory is short. Returns whether a new connection can
    /// be accepted.
    pub(crate) fn make_room(&self) -> bool {
        match self.want() {
            None => true,
            Some(Want::Memory) => self.close_for_memory(),
            Some(Want::Seats) => {
                let seated = self.reclaim();
                if !seated {
                    self.note(|shortage| shortage.refused = true);
                }
                seated
            }
        }
    }

    /// Records that a seat was requested and no connection could be evicted.
    pub(crate) fn note_refused(&self) {
        // A shortage of memory is not a shortage of seats.
        if self.is_full() {
            self.note(|shortage| shortage.refused = true);
        }
    }

    /// Evicts up to `count` connections because the process is out of descriptors. Their descriptors are freed once
    /// their tasks have run.
    pub fn make_descriptors(&self, count: usize) {
        self.note(|shortage| shortage.descriptors = true);
        for _ in 0..count {
            if !self.reclaim() {
                return;
            }
        }
    }

    /// Returns once a seat has been freed; a seat freed since the last call counts.
    pub(crate) async fn changed(&self) {
        self.0.changed.notified().await;
    }

    /// Calls `visit` with each open client connection.
    pub(crate) fn each_client(&self, mut visit: impl FnMut(Rc<Connection>)) {
        let all = self.0.clients.borrow();
        all.iter().flatten().filter_map(|client| client.connection.upgrade()).for_each(&mut visit);
    }

    fn note(&self, change: impl FnOnce(&mut Shortage)) {
        let mut shortage = self.0.shortage.get().unwrap_or_default();
        change(&mut shortage);
        self.0.shortage.set(Some(shortage));
    }

    /// Evicts one connection because seats are short; its seat is free immediately. Returns `false` if none can be
    /// evicted.
    fn reclaim(&self) -> bool {
        let Some(waited) = self.close_one(Want::Seats) else { return false };
        self.note(|shortage| match waited {
            Waiting::Stalled => shortage.stalled += 1,
            Waiting::Idle => shortage.idle += 1,
        });
        true
    }

    /// Evicts one connection and returns the event it waited for; `None` if none can be evicted.
    fn close_one(&self, want: Want) -> Option<Waiting> {
        if !self.find(want) {
            return None;
        }
        let (at, activity) = self.0.next.borrow_mut().pop()?;
        let connection = self.0.clients.borrow_mut()[at].as_mut().and_then(|client| {
            client.is_seated = false;
            client.connection.upgrade()
        });
        let connection = connection?;
        self.0.rise();
        let waited = activity.waiting(connection.requests.get()).unwrap_or(Waiting::Idle);
        connection.give_way();
        Some(waited)
    }

    /// Ensures that the last entry of `next` can be evicted. Returns `false` if no connection can.
    fn find(&self, want: Want) -> bool {
        let tick = deadline::tick();
        loop {
            let mut next = self.0.next.borrow_mut();
            while let Some((at, activity)) = next.last() {
                let clients = self.0.clients.borrow();
                let now = clients[*at].as_ref().and_then(Client::activity);
                if now.is_some_and(|(now, waiting, _)| now == *activity && is_ripe(now, waiting, tick, want))
                {
                    return true;
                }
                next.pop();
            }
            drop(next);
            if !self.gather(want) {
                return false;
            }
        }
    }

    /// Scans all connections and stores the oldest evictable connections in `next`. A scan without a result is not
    /// repeated in the same tick.
    fn gather(&self, want: Want) -> bool {
        let now = deadline::tick();
        // A connection evictable for memory is also evictable for a seat, but not vice versa.
        if [Want::Seats, want].iter().any(|of| self.0.in_vain[*of as usize].get() == Some(now)) {
            return false;
        }
        let clients = self.0.clients.borrow();
        let mut found: Vec<_> = clients
            .iter()
            .enumerate()
            .filter_map(|(at, client)| {
                let (activity, waiting, id) = client.as_ref()?.activity()?;
                is_ripe(activity, waiting, now, want).then_some((waiting, activity.since(), id, at, activity))
            })
            .collect();
        let count = GATHER.max(clients.len() / 8);
        if found.len() > count {
            found.select_nth_unstable_by_key(count, |(waiting, since, id, ..)| (*waiting, *since, *id));
            found.truncate(count);
        }
        found.sort_unstable_by_key(|(waiting, since, id, ..)| std::cmp::Reverse((*waiting, *since, *id)));
        self.0.in_vain[want as usize].set(found.is_empty().then_some(now));
        *self.0.next.borrow_mut() = found.iter().map(|(.., at, activity)| (*at, *activity)).collect();
        !found.is_empty()
    }
}

/// Resource that an eviction frees.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Want {
    Seats,
    Memory,
}

/// Returns whether a waiting connection has waited long enough to be evicted.
fn is_ripe(activity: Activity, waiting: Waiting, now: u32, want: Want) -> bool {
    let waited = now.wrapping_sub(activity.since()).cast_signed();
    match (waiting, want) {
        (Waiting::Idle, Want::Seats) => true,
        (Waiting::Idle, Want::Memory) => waited >= REST_TICKS,
        (Waiting::Stalled, _) => waited >= STALL_TICKS,
    }
}

impl Client {
    /// Returns the activity, the awaited event and the number of the connection; `None` if it has no seat or is busy.
    fn activity(&self) -> Option<(Activity, Waiting, u64)> {
        let connection = self.connection.upgrade().filter(|_| self.is_seated)?;
        let activity = connection.activity.get();
        Some((activity, activity.waiting(connection.requests.get())?, connection.id))
    }
}

impl Inner {
    fn sit(&self) {
        self.taken.set(self.taken.get() + 1);
        self.weigh();
    }

    fn weigh(&self) {
        pressure::set(self.taken.get() > self.most / 4 * 3);
    }

    fn rise(&self) {
        self.taken.set(self.taken.get() - 1);
        self.weigh();
        self.changed.notify_one();
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.seats.rise();
    }
}

/// Counts a client's connection while it is driven.
pub(crate) struct Guard {
    seats: Rc<Inner>,
    at: usize,
}

impl Guard {
    /// Takes a seat for a client without a check; its listener checks that a seat is free.
    pub(crate) fn new(seats: &Seats, connection: &Rc<Connection>) -> Self {
        let inner = &seats.0;
        inner.sit();
        inner.open.set(inner.open.get() + 1);
        let mut clients = inner.clients.borrow_mut();
        let at = inner.free.borrow_mut().pop().unwrap_or_else(|| {
            clients.push(None);
            clients.len() - 1
        });
        clients[at] = Some(Client { connection: Rc::downgrade(connection), is_seated: true });
        Self { seats: Rc::clone(inner), at }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let inner = &self.seats;
        inner.open.set(inner.open.get() - 1);
        let client = inner.clients.borrow_mut()[self.at].take();
        inner.free.borrow_mut().push(self.at);
        if client.is_some_and(|client| client.is_seated) {
            inner.rise();
        } else {
            inner.changed.notify_one();
        }
    }
}

#[cfg(test)]
mod tests;
