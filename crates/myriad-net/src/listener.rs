//! Listening sockets of a worker, and the client connections that it accepts from them.

use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::time::Duration;

use rustix::io::{Errno, retry_on_intr};
use rustix::net::{SocketFlags, acceptfrom_with};
use tokio::task::JoinHandle;

use crate::connection::{ClientAddress, Connection, next_serial};
use crate::connection_limiter::{ClientGuard, ConnectionLimiter};
use crate::h3::{AcceptorRefs, Hubs, QuicWorkerSockets};
use crate::panic_handling::{catch_panic, spawn_vital};
use crate::service::{ConnectionEvent, RawEnd, Service};
use crate::socket::ClientSocket;
use crate::test_panic::test_panic;
use crate::transport::Registered;
use crate::{deadline, h1};

/// Number of connections evicted when `accept` fails for lack of file descriptors: as many descriptors as a new client
/// connection and its request may need.
const DESCRIPTORS_PER_CONNECTION: usize = 4;
/// Pause before the next `accept` after an error, for example lack of memory, as long as nginx's default
/// `accept_mutex_delay`. Not used after a lack of file descriptors or an aborted connection.
const OUT_OF_MEMORY: Duration = Duration::from_millis(500);
/// Interval at which a listener that cannot accept for lack of slots, memory or file descriptors tries again. Needed
/// because a connection that becomes evictable does not notify the listener.
const AGAIN: Duration = Duration::from_millis(deadline::TICK_MS);

/// Client connections of one worker thread; accepts them from listening sockets.
pub struct ConnectionWorker<S> {
    service: Rc<S>,
    limiter: ConnectionLimiter,
    hubs: Hubs,
}

/// Handle of a listening socket whose connections are accepted. Dropping it stops accepting; a QUIC listener stops, and
/// sends its clients a GOAWAY, when its last handle is dropped.
pub struct Acceptor {
    kind: AcceptorKind,
}

enum AcceptorKind {
    /// Acceptor of TCP or unix connections; contains its task.
    Stream(JoinHandle<()>),
    /// QUIC connections. The listener's task runs until the last connection has closed.
    Quic(#[allow(dead_code, reason = "held open, never read")] AcceptorRefs),
}

impl Drop for Acceptor {
    fn drop(&mut self) {
        if let AcceptorKind::Stream(task) = &self.kind {
            task.abort();
        }
    }
}

impl<S: Service> ConnectionWorker<S> {
    /// Creates a worker that takes connection slots from `limiter`. Must be called on the worker's runtime.
    pub fn new(service: Rc<S>, limiter: ConnectionLimiter) -> Self {
        spawn_vital(&service, "deadlines", deadline::run());
        Self { service, limiter, hubs: Hubs::default() }
    }

    /// Starts to accept connections from a TCP or unix socket. `number` becomes the listener number of the connections.
    /// Fails if the socket cannot be registered with the event loop.
    pub fn listen(&self, number: u32, socket: OwnedFd) -> io::Result<Acceptor> {
        rustix::io::ioctl_fionbio(&socket, true)?;
        let listener = Registered::new(socket)?;
        let worker = self.clone_handle();
        let task = spawn_vital(&self.service, "listener", async move {
            loop {
                test_panic("listener");
                worker.wait_for_room(&listener).await;
                let accepted = accept(&listener).await;
                worker.start_connection(number, accepted).await;
            }
        });
        Ok(Acceptor { kind: AcceptorKind::Stream(task) })
    }

    /// Starts to accept QUIC connections from sockets that share an address. If a listener with the same number is
    /// still active, it is reused, and `sockets` are closed.
    pub fn listen_quic(&self, sockets: Vec<OwnedFd>, place: QuicWorkerSockets) -> io::Result<Acceptor> {
        let users = self.hubs.listen(&self.service, &self.limiter, sockets, place)?;
        Ok(Acceptor { kind: AcceptorKind::Quic(users) })
    }

    /// Returns the number of open client connections of this worker.
    pub fn connections(&self) -> usize {
        self.limiter.clients()
    }

