//! HTTP/2 client or origin that writes single frames.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;

use crate::PATIENCE;

/// HTTP/2 frame type.
pub const DATA: u8 = 0;
/// HTTP/2 frame type.
pub const HEADERS: u8 = 1;
/// HTTP/2 frame type.
pub const RST_STREAM: u8 = 3;
/// HTTP/2 frame type.
pub const SETTINGS: u8 = 4;
/// HTTP/2 frame type.
pub const PUSH_PROMISE: u8 = 5;
/// HTTP/2 frame type.
pub const PING: u8 = 6;
/// HTTP/2 frame type.
pub const GOAWAY: u8 = 7;
/// HTTP/2 frame type.
pub const WINDOW_UPDATE: u8 = 8;
/// HTTP/2 frame type.
pub const CONTINUATION: u8 = 9;
/// HTTP/2 frame flag.
pub const END_STREAM: u8 = 1;
/// HTTP/2 frame flag.
pub const ACK: u8 = 1;
/// HTTP/2 frame flag.
pub const END_HEADERS: u8 = 4;

/// Received frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// Frame type.
    pub kind: u8,
    /// Flags.
    pub flags: u8,
    /// Stream id.
    pub stream: u32,
    /// Payload.
    pub payload: Vec<u8>,
}

impl Frame {
    /// Returns the error code of `RST_STREAM` or `GOAWAY`.
    pub fn code(&self) -> u32 {
        let code = if self.kind == GOAWAY { &self.payload[4..8] } else { &self.payload[..4] };
        u32::from_be_bytes(code.try_into().expect("four bytes"))
    }
}

/// Endpoint of a connection that writes single frames.
#[derive(Debug)]
pub struct Hand {
    /// Socket of the connection.
    pub socket: TcpStream,
    buffer: Vec<u8>,
}

impl Hand {
    /// Connects to a port of the loopback address, sends the preface with these settings (identifier and value), and
    /// acknowledges the settings of the server in advance.
    pub fn greet(port: u16, settings: &[(u16, u32)]) -> Self {
        let socket = TcpStream::connect(("127.0.0.1", port)).expect("a connection");
        socket.set_read_timeout(Some(PATIENCE)).expect("a time-out");
        socket.set_write_timeout(Some(PATIENCE)).expect("a time-out");
        let mut hand = Self { socket, buffer: Vec::new() };
        hand.socket.write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").expect("a preface");
        let pairs = settings.iter().flat_map(|(id, value)| {
            id.to_be_bytes().into_iter().chain(value.to_be_bytes()).collect::<Vec<_>>()
        });
        hand.send(SETTINGS, 0, 0, &pairs.collect::<Vec<_>>());
        hand.send(SETTINGS, ACK, 0, &[]);
        hand
    }

    /// Answers the preface of a client, as an origin; returns `None` if the connection closes before, and panics for
    /// other bytes.
    pub fn answering(mut socket: TcpStream) -> Option<Self> {
        let mut preface = [0; 24];
        socket.read_exact(&mut preface).ok()?;
        assert_eq!(&preface, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
        let mut hand = Self { socket, buffer: Vec::new() };
        hand.try_send(SETTINGS, 0, 0, &[]);
        hand.try_send(SETTINGS, ACK, 0, &[]);
        Some(hand)
    }

    /// Sends a frame.
    pub fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
        assert!(self.try_send(kind, flags, stream, payload), "the server has closed");
    }

    /// Sends a frame; returns false if the peer has closed.
    pub fn try_send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> bool {
        let length = u32::try_from(payload.len()).expect("a frame").to_be_bytes();
        let mut frame = length[1..].to_vec();
        frame.extend([kind, flags]);
        frame.extend(stream.to_be_bytes());
        frame.extend(payload);
        self.socket.write_all(&frame).is_ok()
    }

    /// Sends a GET request for a path, with further fields.
    pub fn get(&mut self, stream: u32, path: &str, more: &[(&str, &str)]) {
        self.send(HEADERS, END_HEADERS | END_STREAM, stream, &head("GET", path, more));
    }

    fn fill(&mut self, length: usize) -> Option<()> {
        while self.buffer.len() < length {
            let mut piece = [0; 16_384];
            match self.socket.read(&mut piece) {
                Ok(0) => return None,
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return None,
                Ok(count) => self.buffer.extend(&piece[..count]),
                Err(error) => panic!("the server is silent: {error}"),
            }
        }
        Some(())
    }

    /// Returns all frames up to and including the next frame of this type; panics if the peer closes before.
    pub fn until(&mut self, kind: u8) -> Vec<Frame> {
        let mut frames = Vec::new();
        for frame in self.by_ref() {
            let found = frame.kind == kind;
            frames.push(frame);
            if found {
                return frames;
            }
        }
        panic!("closed without a frame of kind {kind}: {frames:?}");
    }

    /// Returns the next frame of this type; discards the frames before it, and panics if the peer closes.
    pub fn wait_for(&mut self, kind: u8) -> Frame {
        self.until(kind).pop().expect("the last one")
    }

    /// Returns the body of a stream up to its end; discards all other frames.
    pub fn body(&mut self, stream: u32) -> Vec<u8> {
        let mut body = Vec::new();
        loop {
            let frame = self.next().expect("the end of the body");
            if frame.stream == stream && frame.kind == DATA {
                body.extend(&frame.payload);
            }
            if frame.stream == stream && frame.flags & END_STREAM != 0 && frame.kind <= HEADERS {
                return body;
            }
        }
    }
}

impl Iterator for Hand {
    type Item = Frame;

    /// Returns the next frame; `None` if the peer has closed.
    fn next(&mut self) -> Option<Self::Item> {
        self.fill(9)?;
        let length = u32::from_be_bytes([0, self.buffer[0], self.buffer[1], self.buffer[2]]) as usize;
        self.fill(9 + length)?;
        let frame: Vec<u8> = self.buffer.drain(..9 + length).collect();
        let stream = u32::from_be_bytes(frame[5..9].try_into().expect("four bytes"));
        Some(Frame { kind: frame[3], flags: frame[4], stream, payload: frame[9..].to_vec() })
    }
}

/// Returns a header block of literal fields.
pub fn block(fields: &[(&str, &str)]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, value) in fields {
        out.push(0);
        for text in [name, value] {
            assert!(text.len() < 127);
            out.push(text.len() as u8);
            out.extend(text.as_bytes());
        }
    }
    out
}

/// Returns the header block of a request.
pub fn head(method: &str, path: &str, more: &[(&str, &str)]) -> Vec<u8> {
    let line = [(":method", method), (":scheme", "http"), (":path", path), (":authority", "localhost")];
    block(&[&line[..], more].concat())
}
