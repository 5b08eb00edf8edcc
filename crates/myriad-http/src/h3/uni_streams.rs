//! Unidirectional streams of a client (RFC 9114 §6.2, RFC 9204 §4.2).

use super::control::{ControlEvent, ControlReader};
use super::error::{Http3Error, Http3ErrorCode};
use super::frame::read_integer;
use super::qpack::{self, QpackDecoder};

/// Purpose of a unidirectional stream of the client.
#[derive(Debug, Default)]
pub enum UniStreamRole {
    /// The type is incomplete.
    #[default]
    Unknown,
    /// Control stream.
    #[doc(hidden)]
    Control(Box<ControlRole>),
    /// Encoder stream, which fills the dynamic table for the fields of requests.
    Encoder,
    /// Decoder stream. It has nothing to acknowledge, because responses do not use a dynamic table.
    Decoder,
    /// Unknown type; its data is discarded.
    Unwanted,
}

/// State of [`UniStreamRole::ControlEvent`].
#[derive(Debug, Default)]
pub struct ControlRole(ControlReader);

/// Shared state of the unidirectional streams of a client; only one stream of each type is allowed.
#[derive(Debug, Default)]
pub struct ClientUniStreams {
    fields: QpackDecoder,
    control: bool,
    encoder: bool,
    decoder: bool,
}

/// Checks that a stream is the first of its type; a second one is a connection error.
fn require_first(seen: &mut bool) -> Result<(), Http3Error> {
    if std::mem::replace(seen, true) {
        return Err(Http3Error::connection(Http3ErrorCode::StreamCreation, "second stream of the same type"));
    }
    Ok(())
}

impl ClientUniStreams {
    /// Returns the decoder for the fields of requests.
    pub fn fields(&mut self) -> &mut QpackDecoder {
        &mut self.fields
    }

    /// Consumes `input` of the stream with `role`: call until it returns [`ControlEvent::Partial`].
    ///
    /// `kept` stores the bytes of an incomplete type or instruction: a few bytes, or an instruction for an entry up to
    /// the size of the table.
    ///
    /// # Errors
    /// The client violated a rule; the connection must close.
    pub fn receive(
        &mut self,
        role: &mut UniStreamRole,
        unprocessed: &mut Vec<u8>,
        input: &mut &[u8],
    ) -> Result<ControlEvent, Http3Error> {
        if matches!(role, UniStreamRole::Unknown) {
            let Some(kind) = take_integer(unprocessed, input) else { return Ok(ControlEvent::Partial) };
            *role = match kind {
                0 => require_first(&mut self.control).map(|()| UniStreamRole::Control(Box::default()))?,
                1 => {
                    return Err(Http3Error::connection(
                        Http3ErrorCode::StreamCreation,
                        "push stream from a client",
                    ));
                }
                2 => require_first(&mut self.encoder).map(|()| UniStreamRole::Encoder)?,
                3 => require_first(&mut self.decoder).map(|()| UniStreamRole::Decoder)?,
                _ => UniStreamRole::Unwanted,
            };
        }
        match role {
            UniStreamRole::Control(reader) => reader.0.receive(input),
            UniStreamRole::Encoder => {
                self.fields.instructions(unprocessed, input).map(|()| ControlEvent::Partial)
            }
            UniStreamRole::Decoder => read_decoder_stream(unprocessed, input),
            UniStreamRole::Unknown | UniStreamRole::Unwanted => {
                *input = &[];
                Ok(ControlEvent::Partial)
            }
        }
    }
}

impl UniStreamRole {
    /// Returns whether the connection must close if the stream closes (RFC 9114 §6.2.1, RFC 9204 §4.2).
    pub fn is_critical(&self) -> bool {
        matches!(self, Self::Control(_) | Self::Encoder | Self::Decoder)
    }
}

/// Reads a stream type of at most eight bytes.
fn take_integer(unprocessed: &mut Vec<u8>, input: &mut &[u8]) -> Option<u64> {
    while let Some((byte, rest)) = input.split_first() {
        *input = rest;
        unprocessed.push(*byte);
        if let Some(value) = read_integer(&mut &unprocessed[..]) {
            unprocessed.clear();
            return Some(value);
        }
    }
    None
}

/// Processes the decoder stream of the client. Only stream cancellations are valid (RFC 9204 §4.4), because no response
/// refers to entries.
fn read_decoder_stream(unprocessed: &mut Vec<u8>, input: &mut &[u8]) -> Result<ControlEvent, Http3Error> {
    let bad =
        || Http3Error::connection(Http3ErrorCode::QpackDecoderStream, "invalid QPACK decoder instruction");
    while let Some((byte, rest)) = input.split_first() {
        *input = rest;
        unprocessed.push(*byte);
        if unprocessed[0] & 0xc0 != 0x40 {
            return Err(bad());
        }
        match qpack::read_integer(&mut &unprocessed[..], 6) {
            Ok(_) => unprocessed.clear(),
            Err(qpack::LiteralError::Partial) => {}
            Err(qpack::LiteralError::Broken) => return Err(bad()),
        }
    }
    Ok(ControlEvent::Partial)
}
