//! Listening sockets and connections of a worker.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::Duration;

use rustix::io::{Errno, retry_on_intr};
use rustix::net::{SocketFlags, acceptfrom_with};
use tokio::task::JoinHandle;

use crate::connection::{Connection, Peer, next_serial};
use crate::containment::{contain, spawn_vital};
use crate::h3::{Hubs, QuicPlace, Users};
use crate::seats::{Guard, Seats};
use crate::service::{ConnectionEvent, RawEnd, Service};
use crate::socket::Socket;
use crate::test_panic::test_panic;
use crate::transport::Registered;
use crate::{deadline, h1};

/// Number of descriptors that a new connection and its request may need.
const NEWCOMER: usize = 4;
/// Pause of accepting after the system refused a socket because it is out of memory (nginx: `accept_mutex_delay`, 500
/// ms).
const OUT_OF_MEMORY: Duration = Duration::from_millis(500);
/// Pause of accepting if the process is out of descriptors or no connection can be evicted. A connection that starts to
/// wait for its client does not notify the listener.
const AGAIN: Duration = Duration::from_millis(deadline::TICK_MS);

/// Listeners and connections of one worker thread.
pub struct Worker<S> {
    service: Rc<S>,
    seats: Seats,
    hubs: Hubs,
}

/// Handle of a listening socket that is accepted from; dropping it stops accepting.
pub struct Acceptor {
    kind: Kind,
}

enum Kind {
    /// TCP or unix connections.
    Stream(JoinHandle<()>),
    /// QUIC connections; the task finishes with the last of them.
    Quic(#[allow(dead_code, reason = "held open, never read")] Users),
}

impl Drop for Acceptor {
    fn drop(&mut self) {
        if let Kind::Stream(task) = &self.kind {
            task.abort();
        }
    }
}

impl<S: Service> Worker<S> {
    /// Creates a worker whose clients take their seats from `seats`. Must be called on the worker's runtime.
    pub fn new(service: Rc<S>, seats: Seats) -> Self {
        spawn_vital(&service, "deadlines", deadline::run());
        Self { service, seats, hubs: Hubs::default() }
    }

    /// Starts to accept connections from a TCP or unix socket; `number` becomes their listener number.
    pub fn listen(&self, number: u32, socket: OwnedFd) -> io::Result<Acceptor> {
        rustix::io::ioctl_fionbio(&socket, true)?;
        let listener = Registered::new(socket)?;
        let worker = self.share();
        let task = spawn_vital(&self.service, "listener", async move {
            loop {
                test_panic("listener");
                worker.wait_for_room(&listener).await;
                let accepted = accept(&listener).await;
                worker.take(number, accepted).await;
            }
        });
        Ok(Acceptor { kind: Kind::Stream(task) })
    }

    /// Starts to accept QUIC connections from the sockets of one address. If a listener with that number is already
    /// active, joins it.
    pub fn listen_quic(&self, sockets: Vec<OwnedFd>, place: QuicPlace) -> io::Result<Acceptor> {
        let users = self.hubs.listen(&self.service, &self.seats, sockets, place)?;
        Ok(Acceptor { kind: Kind::Quic(users) })
    }

    /// Returns the number of open client connections.
    pub fn connections(&self) -> usize {
        self.seats.clients()
    }

    /// Closes idle connections immediately, lets the others finish, and returns when all are closed. The acceptors must
    /// have been dropped.
    pub async fn drain(&self) {
        deadline::drain();
        while self.seats.clients() > 0 {
            self.seats.changed().await;
        }
    }

    /// After the delay `after`, closes those of the current connections on which no further request has started
    /// (nginx's `worker_shutdown_timeout` after a reload).
    pub fn end_stragglers(&self, after: Duration) {
        let mut now = Vec::with_capacity(self.seats.clients());
        self.seats.each_client(|it| now.push((Rc::downgrade(&it), it.requests.get())));
        tokio::task::spawn_local(async move {
            tokio::time::sleep(after).await;
            for (connection, requests) in now {
                if let Some(connection) = connection.upgrade().filter(|it| it.requests.get() == requests) {
                    connection.socket.shutdown();
                }
            }
        });
    }

    /// Closes all connections, including busy connections.
    pub fn end_all(&self) {
        self.seats.each_client(|connection| connection.socket.shutdown());
    }

    fn share(&self) -> Self {
        Self { service: Rc::clone(&self.service), seats: self.seats.clone(), hubs: self.hubs.clone() }
    }

    async fn take(&self, number: u32, accepted: io::Result<(Socket, Peer)>) {
        let (socket, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                return self.refused(&error).await;
            }
        };
        self.seats.make_room();
        let connection = Connection::new(next_serial(), number, peer, socket);
        let guard = Guard::new(&self.seats, &connection);
        let service = Rc::clone(&self.service);
        service.note(ConnectionEvent::Accepted);
        tokio::task::spawn_local(async move {
            let driven = loop {
                let Some(driver) = service.raw(&connection) else {
                    // The driver borrows the connection, because `Connection::end` counts the references.
                    break contain(h1::drive(Rc::clone(&service), &connection)).await;
                };
                match contain(driver).await {
                    Ok(RawEnd::Passed) => {}
                    Ok(RawEnd::Closed) => break Ok(()),
                    Err(panic) => break Err(panic),
                }
            };
            if let Err(panic) = driven {
                service.connection_lost(&connection, &panic);
                connection.socket.shutdown();
            }
            service.note(ConnectionEvent::Closed);
            drop(guard);
        });
    }

    /// Returns once a new connection can be accepted: a seat is free, or a connection can be evicted.
    async fn wait_for_room(&self, listener: &Registered) {
        while !self.seats.has_room() {
            if listener.has_input() {
                self.seats.note_refused();
            }
            let _ = tokio::time::timeout(AGAIN, self.seats.changed()).await;
        }
    }

    /// Handles an error of `accept`.
    async fn refused(&self, error: &io::Error) {
        match Errno::from_io_error(error) {
            // The client has closed the connection: no pause needed.
            Some(Errno::CONNABORTED | Errno::CONNRESET) => {}
            Some(Errno::MFILE | Errno::NFILE) => {
                self.seats.make_descriptors(NEWCOMER);
                tokio::time::sleep(AGAIN).await;
            }
            _ => tokio::time::sleep(OUT_OF_MEMORY).await,
        }
    }
}

async fn accept(listener: &Registered) -> io::Result<(Socket, Peer)> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let (descriptor, address) = poll_fn(|cx| {
        listener.poll_input(cx, |socket| {
            retry_on_intr(|| acceptfrom_with(socket, flags)).map_err(io::Error::from)
        })
    })
    .await?;
    let peer = address.and_then(|address| SocketAddr::try_from(address).ok());
    Ok((Socket::new(descriptor), peer.map_or(Peer::Unix, Peer::Inet)))
}
