//! HTTP/2 header blocks of a client: collected from frames, decoded, and converted to requests or trailers (RFC 9113
//! §4.3, §6.2, §6.10).

use std::collections::VecDeque;

use super::super::MAX_FRAME;
use super::super::block::PartialHeaderBlock;
use super::super::error::compression;
use super::super::frame::{FrameHeader, flag, fragment, kind};
use super::super::request::{RequestBuilder, is_trailer};
use super::super::settings::PeerSettings;
use super::super::{ConnectionError, ErrorCode, Priority};
use super::stream::{CloseCause, ResponseBytes, ServerStream};
use super::{ClientEvent, Http2Server};
use crate::h1::{Framing, request_framing};
use crate::{HttpVersion, ParseError, RequestHead};

/// Meaning of a header block, by the state of its stream.
enum BlockPurpose {
    Request,
    Trailers,
    /// Header block of a stream that the server has reset, or of a new stream after the final `GOAWAY`; only decoded so
    /// that the compression table remains consistent.
    Ignored,
    /// Header block that is decoded so that the compression table remains consistent; the stream is then reset with this
    /// code.
    Refused(ErrorCode),
}

impl Http2Server {
    pub(super) fn headers(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
        head: &mut RequestHead,
    ) -> Result<ClientEvent, ConnectionError> {
        if header.stream.is_multiple_of(2) {
            return Err(ConnectionError::protocol("HEADERS on a stream that a client must not open"));
        }
        let (fragment, depends_on_itself) = fragment(header, payload)?;
        if header.has(flag::END_HEADERS) {
            return self.process_block(header, fragment, depends_on_itself, head);
        }
        self.block = Some(PartialHeaderBlock::new(header, fragment, depends_on_itself));
        Ok(ClientEvent::Nothing)
    }

    pub(super) fn continuation(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
        head: &mut RequestHead,
    ) -> Result<ClientEvent, ConnectionError> {
        let Some(mut block) = self.block.take() else {
            return Err(ConnectionError::protocol("CONTINUATION without a header block"));
        };
        // The compressed length is compared with the limit for decoded fields, or with `MAX_FRAME` if that is larger.
        block.extend(payload, self.config.head.total.max(MAX_FRAME))?;
        if header.has(flag::END_HEADERS) {
            return self.process_block(block.opening, &block.bytes, block.depends_on_itself, head);
        }
        self.block = Some(block);
        Ok(ClientEvent::Nothing)
    }

    /// Processes a complete header block: the head of a request, its trailers, or a block of a closed or rejected
    /// stream. A stream that depends on itself is a stream error.
    fn process_block(
        &mut self,
        header: FrameHeader,
        bytes: &[u8],
        depends_on_itself: bool,
        head: &mut RequestHead,
    ) -> Result<ClientEvent, ConnectionError> {
        let purpose = self.block_purpose(header)?;
        let purpose = if depends_on_itself { BlockPurpose::Refused(ErrorCode::Protocol) } else { purpose };
        match purpose {
            BlockPurpose::Request => self.request(header, bytes, head),
            BlockPurpose::Trailers => self.trailers_of_request(header, bytes),
            BlockPurpose::Ignored => {
                self.decode(bytes, |_, _| {})?;
                Ok(ClientEvent::Nothing)
            }
            BlockPurpose::Refused(code) => {
                self.decode(bytes, |_, _| {})?;
                self.stream_error(header.stream, code)
            }
        }
    }

    fn block_purpose(&mut self, header: FrameHeader) -> Result<BlockPurpose, ConnectionError> {
        let id = header.stream;
        if let Some(stream) = self.streams.get(id) {
            return Ok(match (stream.receiving, header.has(flag::END_STREAM)) {
                (false, _) => BlockPurpose::Refused(ErrorCode::StreamClosed),
                (true, false) => BlockPurpose::Refused(ErrorCode::Protocol),
                (true, true) => BlockPurpose::Trailers,
            });
        }
        if !self.streams.is_idle(id) {
            return match self.streams.closed(id) {
                Some(CloseCause::ByServer) => Ok(BlockPurpose::Ignored),
                Some(CloseCause::ByClient) => Ok(BlockPurpose::Refused(ErrorCode::StreamClosed)),
                Some(CloseCause::Ended) => {
                    Err(ConnectionError::new(ErrorCode::StreamClosed, "HEADERS on a closed stream"))
                }
                None => Err(ConnectionError::protocol("stream identifier is lower than an earlier one")),
            };
        }
        self.streams.last = id;
        if self.leaving.is_some() {
            self.streams.record_closed(id, CloseCause::ByServer);
            return Ok(BlockPurpose::Ignored);
        }
        // A client that has not received the settings may send more of the body than the window allows. The stream is
        // rejected, so that the client sends the request again, instead of causing an error.
        let is_early = !self.acknowledged && !header.has(flag::END_STREAM);
        if self.streams.len() >= self.config.max_streams as usize
            || is_early && self.config.window < PeerSettings::default().initial_window
        {
            return Ok(BlockPurpose::Refused(ErrorCode::RefusedStream));
        }
        Ok(BlockPurpose::Request)
    }

