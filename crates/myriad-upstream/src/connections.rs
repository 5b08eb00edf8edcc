//! How many connections to origins a worker has at once.

use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::future::poll_fn;
use std::rc::Rc;

use crate::error::{ErrorKind, OriginError, Phase};
use crate::line::Line;
use crate::timer;

/// What a kept connection may be used for again: requests to that peer, by that TLS ([`crate::OriginTls::identity`], 0 for
/// none).
pub(crate) type PoolKey = (u64, u64);

/// What connections to origins take of a worker.
pub trait Seating {
    /// A connection out of all that the worker may have (`worker_connections`), until what it returns is dropped.
    fn take(&self) -> Option<Box<dyn Any>>;

    /// The process has no descriptor left: has others give way, soon.
    fn make_descriptors(&self);
}

/// The connections to origins of one worker, in use and idle; clones are the same count.
///
/// They have a bound of their own, below that of all the worker's connections: fetches without end must leave room for
/// clients that want what is here.
#[derive(Clone)]
pub struct Connections(Rc<Inner>);

struct Inner {
    most: usize,
    open: Cell<usize>,
    line: Line,
    seats: Option<Box<dyn Seating>>,
}

/// One connection, counted until dropped.
pub(crate) struct Place {
    connections: Connections,
    seat: Option<Box<dyn Any>>,
}

impl Connections {
    /// Connections without a bound.
    pub fn unbounded() -> Self {
        Self::of(usize::MAX, None)
    }

    /// Connections of which there are at most `most`, each of which takes one of the worker's seats as well.
    pub fn bounded(most: usize, seats: Box<dyn Seating>) -> Self {
        Self::of(most, Some(seats))
    }

    fn of(most: usize, seats: Option<Box<dyn Seating>>) -> Self {
        Self(Rc::new(Inner { most, open: Cell::new(0), line: Line::new(), seats }))
    }

    /// A place at once, before nobody who waits for one.
    pub(crate) fn take_now(&self) -> Option<Place> {
        if self.0.line.is_empty() { self.sit().ok() } else { None }
    }

    /// A place, in turn, within `timeout_ms`. `make_room` closes an idle connection, and says whether there was one.
    pub(crate) async fn take(
        &self,
        make_room: impl Fn() -> bool,
        timeout_ms: u64,
    ) -> Result<Place, OriginError> {
        let sit = || {
            loop {
                match self.sit() {
                    Ok(place) => return Some(Ok(place)),
                    Err(_) if make_room() => {}
                    Err(Taken::Own) => return None,
                    // Clients have taken the rest, and none of them wakes who waits here: as in nginx, that fails.
                    Err(Taken::All) => return Some(Err(failure("worker_connections are not enough"))),
                }
            }
        };
        if self.0.line.is_empty()
            && let Some(taken) = sit()
        {
            return taken;
        }
        let Some(mut turn) = self.0.line.join(usize::MAX) else { return Err(failure("too many wait")) };
        let called = poll_fn(|cx| turn.poll(cx, sit));
        let late = || failure("no connection became free in time, worker_connections are not enough");
        tokio::time::timeout(timer::bounded(timeout_ms), called).await.unwrap_or_else(|_| Err(late()))
    }

    /// Calls who waits first: an idle connection may be closed for it.
    pub(crate) fn idle(&self) {
        self.0.line.wake_first();
    }

    /// The process has no descriptor left: has others give way, soon.
    pub(crate) fn make_descriptors(&self) {
        if let Some(seats) = &self.0.seats {
            seats.make_descriptors();
        }
    }

    fn sit(&self) -> Result<Place, Taken> {
        let open = &self.0.open;
        if open.get() >= self.0.most {
            return Err(Taken::Own);
        }
        let seat = match &self.0.seats {
            Some(seats) => Some(seats.take().ok_or(Taken::All)?),
            None => None,
        };
        open.set(open.get() + 1);
        Ok(Place { connections: self.clone(), seat })
    }
}

/// Whose connections leave no place.
enum Taken {
    /// Those to origins.
    Own,
    /// All of the worker.
    All,
}

fn failure(what: &str) -> OriginError {
    OriginError::new(ErrorKind::NoConnection, Phase::Connecting, what)
}

impl Drop for Place {
    fn drop(&mut self) {
        let inner = &self.connections.0;
        drop(self.seat.take());
        inner.open.set(inner.open.get() - 1);
        inner.line.wake_first();
    }
}

impl fmt::Debug for Connections {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connections").field("open", &self.0.open.get()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Place")
    }
}
