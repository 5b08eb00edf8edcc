//! Listening socket of an origin.

use std::iter;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use crate::place::free_port;

/// Listening socket with a thread per connection. After [`Acceptor::stop`] or drop, new connections are refused.
#[derive(Debug)]
pub(crate) struct Acceptor {
    address: String,
    shared: Arc<Shared>,
    listening: Option<JoinHandle<()>>,
}

#[derive(Debug, Default)]
struct Shared {
    connections: AtomicUsize,
    stopped: AtomicBool,
}

impl Acceptor {
    /// Listens on `address`, or on a free port of 127.0.0.1 if it is `None`, and calls `serve` for each connection on a
    /// separate thread.
    pub(crate) fn start(address: Option<&str>, serve: impl Fn(&TcpStream) + Send + Sync + 'static) -> Self {
        // Not a port chosen by the system: after the origin has stopped, no other process must receive the port.
        let listener = match address {
            Some(address) => TcpListener::bind(address).expect("the origin's port"),
            None => iter::repeat_with(|| TcpListener::bind(("127.0.0.1", free_port())))
                .find_map(Result::ok)
                .expect("a free port"),
        };
        let address = listener.local_addr().expect("address").to_string();
        let (shared, serve) = (Arc::new(Shared::default()), Arc::new(serve));
        let watched = Arc::clone(&shared);
        let listening = thread::spawn(move || {
            for stream in listener.incoming() {
                if watched.stopped.load(Ordering::SeqCst) {
                    return;
                }
                let Ok(stream) = stream else { continue };
                let _ = stream.set_nodelay(true);
                watched.connections.fetch_add(1, Ordering::SeqCst);
                let serve = Arc::clone(&serve);
                thread::spawn(move || serve(&stream));
            }
        });
        Self { address, shared, listening: Some(listening) }
    }

    /// Returns `IP:PORT`.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// Returns the number of accepted connections.
    pub(crate) fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// Stops listening; existing connections remain open.
    pub(crate) fn stop(&mut self) {
        if let Some(listening) = self.listening.take() {
            self.shared.stopped.store(true, Ordering::SeqCst);
            let _ = TcpStream::connect(&self.address);
            let _ = listening.join();
        }
    }
}

impl Drop for Acceptor {
    fn drop(&mut self) {
        self.stop();
    }
}
