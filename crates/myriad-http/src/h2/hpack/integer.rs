//! Integers in the encoding of HPACK and QPACK, with a prefix of at most eight bits (RFC 7541 §5.1).

/// Maximum accepted value of an integer; valid indexes, lengths and table sizes are far smaller.
const MOST: usize = 1 << 28;

/// Decodes an integer that starts in the low `prefix` bits of the first byte (RFC 7541 §5.1), and removes it from
/// `input`. Returns `None` if it is incomplete or too large.
pub(crate) fn read(input: &mut &[u8], prefix: u32) -> Option<usize> {
    let (first, mut rest) = input.split_first()?;
    let mask = (1_usize << prefix) - 1;
    let mut value = usize::from(*first) & mask;
    if value == mask {
        let mut shift = 0;
        loop {
            let (byte, after) = rest.split_first()?;
            rest = after;
            value += usize::from(byte & 0x7f) << shift;
            shift += 7;
            if value > MOST || shift > 28 && byte & 0x80 != 0 {
                return None;
            }
            if byte & 0x80 == 0 {
                break;
            }
        }
    }
    *input = rest;
    Some(value)
}

/// Appends `value` as an integer with a prefix of `prefix` bits (RFC 7541 §5.1). `first` contains the other, higher
/// bits of the first byte.
pub(crate) fn write(out: &mut Vec<u8>, first: u8, prefix: u32, mut value: usize) {
    let mask = (1_usize << prefix) - 1;
    if value < mask {
        return out.push(first | value as u8);
    }
    out.push(first | mask as u8);
    value -= mask;
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_rfc_read_both_ways() {
        // RFC 7541 §C.1.
        for (value, prefix, bytes) in
            [(10, 5, &[0b01010][..]), (1337, 5, &[0b11111, 0b1001_1010, 0b1010]), (42, 8, &[42])]
        {
            let mut out = Vec::new();
            write(&mut out, 0, prefix, value);
            assert_eq!(out, bytes);
            assert_eq!(read(&mut &out[..], prefix), Some(value));
        }
    }

    #[test]
    fn what_is_cut_short_or_too_large_is_refused() {
        assert_eq!(read(&mut &[][..], 7), None);
        assert_eq!(read(&mut &[0x7f, 0x80][..], 7), None);
        assert_eq!(read(&mut &[0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x0f][..], 7), None);
        assert_eq!(read(&mut &[0x7f, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00][..], 7), None);
    }
}
