//! Seats: how many connections a worker holds at once, to clients and to origins together (`worker_connections`).
//!
//! As in nginx, what a worker holds is bounded as a whole: a fetch needs a descriptor and memory as a client does. A client's
//! seat is taken by its listener; whoever connects to an origin takes one with [`Seats::take`]. Clients leave an eighth of the
//! seats to origins, so that those who are in can be served.
//!
//! Where there is no seat, connections give way on which nothing is under way, the oldest first; then those whose clients
//! have owed bytes, or taken none, for [`STALL_TICKS`]. One with a request that is worked on never does.
//!
//! The oldest are found by a walk over all connections that gathers many at once: a request pays one store
//! ([`Activity`]), and a newcomer some entries of a walk.

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use tokio::sync::Notify;

use crate::activity::{Activity, Waiting};
use crate::connection::Connection;
use crate::deadline::{self, TICK_MS};
use crate::{memory_figures, pressure};

/// How long a client has owed bytes, or taken none, before its connection may give way: longer than a packet that is lost and
/// sent again, ticks.
const STALL_TICKS: i32 = (2000 / TICK_MS) as i32;
/// How long a connection has been idle before it is closed for want of memory, ticks: the request of a newcomer is on its way.
const REST_TICKS: i32 = (1000 / TICK_MS) as i32;
/// Connections that one walk gathers at least; an eighth of all where that is more.
const GATHER: usize = 32;
/// Clients that are let in though the process has no memory: so many at least, and an eighth of the seats where that is more. What takes
/// the memory may be nothing that a connection could give up, and stored pages are served even then.
const LEAST_CLIENTS: usize = 64;

/// The seats of one worker. Cheap to clone; stays on the worker's thread.
#[derive(Clone)]
pub struct Seats(Rc<Inner>);

struct Inner {
    most: usize,
    taken: Cell<usize>,
    /// The connections of clients, each at the place that its guard holds.
    clients: RefCell<Vec<Option<Client>>>,
    free: RefCell<Vec<usize>>,
    open: Cell<usize>,
    changed: Notify,
    /// The connections that give way next, the last first.
    next: RefCell<Vec<(usize, Activity)>>,
    /// The tick of the last walk that found nobody, for each [`Want`].
    in_vain: [Cell<Option<u32>>; 2],
    shortage: Cell<Option<Shortage>>,
    /// What newcomers had closed for want of memory.
    relieved: Cell<Relieved>,
}

struct Client {
    connection: Weak<Connection>,
    /// Whether it has a seat, and has not given way.
    is_seated: bool,
}

/// What was done for want of seats or descriptors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shortage {
    /// Connections that gave way on which nothing was under way.
    pub idle: u32,
    /// Connections that gave way whose clients did not go on with a head, a body or an answer.
    pub stalled: u32,
    /// Whether no connection could give way, so that newcomers wait or connections to origins were not made.
    pub refused: bool,
    /// The process had no descriptor left.
    pub descriptors: bool,
}

/// Connections that were closed for want of memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Relieved {
    /// Nothing was under way on them.
    pub idle: u32,
    /// Their clients did not go on with a head, a body or an answer.
    pub stalled: u32,
}

/// One taken seat; dropping it gives it back.
pub struct Seat {
    seats: Rc<Inner>,
}

impl Seats {
    /// A worker's seats, so many (`worker_connections`).
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

    /// A seat for a connection that is no client's. Where all are taken, a client that waits for nothing gives way; none where
    /// nobody can.
    pub fn take(&self) -> Option<Seat> {
        if self.0.taken.get() >= self.0.most && !self.reclaim() {
            self.note(|shortage| shortage.refused = true);
            return None;
        }
        self.0.sit();
        Some(Seat { seats: Rc::clone(&self.0) })
    }

    /// How many there are.
    pub fn most(&self) -> usize {
        self.0.most
    }

    /// Connections of clients that are open now.
    pub fn clients(&self) -> usize {
        self.0.open.get()
    }

    /// What was done for want of seats since this was asked last; none where there were enough.
    pub fn take_shortage(&self) -> Option<Shortage> {
        self.0.shortage.take()
    }