    /// Closes idle connections and each other connection after its current responses; returns when all are closed. The
    /// acceptors must have been dropped.
    pub async fn drain(&self) {
        deadline::drain();
        while self.limiter.clients() > 0 {
            self.limiter.slot_freed().await;
        }
    }

    /// Returns immediately. After the delay `after`, closes the TCP and unix connections that are open now, except
    /// those on which a request has started during the delay (`worker_shutdown_timeout`, after a reload). QUIC
    /// connections are not affected.
    pub fn close_stragglers(&self, after: Duration) {
        let mut now = Vec::with_capacity(self.limiter.clients());
        self.limiter.each_client(|it| now.push((Rc::downgrade(&it), it.requests.get())));
        tokio::task::spawn_local(async move {
            tokio::time::sleep(after).await;
            for (connection, requests) in now {
                if let Some(connection) = connection.upgrade().filter(|it| it.requests.get() == requests) {
                    connection.socket.shutdown();
                }
            }
        });
    }

    /// Shuts down the sockets of all TCP and unix connections, including busy ones. QUIC connections are not affected.
    pub fn close_all(&self) {
        self.limiter.each_client(|connection| connection.socket.shutdown());
    }

    fn clone_handle(&self) -> Self {
        Self { service: Rc::clone(&self.service), limiter: self.limiter.clone(), hubs: self.hubs.clone() }
    }

    async fn start_connection(&self, number: u32, accepted: io::Result<(ClientSocket, ClientAddress)>) {
        let (socket, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                return self.on_accept_error(&error).await;
            }
        };
        self.limiter.make_room();
        let connection = Connection::new(next_serial(), number, peer, socket);
        let guard = ClientGuard::new(&self.limiter, &connection);
        let service = Rc::clone(&self.service);
        service.count_event(ConnectionEvent::Accepted);
        tokio::task::spawn_local(async move {
            let driven = loop {
                let Some(driver) = service.raw(&connection) else {
                    // Borrows the connection, because `Connection::finish` checks the reference count.
                    break catch_panic(h1::drive(Rc::clone(&service), &connection)).await;
                };
                match catch_panic(driver).await {
                    Ok(RawEnd::Passed) => {}
                    Ok(RawEnd::Closed) => break Ok(()),
                    Err(panic) => break Err(panic),
                }
            };
            if let Err(panic) = driven {
                service.connection_lost(&connection, &panic);
                connection.socket.shutdown();
            }
            service.count_event(ConnectionEvent::Closed);
            drop(guard);
        });
    }

    /// Waits until a new connection can be accepted: a slot and memory are available, or a connection can be evicted.
    /// Records a refusal while a client waits.
    async fn wait_for_room(&self, listener: &Registered) {
        while !self.limiter.has_room() {
            if listener.has_input() {
                self.limiter.record_refusal();
            }
            let _ = tokio::time::timeout(AGAIN, self.limiter.slot_freed()).await;
        }
    }

    /// Handles an error of `accept`: evicts connections if file descriptors are exhausted, then pauses. Does nothing if
    /// the client has closed the connection already.
    async fn on_accept_error(&self, error: &io::Error) {
        match Errno::from_io_error(error) {
            Some(Errno::CONNABORTED | Errno::CONNRESET) => {}
            Some(Errno::MFILE | Errno::NFILE) => {
                self.limiter.free_descriptors(DESCRIPTORS_PER_CONNECTION);
                tokio::time::sleep(AGAIN).await;
            }
            _ => tokio::time::sleep(OUT_OF_MEMORY).await,
        }
    }
}

async fn accept(listener: &Registered) -> io::Result<(ClientSocket, ClientAddress)> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let (descriptor, address) = poll_fn(|cx| {
        listener.poll_input(cx, |socket| {
            retry_on_intr(|| acceptfrom_with(socket, flags)).map_err(io::Error::from)
        })
    })
    .await?;
    let peer = address.and_then(|address| SocketAddr::try_from(address).ok());
    Ok((ClientSocket::new(descriptor), peer.map_or(ClientAddress::Unix, ClientAddress::Inet)))
}
