//! Minimal HTTP/1.1 client: sends bytes and parses responses.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use crate::{Answer, PATIENCE, Request};

/// Client connection.
#[derive(Debug)]
pub struct Client {
    stream: TcpStream,
    buffer: Vec<u8>,
    /// True while a response is being read, from its complete head on.
    in_response: bool,
}

impl Client {
    /// Connects to a port of the loopback address.
    pub fn connect(port: u16) -> Self {
        Self::try_connect(port).expect("a connection")
    }

    /// Connects like [`Client::connect`], and returns an error if the connection is refused.
    pub fn try_connect(port: u16) -> io::Result<Self> {
        let stream = TcpStream::connect(("127.0.0.1", port))?;
        stream.set_read_timeout(Some(PATIENCE))?;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: Vec::new(), in_response: false })
    }

    /// Sends bytes.
    pub fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.try_send(bytes).expect("send");
    }

    /// Sends bytes; returns an error if the peer has closed.
    pub fn try_send(&mut self, bytes: impl AsRef<[u8]>) -> io::Result<()> {
        self.stream.write_all(bytes.as_ref())
    }

    /// Shuts down the sending direction; the peer may have closed.
    pub fn finish_sending(&mut self) {
        let done = self.stream.shutdown(Shutdown::Write);
        assert!(done.is_ok() || done.is_err_and(|error| error.kind() == ErrorKind::NotConnected), "shutdown");
    }

    /// Sends a request and reads its response.
    pub fn fetch(&mut self, request: &Request) -> Answer {
        self.try_fetch(request).unwrap_or_else(|error| panic!("{request:?}: {error}"))
    }

    /// Sends a request like [`Client::fetch`], and returns an error if the connection breaks.
    pub fn try_fetch(&mut self, request: &Request) -> io::Result<Answer> {
        self.try_send(request.bytes())?;
        self.try_answer(&request.method)
    }

    /// Reads the final response to a request with a method other than `HEAD`; panics if the connection breaks.
    pub fn answer(&mut self) -> Answer {
        self.try_answer("GET").expect("a response")
    }

    /// Reads the head of a response and leaves its body to [`Client::some`]; each 1xx response is a separate head.
    pub fn head(&mut self) -> Answer {
        self.read_head().expect("a response head")
    }

    /// Reads the final response to a request with this method, or a 101 response; skips other interim responses.
    /// Returns an error if the connection breaks or the response is malformed.
    pub fn try_answer(&mut self, method: &str) -> io::Result<Answer> {
        let mut answer = self.read_head()?;
        self.in_response = true;
        while answer.status < 200 && answer.status != 101 {
            answer = self.read_head()?;
        }
        if method == "HEAD" || answer.status == 204 || answer.status == 304 {
            self.in_response = false;
            return Ok(answer);
        }
        let chunked = answer.field("Transfer-Encoding").is_some();
        let length = answer.field("Content-Length").map(str::parse::<usize>);
        answer.body = match (chunked, length) {
            (true, _) => self.read_chunks(&mut answer.fields)?,
            (false, Some(length)) => self.take(length.map_err(|_| bad("Content-Length"))?)?,
            (false, None) => self.read_to_end()?,
        };
        self.in_response = false;
        Ok(answer)
    }

    /// Returns without blocking whether input is available or the peer has closed.
    pub fn has_input(&mut self) -> bool {
        let mut polled = [PollFd::new(&self.stream, PollFlags::IN)];
        !self.buffer.is_empty() || poll(&mut polled, Some(&Timespec::default())).is_ok_and(|count| count > 0)
    }

    /// Reads and discards some bytes; returns their number, 0 at the end of the stream.
    pub fn read_some(&mut self) -> io::Result<usize> {
        let held = std::mem::take(&mut self.buffer).len();
        if held > 0 { Ok(held) } else { self.stream.read(&mut [0; 16384]) }
    }

    /// Reads the next bytes, at least one; empty at the end of the stream, and after an error or a timeout.
    pub fn some(&mut self) -> Vec<u8> {
        if self.buffer.is_empty() {
            let _ = self.fill();
        }
        std::mem::take(&mut self.buffer)
    }

    /// Reads until `is_enough` accepts the bytes; the stream must not end before. Returns all bytes read.
    pub fn until(&mut self, is_enough: impl Fn(&[u8]) -> bool) -> Vec<u8> {
        let mut read = Vec::new();
        while !is_enough(&read) {
            let piece = self.some();
            assert!(!piece.is_empty(), "the stream ended after {} bytes", read.len());
            read.extend(piece);
        }
        read
    }

    /// Reads until the peer closes, and returns the remaining bytes; a reset counts as a close.
    pub fn rest(&mut self) -> Vec<u8> {
        self.read_to_end().unwrap_or_else(|error| panic!("the connection stays open: {error}"))
    }

    /// Waits until the peer closes, and returns whether it did so without another byte.
    pub fn is_closed(&mut self) -> bool {
        self.rest().is_empty()
    }

    /// Returns whether bytes of a response have arrived that were not returned yet.
    pub(crate) fn has_begun(&self) -> bool {
        !self.buffer.is_empty() || self.in_response
    }

    fn read_head(&mut self) -> io::Result<Answer> {
        let end = self.fill_until(b"\r\n\r\n")?;
        let head: Vec<u8> = self.buffer.drain(..end).collect();
        let text = String::from_utf8_lossy(&head);
        let mut lines = text.trim_end().split("\r\n");
        let status_line = lines.next().unwrap_or_default().to_owned();
        let status = status_line.split(' ').nth(1).and_then(|status| status.parse().ok());
        let fields = lines.map(|line| {
            let (name, value) = line.split_once(':').ok_or_else(|| bad("a field without a colon"))?;
            Ok((name.to_owned(), value.trim().to_owned()))
        });
        let fields = fields.collect::<io::Result<_>>()?;
        let status = status.ok_or_else(|| bad("the status line"))?;
        Ok(Answer { status, status_line, fields, body: Vec::new() })
    }

    /// Reads a chunked body; trailers are added to the fields.
    fn read_chunks(&mut self, fields: &mut Vec<(String, String)>) -> io::Result<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let end = self.fill_until(b"\r\n")?;
            let line: Vec<u8> = self.buffer.drain(..end).collect();
            let line = String::from_utf8_lossy(&line);
            let size = usize::from_str_radix(line.trim().split(';').next().unwrap_or_default(), 16);
            let size = size.map_err(|_| bad("a chunk size"))?;
            if size == 0 {
                break;
            }
            body.extend(self.take(size)?);
            if self.take(2)? != b"\r\n" {
                return Err(bad("a chunk's end"));
            }
        }
        loop {
            let end = self.fill_until(b"\r\n")?;
            let line: Vec<u8> = self.buffer.drain(..end).collect();
            if end == 2 {
                return Ok(body);
            }
            let line = String::from_utf8_lossy(&line);
            let (name, value) = line.split_once(':').ok_or_else(|| bad("a trailer without a colon"))?;
            fields.push((name.to_owned(), value.trim().to_owned()));
        }
    }

    fn take(&mut self, length: usize) -> io::Result<Vec<u8>> {
        while self.buffer.len() < length {
            if self.fill()? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
        Ok(self.buffer.drain(..length).collect())
    }

    fn fill_until(&mut self, mark: &[u8]) -> io::Result<usize> {
        loop {
            if let Some(at) = self.buffer.windows(mark.len()).position(|window| window == mark) {
                return Ok(at + mark.len());
            }
            if self.fill()? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
        }
    }

    fn read_to_end(&mut self) -> io::Result<Vec<u8>> {
        loop {
            match self.fill() {
                Ok(0) => break,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::ConnectionReset => break,
                Err(error) => return Err(error),
            }
        }
        Ok(std::mem::take(&mut self.buffer))
    }

    fn fill(&mut self) -> io::Result<usize> {
        let mut piece = [0; 16384];
        let count = self.stream.read(&mut piece)?;
        self.buffer.extend(&piece[..count]);
        Ok(count)
    }
}

fn bad(what: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, format!("malformed: {what}"))
}