    /// The process is short of memory: closes `count` connections on which nothing is under way, the oldest first, then those whose
    /// clients stall, or as many as can.
    /// Returns them, and those that newcomers had closed since this was called last.
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

    /// Whether the process has no memory for one more client. Some are always let in.
    fn is_spent(&self) -> bool {
        memory_figures::is_spent() && self.0.open.get() >= LEAST_CLIENTS.max(self.0.most / 8)
    }

    /// Whether clients have as many seats as they may.
    pub(crate) fn is_full(&self) -> bool {
        self.0.taken.get() >= self.0.most - self.0.most / 8
    }

    /// Whether a newcomer can be seated: there is room, or somebody who could give way.
    pub(crate) fn has_room(&self) -> bool {
        self.want().is_none_or(|want| self.find(want))
    }

    /// What somebody has to give way for if a newcomer is to be seated; none where there is room.
    fn want(&self) -> Option<Want> {
        if self.is_full() { Some(Want::Seats) } else { self.is_spent().then_some(Want::Memory) }
    }

    /// Whether somebody has to give way if a newcomer is to be seated.
    pub(crate) fn is_short(&self) -> bool {
        self.want().is_some()
    }

    /// Has somebody give way if clients have as many seats as they may, or there is no memory. Whether a newcomer can be seated.
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

    /// Notes that a seat was asked for and no connection could give way.
    pub(crate) fn note_refused(&self) {
        // For want of memory that is no shortage of seats.
        if self.is_full() {
            self.note(|shortage| shortage.refused = true);
        }
    }

    /// The process has no descriptor left: has `count` connections give way, or as many as can. Their descriptors are free
    /// soon, once their tasks have run.
    pub fn make_descriptors(&self, count: usize) {
        self.note(|shortage| shortage.descriptors = true);
        for _ in 0..count {
            if !self.reclaim() {
                return;
            }
        }
    }

    /// Returns once a seat has been given back; one that was given back since the last call counts.
    pub(crate) async fn changed(&self) {
        self.0.changed.notified().await;
    }

    /// Each client's connection that is open now.
    pub(crate) fn each_client(&self, mut visit: impl FnMut(Rc<Connection>)) {
        let all = self.0.clients.borrow();
        all.iter().flatten().filter_map(|client| client.connection.upgrade()).for_each(&mut visit);
    }

    fn note(&self, change: impl FnOnce(&mut Shortage)) {
        let mut shortage = self.0.shortage.get().unwrap_or_default();
        change(&mut shortage);
        self.0.shortage.set(Some(shortage));
    }

    /// Has one connection give way for want of seats; its seat is free at once. False where none can.
    fn reclaim(&self) -> bool {
        let Some(waited) = self.close_one(Want::Seats) else { return false };
        self.note(|shortage| match waited {
            Waiting::Stalled => shortage.stalled += 1,
            Waiting::Idle => shortage.idle += 1,
        });
        true
    }

    /// Has one connection give way, and says what it waited for; none where none can.
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

    /// Sees to it that the last of `next` can give way. False where nobody can.
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

    /// Walks over all connections and notes the oldest of those that can give way. A walk in vain is not made again in the
    /// same tick.
    fn gather(&self, want: Want) -> bool {
        let now = deadline::tick();
        // Who may give way for want of memory may do so for want of a seat, not the reverse.
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

/// What connections give way for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Want {
    Seats,
    Memory,
}

/// Whether a connection that waits has waited long enough to give way.
fn is_ripe(activity: Activity, waiting: Waiting, now: u32, want: Want) -> bool {
    let waited = now.wrapping_sub(activity.since()).cast_signed();
    match (waiting, want) {
        (Waiting::Idle, Want::Seats) => true,
        (Waiting::Idle, Want::Memory) => waited >= REST_TICKS,
        (Waiting::Stalled, _) => waited >= STALL_TICKS,
    }
}

impl Client {
    /// How the connection stands, for whom it waits, its number; none where it has no seat, or does not wait.
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

/// Counts a client's connection for as long as it is driven.
pub(crate) struct Guard {
    seats: Rc<Inner>,
    at: usize,
}

impl Guard {
    /// Seats a client, whether or not there is room: its listener sees to that.
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
