//! Unidirectional HTTP/3 streams of a client (RFC 9114 §6.2, RFC 9204 §4.2).

use super::control::{ControlEvent, ControlReader};
use super::error::{Http3Error, Http3ErrorCode};
use super::frame::read_integer;
use super::qpack::{self, QpackDecoder};

/// Type of a client's unidirectional stream.
#[derive(Debug, Default)]
pub enum UniStreamRole {
    /// The type of the stream has not arrived completely.
    #[default]
    Unknown,
    /// Control stream, which carries settings and priorities.
    #[doc(hidden)]
    Control(Box<ControlRole>),
    /// QPACK encoder stream, which fills the dynamic table that requests use.
    Encoder,
    /// QPACK decoder stream. It acknowledges nothing, because responses do not use a dynamic table.
    Decoder,
    /// Stream of an unknown type; its data is discarded.
    Unwanted,
}

/// Parser state of a control stream.
#[derive(Debug, Default)]
pub struct ControlRole(ControlReader);

/// State shared by the unidirectional streams of a client. Only one control stream, one encoder stream and one decoder
/// stream are allowed; streams of unknown types are not limited here.
#[derive(Debug, Default)]
pub struct ClientUniStreams {
    fields: QpackDecoder,
    control: bool,
    encoder: bool,
    decoder: bool,
}

/// Records that a stream of a critical type was opened; `seen` is true if one already was, which is a connection error.
fn require_first(seen: &mut bool) -> Result<(), Http3Error> {
    if std::mem::replace(seen, true) {
        return Err(Http3Error::connection(Http3ErrorCode::StreamCreation, "second stream of the same type"));
    }
    Ok(())
}

impl ClientUniStreams {
    /// Returns the decoder for the field sections of requests, which the encoder stream updates.
    pub fn fields(&mut self) -> &mut QpackDecoder {
        &mut self.fields
    }

    /// Consumes `input`, the next bytes of a stream. Call until it returns [`ControlEvent::Partial`].
    ///
    /// `role` is the type of the stream, and is set once it has arrived. `unprocessed` stores the bytes of an
    /// incomplete type or instruction between calls: a few bytes, or an instruction that inserts an entry of up to the
    /// size of the table.
    ///
    /// # Errors
    /// Returns an error if the client violated a rule; the connection must then be closed.
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
    /// Returns whether the connection must be closed if this stream is closed (RFC 9114 §6.2.1, RFC 9204 §4.2).
    pub fn is_critical(&self) -> bool {
        matches!(self, Self::Control(_) | Self::Encoder | Self::Decoder)
    }
}

/// Reads a stream type of at most eight bytes; `None` if it is incomplete. `unprocessed` stores its first bytes between
/// calls.
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

/// Processes the client's decoder stream. Only stream cancellations are valid (RFC 9204 §4.4), because responses do not
/// refer to table entries.
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
