//! Seats: how many connections a worker holds at once, to clients and to origins together (`worker_connections`).
//!
//! As in nginx, what a worker holds is bounded as a whole: a fetch needs a descriptor and memory as a client does. A client's
//! seat is taken by its listener; whoever connects to an origin takes one with [`Seats::take`].

use std::cell::{Cell, RefCell};
use std::rc::{Rc, Weak};

use tokio::sync::Notify;

use crate::connection::Connection;

/// The seats of one worker. Cheap to clone; stays on the worker's thread.
#[derive(Clone)]
pub struct Seats(Rc<Inner>);

struct Inner {
    most: usize,
    taken: Cell<usize>,
    /// The connections of clients, each at the place that its guard holds.
    clients: RefCell<Vec<Option<Weak<Connection>>>>,
    free: RefCell<Vec<usize>>,
    open: Cell<usize>,
    changed: Notify,
}

/// One taken seat; dropping it gives it back.
pub struct Seat {
    seats: Rc<Inner>,
}

impl Seats {
    /// So many seats (`worker_connections`).
    pub fn new(most: usize) -> Self {
        Self(Rc::new(Inner {
            most,
            taken: Cell::new(0),
            clients: RefCell::default(),
            free: RefCell::default(),
            open: Cell::new(0),
            changed: Notify::new(),
        }))
    }

    /// A seat for a connection that is no client's; none where all are taken.
    pub fn take(&self) -> Option<Seat> {
        (!self.is_full()).then(|| self.sit())
    }

    /// Whether all are taken.
    pub fn is_full(&self) -> bool {
        self.0.taken.get() >= self.0.most
    }

    /// How many there are.
    pub fn most(&self) -> usize {
        self.0.most
    }

    /// Connections of clients that are open now.
    pub fn clients(&self) -> usize {
        self.0.open.get()
    }

    /// Returns once a seat has been given back; one that was given back since the last call counts.
    pub(crate) async fn changed(&self) {
        self.0.changed.notified().await;
    }

    /// Each client's connection that is open now.
    pub(crate) fn each_client(&self, mut visit: impl FnMut(Rc<Connection>)) {
        let all = self.0.clients.borrow();
        all.iter().flatten().filter_map(Weak::upgrade).for_each(&mut visit);
    }

    fn sit(&self) -> Seat {
        self.0.taken.set(self.0.taken.get() + 1);
        Seat { seats: Rc::clone(&self.0) }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.seats.taken.set(self.seats.taken.get() - 1);
        self.seats.changed.notify_one();
    }
}

/// Counts a client's connection for as long as it is driven.
pub(crate) struct Guard {
    seat: Seat,
    at: usize,
}

impl Guard {
    /// Seats a client, whether or not there is room: its listener sees to that.
    pub(crate) fn new(seats: &Seats, connection: &Rc<Connection>) -> Self {
        let inner = &seats.0;
        inner.open.set(inner.open.get() + 1);
        let mut clients = inner.clients.borrow_mut();
        let connection = Some(Rc::downgrade(connection));
        let at = inner.free.borrow_mut().pop().unwrap_or_else(|| {
            clients.push(None);
            clients.len() - 1
        });
        clients[at] = connection;
        Self { seat: seats.sit(), at }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let inner = &self.seat.seats;
        inner.open.set(inner.open.get() - 1);
        inner.clients.borrow_mut()[self.at] = None;
        inner.free.borrow_mut().push(self.at);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::Peer;
    use crate::socket::Socket;

    fn client(id: u64) -> Rc<Connection> {
        Connection::new(id, 0, Peer::Unix, Socket::none())
    }

    #[test]
    fn clients_and_origins_share_the_seats_and_give_them_back() {
        let seats = Seats::new(2);
        let connection = client(1);
        let guard = Guard::new(&seats, &connection);
        let origin = seats.take().expect("a seat");
        assert!(seats.is_full() && seats.take().is_none());
        assert_eq!(seats.clients(), 1);
        drop(origin);
        let origin = seats.take().expect("the seat that was given back");
        drop(guard);
        assert_eq!(seats.clients(), 0);
        let second = seats.take().expect("the client's seat");
        assert!(seats.take().is_none());
        drop((origin, second));
        assert!(!seats.is_full());
    }

    #[test]
    fn only_connections_that_are_open_are_visited() {
        let seats = Seats::new(9);
        let (first, second) = (client(1), client(2));
        let guards = (Guard::new(&seats, &first), Guard::new(&seats, &second));
        drop(guards.0);
        let mut seen = Vec::new();
        seats.each_client(|connection| seen.push(connection.id));
        assert_eq!(seen, [2]);
        drop(guards.1);
    }
}
