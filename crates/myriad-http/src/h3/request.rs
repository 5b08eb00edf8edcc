//! HTTP/3 requests of a client: the receiving side of request streams (RFC 9114 §4.1).

use super::error::{Http3Error, Http3ErrorCode};
use super::frame::{FrameHead, FrameHeadReader, kind};
use super::qpack::{QpackDecoder, QpackError};
use crate::h1::{Framing, HeadLimits, request_framing};
use crate::h2::Priority;
use crate::h2::request::{HeadBuffers, RequestBuilder, is_trailer};
use crate::{HttpVersion, ParseError, RequestHead};

/// Event in the next input of a request stream, with the body data it may contain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RequestEvent<'a> {
    /// More bytes are needed.
    Partial,
    /// The field section needs table entries that have not arrived on the client's encoder stream. Call again when
    /// [`RequestReader::waits`] returns false.
    Blocked,
    /// Request, whose head is in the [`RequestHead`] passed to [`RequestReader::receive`].
    Request {
        /// Priority of the response.
        priority: Priority,
        /// Error if the request is malformed, otherwise `None`. After an error, the caller must send an error response
        /// and not read the rest.
        malformed: Option<ParseError>,
    },
    /// Piece of the request body, not empty.
    Data(&'a [u8]),
    /// The trailers were read and discarded, and the request is complete.
    Trailers,
}

/// State of the parser of a request stream.
///
/// ```text
/// Head -> Block (HEADERS)     -> Head        first the request, then trailers
///           \-> Blocked       -> Head        waits for table entries
///      -> Data  (DATA)        -> Head        between the two
///      -> Skip  (unknown)     -> Head        anywhere
/// ```
#[derive(Debug)]
enum RequestReaderState {
    Head(FrameHeadReader),
    Block { length: usize, bytes: Vec<u8> },
    Blocked { section: Vec<u8>, until: u64 },
    Data { left: u64 },
    Skip { left: u64, then_too_large: bool },
}

/// Part of the request that is expected next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum MessagePart {
    Headers,
    Body,
    End,
}

/// Parser of one request stream.
#[derive(Debug)]
pub struct RequestReader {
    stream: u64,
    state: RequestReaderState,
    part: MessagePart,
    /// Length of the request body minus the lengths of all DATA frames that have begun, in bytes; `None` if
    /// `Content-Length` did not announce the length.
    announced: Option<u64>,
}

impl RequestReader {
    /// Creates a parser for the request stream `stream`.
    pub fn new(stream: u64) -> Self {
        Self {
            stream,
            state: RequestReaderState::Head(FrameHeadReader::default()),
            part: MessagePart::Headers,
            announced: None,
        }
    }

