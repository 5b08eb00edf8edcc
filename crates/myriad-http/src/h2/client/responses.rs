//! HTTP/2 frames of the responses of an origin: heads, bodies, trailers (RFC 9113 §8.1).

use super::super::error::compression;
use super::super::frame::{FrameHeader, flag, fragment, unpadded};
use super::response::ResponseBuilder;
use super::stream::ClientStream;
use super::{
    BLOCK, ConnectionError, ErrorCode, Http2Client, MAX_INTERIM, OriginEvent, PartialHeaderBlock,
    RequestFailure,
};
use crate::ResponseHead;
use crate::h1::{ResponseFraming, response_framing};

impl Http2Client {
    pub(super) fn headers(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
    ) -> Result<OriginEvent, ConnectionError> {
        if header.stream == 0 {
            return Err(ConnectionError::protocol("HEADERS frame on stream 0"));
        }
        let (fragment, _) = fragment(header, payload)?;
        if header.has(flag::END_HEADERS) {
            return self.process_block(header, fragment);
        }
        self.block = Some(PartialHeaderBlock::new(header, fragment, false));
        Ok(OriginEvent::Nothing)
    }

    pub(super) fn continuation(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
    ) -> Result<OriginEvent, ConnectionError> {
        let Some(mut block) = self.block.take() else {
            return Err(ConnectionError::protocol("CONTINUATION without a header block"));
        };
        block.extend(payload, BLOCK)?;
        if header.has(flag::END_HEADERS) {
            return self.process_block(block.opening, &block.bytes);
        }
        self.block = Some(block);
        Ok(OriginEvent::Nothing)
    }

    /// Processes a complete header block: a response head or trailers. The block is always decoded completely, to keep
    /// the compression table consistent.
    fn process_block(&mut self, header: FrameHeader, bytes: &[u8]) -> Result<OriginEvent, ConnectionError> {
        let id = header.stream;
        let most = self.streams.get(id).map_or(0, |stream| stream.most_head);
        let mut builder = ResponseBuilder::new(most);
        self.decoder
            .decode(bytes, BLOCK, BLOCK, |name, value| builder.field(name, value))
            .map_err(compression)?;
        let Some(stream) = self.streams.get(id) else {
            self.patience.record_stray_bytes(bytes.len())?;
            return Ok(OriginEvent::Nothing);
        };
        let end = header.has(flag::END_STREAM);
        if !stream.receiving {
            return self.fail_stream(
                id,
                ErrorCode::StreamClosed,
                RequestFailure::Broken("HEADERS after END_STREAM"),
            );
        }
        if stream.answered {
            return self.trailers(id, end, builder);
        }
        let head = match builder.finish() {
            Ok(head) => head,
            Err(lost) => return self.fail_stream(id, ErrorCode::Protocol, lost),
        };
        match begin(stream, &head, end) {
            Ok(()) => {}
            Err(lost) => return self.fail_stream(id, ErrorCode::Protocol, lost),
        }
        if end {
            self.response_completed(id);
        }
        Ok(OriginEvent::Head { stream: id, head: Box::new(head), end })
    }

    fn trailers(
        &mut self,
        id: u32,
        end: bool,
        builder: ResponseBuilder,
    ) -> Result<OriginEvent, ConnectionError> {
        if !end {
            return self.fail_stream(
                id,
                ErrorCode::Protocol,
                RequestFailure::Broken("second HEADERS without END_STREAM"),
            );
        }
        match builder.finish_trailers() {
            Err(lost) => self.fail_stream(id, ErrorCode::Protocol, lost),
            Ok(_) if self.is_body_short(id) => self.fail_stream(id, ErrorCode::Protocol, SHORT),
            Ok(fields) => {
                self.response_completed(id);
                Ok(OriginEvent::Trailers { stream: id, fields: Box::new(fields) })
            }
        }
    }

