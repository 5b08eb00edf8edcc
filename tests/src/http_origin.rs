//! Scriptable HTTP/1 origin.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex, PoisonError};

use crate::acceptor::Acceptor;

type Script = dyn Fn(&mut HttpCall) + Send + Sync;

/// Origin on its own port; it refuses connections after it is dropped.
pub struct HttpOrigin {
    /// Address `127.0.0.1:PORT`, for `proxy_pass`.
    pub address: String,
    state: Arc<State>,
    acceptor: Acceptor,
}

struct State {
    script: Box<Script>,
    heads: Mutex<Vec<String>>,
}

/// Request as received by the origin, with methods that send the response.
#[derive(Debug)]
pub struct HttpCall {
    /// Number of requests that the origin has received, including this request.
    pub number: usize,
    /// Request line as received.
    pub line: String,
    /// Method.
    pub method: String,
    /// Target.
    pub target: String,
    /// Header fields as received, one per line.
    pub head: String,
    /// Body, decoded from chunks.
    pub body: Vec<u8>,
    stream: TcpStream,
    keeps: bool,
}

impl HttpOrigin {
    /// Starts an origin that runs the script for each request after its body has been read, with a thread per
    /// connection.
    pub fn start(script: impl Fn(&mut HttpCall) + Send + Sync + 'static) -> Self {
        let state = Arc::new(State { script: Box::new(script), heads: Mutex::default() });
        let shared = Arc::clone(&state);
        let acceptor = Acceptor::start(None, move |stream| drop(shared.serve(stream)));
        Self { address: acceptor.address().to_owned(), state, acceptor }
    }

    /// Returns request line and fields of each received request.
    pub fn heads(&self) -> Vec<String> {
        self.state.heads.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Returns the number of received requests.
    pub fn count(&self) -> usize {
        self.heads().len()
    }

    /// Returns the number of accepted connections.
    pub fn connections(&self) -> usize {
        self.acceptor.connections()
    }
}

impl std::fmt::Debug for HttpOrigin {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("HttpOrigin").field("address", &self.address).finish_non_exhaustive()
    }
}

impl State {
    fn serve(&self, stream: &TcpStream) -> io::Result<()> {
        let mut reader = BufReader::new(stream.try_clone()?);
        while let Some(mut call) = HttpCall::read(&mut reader, stream)? {
            call.number = {
                let mut heads = self.heads.lock().unwrap_or_else(PoisonError::into_inner);
                heads.push(format!("{}\n{}", call.line, call.head));
                heads.len()
            };
            (self.script)(&mut call);
            if !call.keeps {
                break;
            }
        }
        stream.shutdown(Shutdown::Both)
    }
}

impl HttpCall {
    fn read(reader: &mut BufReader<TcpStream>, stream: &TcpStream) -> io::Result<Option<Self>> {
        let line = read_line(reader)?;
        if line.is_empty() {
            return Ok(None);
        }
        let mut head = String::new();
        loop {
            let field = read_line(reader)?;
            if field.is_empty() {
                break;
            }
            head.push_str(&field);
            head.push('\n');
        }
        let mut words = line.split(' ').map(str::to_owned);
        let (method, target) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let keeps = words.next().is_some_and(|version| version == "HTTP/1.1");
        let stream = stream.try_clone()?;
        let mut call = Self { number: 0, line, method, target, head, body: Vec::new(), stream, keeps };
        if call.field("Connection").is_some_and(|value| value.eq_ignore_ascii_case("close")) {
            call.keeps = false;
        }
        call.body = call.read_body(reader)?;
        Ok(Some(call))
    }

    fn read_body(&self, reader: &mut BufReader<TcpStream>) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        if self.field("Transfer-Encoding").is_some() {
            loop {
                let size = read_line(reader)?;
                let size = usize::from_str_radix(&size, 16).map_err(|_| io::ErrorKind::InvalidData)?;
                let mut piece = vec![0; size];
                reader.read_exact(&mut piece)?;
                body.extend(piece);
                read_line(reader)?;
                if size == 0 {
                    return Ok(body);
                }
            }
        }
        let length = self.field("Content-Length").and_then(|length| length.parse().ok()).unwrap_or(0);
        body.resize(length, 0);
        reader.read_exact(&mut body)?;
        Ok(body)
    }

    /// Returns the first field with this name.
    pub fn field(&self, name: &str) -> Option<&str> {
        let mut fields = self.head.lines().filter_map(|line| line.split_once(':'));
        fields.find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, value)| value.trim())
    }

    /// Sends a response: status line and fields, one per line, then the body, framed according to the fields, or with a
    /// length if they do not define the framing.
    pub fn answer(&mut self, head: &str, body: impl AsRef<[u8]>) {
        let body = body.as_ref();
        let lower = head.to_ascii_lowercase();
        let mut bytes = head.trim_end().replace('\n', "\r\n").into_bytes();
        bytes.extend(b"\r\n");
        let chunked = lower.contains("\ntransfer-encoding: chunked");
        let status = head.split(' ').nth(1).unwrap_or_default();
        let bodiless = self.method == "HEAD" || matches!(status, "204" | "304");
        if !chunked
            && !bodiless
            && !lower.contains("\ncontent-length:")
            && !lower.contains("\nconnection: close")
        {
            bytes.extend(format!("Content-Length: {}\r\n", body.len()).into_bytes());
        }
        bytes.extend(b"\r\n");
        if chunked && !bodiless {
            if !body.is_empty() {
                bytes.extend(format!("{:x}\r\n", body.len()).into_bytes());
                bytes.extend(body);
                bytes.extend(b"\r\n");
            }
            bytes.extend(b"0\r\n\r\n");
        } else if !bodiless {
            bytes.extend(body);
        }
        self.keeps &= !lower.contains("\nconnection: close");
        self.send(bytes);
    }

    /// Writes raw bytes; returns whether they could be written.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        self.stream.write_all(bytes.as_ref()).is_ok()
    }

    /// Closes the connection after the script has returned, regardless of the bytes that were sent.
    pub fn hang_up(&mut self) {
        self.keeps = false;
    }
}

/// Reads a line without its line break; empty at the end of the connection as well.
fn read_line(reader: &mut BufReader<TcpStream>) -> io::Result<String> {
    let mut line = Vec::new();
    reader.read_until(b'\n', &mut line)?;
    Ok(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']).to_owned())
}
