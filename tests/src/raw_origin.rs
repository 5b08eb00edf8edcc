//! Origin that exchanges raw bytes.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::acceptor::Acceptor;
use crate::{PATIENCE, wait_for};

/// Origin on its own port; it refuses connections after it is dropped.
#[derive(Debug)]
pub struct Wire {
    /// `127.0.0.1:PORT`.
    pub address: String,
    heads: Arc<Mutex<Vec<String>>>,
    acceptor: Acceptor,
}

/// Connection to the origin.
#[derive(Debug)]
pub struct WireCall {
    /// Number of earlier connections.
    pub number: usize,
    /// Socket of the connection.
    pub stream: TcpStream,
    /// Received bytes that have not been consumed.
    pub buffer: Vec<u8>,
    heads: Arc<Mutex<Vec<String>>>,
}

impl Wire {
    /// Starts an origin that runs the script for each connection on a separate thread; the connection closes when the
    /// script returns.
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

    /// Returns the heads of the received requests.
    pub fn heads(&self) -> Vec<String> {
        self.heads.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the number of accepted connections.
    pub fn connections(&self) -> usize {
        self.acceptor.connections()
    }

    /// Waits until `count` requests have been received.
    pub fn wait_for(&self, count: usize) {
        wait_for(&format!("request {count} at the origin"), || self.heads().len() >= count);
    }
}

impl WireCall {
    /// Reads the head of a request and adds it to [`Wire::heads`]; returns `None` if the connection closes.
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

    /// Reads until the bytes end with `end`; returns `None` if the connection closes before.
    pub fn until(&mut self, end: &[u8]) -> Option<Vec<u8>> {
        while !self.buffer.ends_with(end) {
            self.fill()?;
        }
        Some(std::mem::take(&mut self.buffer))
    }

    /// Reads some bytes; returns `None` at the end of the stream, or after an error.
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

    /// Writes bytes; returns whether they could be written.
    pub fn say(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.stream.write_all(bytes.as_ref()).is_ok()
    }

    /// Shuts down the connection in an orderly way.
    pub fn close(&mut self) {
        let _ = self.stream.shutdown(Shutdown::Both);
    }
}
