//! HTTP origin on a port of 127.0.0.1.

use std::io::{self, BufRead, BufReader, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use myriad_http::head::reason_phrase;

/// Function that returns the reply to a request, which it gets as text: the request line and the header lines.
type Responder = Arc<dyn Fn(&str) -> OriginReply + Send + Sync>;

/// Reply of the origin to a request.
#[derive(Clone)]
pub(super) enum OriginReply {
    /// Response, in the format of HTTP/1.1.
    Response(Vec<u8>),
    /// The connection is closed without a response.
    Close,
    /// The connection remains open without a response until the origin is dropped.
    Silent,
}

impl OriginReply {
    /// Returns a response that closes the connection.
    pub(super) fn response(status: u16, fields: &[(&str, &str)], body: impl AsRef<[u8]>) -> Self {
        let (body, reason) = (body.as_ref(), reason_phrase(status));
        let mut response = format!("HTTP/1.1 {status} {reason}\r\nConnection: close\r\n").into_bytes();
        if status != 304 {
            write_field("Content-Length", &body.len().to_string(), &mut response);
        }
        for (name, value) in fields {
            write_field(name, value, &mut response);
        }
        Self::Response([&response, &b"\r\n"[..], body].concat())
    }
}

/// Appends a header line.
fn write_field(name: &str, value: &str, out: &mut Vec<u8>) {
    for part in [name, ": ", value, "\r\n"] {
        out.extend_from_slice(part.as_bytes());
    }
}

/// HTTP origin that serves each connection in a thread, for one request. Dropping it closes all its connections.
pub(super) struct TestOrigin {
    address: SocketAddr,
    state: Arc<OriginState>,
    accepting: Option<JoinHandle<()>>,
}

struct OriginState {
    responder: Mutex<Option<Responder>>,
    requests: Mutex<Vec<String>>,
    silent: Mutex<Vec<TcpStream>>,
}

impl TestOrigin {
    /// Starts an origin that replies with status 200 and the body "a page".
    pub(super) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("its address");
        let state = Arc::new(OriginState {
            responder: Mutex::new(None),
            requests: Mutex::default(),
            silent: Mutex::default(),
        });
        let shared = Arc::clone(&state);
        let accepting = std::thread::spawn(move || accept(&listener, &shared));
        let origin = Self { address, state, accepting: Some(accepting) };
        origin.respond(200, &[], "a page");
        origin
    }

    /// Returns the directives of a location with this origin and the cache zone `ONE`.
    pub(super) fn pass(&self) -> String {
        format!("proxy_pass http://{}; proxy_cache ONE;", self.address)
    }

    /// Returns the requests so far: the request line and the header lines of each.
    pub(super) fn requests(&self) -> Vec<String> {
        self.state.requests.lock().expect("no thread panicked").clone()
    }

    /// Makes this the reply to all further requests.
    pub(super) fn respond(&self, status: u16, fields: &[(&str, &str)], body: impl AsRef<[u8]>) {
        let reply = OriginReply::response(status, fields, body);
        self.respond_with(move |_| reply.clone());
    }

    /// Makes the function return the replies to all further requests.
    pub(super) fn respond_with(&self, responder: impl Fn(&str) -> OriginReply + Send + Sync + 'static) {
        *self.state.responder.lock().expect("no thread panicked") = Some(Arc::new(responder));
    }
}

impl Drop for TestOrigin {
    fn drop(&mut self) {
        *self.state.responder.lock().expect("no thread panicked") = None;
        // Stops waiting for a connection.
        drop(TcpStream::connect(self.address));
        let ended = self.accepting.take().map(JoinHandle::join);
        assert!(ended.is_none_or(|ended| ended.is_ok()), "the origin panicked");
    }
}

/// Accepts connections until the origin is dropped.
fn accept(listener: &TcpListener, state: &Arc<OriginState>) {
    for connection in listener.incoming() {
        let Some(responder) = state.responder.lock().expect("no thread panicked").clone() else { return };
        let (connection, state) = (connection.expect("a connection"), Arc::clone(state));
        // A client may close its connection at any time.
        std::thread::spawn(move || drop(serve(connection, &*responder, &state)));
    }
}

/// Reads a request and replies to it.
fn serve(
    mut connection: TcpStream,
    responder: &dyn Fn(&str) -> OriginReply,
    state: &OriginState,
) -> io::Result<()> {
    let mut reader = BufReader::new(connection.try_clone()?);
    let mut request = String::new();
    while !request.ends_with("\r\n\r\n") {
        if reader.read_line(&mut request)? == 0 {
            return Ok(());
        }
    }
    state.requests.lock().expect("no thread panicked").push(request.clone());
    match responder(&request) {
        OriginReply::Response(response) => {
            connection.write_all(&response)?;
            connection.shutdown(Shutdown::Write)
        }
        OriginReply::Close => Ok(()),
        OriginReply::Silent => {
            state.silent.lock().expect("no thread panicked").push(connection);
            Ok(())
        }
    }
}
