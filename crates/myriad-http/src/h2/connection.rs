//! Server side of an HTTP/2 connection: converts input of a client to events, and sends responses.

mod control;
mod headers;
mod receive;
mod send;
mod stream;

use std::ops::Range;

use super::abuse_budget::AbuseBudget;
use super::block::PartialHeaderBlock;
use super::error::{ConnectionError, ErrorCode};
use super::frame::{FrameHeader, kind};
use super::hpack::{HpackDecoder, HpackEncoder};
use super::output::OutputQueue;
use super::request::HeadBuffers;
use super::settings::{self, PeerSettings};
use super::{FRAME_HEADER, MAX_FRAME, PREFACE};
use crate::h1::HeadLimits;
use crate::{ParseError, RequestHead};
use stream::ServerStreams;
pub use stream::{FinishedStream, ResponseBytes};

/// Limits for the HTTP/2 connection of a client.
#[derive(Clone, Copy, Debug)]
pub struct Http2ServerConfig {
    /// Limits for request heads: a single name or value may have the size of a line, all fields together the total
    /// size.
    pub head: HeadLimits,
    /// Maximum number of concurrent streams (`http2_max_concurrent_streams`), at least 1.
    pub max_streams: u32,
    /// Number of bytes of each request body that are accepted before the consumer reads them
    /// (`http2_body_preread_size`), at most 2³¹-1.
    pub window: u32,
}

impl Default for Http2ServerConfig {
    /// Returns nginx's defaults: 128 streams, a window of 64 KiB.
    fn default() -> Self {
        Self { head: HeadLimits::default(), max_streams: 128, window: 65_536 }
    }
}

/// Event in the next input of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClientEvent {
    /// More bytes are needed.
    Partial,
    /// The processed input caused no event for the caller.
    Nothing,
    /// Request, whose head is in the [`RequestHead`] passed to [`Http2Server::receive`].
    Request {
        /// Stream of the request.
        stream: u32,
        /// True if the request consists of the head, without a body. If false, the body may still be empty.
        end: bool,
        /// Error if the request is malformed, otherwise `None`. After an error, the caller must send an error response,
        /// after which the stream is reset (RFC 9113 §8.1.1).
        malformed: Option<ParseError>,
    },
    /// Piece of a request body. It occupies the window of the stream until [`Http2Server::release`].
    Data {
        /// Stream of the request.
        stream: u32,
        /// Range of the input with the data; may be empty if `end` is true.
        data: Range<usize>,
        /// True if this piece completes the body.
        end: bool,
    },
    /// The length of a body differs from the announced length (RFC 9113 §8.1.1). No response has been sent yet, so the
    /// caller must send an error response.
    BodyMalformed {
        /// Stream of the request.
        stream: u32,
    },
    /// The stream was reset by the client, or because the client violated a rule.
    Reset {
        /// Stream of the request.
        stream: u32,
    },
}

/// Result of [`Http2Server::receive`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientInput {
    /// Number of consumed input bytes; a range in `event` is within them.
    pub consumed: usize,
    /// Event in the consumed bytes.
    pub event: ClientEvent,
}

/// Server side of a connection from a client.
#[derive(Debug)]
pub struct Http2Server {
    config: Http2ServerConfig,
    began: bool,
    /// True if the client has acknowledged the `SETTINGS` of the server.
    acknowledged: bool,
    /// Highest stream that is still served, as announced in the final `GOAWAY`; `None` until that frame is queued.
    leaving: Option<u32>,
    /// True once a graceful `GOAWAY` was sent, after which the client should open no more streams. New streams are
    /// accepted until `leaving` is set.
    parting: bool,
    client: PeerSettings,
    decoder: HpackDecoder,
    encoder: HpackEncoder,
    streams: ServerStreams,
    /// Number of bytes that may be sent on all streams together (RFC 9113 §6.9).
    send_window: i64,
    /// Number of bytes that the client may still send on all streams together.
    receive_window: i64,
    /// Counter of DATA frames sent, by which incremental responses take turns.
    turn: u64,
    block: Option<PartialHeaderBlock>,
    patience: AbuseBudget,
    scratch: HeadBuffers,
    header_block: Vec<u8>,
    output: OutputQueue,
}

impl Http2Server {
    /// Creates a connection of a client; its output starts with the `SETTINGS` of the server.
    pub fn new(config: Http2ServerConfig) -> Self {
        let config = Http2ServerConfig {
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
            client: PeerSettings::default(),
            decoder: HpackDecoder::new(4096),
            encoder: HpackEncoder::default(),
            streams: ServerStreams::default(),
            send_window: i64::from(PeerSettings::default().initial_window),
            receive_window: i64::from(settings::MAX_WINDOW),
            turn: 1,
            block: None,
            patience: AbuseBudget::new(config.max_streams),
            scratch: HeadBuffers::default(),
            header_block: Vec::new(),
            output: OutputQueue::default(),
        };
        connection.queue_preface();
        connection
    }

