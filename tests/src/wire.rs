//! An origin that speaks bytes, whatever they mean.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::acceptor::Acceptor;
use crate::{PATIENCE, wait_for};

/// An origin on a port of its own; it refuses connections once it is dropped.
#[derive(Debug)]
pub struct Wire {
    /// `127.0.0.1:PORT`.
    pub address: String,
    heads: Arc<Mutex<Vec<String>>>,
    acceptor: Acceptor,
}

/// A connection to it.
#[derive(Debug)]
pub struct WireCall {
    /// How many connections there were before.
    pub number: usize,
    /// The socket.
    pub stream: TcpStream,
    /// What has come and is not read.
    pub buffer: Vec<u8>,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Wire {
    /// Runs the script once a connection, in a thread of its own; the connection ends with it.
    pub fn start(script: impl Fn(&mut WireCall) + Send + Sync + 'static) -> Self {
        let heads = Arc::<Mutex<Vec<String>>>::default();
        let (told, count) = (Arc::clone(&heads), AtomicUsize::new(0));
        let acceptor = Acceptor::start(None, move |stream| {
            stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
            stream.set_write_timeout(Some(PATIENCE)).expect("a time-out");
            let Ok(stream) = stream.try_clone() else { return };
            let number = count.fetch_add(1, Ordering::SeqCst);
            let heads = Arc::clone(&told);
            script(&mut WireCall { number, stream, buffer: Vec::new(), heads });
        });
        Self { address: acceptor.address().to_owned(), heads, acceptor }
    }

    /// The heads of requests that were read, as they came.
    pub fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many connections have been made.
    pub fn connections(&self) -> usize {
        self.acceptor.connections()
    }

    /// Waits until so many requests have come.
    pub fn wait_for(&self, count: usize) {
        wait_for(&format!("request {count} at the origin"), || self.heads().len() >= count);
    }
}

impl WireCall {
    /// Reads the head of a request; none where the connection ends.
    pub fn head(&mut self) -> Option<String> {
        loop {
            if let Some(at) = self.buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
                let head: Vec<u8> = self.buffer.drain(..at + 4).collect();
                let head = String::from_utf8_lossy(&head).into_owned();
                self.heads.lock().unwrap_or_else(PoisonError::into_inner).push(head.clone());
                return Some(head);
            }
            self.fill()?;
        }
    }

    /// Reads until what came ends with `end`; none where the connection ends before.
    pub fn until(&mut self, end: &[u8]) -> Option<Vec<u8>> {
        while !self.buffer.ends_with(end) {
            self.fill()?;
        }
        Some(std::mem::take(&mut self.buffer))
    }

    /// Reads some bytes; none at the end.
    pub fn fill(&mut self) -> Option<()> {
        let mut piece = [0; 4096];
        match self.stream.read(&mut piece) {
            Ok(0) | Err(_) => None,
            Ok(count) => {
                self.buffer.extend(&piece[..count]);
                Some(())
            }
        }
    }

    /// Writes bytes; tells whether they could be written.
    pub fn say(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.stream.write_all(bytes.as_ref()).is_ok()
    }

    /// Ends the connection in order.
    pub fn close(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}
