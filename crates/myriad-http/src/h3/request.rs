//! The client's side of a request stream (RFC 9114 §4.1).

use super::error::{Code, Error};
use super::frame::{FrameHead, HeadReader, kind};
use super::qpack::{DecodeError, Decoder};
use crate::h1::{Framing, HeadLimits, request_framing};
use crate::h2::Priority;
use crate::h2::request::{RequestBuilder, Scratch, is_trailer};
use crate::{ParseError, RequestHead, Version};

/// What the next bytes of a request stream mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event<'a> {
    /// More bytes must come.
    Partial,
    /// More entries of the table must come, on the stream of the client's encoder, before anything else can be read: call
    /// again once [`RequestReader::waits`] says that it does not any more.
    Blocked,
    /// The head is in the [`RequestHead`] that was lent.
    Request {
        /// How soon the answer is wanted.
        priority: Priority,
        /// The request is malformed: to be answered with an error, and nothing of it to be read any more.
        malformed: Option<ParseError>,
    },
    /// A piece of the body; not empty.
    Data(&'a [u8]),
    /// The trailers are there: nothing more is to come. They are read and dropped.
    Trailers,
}

/// ```text
/// Head -> Block (HEADERS)     -> Head        first the request, then trailers
///           \-> Blocked       -> Head        it needs entries of the table that have not come
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

/// How far the message has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Headers,
    Body,
    End,
}

/// Reads one request.
#[derive(Debug)]
pub struct RequestReader {
    stream: u64,
    state: State,
    part: Part,
    /// Bytes of the body that the fields announced and that have not come.
    announced: Option<u64>,
}

impl RequestReader {
    /// Reads the request stream of that number.
    pub fn new(stream: u64) -> Self {
        Self { stream, state: State::Head(HeadReader::default()), part: Part::Headers, announced: None }
    }

    /// Takes bytes off `input`, what follows what was taken before: call until it says [`Event::Partial`].
    ///
    /// # Errors
    /// The client broke a rule; nothing more can be read.
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

    /// Whether nothing can be read before more entries of the table have come.
    pub fn waits(&self, fields: &Decoder) -> bool {
        matches!(&self.state, State::Blocked { until, .. } if *until > fields.inserted())
    }

    /// Whether there is a section that waits, or has waited, for entries of the table.
    pub fn holds_section(&self) -> bool {
        matches!(self.state, State::Blocked { .. })
    }

    /// Nothing more of the stream is read; the client is told, so that it may drop the entries that it refers to.
    pub fn abandon(&mut self, fields: &mut Decoder) {
        if matches!(self.state, State::Blocked { .. }) {
            fields.unblock();
        }
        self.state = State::Head(HeadReader::default());
        if std::mem::replace(&mut self.part, Part::End) != Part::End {
            fields.cancel(self.stream);
        }
    }

    /// The client's side of the stream is over.
    ///
    /// # Errors
    /// It ended too early.
    pub fn finish(&self) -> Result<(), Error> {
        match &self.state {
            State::Head(reader) if !reader.began() => {}
            State::Data { left: 0 } => {}
            _ => return Err(Error::connection(Code::Frame, "a frame was cut short")),
        }
        match (self.part, self.announced) {
            (Part::Headers, _) => Err(Error::stream(Code::RequestIncomplete, "no request")),
            (_, Some(1..)) => Err(Error::stream(Code::Message, "body shorter than its Content-Length")),
            _ => Ok(()),
        }
    }

    /// Bytes of the body that the fields announced and that have not come.
    pub fn announced(&self) -> Option<u64> {
        self.announced
    }

    fn begin(&mut self, frame: FrameHead, limits: &HeadLimits) -> Result<State, Error> {
        match (frame.kind, self.part) {
            (kind::HEADERS, Part::Headers | Part::Body) => {
                // Compressed, a block is hardly ever longer than what it stands for.
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
            ) => Err(Error::connection(Code::FrameUnexpected, "frame that has no place on a request stream")),
            (other, _) if kind::is_http2(other) => {
                Err(Error::connection(Code::FrameUnexpected, "frame of HTTP/2"))
            }
            _ => Ok(State::Skip { left: frame.length, then_too_large: false }),
        }
    }

    /// A field section is complete: the request's, or its trailers.
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
    Error::connection(Code::QpackDecompression, "field section cannot be read")
}
