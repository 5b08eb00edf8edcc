//! Client's half of a request stream (RFC 9114 §4.1).

use super::error::{Code, Error};
use super::frame::{FrameHead, HeadReader, kind};
use super::qpack::{DecodeError, Decoder};
use crate::h1::{Framing, HeadLimits, request_framing};
use crate::h2::Priority;
use crate::h2::request::{RequestBuilder, Scratch, is_trailer};
use crate::{ParseError, RequestHead, Version};

/// Event from the next bytes of a request stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// More bytes are needed.
    Partial,
    /// The field section needs table entries that have not arrived on the encoder stream of the client. Call again once
    /// [`RequestReader::waits`] returns false.
    Blocked,
    /// Request; its head is in the [`RequestHead`] passed to [`RequestReader::receive`].
    Request {
        /// Priority of the response.
        priority: Priority,
        /// Error of a malformed request, which needs an error response. The rest of the request must not be read.
        malformed: Option<ParseError>,
    },
    /// Piece of the body; never empty.
    Data(&'a [u8]),
    /// The trailers were read and discarded; the request is complete.
    Trailers,
}

/// ```text
/// Head -> Block (HEADERS)     -> Head        first the request, then trailers
///           \-> Blocked       -> Head        waits for table entries
///      -> Data  (DATA)        -> Head        between the two
///      -> Skip  (unknown)     -> Head        anywhere
/// ```
#[derive(Debug)]
enum State {
    Head(HeadReader),
    Block { length: usize, bytes: Vec<u8> },
    Blocked { section: Vec<u8>, until: u64 },
    Data { left: u64 },
    Skip { left: u64, then_too_large: bool },
}

/// Current part of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Headers,
    Body,
    End,
}

/// Parser of a single request.
#[derive(Debug)]
pub struct RequestReader {
    stream: u64,
    state: State,
    part: Part,
    /// Number of missing bytes of the announced body length.
    announced: Option<u64>,
}

impl RequestReader {
    /// Creates a parser for the request stream with identifier `stream`.
    pub fn new(stream: u64) -> Self {
        Self { stream, state: State::Head(HeadReader::default()), part: Part::Headers, announced: None }
    }

