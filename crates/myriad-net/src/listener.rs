//! A worker's listening sockets and its connections.

use std::cell::{Cell, RefCell};
use std::future::poll_fn;
use std::io;
use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::rc::{Rc, Weak};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::io::retry_on_intr;
use rustix::net::{SocketFlags, acceptfrom_with};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::connection::{Connection, Peer};
use crate::service::{ConnectionEvent, Service};
use crate::socket::{Registered, Socket};
use crate::{deadline, h1};

/// How long accepting pauses when the process is out of descriptors (nginx: `accept_mutex_delay`, 500 ms).
const OUT_OF_DESCRIPTORS: Duration = Duration::from_millis(500);
static SERIAL: AtomicU64 = AtomicU64::new(1);

/// One thread's share of the site: its listeners and connections.
pub struct Worker<S> {
    service: Rc<S>,
    live: Rc<Live>,
}

/// The connections of a worker, counted.
struct Live {
    count: Cell<usize>,
    /// Each of them, at the place that its guard holds.
    all: RefCell<Vec<Option<Weak<Connection>>>>,
    free: RefCell<Vec<usize>>,
    most: usize,
    changed: Notify,
}

/// Accepts from one listening socket until dropped.
pub struct Acceptor {
    task: JoinHandle<()>,
}

impl Drop for Acceptor {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl<S: Service> Worker<S> {
    /// A worker that holds at most `most` connections (`worker_connections`). Must be made on the worker's runtime.
    pub fn new(service: Rc<S>, most: usize) -> Self {
        tokio::task::spawn_local(deadline::run());
        Self { service, live: Rc::new(Live::new(most)) }
    }

    /// Starts to accept connections from a TCP or unix socket; they bear `number` as their listener.
    pub fn listen(&self, number: u32, socket: OwnedFd) -> io::Result<Acceptor> {
        rustix::io::ioctl_fionbio(&socket, true)?;
        let listener = Registered::new(socket)?;
        let worker = self.share();
        let task = tokio::task::spawn_local(async move {
            loop {
                let accepted = accept(&listener).await;
                worker.take(number, accepted).await;
            }
        });
        Ok(Acceptor { task })
    }

    /// Connections open now.
    pub fn connections(&self) -> usize {
        self.live.count.get()
    }

    /// Closes idle connections at once, lets the others finish, and returns when none is left. The acceptors must
    /// have been dropped.
    pub async fn drain(&self) {
        deadline::drain();
        while self.live.count.get() > 0 {
            self.live.changed.notified().await;
        }
    }

    /// Closes, once `after` has passed, the connections of now on which no request has begun until then: what they are
    /// busy with, if anything, is as old as they are (nginx's `worker_shutdown_timeout` after a reload).
    pub fn end_stragglers(&self, after: Duration) {
        let all = self.live.all.borrow();
        let now: Vec<_> = all
            .iter()
            .flatten()
            .filter_map(|connection| Some((connection.clone(), connection.upgrade()?.requests.get())))
            .collect();
        drop(all);
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
        let all = self.live.all.borrow();
        for connection in all.iter().flatten().filter_map(Weak::upgrade) {
            connection.socket.shutdown();
        }
    }

    fn share(&self) -> Self {
        Self { service: Rc::clone(&self.service), live: Rc::clone(&self.live) }
    }

    async fn take(&self, number: u32, accepted: io::Result<(Socket, Peer)>) {
        let (socket, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                // Out of descriptors or memory: waiting is all that helps. A client that has gone needs no pause.
                if !matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::ConnectionReset)
                {
                    tokio::time::sleep(OUT_OF_DESCRIPTORS).await;
                }
                return;
            }
        };
        let connection = Connection::new(SERIAL.fetch_add(1, Ordering::Relaxed), number, peer, socket);
        let guard = Guard::new(&self.live, &connection);
        let service = Rc::clone(&self.service);
        service.note(ConnectionEvent::Accepted);
        tokio::task::spawn_local(async move {
            h1::drive(Rc::clone(&service), connection).await;
            service.note(ConnectionEvent::Closed);
            drop(guard);
        });
        while self.live.count.get() >= self.live.most {
            self.live.changed.notified().await;
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

impl Live {
    fn new(most: usize) -> Self {
        Self {
            count: Cell::new(0),
            all: RefCell::default(),
            free: RefCell::default(),
            most,
            changed: Notify::new(),
        }
    }
}

/// Counts a connection for as long as it is driven.
struct Guard {
    live: Rc<Live>,
    at: usize,
}

impl Guard {
    fn new(live: &Rc<Live>, connection: &Rc<Connection>) -> Self {
        live.count.set(live.count.get() + 1);
        let mut all = live.all.borrow_mut();
        let connection = Some(Rc::downgrade(connection));
        let free = live.free.borrow_mut().pop();
        let at = free.unwrap_or_else(|| {
            all.push(None);
            all.len() - 1
        });
        all[at] = connection;
        Self { live: Rc::clone(live), at }
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        let live = &self.live;
        live.count.set(live.count.get() - 1);
        live.all.borrow_mut()[self.at] = None;
        live.free.borrow_mut().push(self.at);
        live.changed.notify_one();
    }
}
