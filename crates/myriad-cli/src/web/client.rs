//! HTTP/1.1 client with a single connection, which is reused unless the server closes it.

use std::fmt::Write as _;
use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::sync::Arc;
use std::time::{Duration, Instant};

use myriad_http::h1::{
    ChunkedDecoder, HeadLimits, ParseStatus, ResponseFraming, parse_response, response_framing,
    response_keeps_alive,
};
use myriad_http::{Fields, Method, ResponseHead};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};

use super::WebTarget;
use crate::pidfile::reason;

/// Maximum time for connecting.
const CONNECT: Duration = Duration::from_secs(5);
/// Time after which no more of a response is read, and maximum time for each read or write.
const PATIENCE: Duration = Duration::from_secs(90);
/// Maximum length of a body unless set otherwise, in bytes. The rest of a longer body is not read.
const LARGEST: usize = 32 << 20;
/// Maximum number of bytes that one read returns.
const PIECE: usize = 16 << 10;
/// Limits of a response head; sites with many plugins send many cookies.
const HEAD: HeadLimits = HeadLimits {
    line: 64 << 10,
    total: 256 << 10,
    fields: 1000,
    ignore_invalid_headers: true,
    underscores_in_headers: true,
};

/// Response of a server to a GET request.
#[derive(Debug)]
pub struct WebAnswer {
    /// HTTP status code of the response, 200 or above.
    pub status: u16,
    /// Header fields of the response.
    pub fields: Fields,
    /// Body without its transfer coding, cut off at about the maximum length; content codings such as gzip are not
    /// decoded.
    pub body: Vec<u8>,
    /// Time from the start of the request, or of the TLS handshake on a new connection, to the first byte of the
    /// response.
    pub first_byte: Duration,
}

impl WebAnswer {
    /// Returns the value of the first header field with this name, as text; `None` if there is none.
    pub fn field(&self, name: &str) -> Option<String> {
        self.fields.get(name.as_bytes()).map(|value| String::from_utf8_lossy(value).into_owned())
    }
}

/// Reason why there is no response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebFailure {
    /// No connection was established, or the name of the server cannot be resolved.
    NotReached(String),
    /// The server was reached, but TLS failed, or it sent no complete and valid response.
    Broken(String),
}

impl std::fmt::Display for WebFailure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NotReached(why) | Self::Broken(why) => f.write_str(why),
        }
    }
}

/// Client of one server. TLS certificates are not verified.
pub struct WebClient {
    /// Address to connect to, whatever the URL's host; `None` for loopback and the port of the URL.
    at: Option<String>,
    agent: &'static str,
    largest_body: usize,
    tls: Option<Arc<ClientConfig>>,
    idle_connection: Option<(bool, String, WebStream)>,
}

enum WebStream {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl WebClient {
    /// Creates a client. `at` is the address to connect to (`HOST:PORT`), or `None` for loopback; `agent` is sent as
    /// `User-Agent`.
    pub fn new(at: Option<&str>, agent: &'static str) -> Self {
        Self { at: at.map(str::to_owned), agent, largest_body: LARGEST, tls: None, idle_connection: None }
    }

    /// Sets the maximum length of a body in bytes. A longer one is cut off, at this length or a few kilobytes later.
    #[must_use]
    pub fn with_largest_body(mut self, bytes: usize) -> Self {
        self.largest_body = bytes;
        self
    }

    fn address(&self, target: &WebTarget) -> String {
        self.at.clone().unwrap_or_else(|| target.loopback_address())
    }

    /// Sends a GET request with additional headers and returns the response, of any status. If a reused connection
    /// fails, sends the request again on a new connection.
    pub fn get(&mut self, target: &WebTarget, fields: &[(&str, &str)]) -> Result<WebAnswer, WebFailure> {
        let mut request = format!(
            "GET {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: {}\r\nAccept: text/html,*/*;q=0.8\r\n",
            target.path, target.authority, self.agent
        );
        for (name, value) in fields {
            let _ = write!(request, "{name}: {value}\r\n");
        }
        request.push_str("\r\n");
        let idle = self
            .idle_connection
            .take()
            .filter(|(tls, name, _)| *tls == target.tls && *name == target.authority);
        if let Some((_, _, stream)) = idle {
            // If the server has closed the idle connection meanwhile, a new one is used.
            if let Ok(answer) = self.exchange(stream, &request, target) {
                return Ok(answer);
            }
        }
        let stream = self.connect(target)?;
        self.exchange(stream, &request, target).map_err(|error| {
            WebFailure::Broken(format!("{target} at {}: {}", self.address(target), reason(&error)))
        })
    }

    fn connect(&mut self, target: &WebTarget) -> Result<WebStream, WebFailure> {
        let at = self.address(target);
        let not_reached = |error: &io::Error| {
            let why = reason(error);
            WebFailure::NotReached(format!(
                "connect() to {at} failed ({why}): check that Myriad is running, or give its address with --at HOST:PORT"
            ))
        };
        let addresses = at.to_socket_addrs().map_err(|error| not_reached(&error))?;
        let mut last = io::Error::from(ErrorKind::AddrNotAvailable);
        let mut connected = None;
        for address in addresses.take(4) {
            match TcpStream::connect_timeout(&address, CONNECT) {
                Ok(stream) => {
                    connected = Some(stream);
                    break;
                }
                Err(error) => last = error,
            }
        }
        let stream = connected.ok_or_else(|| not_reached(&last))?;
        let set = stream.set_nodelay(true).and_then(|()| stream.set_read_timeout(Some(PATIENCE)));
        set.and_then(|()| stream.set_write_timeout(Some(PATIENCE))).map_err(|error| not_reached(&error))?;
        if !target.tls {
            return Ok(WebStream::Plain(stream));
        }
        let broken = |why: String| WebFailure::Broken(format!("{at}: TLS: {why}"));
        if self.tls.is_none() {
            self.tls = Some(myriad_tls::accepting_any().map_err(|error| broken(error.to_string()))?);
        }
        let config = self.tls.clone().ok_or_else(|| broken("no settings".to_owned()))?;
        let name = ServerName::try_from(target.host().trim_matches(['[', ']']).to_owned());
        let name = name.map_err(|error| broken(error.to_string()))?;
        let connection = ClientConnection::new(config, name).map_err(|error| broken(error.to_string()))?;
        Ok(WebStream::Tls(Box::new(StreamOwned::new(connection, stream))))
    }

