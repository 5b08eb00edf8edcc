//! Protocol Buffers, limited to the field types of OTLP traces: <https://protobuf.dev/programming-guides/encoding/>.

/// Appends a number in the variable-length encoding.
fn varint(mut number: u64, out: &mut Vec<u8>) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn tag(field: u32, wire: u8, out: &mut Vec<u8>) {
    varint(u64::from(field) << 3 | u64::from(wire), out);
}

/// Appends a numeric field (`int64`, `uint32`, an enum).
pub(crate) fn number(field: u32, value: u64, out: &mut Vec<u8>) {
    tag(field, 0, out);
    varint(value, out);
}

/// Appends a field of eight bytes (`fixed64`).
pub(crate) fn fixed64(field: u32, value: u64, out: &mut Vec<u8>) {
    tag(field, 1, out);
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends a field of four bytes (`fixed32`).
pub(crate) fn fixed32(field: u32, value: u32, out: &mut Vec<u8>) {
    tag(field, 5, out);
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends a field that contains bytes, a text, or a message.
pub(crate) fn bytes(field: u32, value: &[u8], out: &mut Vec<u8>) {
    tag(field, 2, out);
    varint(value.len() as u64, out);
    out.extend_from_slice(value);
}

/// Appends a field that contains a message, whose content `write` appends.
pub(crate) fn message(field: u32, out: &mut Vec<u8>, write: impl FnOnce(&mut Vec<u8>)) {
    let mut inner = Vec::new();
    write(&mut inner);
    bytes(field, &inner, out);
}

/// Decoded field of a Protocol Buffers message.
pub(crate) enum ProtobufValue<'a> {
    /// Value of a numeric field.
    Number(u64),
    /// Value of a field that contains bytes, a text, or a message.
    Bytes(&'a [u8]),
    /// Field of a fixed size (four or eight bytes), whose value is not decoded.
    Other,
}

/// Decodes the number and the value of the next field of a message, and advances `message`. Returns `None` at the end,
/// and for invalid input.
pub(crate) fn next<'a>(message: &mut &'a [u8]) -> Option<(u64, ProtobufValue<'a>)> {
    let tag = read_varint(message)?;
    let value = match tag & 7 {
        0 => ProtobufValue::Number(read_varint(message)?),
        1 => take(message, 8).map(|_| ProtobufValue::Other)?,
        2 => {
            let length = usize::try_from(read_varint(message)?).ok()?;
            ProtobufValue::Bytes(take(message, length)?)
        }
        5 => take(message, 4).map(|_| ProtobufValue::Other)?,
        _ => return None,
    };
    Some((tag >> 3, value))
}

fn take<'a>(message: &mut &'a [u8], count: usize) -> Option<&'a [u8]> {
    let (first, rest) = message.split_at_checked(count)?;
    *message = rest;
    Some(first)
}

fn read_varint(message: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let byte = take(message, 1)?[0];
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_as_the_format_has_them() {
        let mut out = Vec::new();
        number(1, 150, &mut out);
        bytes(2, b"testing", &mut out);
        assert_eq!(out, [b"\x08\x96\x01\x12\x07".as_slice(), b"testing"].concat());
        let mut largest = Vec::new();
        varint(u64::MAX, &mut largest);
        assert_eq!(largest, [&[0xff; 9][..], &[1]].concat());
    }

    #[test]
    fn what_is_cut_short_is_read_to_its_end_and_no_further() {
        let mut out = Vec::new();
        number(1, u64::MAX, &mut out);
        fixed64(3, 7, &mut out);
        bytes(2, b"testing", &mut out);
        for end in 0..out.len() {
            let mut rest = &out[..end];
            while next(&mut rest).is_some() {}
        }
        let mut endless = &[0xff_u8; 20][..];
        assert!(next(&mut endless).is_none());
    }
}
