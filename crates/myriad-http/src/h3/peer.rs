//! Streams that a client opens for one direction only (RFC 9114 §6.2, RFC 9204 §4.2).

use super::control::{Control, ControlReader};
use super::error::{Code, Error};
use super::frame::read_integer;
use crate::h2::hpack::integer;

/// What a stream of the client's is for.
#[derive(Debug, Default)]
pub enum Role {
    /// Its type has not come whole.
    #[default]
    Unknown,
    /// Its control stream.
    #[doc(hidden)]
    Control(Box<ControlRole>),
    /// Its encoder's: nothing may be put into a table that does not exist.
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
    /// Takes bytes off `input` of the stream that has `role`: call until it says [`Control::Partial`]. `kept` holds what has
    /// come of a type or an instruction that is cut; at most some bytes.
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
            Role::Encoder => encoder_stream(kept, input),
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

/// An instruction of one integer.
enum Instruction {
    /// More of it must come.
    Partial,
    Integer(usize),
    /// The integer is larger than any that makes sense.
    Broken,
}

/// Takes an instruction whose integer has a prefix of so many bits.
fn instruction(kept: &mut Vec<u8>, input: &mut &[u8], prefix: u32) -> Instruction {
    let mask = (1_u8 << prefix) - 1;
    while let Some((byte, rest)) = input.split_first() {
        *input = rest;
        kept.push(*byte);
        let ended = if kept.len() == 1 { byte & mask != mask } else { byte & 0x80 == 0 };
        if ended || kept.len() > 6 {
            let value = integer::read(&mut &kept[..], prefix);
            kept.clear();
            return value.map_or(Instruction::Broken, Instruction::Integer);
        }
    }
    Instruction::Partial
}

/// The table has no room: the only thing that can be said is that it has none (RFC 9204 §4.3.1).
fn encoder_stream(kept: &mut Vec<u8>, input: &mut &[u8]) -> Result<Control, Error> {
    let bad = || Error::connection(Code::QpackEncoderStream, "instruction for a table that does not exist");
    loop {
        let Some(first) = kept.first().or(input.first()) else { return Ok(Control::Partial) };
        if first & 0xe0 != 0x20 {
            return Err(bad());
        }
        match instruction(kept, input, 5) {
            Instruction::Partial => return Ok(Control::Partial),
            Instruction::Integer(0) => {}
            Instruction::Integer(_) | Instruction::Broken => return Err(bad()),
        }
    }
}

/// Only that a stream was cancelled makes sense (RFC 9204 §4.4).
fn decoder_stream(kept: &mut Vec<u8>, input: &mut &[u8]) -> Result<Control, Error> {
    let bad = || Error::connection(Code::QpackDecoderStream, "acknowledgement of what was not sent");
    loop {
        let Some(first) = kept.first().or(input.first()) else { return Ok(Control::Partial) };
        if first & 0xc0 != 0x40 {
            return Err(bad());
        }
        match instruction(kept, input, 6) {
            Instruction::Partial => return Ok(Control::Partial),
            Instruction::Integer(_) => {}
            Instruction::Broken => return Err(bad()),
        }
    }
}
