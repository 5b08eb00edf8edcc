//! One connection, as a client sees it: requests in, what an origin answers out.
//!
//! What an origin can make it hold is bounded: heads by what each request allows, blocks by [`BLOCK`], tables by 4096 bytes, streams
//! by those that were opened, bodies by their windows. An origin that breaks a rule of the connection ends it; one that breaks
//! a rule of a stream ends that stream, and the connection opens no more.

mod alive;
mod answers;
mod control;
mod requests;
mod response;
mod stream;

use std::collections::VecDeque;
use std::ops::Range;

use super::block::Block;
use super::error::{ConnectionError, ErrorCode};
use super::frame::{FrameHeader, kind};
use super::hpack::{Decoder, Encoder};
use super::output::Output;
use super::patience::Patience;
use super::settings::{self, Settings};
use super::{FRAME_HEADER, MAX_FRAME, PREFACE};
use crate::{Fields, ParseError, ResponseHead};
use alive::Alive;
use stream::Streams;

/// Most bytes of a header block, compressed and not: what an answer may have is less, but a block that is too large for one request
/// must still be read, or the other streams would be lost.
const BLOCK: usize = 256 * 1024;

/// Streams that are opened before the origin has said how many it takes (RFC 9113 §6.5.2 recommends to take 100), and at most.
const STREAMS: u32 = 100;
const MOST_STREAMS: u32 = 256;

/// Most interim answers before the final one: there is no use for more.
const MAX_INTERIM: u32 = 32;

/// What the next bytes of an origin mean.
#[derive(Debug)]
pub enum Answered {
    /// More bytes must come.
    Partial,
    /// Nothing that anybody else must know of, but for [`Client::next_lost`].
    Nothing,
    /// The head of an answer; one with a status below 200 is interim, and another follows.
    Head {
        /// The stream of the request.
        stream: u32,
        /// The head.
        head: Box<ResponseHead>,
        /// No body follows.
        end: bool,
    },
    /// A piece of an answer's body: the range of the input that it is. It takes room in the stream's window until
    /// [`Client::release`].
    Data {
        /// The stream of the request.
        stream: u32,
        /// Where in the input it is; may be empty at the end.
        data: Range<usize>,
        /// The body is complete.
        end: bool,
    },
    /// The fields behind a body, which is complete.
    Trailers {
        /// The stream of the request.
        stream: u32,
        /// The fields.
        fields: Box<Fields>,
    },
}

/// Why a request gets no answer, or not all of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// The origin has done nothing of it: it may be sent again (RFC 9113 §8.7).
    Refused,
    /// The origin has given it up, with this code.
    Reset(u32),
    /// The head is larger than the request allows.
    TooLarge,
    /// The head or the trailers are malformed.
    Malformed(ParseError),
    /// The answer breaks another rule.
    Broken(&'static str),
}

/// How far a call of [`Client::receive`] came.
#[derive(Debug)]
pub struct Input {
    /// Bytes of the input that are done with; ranges in `answered` are within them.
    pub consumed: usize,
    /// What they mean.
    pub answered: Answered,
}

/// The state of a connection.
#[derive(Debug)]
pub struct Client {
    /// Bytes of a body that are taken before somebody reads it.
    window: u32,
    /// The origin has sent its `SETTINGS`.
    began: bool,
    /// No more streams are opened: either side said so, or the origin broke a rule.
    closing: bool,
    server: Settings,
    decoder: Decoder,
    encoder: Encoder,
    streams: Streams,
    /// What may be sent on all streams together, bytes (RFC 9113 §6.9).
    send_window: i64,
    /// What the origin may still send on all streams together, bytes.
    receive_window: i64,
    /// Counts frames of bodies, so that requests take turns.
    turn: u64,
    block: Option<Block>,
    patience: Patience,
    alive: Alive,
    header_block: Vec<u8>,
    lost: VecDeque<(u32, Lost)>,
    output: Output,
}

impl Client {
    /// A connection on which nothing was said; what a client says first is in the output. `window` is how many bytes of each body
    /// are taken before somebody reads it, at most 2³¹-1.
    pub fn new(window: u32) -> Self {
        let mut client = Self {
            window: window.min(settings::MAX_WINDOW),
            began: false,
            closing: false,
            server: Settings::default(),
            decoder: Decoder::new(4096),
            encoder: Encoder::default(),
            streams: Streams::default(),
            send_window: i64::from(Settings::default().initial_window),
            receive_window: i64::from(settings::MAX_WINDOW),
            turn: 1,
            block: None,
            patience: Patience::new(STREAMS),
            alive: Alive::default(),
            header_block: Vec::new(),
            lost: VecDeque::new(),
            output: Output::default(),
        };
        client.output.copy(PREFACE);
        client.greet();
        client
    }