    /// Processes `input`, the next bytes of the stream, and removes what is consumed. Call until it returns
    /// [`RequestEvent::Partial`] or [`RequestEvent::Blocked`].
    ///
    /// # Errors
    /// Returns an error if the client violated a rule; the stream must then not be read any further.
    pub fn receive<'a>(
        &mut self,
        input: &mut &'a [u8],
        limits: &HeadLimits,
        head: &mut RequestHead,
        fields: &mut QpackDecoder,
    ) -> Result<RequestEvent<'a>, Http3Error> {
        loop {
            match &mut self.state {
                RequestReaderState::Head(reader) => {
                    let Some(frame) = reader.read(input) else { return Ok(RequestEvent::Partial) };
                    self.state = self.begin(frame, limits)?;
                }
                RequestReaderState::Block { length, bytes } => {
                    let wanted = *length - bytes.len();
                    let (taken, rest) = input.split_at(wanted.min(input.len()));
                    *input = rest;
                    if taken.len() < wanted {
                        bytes.extend_from_slice(taken);
                        return Ok(RequestEvent::Partial);
                    }
                    let before = std::mem::take(bytes);
                    self.state = RequestReaderState::Head(FrameHeadReader::default());
                    if before.is_empty() {
                        return self.section(taken, limits, head, fields);
                    }
                    return self.section(&[&before, taken].concat(), limits, head, fields);
                }
                RequestReaderState::Blocked { until, .. } if *until > fields.inserted() => {
                    return Ok(RequestEvent::Blocked);
                }
                RequestReaderState::Blocked { section, until } => {
                    let (section, needed) = (std::mem::take(section), *until);
                    fields.stream_unblocked();
                    self.state = RequestReaderState::Head(FrameHeadReader::default());
                    if !fields.has_entries(needed) {
                        return Err(malformed_frame());
                    }
                    return self.section(&section, limits, head, fields);
                }
                RequestReaderState::Data { left: 0 } => {
                    self.state = RequestReaderState::Head(FrameHeadReader::default());
                }
                RequestReaderState::Data { left } => {
                    let length = (*left).min(input.len() as u64) as usize;
                    if length == 0 {
                        return Ok(RequestEvent::Partial);
                    }
                    let (piece, rest) = input.split_at(length);
                    (*input, *left) = (rest, *left - length as u64);
                    return Ok(RequestEvent::Data(piece));
                }
                RequestReaderState::Skip { left, then_too_large } => {
                    let length = (*left).min(input.len() as u64);
                    *input = &input[length as usize..];
                    *left -= length;
                    if *left > 0 {
                        return Ok(RequestEvent::Partial);
                    }
                    let too_large = std::mem::take(then_too_large);
                    self.state = RequestReaderState::Head(FrameHeadReader::default());
                    if too_large {
                        return Ok(self.head_too_large(head));
                    }
                }
            }
        }
    }

    /// Returns whether the stream waits for table entries that have not arrived.
    pub fn waits(&self, fields: &QpackDecoder) -> bool {
        matches!(&self.state, RequestReaderState::Blocked { until, .. } if *until > fields.inserted())
    }

    /// Returns whether a field section is stored in memory because it had to wait for table entries.
    pub fn holds_section(&self) -> bool {
        matches!(self.state, RequestReaderState::Blocked { .. })
    }

    /// Stops reading the stream. Unless trailers have completed the request, also queues a stream cancellation; after
    /// it, the client may evict the table entries that the stream refers to.
    pub fn abandon(&mut self, fields: &mut QpackDecoder) {
        if matches!(self.state, RequestReaderState::Blocked { .. }) {
            fields.stream_unblocked();
        }
        self.state = RequestReaderState::Head(FrameHeadReader::default());
        if std::mem::replace(&mut self.part, MessagePart::End) != MessagePart::End {
            fields.cancel(self.stream);
        }
    }

    /// Checks that the request is complete when the client has closed its side of the stream.
    ///
    /// # Errors
    /// Returns an error if the request is incomplete.
    pub fn finish(&self) -> Result<(), Http3Error> {
        match &self.state {
            RequestReaderState::Head(reader) if !reader.has_started() => {}
            RequestReaderState::Data { left: 0 } => {}
            _ => {
                return Err(Http3Error::connection(
                    Http3ErrorCode::Frame,
                    "truncated frame at the end of the stream",
                ));
            }
        }
        match (self.part, self.announced) {
            (MessagePart::Headers, _) => {
                Err(Http3Error::stream(Http3ErrorCode::RequestIncomplete, "no request"))
            }
            (_, Some(1..)) => {
                Err(Http3Error::stream(Http3ErrorCode::Message, "body shorter than its Content-Length"))
            }
            _ => Ok(()),
        }
    }

    /// Returns the length of the request body minus the lengths of all DATA frames that have begun, in bytes; `None` if
    /// `Content-Length` did not announce the length.
    pub fn announced(&self) -> Option<u64> {
        self.announced
    }

    fn begin(&mut self, frame: FrameHead, limits: &HeadLimits) -> Result<RequestReaderState, Http3Error> {
        match (frame.kind, self.part) {
            (kind::HEADERS, MessagePart::Headers | MessagePart::Body) => {
                // The compressed length is compared with the limit for decoded fields.
                if frame.length > limits.total as u64 {
                    if self.part == MessagePart::Body {
                        return Err(Http3Error::stream(Http3ErrorCode::ExcessiveLoad, "trailers too large"));
                    }
                    return Ok(RequestReaderState::Skip { left: frame.length, then_too_large: true });
                }
                Ok(RequestReaderState::Block { length: frame.length as usize, bytes: Vec::new() })
            }
            (kind::DATA, MessagePart::Body) => {
                if let Some(announced) = &mut self.announced {
                    *announced = announced.checked_sub(frame.length).ok_or(Http3Error::stream(
                        Http3ErrorCode::Message,
                        "body longer than its Content-Length",
                    ))?;
                }
                Ok(RequestReaderState::Data { left: frame.length })
            }
            (
                kind::DATA
                | kind::HEADERS
                | kind::SETTINGS
                | kind::GOAWAY
                | kind::CANCEL_PUSH
                | kind::MAX_PUSH_ID
                | kind::PUSH_PROMISE
                | kind::PRIORITY_UPDATE,
                _,
            ) => Err(Http3Error::connection(
                Http3ErrorCode::FrameUnexpected,
                "frame type is not allowed on a request stream",
            )),
            (other, _) if kind::is_http2(other) => {
                Err(Http3Error::connection(Http3ErrorCode::FrameUnexpected, "frame type reserved for HTTP/2"))
            }
            _ => Ok(RequestReaderState::Skip { left: frame.length, then_too_large: false }),
        }
    }

    /// Processes a complete field section: the head of the request, or its trailers.
    fn section(
        &mut self,
        section: &[u8],
        limits: &HeadLimits,
        head: &mut RequestHead,
        fields: &mut QpackDecoder,
    ) -> Result<RequestEvent<'static>, Http3Error> {
        match self.part {
            MessagePart::Headers => self.head(section, limits, head, fields),
            MessagePart::Body | MessagePart::End => self.trailers(section, limits, fields),
        }
    }

    fn block_section(&mut self, section: &[u8], until: u64) -> RequestEvent<'static> {
        self.state = RequestReaderState::Blocked { section: section.to_vec(), until };
        RequestEvent::Blocked
    }

    fn head(
        &mut self,
        section: &[u8],
        limits: &HeadLimits,
        head: &mut RequestHead,
        fields: &mut QpackDecoder,
    ) -> Result<RequestEvent<'static>, Http3Error> {
        let mut scratch = HeadBuffers::default();
        let mut builder = RequestBuilder::new(HttpVersion::Http3, head, limits, &mut scratch);
        let bounds = (limits.line, limits.total);
        let decoded = fields.section(self.stream, section, bounds, |name, value| builder.field(name, value));
        let (priority, mut malformed) = builder.finish();
        match decoded {
            Ok(()) => {}
            Err(QpackError::TooLarge) => malformed = Some(ParseError::HeaderTooLarge),
            Err(QpackError::Broken) => return Err(malformed_frame()),
            Err(QpackError::Blocked(until)) => return Ok(self.block_section(section, until)),
        }
        match request_framing(head) {
            Ok(Framing::Length(length)) => self.announced = Some(length),
            Ok(_) => {}
            Err(error) => malformed = malformed.or(Some(error)),
        }
        self.part = MessagePart::Body;
        Ok(RequestEvent::Request { priority, malformed })
    }

    fn trailers(
        &mut self,
        section: &[u8],
        limits: &HeadLimits,
        fields: &mut QpackDecoder,
    ) -> Result<RequestEvent<'static>, Http3Error> {
        let mut sound = true;
        let decoded = fields.section(self.stream, section, (limits.line, limits.total), |name, value| {
            sound &= is_trailer(name, value);
        });
        match decoded {
            Err(QpackError::Broken) => return Err(malformed_frame()),
            Err(QpackError::Blocked(until)) => return Ok(self.block_section(section, until)),
            Err(QpackError::TooLarge) => {
                return Err(Http3Error::stream(Http3ErrorCode::ExcessiveLoad, "trailers too large"));
            }
            Ok(()) if !sound => {
                return Err(Http3Error::stream(Http3ErrorCode::Message, "malformed trailers"));
            }
            Ok(()) => self.part = MessagePart::End,
        }
        Ok(RequestEvent::Trailers)
    }

    fn head_too_large(&mut self, head: &mut RequestHead) -> RequestEvent<'static> {
        head.rebuild(b"", b"", HttpVersion::Http3);
        self.part = MessagePart::Body;
        RequestEvent::Request { priority: Priority::default(), malformed: Some(ParseError::HeaderTooLarge) }
    }
}

fn malformed_frame() -> Http3Error {
    Http3Error::connection(Http3ErrorCode::QpackDecompression, "invalid field section")
}
