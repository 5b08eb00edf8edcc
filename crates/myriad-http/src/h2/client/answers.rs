//! Responses: heads, bodies, trailers (RFC 9113 §8.1).

use super::super::error::compression;
use super::super::frame::{FrameHeader, flag, fragment, unpadded};
use super::response::ResponseBuilder;
use super::stream::Stream;
use super::{Answered, BLOCK, Block, Client, ConnectionError, ErrorCode, Lost, MAX_INTERIM};
use crate::ResponseHead;
use crate::h1::{ResponseFraming, response_framing};

impl Client {
    pub(super) fn headers(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
    ) -> Result<Answered, ConnectionError> {
        if header.stream == 0 {
            return Err(ConnectionError::protocol("HEADERS on the connection"));
        }
        let (fragment, _) = fragment(header, payload)?;
        if header.has(flag::END_HEADERS) {
            return self.complete(header, fragment);
        }
        self.block = Some(Block::new(header, fragment, false));
        Ok(Answered::Nothing)
    }

    pub(super) fn continuation(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
    ) -> Result<Answered, ConnectionError> {
        let Some(mut block) = self.block.take() else {
            return Err(ConnectionError::protocol("CONTINUATION without a header block"));
        };
        block.extend(payload, BLOCK)?;
        if header.has(flag::END_HEADERS) {
            return self.complete(block.opening, &block.bytes);
        }
        self.block = Some(block);
        Ok(Answered::Nothing)
    }

    /// Processes a complete block. The block is always decoded to its end to update the table.
    fn complete(&mut self, header: FrameHeader, bytes: &[u8]) -> Result<Answered, ConnectionError> {
        let id = header.stream;
        let most = self.streams.get(id).map_or(0, |stream| stream.most_head);
        let mut builder = ResponseBuilder::new(most);
        self.decoder
            .decode(bytes, BLOCK, BLOCK, |name, value| builder.field(name, value))
            .map_err(compression)?;
        let Some(stream) = self.streams.get(id) else {
            self.patience.stray_of(bytes.len())?;
            return Ok(Answered::Nothing);
        };
        let end = header.has(flag::END_STREAM);
        if !stream.receiving {
            return self.give_up(id, ErrorCode::StreamClosed, Lost::Broken("HEADERS after END_STREAM"));
        }
        if stream.answered {
            return self.trailers(id, end, builder);
        }
        let head = match builder.finish() {
            Ok(head) => head,
            Err(lost) => return self.give_up(id, ErrorCode::Protocol, lost),
        };
        match begin(stream, &head, end) {
            Ok(()) => {}
            Err(lost) => return self.give_up(id, ErrorCode::Protocol, lost),
        }
        if end {
            self.ended_by_origin(id);
        }
        Ok(Answered::Head { stream: id, head: Box::new(head), end })
    }

    fn trailers(
        &mut self,
        id: u32,
        end: bool,
        builder: ResponseBuilder,
    ) -> Result<Answered, ConnectionError> {
        if !end {
            return self.give_up(id, ErrorCode::Protocol, Lost::Broken("second header"));
        }
        match builder.finish_trailers() {
            Err(lost) => self.give_up(id, ErrorCode::Protocol, lost),
            Ok(_) if self.is_short(id) => self.give_up(id, ErrorCode::Protocol, SHORT),
            Ok(fields) => {
                self.ended_by_origin(id);
                Ok(Answered::Trailers { stream: id, fields: Box::new(fields) })
            }
        }
    }

    pub(super) fn data(&mut self, header: FrameHeader, payload: &[u8]) -> Result<Answered, ConnectionError> {
        let id = header.stream;
        if id == 0 {
            return Err(ConnectionError::protocol("DATA on the connection"));
        }
        let data = unpadded(header, payload).map_err(|code| ConnectionError::new(code, "invalid padding"))?;
        self.charge(header.length)?;
        let Some(stream) = self.streams.get(id) else {
            self.patience.stray_of(header.length)?;
            return Ok(Answered::Nothing);
        };
        if !stream.receiving {
            return self.give_up(id, ErrorCode::StreamClosed, Lost::Broken("DATA after END_STREAM"));
        }
        if !stream.answered {
            return self.give_up(id, ErrorCode::Protocol, Lost::Broken("DATA before HEADERS"));
        }
        stream.receive_window -= header.length as i64;
        if stream.receive_window < 0 {
            return self.give_up(id, ErrorCode::FlowControl, Lost::Broken("window of the stream exceeded"));
        }
        if let Some(expected) = &mut stream.expected {
            match expected.checked_sub(data.len() as u64) {
                Some(left) => *expected = left,
                None => return self.give_up(id, ErrorCode::Protocol, LONG),
            }
        }
        let end = header.has(flag::END_STREAM);
        if end && self.is_short(id) {
            return self.give_up(id, ErrorCode::Protocol, SHORT);
        }
        if end {
            self.ended_by_origin(id);
        } else {
            self.release(id, header.length - data.len());
        }
        if data.is_empty() && !end {
            return Ok(Answered::Nothing);
        }
        self.patience.useful();
        Ok(Answered::Data { stream: id, data, end })
    }

    /// Returns whether bytes of a body are missing.
    fn is_short(&mut self, id: u32) -> bool {
        self.streams.get(id).and_then(|stream| stream.expected).is_some_and(|left| left > 0)
    }

    /// Handles the regular completion of a response.
    fn ended_by_origin(&mut self, id: u32) {
        self.patience.answered();
        let Some(stream) = self.streams.get(id) else { return };
        stream.receiving = false;
        if !stream.sending {
            self.streams.close(id);
        }
    }

    /// Handles a stream error: resets the stream and stops opening streams.
    pub(super) fn give_up(
        &mut self,
        id: u32,
        code: ErrorCode,
        lost: Lost,
    ) -> Result<Answered, ConnectionError> {
        self.closing = true;
        self.leave(id, code);
        self.lose(id, lost);
        self.patience.wasted()?;
        Ok(Answered::Nothing)
    }
}

const SHORT: Lost = Lost::Broken("body shorter than specified in \"content-length\" header");
const LONG: Lost = Lost::Broken("more data than specified in \"content-length\" header");

/// Records a response head on a stream; returns an error if it is not allowed at this point.
fn begin(stream: &mut Stream, head: &ResponseHead, end: bool) -> Result<(), Lost> {
    match head.status {
        // RFC 9113 §8.6.
        101 => return Err(Lost::Broken("status 101, which HTTP/2 does not support")),
        100..200 if end => return Err(Lost::Broken("END_STREAM after an interim response")),
        100..200 if stream.interim == MAX_INTERIM => {
            return Err(Lost::Broken("too many interim responses"));
        }
        100..200 => {
            stream.interim += 1;
            return Ok(());
        }
        _ => {}
    }
    stream.answered = true;
    stream.expected = match response_framing(head, stream.method).map_err(Lost::Malformed)? {
        ResponseFraming::None => Some(0),
        ResponseFraming::Length(length) => Some(length),
        ResponseFraming::Chunked | ResponseFraming::UntilClose => None,
    };
    if end && stream.expected.is_some_and(|length| length > 0) { Err(SHORT) } else { Ok(()) }
}