    /// Processes `input`, which continues the bytes consumed before: call until it returns [`Event::Partial`].
    ///
    /// # Errors
    /// The client violated a rule; nothing more can be read.
    pub fn receive<'a>(
        &mut self,
        input: &mut &'a [u8],
        limits: &HeadLimits,
        head: &mut RequestHead,
        fields: &mut Decoder,
    ) -> Result<Event<'a>, Error> {
        loop {
            match &mut self.state {
                State::Head(reader) => {
                    let Some(frame) = reader.read(input) else { return Ok(Event::Partial) };
                    self.state = self.begin(frame, limits)?;
                }
                State::Block { length, bytes } => {
                    let wanted = *length - bytes.len();
                    let (taken, rest) = input.split_at(wanted.min(input.len()));
                    *input = rest;
                    if taken.len() < wanted {
                        bytes.extend_from_slice(taken);
                        return Ok(Event::Partial);
                    }
                    let before = std::mem::take(bytes);
                    self.state = State::Head(HeadReader::default());
                    if before.is_empty() {
                        return self.section(taken, limits, head, fields);
                    }
                    return self.section(&[&before, taken].concat(), limits, head, fields);
                }
                State::Blocked { until, .. } if *until > fields.inserted() => return Ok(Event::Blocked),
                State::Blocked { section, until } => {
                    let (section, needed) = (std::mem::take(section), *until);
                    fields.unblock();
                    self.state = State::Head(HeadReader::default());
                    if !fields.has(needed) {
                        return Err(broken());
                    }
                    return self.section(&section, limits, head, fields);
                }
                State::Data { left: 0 } => self.state = State::Head(HeadReader::default()),
                State::Data { left } => {
                    let length = (*left).min(input.len() as u64) as usize;
                    if length == 0 {
                        return Ok(Event::Partial);
                    }
                    let (piece, rest) = input.split_at(length);
                    (*input, *left) = (rest, *left - length as u64);
                    return Ok(Event::Data(piece));
                }
                State::Skip { left, then_too_large } => {
                    let length = (*left).min(input.len() as u64);
                    *input = &input[length as usize..];
                    *left -= length;
                    if *left > 0 {
                        return Ok(Event::Partial);
                    }
                    let too_large = std::mem::take(then_too_large);
                    self.state = State::Head(HeadReader::default());
                    if too_large {
                        return Ok(self.too_large(head));
                    }
                }
            }
        }
    }

    /// Returns whether the stream is blocked until more table entries arrive.
    pub fn waits(&self, fields: &Decoder) -> bool {
        matches!(&self.state, State::Blocked { until, .. } if *until > fields.inserted())
    }

    /// Returns whether a field section is stored because it waits, or has waited, for table entries.
    pub fn holds_section(&self) -> bool {
        matches!(self.state, State::Blocked { .. })
    }

    /// Stops reading the stream and notifies the client, which may then evict the entries that the stream refers to.
    pub fn abandon(&mut self, fields: &mut Decoder) {
        if matches!(self.state, State::Blocked { .. }) {
            fields.unblock();
        }
        self.state = State::Head(HeadReader::default());
        if std::mem::replace(&mut self.part, Part::End) != Part::End {
            fields.cancel(self.stream);
        }
    }

    /// Handles the end of the client's half of the stream.
    ///
    /// # Errors
    /// The request is incomplete.
    pub fn finish(&self) -> Result<(), Error> {
        match &self.state {
            State::Head(reader) if !reader.began() => {}
            State::Data { left: 0 } => {}
            _ => return Err(Error::connection(Code::Frame, "truncated frame at the end of the stream")),
        }
        match (self.part, self.announced) {
            (Part::Headers, _) => Err(Error::stream(Code::RequestIncomplete, "no request")),
            (_, Some(1..)) => Err(Error::stream(Code::Message, "body shorter than its Content-Length")),
            _ => Ok(()),
        }
    }

    /// Returns the number of missing bytes of the announced body length.
    pub fn announced(&self) -> Option<u64> {
        self.announced
    }

    fn begin(&mut self, frame: FrameHead, limits: &HeadLimits) -> Result<State, Error> {
        match (frame.kind, self.part) {
            (kind::HEADERS, Part::Headers | Part::Body) => {
                // A compressed block is hardly ever longer than its contents.
                if frame.length > limits.total as u64 {
                    if self.part == Part::Body {
                        return Err(Error::stream(Code::ExcessiveLoad, "trailers too large"));
                    }
                    return Ok(State::Skip { left: frame.length, then_too_large: true });
                }
                Ok(State::Block { length: frame.length as usize, bytes: Vec::new() })
            }
            (kind::DATA, Part::Body) => {
                if let Some(announced) = &mut self.announced {
                    *announced = announced
                        .checked_sub(frame.length)
                        .ok_or(Error::stream(Code::Message, "body longer than its Content-Length"))?;
                }
                Ok(State::Data { left: frame.length })
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
            ) => {
                Err(Error::connection(Code::FrameUnexpected, "frame type is not allowed on a request stream"))
            }
            (other, _) if kind::is_http2(other) => {
                Err(Error::connection(Code::FrameUnexpected, "frame type reserved for HTTP/2"))
            }
            _ => Ok(State::Skip { left: frame.length, then_too_large: false }),
        }
    }

    /// Processes a complete field section: the request or its trailers.
    fn section(
        &mut self,
        section: &[u8],
        limits: &HeadLimits,
        head: &mut RequestHead,
        fields: &mut Decoder,
    ) -> Result<Event<'static>, Error> {
        match self.part {
            Part::Headers => self.head(section, limits, head, fields),
            Part::Body | Part::End => self.trailers(section, limits, fields),
        }
    }

    fn block(&mut self, section: &[u8], until: u64) -> Event<'static> {
        self.state = State::Blocked { section: section.to_vec(), until };
        Event::Blocked
    }

    fn head(
        &mut self,
        section: &[u8],
        limits: &HeadLimits,
        head: &mut RequestHead,
        fields: &mut Decoder,
    ) -> Result<Event<'static>, Error> {
        let mut scratch = Scratch::default();
        let mut builder = RequestBuilder::new(Version::Http3, head, limits, &mut scratch);
        let bounds = (limits.line, limits.total);
        let decoded = fields.section(self.stream, section, bounds, |name, value| builder.field(name, value));
        let (priority, mut malformed) = builder.finish();
        match decoded {
            Ok(()) => {}
            Err(DecodeError::TooLarge) => malformed = Some(ParseError::HeaderTooLarge),
            Err(DecodeError::Broken) => return Err(broken()),
            Err(DecodeError::Blocked(until)) => return Ok(self.block(section, until)),
        }
        match request_framing(head) {
            Ok(Framing::Length(length)) => self.announced = Some(length),
            Ok(_) => {}
            Err(error) => malformed = malformed.or(Some(error)),
        }
        self.part = Part::Body;
        Ok(Event::Request { priority, malformed })
    }

    fn trailers(
        &mut self,
        section: &[u8],
        limits: &HeadLimits,
        fields: &mut Decoder,
    ) -> Result<Event<'static>, Error> {
        let mut sound = true;
        let decoded = fields.section(self.stream, section, (limits.line, limits.total), |name, value| {
            sound &= is_trailer(name, value);
        });
        match decoded {
            Err(DecodeError::Broken) => return Err(broken()),
            Err(DecodeError::Blocked(until)) => return Ok(self.block(section, until)),
            Err(DecodeError::TooLarge) => {
                return Err(Error::stream(Code::ExcessiveLoad, "trailers too large"));
            }
            Ok(()) if !sound => return Err(Error::stream(Code::Message, "malformed trailers")),
            Ok(()) => self.part = Part::End,
        }
        Ok(Event::Trailers)
    }

    fn too_large(&mut self, head: &mut RequestHead) -> Event<'static> {
        head.rebuild(b"", b"", Version::Http3);
        self.part = Part::Body;
        Event::Request { priority: Priority::default(), malformed: Some(ParseError::HeaderTooLarge) }
    }
}

fn broken() -> Error {
    Error::connection(Code::QpackDecompression, "invalid field section")
}
