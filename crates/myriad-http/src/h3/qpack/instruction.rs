//! What a client's encoder says (RFC 9204 §4.3).

use super::literal::{Fault, Literal, read_integer};

/// An instruction, as it stands on the wire.
#[derive(Clone, Copy, Debug)]
pub(super) enum Instruction<'a> {
    /// The table may be so large.
    Capacity(usize),
    /// An entry is put in.
    Insert { name: Name<'a>, value: Literal<'a> },
    /// The entry that so many others have followed is put in again.
    Duplicate(usize),
}

/// The name of a new entry.
#[derive(Clone, Copy, Debug)]
pub(super) enum Name<'a> {
    /// That of an entry of the static table.
    Static(usize),
    /// That of the dynamic entry that so many others have followed.
    Dynamic(usize),
    Literal(Literal<'a>),
}

/// Takes an instruction off `input`, whose strings stand for up to `longest` bytes together: what is cut is refused once it can only
/// be more. Where it is cut, nothing is taken.
pub(super) fn read<'a>(input: &mut &'a [u8], longest: usize) -> Result<Instruction<'a>, Fault> {
    let mut rest = *input;
    let first = *rest.first().ok_or(Fault::Partial)?;
    let instruction = match first {
        0x80.. => {
            let index = read_integer(&mut rest, 6)?;
            let name = if first & 0x40 != 0 { Name::Static(index) } else { Name::Dynamic(index) };
            Instruction::Insert { name, value: Literal::read(&mut rest, 7, longest)? }
        }
        0x40..0x80 => {
            let name = Literal::read(&mut rest, 5, longest)?;
            let value = Literal::read(&mut rest, 7, longest - name.least())?;
            Instruction::Insert { name: Name::Literal(name), value }
        }
        0x20..0x40 => Instruction::Capacity(read_integer(&mut rest, 5)?),
        0..0x20 => Instruction::Duplicate(read_integer(&mut rest, 5)?),
    };
    *input = rest;
    Ok(instruction)
}
