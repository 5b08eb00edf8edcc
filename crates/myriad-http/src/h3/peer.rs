//! Unidirectional streams of a client (RFC 9114 §6.2, RFC 9204 §4.2).

use super::control::{Control, ControlReader};
use super::error::{Code, Error};
use super::frame::read_integer;
use super::qpack::{self, Decoder};

/// Purpose of a unidirectional stream of the client.
#[derive(Debug, Default)]
pub enum Role {
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

/// State of [`Role::Control`].
#[derive(Debug, Default)]
pub struct ControlRole(ControlReader);

/// Shared state of the unidirectional streams of a client; only one stream of each type is allowed.
#[derive(Debug, Default)]
pub struct Peer {
    fields: Decoder,
    control: bool,
    encoder: bool,
    decoder: bool,
}

/// Checks that a stream is the first of its type; a second one is a connection error.
fn first(seen: &mut bool) -> Result<(), Error> {
    if std::mem::replace(seen, true) {
        return Err(Error::connection(Code::StreamCreation, "second stream of the same type"));
    }
    Ok(())
}

impl Peer {
    /// Returns the decoder for the fields of requests.
    pub fn fields(&mut self) -> &mut Decoder {
        &mut self.fields
    }

    /// Consumes `input` of the stream with `role`: call until it returns [`Control::Partial`].
    ///
    /// `kept` stores the bytes of an incomplete type or instruction: a few bytes, or an instruction for an entry up to
    /// the size of the table.
    ///
    /// # Errors
    /// The client violated a rule; the connection must close.
    pub fn receive(
        &mut self,
        role: &mut Role,
        kept: &mut Vec<u8>,
        input: &mut &[u8],
    ) -> Result<Control, Error> {
        if matches!(role, Role::Unknown) {
            let Some(kind) = take_integer(kept, input) else { return Ok(Control::Partial) };
            *role = match kind {
                0 => first(&mut self.control).map(|()| Role::Control(Box::default()))?,
                1 => return Err(Error::connection(Code::StreamCreation, "push stream from a client")),
                2 => first(&mut self.encoder).map(|()| Role::Encoder)?,
                3 => first(&mut self.decoder).map(|()| Role::Decoder)?,
                _ => Role::Unwanted,
            };
        }
        match role {
            Role::Control(reader) => reader.0.receive(input),
            Role::Encoder => self.fields.instructions(kept, input).map(|()| Control::Partial),
            Role::Decoder => decoder_stream(kept, input),
            Role::Unknown | Role::Unwanted => {
                *input = &[];
                Ok(Control::Partial)
            }
        }
    }
}

impl Role {
    /// Returns whether the connection must close if the stream closes (RFC 9114 §6.2.1, RFC 9204 §4.2).
    pub fn is_critical(&self) -> bool {
        matches!(self, Self::Control(_) | Self::Encoder | Self::Decoder)
    }
}

/// Reads a stream type of at most eight bytes.
fn take_integer(kept: &mut Vec<u8>, input: &mut &[u8]) -> Option<u64> {
    while let Some((byte, rest)) = input.split_first() {
        *input = rest;
        kept.push(*byte);
        if let Some(value) = read_integer(&mut &kept[..]) {
            kept.clear();
            return Some(value);
        }
    }
    None
}

/// Processes the decoder stream of the client. Only stream cancellations are valid (RFC 9204 §4.4), because no response
/// refers to entries.
fn decoder_stream(kept: &mut Vec<u8>, input: &mut &[u8]) -> Result<Control, Error> {
    let bad = || Error::connection(Code::QpackDecoderStream, "invalid QPACK decoder instruction");
    while let Some((byte, rest)) = input.split_first() {
        *input = rest;
        kept.push(*byte);
        if kept[0] & 0xc0 != 0x40 {
            return Err(bad());
        }
        match qpack::read_integer(&mut &kept[..], 6) {
            Ok(_) => kept.clear(),
            Err(qpack::Fault::Partial) => {}
            Err(qpack::Fault::Broken) => return Err(bad()),
        }
    }
    Ok(Control::Partial)
}