    /// Returns the new stream of a header block that is not complete yet; `None` if there is no such block. Either its
    /// `CONTINUATION` frames are missing, or `partial`, the input that [`Http2Server::receive`] has not consumed,
    /// contains a part of its frame.
    pub fn late_stream(&self, partial: &[u8]) -> Option<u32> {
        let opening = match &self.block {
            Some(block) => Some(block.opening),
            None if self.began => FrameHeader::read(partial).filter(|header| header.kind == kind::HEADERS),
            None => None,
        };
        let id = opening?.stream;
        (self.streams.is_idle(id) && !id.is_multiple_of(2)).then_some(id)
    }

    /// Resets a stream whose header block has timed out. The rest of the block is decoded, but ignored.
    pub fn reset_late(&mut self, stream: u32) {
        self.streams.last = self.streams.last.max(stream);
        self.queue_reset(stream, ErrorCode::Protocol);
    }

    /// Returns whether the client has not opened any stream yet.
    pub fn has_no_streams(&self) -> bool {
        self.streams.last == 0
    }

    /// Decodes a header block within the size limits for request heads, and passes the name and value of each field to
    /// `take`.
    fn decode(&mut self, bytes: &[u8], take: impl FnMut(&[u8], &[u8])) -> Result<(), ConnectionError> {
        let limits = &self.config.head;
        self.decoder.decode(bytes, limits.line, limits.total, take).map_err(compression)
    }

    fn request(
        &mut self,
        header: FrameHeader,
        bytes: &[u8],
        head: &mut RequestHead,
    ) -> Result<ClientEvent, ConnectionError> {
        let limits = self.config.head;
        let mut builder = RequestBuilder::new(HttpVersion::Http2, head, &limits, &mut self.scratch);
        let decoded =
            self.decoder.decode(bytes, limits.line, limits.total, |name, value| builder.field(name, value));
        let (priority, mut malformed) = builder.finish();
        decoded.map_err(compression)?;
        head.wire_len = bytes.len() as u32;
        let end = header.has(flag::END_STREAM);
        let mut expected = None;
        match request_framing(head) {
            Ok(Framing::Length(length)) => expected = Some(length),
            Ok(_) => {}
            Err(error) => malformed = malformed.or(Some(error)),
        }
        if end && expected.is_some_and(|length| length > 0) {
            malformed = malformed.or(Some(ParseError::InvalidLength));
        }
        if malformed.is_some() {
            expected = None;
            self.patience.record_wasted()?;
        }
        let id = header.stream;
        let priority = self.take_priority(id).unwrap_or(priority);
        self.streams.add(ServerStream {
            id,
            receiving: !end,
            answered: false,
            malformed: malformed.is_some(),
            priority,
            lingering: false,
            awaited: false,
            turn: 0,
            send_window: i64::from(self.client.initial_window),
            receive_window: i64::from(self.config.window),
            released: 0,
            expected,
            queue: VecDeque::new(),
            end_queued: false,
            trailers: None,
            chunk: MAX_FRAME,
            sent: ResponseBytes::default(),
            is_reported: false,
        });
        Ok(ClientEvent::Request { stream: id, end, malformed })
    }

    /// Returns the priority that a `PRIORITY_UPDATE` set before the stream `id` was opened, if any. Removes the stored
    /// priorities of `id` and of all lower streams.
    fn take_priority(&mut self, id: u32) -> Option<Priority> {
        let pending = &mut self.streams.priorities;
        if pending.is_empty() {
            return None;
        }
        let found = pending.iter().find(|(known, _)| *known == id).map(|(_, priority)| *priority);
        pending.retain(|(known, _)| *known > id);
        found
    }

    /// Handles the trailers of a request, which complete its body. Their fields are checked and discarded; if one is
    /// invalid, the stream is reset.
    fn trailers_of_request(
        &mut self,
        header: FrameHeader,
        bytes: &[u8],
    ) -> Result<ClientEvent, ConnectionError> {
        let mut sound = true;
        self.decode(bytes, |name, value| sound &= is_trailer(name, value))?;
        if !sound {
            return self.stream_error(header.stream, ErrorCode::Protocol);
        }
        self.end_of_body(header.stream, 0..0)
    }
}