    /// Sends a request and reads the response. The connection is retained for reuse if the server permits it.
    fn exchange(
        &mut self,
        mut stream: WebStream,
        request: &str,
        target: &WebTarget,
    ) -> io::Result<WebAnswer> {
        let start = Instant::now();
        stream.write_all(request.as_bytes())?;
        let mut reader = AnswerReader {
            stream,
            buffer: Vec::new(),
            deadline: start + PATIENCE,
            largest: self.largest_body,
        };
        reader.read_more()?;
        let first_byte = start.elapsed();
        let head = reader.head()?;
        let (body, is_whole) = reader.body(&head)?;
        if is_whole && response_keeps_alive(&head) {
            self.idle_connection = Some((target.tls, target.authority.clone(), reader.stream));
        }
        Ok(WebAnswer { status: head.status, fields: head.fields, body, first_byte })
    }
}

impl Read for WebStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(buffer),
            Self::Tls(stream) => stream.read(buffer),
        }
    }
}

impl Write for WebStream {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(buffer),
            Self::Tls(stream) => stream.write(buffer),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.flush(),
            Self::Tls(stream) => stream.flush(),
        }
    }
}

struct AnswerReader {
    stream: WebStream,
    /// Bytes that were received but not parsed yet.
    buffer: Vec<u8>,
    deadline: Instant,
    /// Maximum length of a body, in bytes.
    largest: usize,
}

impl AnswerReader {
    /// Reads more bytes; the end of the stream is an error.
    fn read_more(&mut self) -> io::Result<()> {
        if self.read_some()? == 0 {
            return Err(io::Error::new(
                ErrorKind::UnexpectedEof,
                "the server closed the connection before the response was complete",
            ));
        }
        Ok(())
    }

    fn read_some(&mut self) -> io::Result<usize> {
        if Instant::now() > self.deadline {
            return Err(io::Error::new(
                ErrorKind::TimedOut,
                format!("no complete response within {} s", PATIENCE.as_secs()),
            ));
        }
        let mut piece = [0; PIECE];
        let read = match self.stream.read(&mut piece) {
            // The server has closed the TLS connection without `close_notify`.
            Err(error) if error.kind() == ErrorKind::UnexpectedEof => 0,
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                return Err(io::Error::new(
                    ErrorKind::TimedOut,
                    format!("no data received for {} s", PATIENCE.as_secs()),
                ));
            }
            read => read?,
        };
        self.buffer.extend_from_slice(&piece[..read]);
        Ok(read)
    }

    /// Reads the response head; interim responses (such as 103) are skipped.
    fn head(&mut self) -> io::Result<ResponseHead> {
        loop {
            let mut head = ResponseHead::default();
            match parse_response(&self.buffer, &HEAD, &mut head).map_err(invalid)? {
                ParseStatus::Complete(length) => {
                    self.buffer.drain(..length);
                    if head.status >= 200 {
                        return Ok(head);
                    }
                    if self.buffer.is_empty() {
                        self.read_more()?;
                    }
                }
                ParseStatus::Partial => self.read_more()?,
            }
        }
    }

    /// Reads the body, up to the maximum length. Returns it, and true if it was read completely and no further bytes
    /// were received.
    fn body(&mut self, head: &ResponseHead) -> io::Result<(Vec<u8>, bool)> {
        match response_framing(head, Method::Get).map_err(invalid)? {
            ResponseFraming::None => Ok((Vec::new(), true)),
            ResponseFraming::Length(length) => {
                let length = usize::try_from(length).unwrap_or(usize::MAX);
                while self.buffer.len() < length.min(self.largest) {
                    self.read_more()?;
                }
                let is_whole = self.buffer.len() == length;
                self.buffer.truncate(length.min(self.largest));
                Ok((std::mem::take(&mut self.buffer), is_whole))
            }
            ResponseFraming::Chunked => self.chunked(),
            ResponseFraming::UntilClose => {
                while self.buffer.len() < self.largest && self.read_some()? > 0 {}
                Ok((std::mem::take(&mut self.buffer), false))
            }
        }
    }

    fn chunked(&mut self) -> io::Result<(Vec<u8>, bool)> {
        let (mut decoder, mut body) = (ChunkedDecoder::for_origin(), Vec::new());
        loop {
            while !self.buffer.is_empty() && !decoder.is_done() {
                let chunk = decoder.decode(&self.buffer).map_err(invalid)?;
                body.extend_from_slice(&self.buffer[chunk.data]);
                self.buffer.drain(..chunk.consumed);
            }
            if decoder.is_done() {
                return Ok((body, self.buffer.is_empty()));
            }
            if body.len() > self.largest {
                return Ok((body, false));
            }
            self.read_more()?;
        }
    }
}

fn invalid(error: myriad_http::ParseError) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("invalid HTTP response: {error}"))
}
