//! One connection, as a server sees it: bytes in, what they mean out.

mod control;
mod headers;
mod receive;
mod send;
mod stream;

use std::ops::Range;

use super::block::Block;
use super::error::{ConnectionError, ErrorCode};
use super::frame::{FrameHeader, kind};
use super::hpack::{Decoder, Encoder};
use super::output::Output;
use super::patience::Patience;
use super::request::Scratch;
use super::settings::{self, Settings};
use super::{FRAME_HEADER, MAX_FRAME, PREFACE};
use crate::h1::HeadLimits;
use crate::{ParseError, RequestHead};
use stream::Streams;
pub use stream::{Over, Volume};

/// What the server allows a client.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// Limits of request heads; one field is at most a line, all of them the total.
    pub head: HeadLimits,
    /// Streams open at once (`http2_max_concurrent_streams`), at least 1.
    pub max_streams: u32,
    /// Bytes of a request's body that are taken before somebody reads it (`http2_body_preread_size`), at most 2³¹-1.
    pub window: u32,
}

impl Default for Config {
    /// nginx's defaults: 128 streams, 64 KiB.
    fn default() -> Self {
        Self { head: HeadLimits::default(), max_streams: 128, window: 65_536 }
    }
}

/// What the next bytes of a client mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// More bytes must come.
    Partial,
    /// Nothing that anybody else must know of.
    Nothing,
    /// A request; its head is in the [`RequestHead`] that was lent.
    Request {
        /// Its stream.
        stream: u32,
        /// It has no body, or an empty one.
        end: bool,
        /// It is malformed: to be answered with an error. The stream is then reset behind the answer (RFC 9113 §8.1.1).
        malformed: Option<ParseError>,
    },
    /// A piece of a request's body: the range of the input that it is. It takes room in the stream's window until
    /// [`Connection::release`].
    Data {
        /// Its stream.
        stream: u32,
        /// Where in the input it is; may be empty at the end of a body.
        data: Range<usize>,
        /// The body is complete.
        end: bool,
    },
    /// A body ended before or beyond the length that was announced (RFC 9113 §8.1.1): to be answered with an error,
    /// where nothing has been answered yet.
    BodyMalformed {
        /// Its stream.
        stream: u32,
    },
    /// The stream is gone: the client does not want its answer, or broke a rule.
    Reset {
        /// The stream.
        stream: u32,
    },
}

/// How far a call of [`Connection::receive`] came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// Bytes of the input that are done with; ranges in `received` are within them.
    pub consumed: usize,
    /// What they mean.
    pub received: Received,
}

/// The state of a connection.
#[derive(Debug)]
pub struct Connection {
    config: Config,
    began: bool,
    /// The client knows the server's `SETTINGS`.
    acknowledged: bool,
    /// The last stream that is served, once a `GOAWAY` has said so.
    leaving: Option<u32>,
    /// The client has been told that the connection ends, and may not know it yet.
    parting: bool,
    client: Settings,
    decoder: Decoder,
    encoder: Encoder,
    streams: Streams,
    /// What may be sent on all streams together, bytes (RFC 9113 §6.9).
    send_window: i64,
    /// What the client may still send on all streams together, bytes.
    receive_window: i64,
    /// Counts frames of bodies, so that answers may take turns.
    turn: u64,
    block: Option<Block>,
    patience: Patience,
    scratch: Scratch,
    header_block: Vec<u8>,
    output: Output,
}

impl Connection {
    /// A connection whose client has not said anything yet; the server's `SETTINGS` are in the output.
    pub fn new(config: Config) -> Self {
        let config = Config {
            max_streams: config.max_streams.max(1),
            window: config.window.min(settings::MAX_WINDOW),
            ..config
        };
        let mut connection = Self {
            config,
            began: false,
            acknowledged: false,
            leaving: None,
            parting: false,
            client: Settings::default(),
            decoder: Decoder::new(4096),
            encoder: Encoder::default(),
            streams: Streams::default(),
            send_window: i64::from(Settings::default().initial_window),
            receive_window: i64::from(settings::MAX_WINDOW),
            turn: 1,
            block: None,
            patience: Patience::new(config.max_streams),
            scratch: Scratch::default(),
            header_block: Vec::new(),
            output: Output::default(),
        };
        connection.greet();
        connection
    }

    /// Reads what a client sent, from where it was read to before: call until it says [`Received::Partial`]. A frame
    /// is read whole: the input must be able to hold [`MAX_FRAME`] and [`FRAME_HEADER`] bytes.
    ///
    /// # Errors
    /// The connection cannot go on; the `GOAWAY` that says so is in the output.
    pub fn receive(&mut self, input: &[u8], head: &mut RequestHead) -> Result<Input, ConnectionError> {
        let result = self.read(input, head);
        if let Err(error) = &result {
            self.go_away(error.code);
        }
        result
    }

