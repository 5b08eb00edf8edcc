//! QPACK instructions of the client's encoder (RFC 9204 §4.3).

use super::literal::{Literal, LiteralError, read_integer};

/// Instruction on the client's encoder stream, which changes the dynamic table.
#[derive(Clone, Copy, Debug)]
pub(super) enum Instruction<'a> {
    /// Sets the capacity of the table in bytes.
    Capacity(usize),
    /// Inserts an entry into the table.
    Insert { name: EntryName<'a>, value: Literal<'a> },
    /// Inserts a copy of the entry after which this number of entries were inserted.
    Duplicate(usize),
}

/// Source of the name of a new entry of the dynamic table.
#[derive(Clone, Copy, Debug)]
pub(super) enum EntryName<'a> {
    /// Name of the static table entry with this index.
    Static(usize),
    /// Name of the dynamic table entry after which this number of entries were inserted.
    Dynamic(usize),
    Literal(Literal<'a>),
}

/// Parses an instruction, and removes it from `input`. Nothing is removed if the instruction is incomplete.
///
/// An instruction is rejected as soon as the lengths of its strings show that they have more than `longest` decoded
/// bytes in total. The exact number is only known after Huffman decoding, so the caller must check it again.
pub(super) fn read<'a>(input: &mut &'a [u8], longest: usize) -> Result<Instruction<'a>, LiteralError> {
    let mut rest = *input;
    let first = *rest.first().ok_or(LiteralError::Partial)?;
    let instruction = match first {
        0x80.. => {
            let index = read_integer(&mut rest, 6)?;
            let name = if first & 0x40 != 0 { EntryName::Static(index) } else { EntryName::Dynamic(index) };
            Instruction::Insert { name, value: Literal::read(&mut rest, 7, longest)? }
        }
        0x40..0x80 => {
            let name = Literal::read(&mut rest, 5, longest)?;
            let value = Literal::read(&mut rest, 7, longest - name.min_decoded_len())?;
            Instruction::Insert { name: EntryName::Literal(name), value }
        }
        0x20..0x40 => Instruction::Capacity(read_integer(&mut rest, 5)?),
        0..0x20 => Instruction::Duplicate(read_integer(&mut rest, 5)?),
    };
    *input = rest;
    Ok(instruction)
}
