//! Client side of an HTTP/2 connection: sends requests to an origin, and converts the bytes of the origin to responses.
//!
//! All memory that an origin can occupy is limited: heads by the limit of each request, header blocks by [`BLOCK`],
//! compression tables by 4096 bytes, streams by the number of opened streams, bodies by their windows. A connection
//! error terminates the connection. After a stream error, the stream is reset and the connection opens no further
//! streams.

mod control;
mod liveness;
mod requests;
mod response;
mod responses;
mod stream;

use std::collections::VecDeque;
use std::ops::Range;

use super::abuse_budget::AbuseBudget;
use super::block::PartialHeaderBlock;
use super::error::{ConnectionError, ErrorCode};
use super::frame::{FrameHeader, kind};
use super::hpack::{HpackDecoder, HpackEncoder};
use super::output::OutputQueue;
use super::settings::{self, PeerSettings};
use super::{FRAME_HEADER, MAX_FRAME, PREFACE};
use crate::{Fields, ParseError, ResponseHead};
use liveness::LivenessCheck;
use stream::ClientStreams;

/// Maximum size of a header block in bytes, compressed and decompressed. The limit of a response head is usually lower,
/// but a block above that limit must still be decoded, so that the compression table remains consistent for other
/// streams.
const BLOCK: usize = 256 * 1024;

/// Maximum number of concurrent streams until the origin announces its limit (RFC 9113 §6.5.2 recommends to accept
/// 100).
const STREAMS: u32 = 100;
/// Maximum number of concurrent streams, whatever the origin allows.
const MOST_STREAMS: u32 = 256;

/// Maximum number of interim responses (1xx) to a request.
const MAX_INTERIM: u32 = 32;

/// Event in the next input of an origin.
#[derive(Debug)]
pub enum OriginEvent {
    /// More bytes are needed.
    Partial,
    /// No event, but [`Http2Client::next_failed`] may return failed requests.
    Nothing,
    /// Head of a response. If the status is below 200, it is interim and another head follows.
    Head {
        /// Stream of the request.
        stream: u32,
        /// Response head.
        head: Box<ResponseHead>,
        /// True if neither a body nor trailers follow the head.
        end: bool,
    },
    /// Piece of a response body. It occupies the window of the stream until [`Http2Client::release`].
    Data {
        /// Stream of the request.
        stream: u32,
        /// Range of the input with the data; may be empty if `end` is true.
        data: Range<usize>,
        /// True if this piece completes the body.
        end: bool,
    },
    /// Trailer fields, which complete the body.
    Trailers {
        /// Stream of the request.
        stream: u32,
        /// Trailer fields.
        fields: Box<Fields>,
    },
}

/// Reason why a request will get no complete response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestFailure {
    /// The origin did not process the request, so it may be sent again (RFC 9113 §8.7).
    Refused,
    /// The origin reset the stream with this error code.
    Reset(u32),
    /// The response head or the trailers exceed the limit of the request, or have more than 1000 fields.
    TooLarge,
    /// The response head or the trailers are malformed.
    Malformed(ParseError),
    /// The response violates another rule; the text is for the error log.
    Broken(&'static str),
}

/// Result of [`Http2Client::receive`].
#[derive(Debug)]
pub struct OriginInput {
    /// Number of consumed input bytes; a range in `event` is within them.
    pub consumed: usize,
    /// Event in the consumed bytes.
    pub event: OriginEvent,
}

/// Client side of a connection to an origin.
#[derive(Debug)]
pub struct Http2Client {
    /// Number of bytes of each response body that are accepted before the consumer reads them.
    window: u32,
    /// True if the origin has sent its `SETTINGS`.
    began: bool,
    /// True if no more streams are opened: either side has sent `GOAWAY`, or the origin violated a rule.
    closing: bool,
    server: PeerSettings,
    decoder: HpackDecoder,
    encoder: HpackEncoder,
    streams: ClientStreams,
    /// Number of bytes that may be sent on all streams together (RFC 9113 §6.9).
    send_window: i64,
    /// Number of bytes that the origin may still send on all streams together.
    receive_window: i64,
    /// Counter of DATA frames sent, by which the bodies of requests take turns.
    turn: u64,
    block: Option<PartialHeaderBlock>,
    patience: AbuseBudget,
    alive: LivenessCheck,
    header_block: Vec<u8>,
    lost: VecDeque<(u32, RequestFailure)>,
    output: OutputQueue,
}

impl Http2Client {
    /// Creates a connection; the output contains the client's preface. `window` is the number of bytes of each response
    /// body that are accepted before the consumer reads them, at most 2³¹-1.
    pub fn new(window: u32) -> Self {
        let mut client = Self {
            window: window.min(settings::MAX_WINDOW),
            began: false,
            closing: false,
            server: PeerSettings::default(),
            decoder: HpackDecoder::new(4096),
            encoder: HpackEncoder::default(),
            streams: ClientStreams::default(),
            send_window: i64::from(PeerSettings::default().initial_window),
            receive_window: i64::from(settings::MAX_WINDOW),
            turn: 1,
            block: None,
            patience: AbuseBudget::new(STREAMS),
            alive: LivenessCheck::default(),
            header_block: Vec::new(),
            lost: VecDeque::new(),
            output: OutputQueue::default(),
        };
        client.output.push_copied(PREFACE);
        client.queue_settings();
        client
    }