    /// Reads what the origin sent, from where it was read to before: call until it says [`Answered::Partial`]. A frame is read whole:
    /// the input must be able to hold [`MAX_FRAME`] and [`FRAME_HEADER`] bytes.
    ///
    /// # Errors
    /// The connection cannot go on; the `GOAWAY` that says so is in the output.
    pub fn receive(&mut self, input: &[u8]) -> Result<Input, ConnectionError> {
        let result = self.read(input);
        if let Err(error) = &result {
            self.go_away(error.code);
        }
        result
    }

    /// What is to be sent. Bodies are put in by [`Client::schedule`].
    pub fn output(&mut self) -> &mut Output {
        &mut self.output
    }

    /// The next request that is lost, of those that were open.
    pub fn next_lost(&mut self) -> Option<(u32, Lost)> {
        self.lost.pop_front()
    }

    /// Requests that are not over.
    pub fn streams(&self) -> usize {
        self.streams.all().len()
    }

    /// Whether more requests may be sent once there is room for them.
    pub fn is_open(&self) -> bool {
        !self.closing && !self.streams.is_exhausted()
    }

    /// Whether another request may be sent now.
    pub fn has_room(&self) -> bool {
        let most = self.server.max_streams.unwrap_or(STREAMS).min(MOST_STREAMS);
        self.is_open() && self.streams() < most as usize
    }

    /// Opens no more streams, and tells the origin so (RFC 9113 §6.8).
    pub fn shut_down(&mut self) {
        if !self.closing {
            self.go_away(ErrorCode::NoError);
        }
    }

    /// Frees the memory that only a busy connection needs.
    pub fn rest(&mut self) {
        self.header_block = Vec::new();
        self.output.rest();
        self.streams.rest();
    }

    fn read(&mut self, input: &[u8]) -> Result<Input, ConnectionError> {
        const PARTIAL: Input = Input { consumed: 0, answered: Answered::Partial };
        let Some(header) = FrameHeader::read(input) else { return Ok(PARTIAL) };
        // RFC 9113 §3.4. An origin that speaks HTTP/1 alone is found out here.
        if !self.began && header.kind != kind::SETTINGS {
            return Err(ConnectionError::protocol("no HTTP/2"));
        }
        if header.length > MAX_FRAME {
            return Err(ConnectionError::new(ErrorCode::FrameSize, "frame too large"));
        }
        self.check_order(header)?;
        let consumed = FRAME_HEADER + header.length;
        let Some(payload) = input.get(FRAME_HEADER..consumed) else { return Ok(PARTIAL) };
        header.check_form()?;
        self.patience.frame(header.kind, header.length, self.output.len())?;
        self.began = true;
        self.alive.heard(header.kind);
        let mut answered = self.frame(header, payload)?;
        if let Answered::Data { data, .. } = &mut answered {
            *data = data.start + FRAME_HEADER..data.end + FRAME_HEADER;
        }
        Ok(Input { consumed, answered })
    }

    /// What must follow a header block that is not complete, and what no origin may send: it was told not to push, and opens no
    /// streams.
    fn check_order(&self, header: FrameHeader) -> Result<(), ConnectionError> {
        if header.kind == kind::PUSH_PROMISE {
            return Err(ConnectionError::protocol("PUSH_PROMISE that was not asked for"));
        }
        if self.streams.is_idle(header.stream) && header.kind <= kind::CONTINUATION {
            return Err(ConnectionError::protocol("frame on a stream that was not opened"));
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

    fn frame(&mut self, header: FrameHeader, payload: &[u8]) -> Result<Answered, ConnectionError> {
        match header.kind {
            kind::DATA => self.data(header, payload),
            kind::HEADERS => self.headers(header, payload),
            kind::CONTINUATION => self.continuation(header, payload),
            kind::RST_STREAM => self.rst_stream(header, payload),
            kind::SETTINGS => self.settings(header, payload),
            kind::PING => Ok(self.ping(header, payload)),
            kind::GOAWAY => Ok(self.goaway(payload)),
            kind::WINDOW_UPDATE => self.window_update(header, payload),
            // Priorities are a client's to say (RFC 9113 §5.3.2); what is unknown is ignored (§5.5).
            _ => Ok(Answered::Nothing),
        }
    }
}

#[cfg(test)]
mod tests;
