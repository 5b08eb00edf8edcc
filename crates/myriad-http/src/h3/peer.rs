//! Streams that a client opens for one direction only (RFC 9114 §6.2, RFC 9204 §4.2).

use super::control::{Control, ControlReader};
use super::error::{Code, Error};
use super::frame::read_integer;
use super::qpack::{self, Decoder};

/// What a stream of the client's is for.
#[derive(Debug, Default)]
pub enum Role {
    /// Its type has not come whole.
    #[default]
    Unknown,
    /// Its control stream.
    #[doc(hidden)]
    Control(Box<ControlRole>),
    /// Its encoder's, which fills the table of its requests' fields.
    Encoder,
    /// Its decoder's: nothing it acknowledges was ever sent.
    Decoder,
    /// A kind that nobody knows: it is not read.
    Unwanted,
}

/// See [`Role::Control`].
#[derive(Debug, Default)]
pub struct ControlRole(ControlReader);

/// A client's one-way streams, as far as they concern each other: of each kind there is one.
#[derive(Debug, Default)]
pub struct Peer {
    fields: Decoder,
    control: bool,
    encoder: bool,
    decoder: bool,
}

/// Whether one of that kind is the first; a second ends the connection.
fn first(seen: &mut bool) -> Result<(), Error> {
    if std::mem::replace(seen, true) {
        return Err(Error::connection(Code::StreamCreation, "second stream of its kind"));
    }
    Ok(())
}

impl Peer {
    /// What reads the fields of the client's requests.
    pub fn fields(&mut self) -> &mut Decoder {
        &mut self.fields
    }

    /// Takes bytes off `input` of the stream that has `role`: call until it says [`Control::Partial`]. `kept` holds what has
    /// come of a type or an instruction that is cut: some bytes, or an entry that does not fit in the table.
    ///
    /// # Errors
    /// The client broke a rule: the connection ends.
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
                1 => return Err(Error::connection(Code::StreamCreation, "push stream of a client")),
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
    /// Whether the connection cannot do without it (RFC 9114 §6.2.1, RFC 9204 §4.2).
    pub fn is_critical(&self) -> bool {
        matches!(self, Self::Control(_) | Self::Encoder | Self::Decoder)
    }
}

/// A type of a stream: at most eight bytes.
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

/// Reads the client's decoder stream: only that a stream was cancelled makes sense (RFC 9204 §4.4): no answer refers to entries.
fn decoder_stream(kept: &mut Vec<u8>, input: &mut &[u8]) -> Result<Control, Error> {
    let bad = || Error::connection(Code::QpackDecoderStream, "acknowledgement of what was not sent");
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