    /// What is to be sent. Bodies are put in by [`Connection::schedule`].
    pub fn output(&mut self) -> &mut Output {
        &mut self.output
    }

    /// Streams whose answers have not left whole.
    pub fn streams(&self) -> usize {
        self.streams.busy()
    }

    /// Tells the client to open no more streams (RFC 9113 §6.8); those that are open are served.
    pub fn shut_down(&mut self) {
        if self.leaving.is_none() {
            self.go_away(ErrorCode::NoError);
        }
    }

    /// Tells the client that the connection ends, and takes what it asks for until it knows (RFC 9113 §6.8): no request that
    /// crosses the notice on its way is lost. The client answers the ping that goes along; then, or by [`Connection::shut_down`],
    /// no more streams are taken.
    pub fn take_leave(&mut self) {
        if self.leaving.is_none() && !self.parting {
            self.parting = true;
            self.put_parting();
        }
    }

    /// Whether the client's answer to [`Connection::take_leave`] is awaited.
    pub fn is_parting(&self) -> bool {
        self.parting && self.leaving.is_none()
    }

    /// Ends the connection for a reason: the `GOAWAY` that says so is in the output.
    pub fn give_up(&mut self, code: ErrorCode) {
        self.go_away(code);
    }

    /// Whether the client has been told that the connection ends.
    pub fn is_leaving(&self) -> bool {
        self.leaving.is_some()
    }

    /// Frees the memory that only a busy connection needs.
    pub fn rest(&mut self) {
        self.scratch = Scratch::default();
        self.header_block = Vec::new();
        self.output.rest();
        self.streams.rest();
    }

    fn read(&mut self, input: &[u8], head: &mut RequestHead) -> Result<Input, ConnectionError> {
        const PARTIAL: Input = Input { consumed: 0, received: Received::Partial };
        if !self.began {
            let length = input.len().min(PREFACE.len());
            if input[..length] != PREFACE[..length] {
                return Err(ConnectionError::protocol("invalid connection preface"));
            }
            if length < PREFACE.len() {
                return Ok(PARTIAL);
            }
            self.began = true;
            return Ok(Input { consumed: length, received: Received::Nothing });
        }
        let Some(header) = FrameHeader::read(input) else { return Ok(PARTIAL) };
        if header.length > MAX_FRAME {
            return Err(ConnectionError::new(ErrorCode::FrameSize, "frame too large"));
        }
        self.check_order(header)?;
        let consumed = FRAME_HEADER + header.length;
        let Some(payload) = input.get(FRAME_HEADER..consumed) else { return Ok(PARTIAL) };
        header.check_form()?;
        self.patience.frame(header.kind, header.length, self.output.len())?;
        let mut received = self.frame(header, payload, head)?;
        if let Received::Data { data, .. } = &mut received {
            *data = data.start + FRAME_HEADER..data.end + FRAME_HEADER;
        }
        Ok(Input { consumed, received })
    }

    /// What must follow a header block that is not complete. That `SETTINGS` must come first (RFC 9113 §3.4) is not insisted
    /// on, as in nginx: who sends none has the defaults.
    fn check_order(&self, header: FrameHeader) -> Result<(), ConnectionError> {
        if header.kind == kind::PUSH_PROMISE {
            return Err(ConnectionError::protocol("PUSH_PROMISE from a client"));
        }
        match &self.block {
            Some(block) if header.kind != kind::CONTINUATION || header.stream != block.stream() => {
                Err(ConnectionError::protocol("header block without its CONTINUATION"))
            }
            None if header.kind == kind::CONTINUATION => {
                Err(ConnectionError::protocol("CONTINUATION without a header block"))
            }
            _ => Ok(()),
        }
    }

    fn frame(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
        head: &mut RequestHead,
    ) -> Result<Received, ConnectionError> {
        match header.kind {
            kind::DATA => self.data(header, payload),
            kind::HEADERS => self.headers(header, payload, head),
            kind::PRIORITY => self.legacy_priority(header, payload),
            kind::RST_STREAM => self.rst_stream(header),
            kind::SETTINGS => self.settings(header, payload),
            kind::PING => Ok(self.ping(header, payload)),
            kind::WINDOW_UPDATE => self.window_update(header, payload),
            kind::CONTINUATION => self.continuation(header, payload, head),
            kind::PRIORITY_UPDATE => self.priority_update(header, payload),
            // A client that leaves (`GOAWAY`) still has its answers, and closes when it has them.
            _ => Ok(Received::Nothing),
        }
    }
}

#[cfg(test)]
mod tests;