    /// Processes input of the origin from the first byte that was not consumed. Call until it returns
    /// [`OriginEvent::Partial`].
    ///
    /// Frames are processed as a whole: the input buffer must have a capacity of [`MAX_FRAME`] plus [`FRAME_HEADER`]
    /// bytes.
    ///
    /// # Errors
    /// Returns a connection error. The last frame of the output is then a `GOAWAY`, and the connection must be closed
    /// once the output is sent.
    pub fn receive(&mut self, input: &[u8]) -> Result<OriginInput, ConnectionError> {
        let result = self.read(input);
        if let Err(error) = &result {
            self.go_away(error.code);
        }
        result
    }

    /// Returns the bytes to send to the origin. [`Http2Client::schedule`] adds queued bodies to them.
    pub fn output(&mut self) -> &mut OutputQueue {
        &mut self.output
    }

    /// Returns the stream of the next failed request and the reason of the failure; `None` if there is no other. Each
    /// failure is returned once.
    pub fn next_failed(&mut self) -> Option<(u32, RequestFailure)> {
        self.lost.pop_front()
    }

    /// Returns the number of requests in progress: not completely sent, or without a complete response.
    pub fn streams(&self) -> usize {
        self.streams.all().len()
    }

    /// Returns whether further requests may be sent, now or after other requests have completed.
    pub fn is_open(&self) -> bool {
        !self.closing && !self.streams.is_exhausted()
    }

    /// Returns whether a further request may be sent now: the connection is open and the limit of streams not reached.
    pub fn has_room(&self) -> bool {
        let most = self.server.max_streams.unwrap_or(STREAMS).min(MOST_STREAMS);
        self.is_open() && self.streams() < most as usize
    }

    /// Stops opening streams, and notifies the origin by `GOAWAY` (RFC 9113 §6.8). Does nothing if the connection opens
    /// no more streams already, such as after a `GOAWAY` of the origin.
    pub fn shut_down(&mut self) {
        if !self.closing {
            self.go_away(ErrorCode::NoError);
        }
    }

    /// Frees buffers that an idle connection does not need; pending output is preserved.
    pub fn free_idle_memory(&mut self) {
        self.header_block = Vec::new();
        self.output.free_idle_memory();
        self.streams.free_idle_memory();
    }

    fn read(&mut self, input: &[u8]) -> Result<OriginInput, ConnectionError> {
        const PARTIAL: OriginInput = OriginInput { consumed: 0, event: OriginEvent::Partial };
        let Some(header) = FrameHeader::read(input) else { return Ok(PARTIAL) };
        // RFC 9113 §3.4. An origin that only supports HTTP/1 is detected here.
        if !self.began && header.kind != kind::SETTINGS {
            return Err(ConnectionError::protocol("not HTTP/2: the first frame is not SETTINGS"));
        }
        if header.length > MAX_FRAME {
            return Err(ConnectionError::new(ErrorCode::FrameSize, "frame too large"));
        }
        self.check_order(header)?;
        let consumed = FRAME_HEADER + header.length;
        let Some(payload) = input.get(FRAME_HEADER..consumed) else { return Ok(PARTIAL) };
        header.check_form()?;
        self.patience.record_frame(header.kind, header.length, self.output.len())?;
        self.began = true;
        self.alive.frame_received(header.kind);
        let mut answered = self.frame(header, payload)?;
        if let OriginEvent::Data { data, .. } = &mut answered {
            *data = data.start + FRAME_HEADER..data.end + FRAME_HEADER;
        }
        Ok(OriginInput { consumed, event: answered })
    }

    /// Checks that only `CONTINUATION` follows an incomplete header block, and rejects frames that an origin must not
    /// send: push (disabled by the client) and frames on streams that the client has not opened.
    fn check_order(&self, header: FrameHeader) -> Result<(), ConnectionError> {
        if header.kind == kind::PUSH_PROMISE {
            return Err(ConnectionError::protocol("PUSH_PROMISE although push is disabled"));
        }
        if self.streams.is_idle(header.stream) && header.kind <= kind::CONTINUATION {
            return Err(ConnectionError::protocol("frame on an idle stream"));
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

    fn frame(&mut self, header: FrameHeader, payload: &[u8]) -> Result<OriginEvent, ConnectionError> {
        match header.kind {
            kind::DATA => self.data(header, payload),
            kind::HEADERS => self.headers(header, payload),
            kind::CONTINUATION => self.continuation(header, payload),
            kind::RST_STREAM => self.rst_stream(header, payload),
            kind::SETTINGS => self.settings(header, payload),
            kind::PING => Ok(self.ping(header, payload)),
            kind::GOAWAY => Ok(self.goaway(payload)),
            kind::WINDOW_UPDATE => self.window_update(header, payload),
            // Only clients send priorities (RFC 9113 §5.3.2); unknown frames are ignored (§5.5).
            _ => Ok(OriginEvent::Nothing),
        }
    }
}

#[cfg(test)]
mod tests;