    pub(super) fn data(
        &mut self,
        header: FrameHeader,
        payload: &[u8],
    ) -> Result<OriginEvent, ConnectionError> {
        let id = header.stream;
        if id == 0 {
            return Err(ConnectionError::protocol("DATA frame on stream 0"));
        }
        let data = unpadded(header, payload).map_err(|code| ConnectionError::new(code, "invalid padding"))?;
        self.charge_window(header.length)?;
        let Some(stream) = self.streams.get(id) else {
            self.patience.record_stray_bytes(header.length)?;
            return Ok(OriginEvent::Nothing);
        };
        if !stream.receiving {
            return self.fail_stream(
                id,
                ErrorCode::StreamClosed,
                RequestFailure::Broken("DATA after END_STREAM"),
            );
        }
        if !stream.answered {
            return self.fail_stream(id, ErrorCode::Protocol, RequestFailure::Broken("DATA before HEADERS"));
        }
        stream.receive_window -= header.length as i64;
        if stream.receive_window < 0 {
            return self.fail_stream(
                id,
                ErrorCode::FlowControl,
                RequestFailure::Broken("window of the stream exceeded"),
            );
        }
        if let Some(expected) = &mut stream.expected {
            match expected.checked_sub(data.len() as u64) {
                Some(left) => *expected = left,
                None => return self.fail_stream(id, ErrorCode::Protocol, LONG),
            }
        }
        let end = header.has(flag::END_STREAM);
        if end && self.is_body_short(id) {
            return self.fail_stream(id, ErrorCode::Protocol, SHORT);
        }
        if end {
            self.response_completed(id);
        } else {
            self.release(id, header.length - data.len());
        }
        if data.is_empty() && !end {
            return Ok(OriginEvent::Nothing);
        }
        self.patience.record_useful_piece();
        Ok(OriginEvent::Data { stream: id, data, end })
    }

    /// Returns whether fewer bytes of a response body have arrived than `Content-Length` announced.
    fn is_body_short(&mut self, id: u32) -> bool {
        self.streams.get(id).and_then(|stream| stream.expected).is_some_and(|left| left > 0)
    }

    /// Records that a response is complete, and removes the stream if the request is complete too.
    fn response_completed(&mut self, id: u32) {
        self.patience.record_answered();
        let Some(stream) = self.streams.get(id) else { return };
        stream.receiving = false;
        if !stream.sending {
            self.streams.close(id);
        }
    }

    /// Handles a stream error: resets the stream, fails its request, and stops opening streams. Fails if the origin has
    /// caused too many resets.
    pub(super) fn fail_stream(
        &mut self,
        id: u32,
        code: ErrorCode,
        lost: RequestFailure,
    ) -> Result<OriginEvent, ConnectionError> {
        self.closing = true;
        self.queue_reset(id, code);
        self.fail_request(id, lost);
        self.patience.record_wasted()?;
        Ok(OriginEvent::Nothing)
    }
}

const SHORT: RequestFailure =
    RequestFailure::Broken("body shorter than specified in \"content-length\" header");
const LONG: RequestFailure = RequestFailure::Broken("more data than specified in \"content-length\" header");

/// Records a response head on its stream. Fails for status 101, for an interim response that completes the stream
/// (`end`) or exceeds [`MAX_INTERIM`], for invalid framing, and if the stream is complete although its `Content-Length`
/// announced a body.
fn begin(stream: &mut ClientStream, head: &ResponseHead, end: bool) -> Result<(), RequestFailure> {
    match head.status {
        // RFC 9113 §8.6: HTTP/2 has no switch of protocols.
        101 => return Err(RequestFailure::Broken("status 101, which HTTP/2 does not support")),
        100..200 if end => return Err(RequestFailure::Broken("interim response with END_STREAM")),
        100..200 if stream.interim == MAX_INTERIM => {
            return Err(RequestFailure::Broken("too many interim responses"));
        }
        100..200 => {
            stream.interim += 1;
            return Ok(());
        }
        _ => {}
    }
    stream.answered = true;
    stream.expected = match response_framing(head, stream.method).map_err(RequestFailure::Malformed)? {
        ResponseFraming::None => Some(0),
        ResponseFraming::Length(length) => Some(length),
        ResponseFraming::Chunked | ResponseFraming::UntilClose => None,
    };
    if end && stream.expected.is_some_and(|length| length > 0) { Err(SHORT) } else { Ok(()) }
}