    /// Processes input of the client from the first byte that was not consumed. Call until it returns
    /// [`ClientEvent::Partial`].
    ///
    /// Frames are processed as a whole: the input buffer must have a capacity of [`MAX_FRAME`] plus [`FRAME_HEADER`]
    /// bytes.
    ///
    /// # Errors
    /// Returns a connection error. The last frame of the output is then a `GOAWAY`, and the connection must be closed
    /// once the output is sent.
    pub fn receive(&mut self, input: &[u8], head: &mut RequestHead) -> Result<ClientInput, ConnectionError> {
        let result = self.read(input, head);
        if let Err(error) = &result {
            self.go_away(error.code);
        }
        result
    }

    /// Returns the bytes to send to the client. [`Http2Server::schedule`] adds queued bodies to them.
    pub fn output(&mut self) -> &mut OutputQueue {
        &mut self.output
    }

    /// Returns the number of streams whose response is not yet completely in the output.
    pub fn streams(&self) -> usize {
        self.streams.busy()
    }

    /// Rejects new streams, and notifies the client by `GOAWAY` (RFC 9113 §6.8). Open streams are served. Does nothing
    /// after a final `GOAWAY`.
    pub fn shut_down(&mut self) {
        if self.leaving.is_none() {
            self.go_away(ErrorCode::NoError);
        }
    }

    /// Starts a graceful shutdown, which loses no request in transit: announces it by `GOAWAY`, but accepts requests
    /// until the client has received that (RFC 9113 §6.8).
    ///
    /// A PING follows the `GOAWAY`. New streams are rejected after the client's response to this PING, or after
    /// [`Http2Server::shut_down`].
    pub fn begin_graceful_shutdown(&mut self) {
        if self.leaving.is_none() && !self.parting {
            self.parting = true;
            self.queue_graceful_goaway();
        }
    }

    /// Returns whether the response to the PING of [`Http2Server::begin_graceful_shutdown`] is outstanding.
    pub fn awaits_shutdown_ping(&self) -> bool {
        self.parting && self.leaving.is_none()
    }

    /// Queues a `GOAWAY` with an error code. The caller must close the connection after it has sent the output.
    pub fn terminate(&mut self, code: ErrorCode) {
        self.go_away(code);
    }

    /// Returns whether new streams are rejected, because a final `GOAWAY` was sent.
    pub fn is_shutting_down(&self) -> bool {
        self.leaving.is_some()
    }

    /// Frees buffers that an idle connection does not need; pending output is preserved.
    pub fn free_idle_memory(&mut self) {
        self.scratch = HeadBuffers::default();
        self.header_block = Vec::new();
        self.output.free_idle_memory();
        self.streams.free_idle_memory();
    }

    fn read(&mut self, input: &[u8], head: &mut RequestHead) -> Result<ClientInput, ConnectionError> {
        const PARTIAL: ClientInput = ClientInput { consumed: 0, event: ClientEvent::Partial };
        if !self.began {
            let length = input.len().min(PREFACE.len());
            if input[..length] != PREFACE[..length] {
                return Err(ConnectionError::protocol("invalid connection preface"));
            }
            if length < PREFACE.len() {
                return Ok(PARTIAL);
            }
            self.began = true;
            return Ok(ClientInput { consumed: length, event: ClientEvent::Nothing });
        }
        let Some(header) = FrameHeader::read(input) else { return Ok(PARTIAL) };
        if header.length > MAX_FRAME {
            return Err(ConnectionError::new(ErrorCode::FrameSize, "frame too large"));
        }
        self.check_order(header)?;
        let consumed = FRAME_HEADER + header.length;
        let Some(payload) = input.get(FRAME_HEADER..consumed) else { return Ok(PARTIAL) };
        header.check_form()?;
        self.patience.record_frame(header.kind, header.length, self.output.len())?;
        let mut received = self.frame(header, payload, head)?;
        if let ClientEvent::Data { data, .. } = &mut received {
            *data = data.start + FRAME_HEADER..data.end + FRAME_HEADER;
        }
        Ok(ClientInput { consumed, event: received })
    }

    /// Checks that only `CONTINUATION` follows an incomplete header block, and rejects `PUSH_PROMISE`.
    ///
    /// As in nginx, `SETTINGS` need not be the first frame (RFC 9113 §3.4 requires it); until then, defaults apply.
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
    ) -> Result<ClientEvent, ConnectionError> {
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
            // Unknown frames are ignored, and `GOAWAY` too: the client still receives its responses and then closes the
            // connection.
            _ => Ok(ClientEvent::Nothing),
        }
    }
}

#[cfg(test)]
mod tests;
