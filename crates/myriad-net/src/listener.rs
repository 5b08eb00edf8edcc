//! A worker's listening sockets and its connections.

use std::cell::RefCell;
use std::collections::HashMap;
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
use crate::h3::{Hub, QuicPlace, Users, WeakUsers};
use crate::seats::{Guard, Seats};
use crate::service::{ConnectionEvent, RawEnd, Service};
use crate::socket::Socket;
use crate::test_panic::test_panic;
use crate::transport::Registered;
use crate::{deadline, h1};

/// Descriptors that a newcomer and its request may need.
const NEWCOMER: usize = 4;
/// How long accepting pauses when the system refuses a socket for want of memory (nginx: `accept_mutex_delay`, 500 ms).
const OUT_OF_MEMORY: Duration = Duration::from_millis(500);
/// How long it pauses where the process has no descriptor left, or nobody could give way to a newcomer: a connection that
/// begins to wait for its client meanwhile tells nobody.
const AGAIN: Duration = Duration::from_millis(deadline::TICK_MS);

/// One thread's share of the site: its listeners and connections.
pub struct Worker<S> {
    service: Rc<S>,
    seats: Seats,
    /// Listeners for QUIC, by number.
    hubs: Rc<RefCell<HashMap<u32, WeakUsers>>>,
}

/// Accepts from one listening socket until dropped.
pub struct Acceptor {
    kind: Kind,
}

enum Kind {
    /// Connections of TCP or unix sockets.
    Stream(JoinHandle<()>),
    /// Connections of QUIC, whose task ends with the last of them.
    Quic(#[expect(dead_code, reason = "it is held, not asked")] Users),
}

impl Drop for Acceptor {
    fn drop(&mut self) {
        if let Kind::Stream(task) = &self.kind {
            task.abort();
        }
    }
}

impl<S: Service> Worker<S> {
    /// A worker whose clients take those seats. Must be made on the worker's runtime.
    pub fn new(service: Rc<S>, seats: Seats) -> Self {
        spawn_vital(&service, "deadlines", deadline::run());
        Self { service, seats, hubs: Rc::default() }
    }

    /// Starts to accept connections from a TCP or unix socket; they bear `number` as their listener.
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

    /// Starts to accept connections of QUIC from sockets of one address, or goes on where their listener is accepted from
    /// already.
    pub fn listen_quic(&self, sockets: Vec<OwnedFd>, place: QuicPlace) -> io::Result<Acceptor> {
        let mut hubs = self.hubs.borrow_mut();
        if let Some(users) = hubs.get(&place.number).and_then(WeakUsers::join) {
            return Ok(Acceptor { kind: Kind::Quic(users) });
        }
        let number = place.number;
        let users = Hub::start(Rc::clone(&self.service), self.seats.clone(), sockets, place)?;
        hubs.insert(number, users.downgrade());
        Ok(Acceptor { kind: Kind::Quic(users) })
    }

    /// Connections open now.
    pub fn connections(&self) -> usize {
        self.seats.clients()
    }

    /// Closes idle connections at once, lets the others finish, and returns when none is left. The acceptors must
    /// have been dropped.
    pub async fn drain(&self) {
        deadline::drain();
        while self.seats.clients() > 0 {
            self.seats.changed().await;
        }
    }

    /// Closes, once `after` has passed, the connections of now on which no request has begun until then: what they are
    /// busy with, if anything, is as old as they are (nginx's `worker_shutdown_timeout` after a reload).
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

    /// Closes every connection, whatever it is busy with.
    pub fn end_all(&self) {
        self.seats.each_client(|connection| connection.socket.shutdown());
    }

    fn share(&self) -> Self {
        Self { service: Rc::clone(&self.service), seats: self.seats.clone(), hubs: Rc::clone(&self.hubs) }
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
                    // The driver borrows the connection: `Connection::end` counts the references to it.
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

    /// Returns once a newcomer can be seated: there is a seat, or somebody who gives way to whoever comes.
    async fn wait_for_room(&self, listener: &Registered) {
        while !self.seats.has_room() {
            if listener.has_input() {
                self.seats.note_refused();
            }
            let _ = tokio::time::timeout(AGAIN, self.seats.changed()).await;
        }
    }

    /// The system gave no socket.
    async fn refused(&self, error: &io::Error) {
        match Errno::from_io_error(error) {
            // A client that has gone needs no pause.
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
