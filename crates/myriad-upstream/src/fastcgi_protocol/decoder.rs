//! Decodes the output of a responder (the FastCGI application): STDOUT, STDERR and END_REQUEST records of a request.

use std::fmt;

use bytes::{Buf, Bytes, BytesMut};

use crate::fastcgi_protocol::record::{HEADER_LEN, Header, ProtocolStatus, REQUEST_ID, RecordType, VERSION};

#[cfg(test)]
mod tests;

/// Length of an END_REQUEST body in bytes (FastCGI 1.0, section 5.5).
const END_LEN: u16 = 8;

/// Maximum number of consecutive records without content for the request. Each restarts the read timeout, so without a
/// limit an endless sequence would never time out.
const MAX_IDLE_RECORDS: u32 = 10_000;

/// Maximum number of consecutive bytes on the error stream without any output. Each piece restarts the read timeout, so
/// without a limit an application that only writes errors would never time out.
const MAX_STDERR: u32 = 16 << 20;

/// Event decoded from the FastCGI records of a responder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// Response bytes, never empty; a record may be split into several events.
    Stdout(Bytes),
    /// The responder closed its output stream (an empty STDOUT record); END_REQUEST has not arrived yet.
    StdoutEnd,
    /// Text for the error log, never empty; may start and end within a line.
    Stderr(Bytes),
    /// The request is finished; no event follows.
    End(EndRequest),
}

/// Content of an END_REQUEST record (FastCGI 1.0, section 5.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EndRequest {
    /// Exit status of the application, as in CGI.
    pub app_status: u32,
    /// Result at the protocol level.
    pub protocol_status: ProtocolStatus,
}

/// Protocol violation by a FastCGI application; the text is nginx's if nginx detects the violation too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FastCgiError {
    /// The version byte is not 1.
    Version(u8),
    /// An unknown record type, or a type that a responder must not send for this request identifier.
    RecordType(u8),
    /// A record with a request identifier other than [`REQUEST_ID`].
    RequestId(u16),
    /// An END_REQUEST record shorter than its fixed eight bytes.
    EndLength(u16),
    /// More than 10,000 consecutive records without content for the request.
    EmptyRecords,
    /// More than 16 MiB of error messages without any output.
    Stderr,
    /// Bytes after END_REQUEST.
    AfterEnd,
}

impl fmt::Display for FastCgiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Version(version) => {
                write!(f, "upstream sent unsupported FastCGI protocol version: {version}")
            }
            Self::RecordType(kind) => write!(f, "upstream sent unexpected FastCGI record: {kind}"),
            Self::RequestId(id) => write!(f, "upstream sent unexpected FastCGI request id: {id}"),
            Self::EndLength(length) => write!(f, "upstream sent FastCGI end of request of length {length}"),
            Self::EmptyRecords => f.write_str("upstream sent too many empty FastCGI records"),
            Self::Stderr => f.write_str("upstream sent too much in FastCGI stderr"),
            Self::AfterEnd => f.write_str("upstream sent data after the FastCGI end of request"),
        }
    }
}

impl std::error::Error for FastCgiError {}

//          header of STDOUT, STDERR           end of the content          end of the padding
//   Header ────────────────────────▶ Stream ─────────────────────▶ Skip ────────────────────▶ Header
//      │   header of a management record                            ▲
//      ├────────────────────────────────────────────────────────────┘
//      │   header of END_REQUEST           its content
//      └────────────────────────▶ End ─────────────────▶ Over
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Waiting for the eight bytes of a record header.
    Header,
    /// In a stream record with `left` remaining bytes of content.
    Stream { kind: RecordType, left: u16, padding: u8 },
    /// Waiting for the eight bytes of END_REQUEST; `rest` further bytes of content and padding must be skipped.
    End { rest: u32 },
    /// Skipping content or padding of a record.
    Skip { left: u32 },
    /// END_REQUEST was decoded; `left` bytes must be skipped, and no other bytes may follow.
    Over { left: u32 },
}

/// Decoder for the FastCGI records of a responder.
///
/// The decoder accepts the bytes as they arrive and only stores its position in the current record. At most the eight
/// bytes of a header or of END_REQUEST remain in the caller's buffer.
#[derive(Clone, Debug)]
pub struct ResponderDecoder {
    state: State,
    idle_records: u32,
    /// Number of bytes on the error stream since the last output.
    stderr: u32,
}

impl Default for ResponderDecoder {
    fn default() -> Self {
        Self::new()
    }
}

impl ResponderDecoder {
    /// Creates a decoder for the response to a request.
    pub const fn new() -> Self {
        Self { state: State::Header, idle_records: 0, stderr: 0 }
    }

