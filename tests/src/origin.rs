//! Scriptable FastCGI origin, for valid and invalid responses.

use std::collections::HashMap;
use std::io::{self, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::acceptor::Acceptor;
use crate::fastcgi::{BEGIN_REQUEST, END_REQUEST, PARAMS, Record, STDERR, STDIN, STDOUT};
use crate::fastcgi::{pairs, read_record, record, records};
use crate::{Gate, PATIENCE, wait_for};

type Script = dyn Fn(&mut Call) + Send + Sync;

/// Origin on its own port; it refuses connections after it is dropped.
pub struct Origin {
    /// Address `127.0.0.1:PORT`, for `fastcgi_pass`.
    pub address: String,
    state: Arc<State>,
    acceptor: Acceptor,
}

struct State {
    script: Box<Script>,
    calls: Mutex<Vec<String>>,
    finished: AtomicUsize,
    reads_body_first: bool,
}

/// Request as received by the origin, with methods that send the response.
///
/// When the script returns, the request is completed in an orderly way, unless the script hangs up.
#[derive(Debug)]
pub struct Call {
    /// Number of requests that the origin has received, including this request.
    pub number: usize,
    /// Body, if the origin reads it before the script runs; otherwise empty.
    pub body: Vec<u8>,
    params: HashMap<String, String>,
    stream: TcpStream,
    id: u16,
    keeps: bool,
    exit_status: u32,
    body_ended: bool,
    hung_up: bool,
}

impl Origin {
    /// Starts an origin that runs the script for each request after its body has been read, with a thread per
    /// connection.
    pub fn start(script: impl Fn(&mut Call) + Send + Sync + 'static) -> Self {
        Self::listen(None, true, Box::new(script))
    }

    /// Starts an origin like [`Origin::start`], whose script reads the body with [`Call::piece`].
    pub fn start_streaming(script: impl Fn(&mut Call) + Send + Sync + 'static) -> Self {
        Self::listen(None, false, Box::new(script))
    }

    /// Starts an origin that blocks every response until the gate is opened, and then sends `text`.
    pub fn start_held(text: &'static str) -> (Self, Arc<Gate>) {
        let gate = Arc::new(Gate::new());
        let held = Arc::clone(&gate);
        let origin = Self::start(move |call| {
            held.pass();
            call.answer("Content-Type: text/plain", text);
        });
        (origin, gate)
    }

    /// Starts an origin at the address of an earlier origin.
    pub fn start_at(address: &str, script: impl Fn(&mut Call) + Send + Sync + 'static) -> Self {
        Self::listen(Some(address), true, Box::new(script))
    }

    fn listen(address: Option<&str>, reads_body_first: bool, script: Box<Script>) -> Self {
        let (calls, finished) = (Mutex::default(), AtomicUsize::new(0));
        let state = Arc::new(State { script, calls, finished, reads_body_first });
        let shared = Arc::clone(&state);
        let acceptor = Acceptor::start(address, move |stream| shared.serve(stream));
        Self { address: acceptor.address().to_owned(), state, acceptor }
    }

    /// Returns the number of received requests.
    pub fn count(&self) -> usize {
        self.calls().len()
    }

    /// Returns the received requests in order: `METHOD URI`.
    pub fn calls(&self) -> Vec<String> {
        self.state.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the number of accepted connections.
    pub fn connections(&self) -> usize {
        self.acceptor.connections()
    }

    /// Returns the number of requests whose script has returned; a script that panics is not counted.
    pub fn finished(&self) -> usize {
        self.state.finished.load(Ordering::SeqCst)
    }

    /// Waits until `count` requests have been received.
    pub fn wait_for(&self, count: usize) {
        wait_for(&format!("request {count} at the origin"), || self.count() >= count);
    }

    /// Stops listening: further connections are refused.
    pub fn stop(&mut self) {
        self.acceptor.stop();
    }
}

impl State {
    /// Serves a connection until one side closes it; errors mean that the server has disconnected.
    fn serve(&self, stream: &TcpStream) {
        while let Ok(Some(mut call)) = Call::read(stream) {
            if self.reads_body_first && call.read_body().is_err() {
                return;
            }
            call.number = {
                let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
                calls.push(format!("{} {}", call.param("REQUEST_METHOD"), call.param("REQUEST_URI")));
                calls.len()
            };
            (self.script)(&mut call);
            self.finished.fetch_add(1, Ordering::SeqCst);
            if call.hung_up || call.end().is_err() || !call.keeps {
                break;
            }
        }
        let _ = stream.shutdown(Shutdown::Both);
    }
}

impl Call {
    fn read(stream: &TcpStream) -> io::Result<Option<Self>> {
        let mut stream = stream.try_clone()?;
        let begin = read_record(&mut stream)?;
        if begin.kind != BEGIN_REQUEST {
            return Ok(None);
        }
        let mut params = Vec::new();
        loop {
            let Record { kind, content, .. } = read_record(&mut stream)?;
            match kind {
                PARAMS if content.is_empty() => break,
                PARAMS => params.extend(content),
                _ => return Ok(None),
            }
        }
        let keeps = begin.content[2] & 1 == 1;
        let params = pairs(&params);
        let (number, id, body) = (0, begin.id, Vec::new());
        let exit_status = 0;
        Ok(Some(Self {
            number,
            body,
            params,
            stream,
            id,
            keeps,
            exit_status,
            body_ended: false,
            hung_up: false,
        }))
    }

    /// Returns a parameter; empty if it was not sent.
    pub fn param(&self, name: &str) -> &str {
        self.params.get(name).map_or("", String::as_str)
    }

    /// Returns the target of the request as the client sent it.
    pub fn uri(&self) -> &str {
        self.param("REQUEST_URI")
    }

    /// Returns whether a parameter was sent.
    pub fn has(&self, name: &str) -> bool {
        self.params.contains_key(name)
    }

    /// Returns all parameters as sorted lines `NAME=value`.
    pub fn all_params(&self) -> String {
        let mut lines: Vec<String> =
            self.params.iter().map(|(name, value)| format!("{name}={value}")).collect();
        lines.sort();
        lines.join("\n")
    }

    /// Returns the next piece of the body; `None` at its end, at a record of another type, or if the server has
    /// disconnected.
    pub fn piece(&mut self) -> Option<Vec<u8>> {
        if self.body_ended {
            return None;
        }
        let record = read_record(&mut self.stream).ok()?;
        self.body_ended = record.content.is_empty();
        (record.kind == STDIN && !self.body_ended).then_some(record.content)
    }

    fn read_body(&mut self) -> io::Result<()> {
        while let Some(piece) = self.piece() {
            self.body.extend(piece);
        }
        if self.body_ended { Ok(()) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
    }

    /// Sends a page: the fields of the CGI head, one per line, then the body.
    pub fn answer(&mut self, head: &str, body: impl AsRef<[u8]>) {
        let mut page = head.trim_end().replace('\n', "\r\n").into_bytes();
        page.extend(b"\r\n\r\n");
        page.extend(body.as_ref());
        self.send(page);
    }

    /// Writes to the standard output stream; returns false if the server has disconnected.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        let bytes = records(STDOUT, self.id, bytes.as_ref());
        self.raw(bytes)
    }

    /// Writes to the standard error stream.
    pub fn error(&mut self, text: &str) {
        let bytes = records(STDERR, self.id, text.as_bytes());
        self.raw(bytes);
    }

    /// Writes raw bytes that need not be records; returns whether they could be written.
    pub fn raw(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.stream.write_all(bytes.as_ref()).is_ok()
    }

    /// Sets the `appStatus` of END_REQUEST.
    pub fn exit_with(&mut self, status: u32) {
        self.exit_status = status;
    }

    /// Reads the rest of the body and closes the connection without completing the request.
    pub fn hang_up(&mut self) {
        // Closing with unread bytes would reset the connection, and the server might lose bytes that it has not read
        // yet.
        while self.piece().is_some() {}
        let _ = self.stream.shutdown(Shutdown::Both);
        self.hung_up = true;
    }

    /// Completes the request, and closes the connection regardless of the server's keep-alive flag.
    pub fn end_and_close(&mut self) {
        self.keeps = false;
        let _ = self.end();
        self.hung_up = true;
    }

    /// Waits until the server closes the connection, at most [`PATIENCE`] for each record; returns whether it did.
    pub fn wait_for_hang_up(&mut self) -> bool {
        let _ = self.stream.set_read_timeout(Some(PATIENCE));
        let ended = loop {
            match read_record(&mut self.stream) {
                Ok(_) => {} // FCGI_ABORT_REQUEST may precede the last record
                Err(error) => {
                    break !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut);
                }
            }
        };
        self.hung_up = true;
        ended
    }

    fn end(&mut self) -> io::Result<()> {
        let mut bytes = record(STDOUT, self.id, b"");
        let mut end = [0; 8];
        end[..4].copy_from_slice(&self.exit_status.to_be_bytes());
        bytes.extend(record(END_REQUEST, self.id, &end));
        self.stream.write_all(&bytes)?;
        if self.body_ended {
            return Ok(());
        }
        self.read_body()
    }
}

impl std::fmt::Debug for Origin {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Origin").field("address", &self.address).finish_non_exhaustive()
    }
}
