//! A worker's listening sockets and its connections.

use std::cell::Cell;
use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::net::{TcpListener, UnixListener};
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use crate::connection::{Connection, Peer};
use crate::service::Service;
use crate::socket::Socket;
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
        Self { service, live: Rc::new(Live { count: Cell::new(0), most, changed: Notify::new() }) }
    }

    /// Starts to accept TCP connections; they bear `number` as their listener.
    pub fn listen_tcp(&self, number: u32, socket: OwnedFd) -> io::Result<Acceptor> {
        let listener = std::net::TcpListener::from(socket);
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let worker = self.share();
        Ok(Acceptor {
            task: tokio::task::spawn_local(async move {
                loop {
                    let accepted = listener.accept().await;
                    let accepted = accepted.map(|(stream, peer)| (Socket::Tcp(stream), Peer::Inet(peer)));
                    worker.take(number, accepted).await;
                }
            }),
        })
    }

    /// Starts to accept connections from a unix socket.
    pub fn listen_unix(&self, number: u32, socket: OwnedFd) -> io::Result<Acceptor> {
        let listener = std::os::unix::net::UnixListener::from(socket);
        listener.set_nonblocking(true)?;
        let listener = UnixListener::from_std(listener)?;
        let worker = self.share();
        Ok(Acceptor {
            task: tokio::task::spawn_local(async move {
                loop {
                    let accepted = listener.accept().await;
                    worker.take(number, accepted.map(|(stream, _)| (Socket::Unix(stream), Peer::Unix))).await;
                }
            }),
        })
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
        let guard = Guard::new(&self.live);
        let service = Rc::clone(&self.service);
        tokio::task::spawn_local(async move {
            h1::drive(service, connection).await;
            drop(guard);
        });
        while self.live.count.get() >= self.live.most {
            self.live.changed.notified().await;
        }
    }
}

struct Guard(Rc<Live>);

impl Guard {
    fn new(live: &Rc<Live>) -> Self {
        live.count.set(live.count.get() + 1);
        Self(Rc::clone(live))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        self.0.count.set(self.0.count.get() - 1);
        self.0.changed.notify_one();
    }
}