    /// Removes the next event from the start of `input`; `None` if more bytes are needed, and after END_REQUEST.
    /// Content is split off `input` without a copy. After an error, the connection must be closed.
    pub fn decode(&mut self, input: &mut BytesMut) -> Result<Option<Event>, FastCgiError> {
        loop {
            match self.state {
                State::Header => {
                    let Some(bytes) = input.first_chunk::<HEADER_LEN>() else { return Ok(None) };
                    let header = Header::decode(*bytes);
                    self.state = self.enter(header)?;
                    input.advance(HEADER_LEN);
                    if self.ends_stdout(header) {
                        return Ok(Some(Event::StdoutEnd));
                    }
                }
                State::Stream { left: 0, padding, .. } => self.state = State::Skip { left: padding.into() },
                State::Stream { kind, left, padding } => {
                    if input.is_empty() {
                        return Ok(None);
                    }
                    let taken = input.len().min(left.into());
                    self.state = State::Stream { kind, left: left - taken as u16, padding };
                    let content = input.split_to(taken).freeze();
                    return self.piece(kind, content).map(Some);
                }
                State::End { rest } => {
                    let Some(&body) = input.first_chunk::<{ END_LEN as usize }>() else { return Ok(None) };
                    input.advance(usize::from(END_LEN));
                    self.state = State::Over { left: skip(input, rest) };
                    return Ok(Some(Event::End(read_end(body))));
                }
                State::Skip { left } => match skip(input, left) {
                    0 => self.state = State::Header,
                    left => {
                        self.state = State::Skip { left };
                        return Ok(None);
                    }
                },
                State::Over { left } => {
                    let left = skip(input, left);
                    self.state = State::Over { left };
                    return if input.is_empty() { Ok(None) } else { Err(FastCgiError::AfterEnd) };
                }
            }
        }
    }

    fn piece(&mut self, kind: RecordType, content: Bytes) -> Result<Event, FastCgiError> {
        if kind != RecordType::Stderr {
            self.stderr = 0;
            return Ok(Event::Stdout(content));
        }
        // The content of a record has at most 65,535 bytes, so the sum does not overflow.
        self.stderr += content.len() as u32;
        if self.stderr > MAX_STDERR { Err(FastCgiError::Stderr) } else { Ok(Event::Stderr(content)) }
    }

    /// Returns whether END_REQUEST and its padding were read completely, so that the connection can be used for another
    /// request.
    pub fn is_clean_end(&self) -> bool {
        self.state == State::Over { left: 0 }
    }

    fn ends_stdout(&self, header: Header) -> bool {
        header.content_length == 0
            && matches!(self.state, State::Stream { kind: RecordType::Stdout, left: 0, .. })
    }

    /// Returns the state after a record header. Fails if the header is invalid, or if more than [`MAX_IDLE_RECORDS`]
    /// consecutive records, including this record, have no content for the request.
    fn enter(&mut self, header: Header) -> Result<State, FastCgiError> {
        if header.version != VERSION {
            return Err(FastCgiError::Version(header.version));
        }
        let kind = RecordType::from_number(header.kind).ok_or(FastCgiError::RecordType(header.kind))?;
        let whole = u32::from(header.content_length) + u32::from(header.padding_length);
        let idle = header.content_length == 0 || header.request_id == 0;
        self.idle_records = if idle { self.idle_records + 1 } else { 0 };
        if self.idle_records > MAX_IDLE_RECORDS {
            return Err(FastCgiError::EmptyRecords);
        }
        match (kind, header.request_id) {
            (RecordType::GetValuesResult | RecordType::UnknownType, 0) => Ok(State::Skip { left: whole }),
            (RecordType::Stdout | RecordType::Stderr, REQUEST_ID) => {
                Ok(State::Stream { kind, left: header.content_length, padding: header.padding_length })
            }
            (RecordType::EndRequest, REQUEST_ID) if header.content_length < END_LEN => {
                Err(FastCgiError::EndLength(header.content_length))
            }
            (RecordType::EndRequest, REQUEST_ID) => Ok(State::End { rest: whole - u32::from(END_LEN) }),
            (RecordType::Stdout | RecordType::Stderr | RecordType::EndRequest, id) => {
                Err(FastCgiError::RequestId(id))
            }
            _ => Err(FastCgiError::RecordType(header.kind)),
        }
    }
}

/// Drops up to `left` bytes from the front of `input` and returns the number of bytes still to drop.
fn skip(input: &mut BytesMut, left: u32) -> u32 {
    let dropped = input.len().min(left as usize);
    input.advance(dropped);
    left - dropped as u32
}

fn read_end(body: [u8; END_LEN as usize]) -> EndRequest {
    EndRequest {
        app_status: u32::from_be_bytes([body[0], body[1], body[2], body[3]]),
        protocol_status: ProtocolStatus::from_number(body[4]),
    }
}
