//! The listening half that every origin has.

use std::iter;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};

use crate::place::free_port;

/// A listening socket with a thread a connection. Once stopped or dropped it refuses whoever connects.
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
    /// Listens, on a free port where none is asked for, and hands each connection to a thread of its own.
    pub(crate) fn start(address: Option<&str>, serve: impl Fn(&TcpStream) + Send + Sync + 'static) -> Self {
        // None of the system's choice: once it is left, nobody else is to be given it.
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

    /// `IP:PORT`.
    pub(crate) fn address(&self) -> &str {
        &self.address
    }

    /// How many connections have been made.
    pub(crate) fn connections(&self) -> usize {
        self.shared.connections.load(Ordering::SeqCst)
    }

    /// Stops listening; what is connected stays so.
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
