//! Huffman code of HPACK and QPACK (RFC 7541 §5.2, appendix B).
//!
//! The code is canonical: codes of equal length are consecutive in the order of their symbols, so the lengths define
//! all codes.

/// Length in bits of the Huffman code of each byte, and of the end-of-string symbol (RFC 7541 appendix B).
#[rustfmt::skip]
const LENGTHS: [u8; 257] = [
    13, 23, 28, 28, 28, 28, 28, 28, 28, 24, 30, 28, 28, 30, 28, 28,
    28, 28, 28, 28, 28, 28, 30, 28, 28, 28, 28, 28, 28, 28, 28, 28,
    6, 10, 10, 12, 13, 6, 8, 11, 10, 10, 8, 11, 8, 6, 6, 6,
    5, 5, 5, 6, 6, 6, 6, 6, 6, 6, 7, 8, 15, 6, 12, 10,
    13, 6, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7,
    7, 7, 7, 7, 7, 7, 7, 7, 8, 7, 8, 13, 19, 13, 14, 6,
    15, 5, 6, 5, 6, 5, 6, 6, 6, 5, 7, 7, 6, 6, 6, 5,
    6, 7, 6, 5, 5, 6, 7, 7, 7, 7, 7, 15, 11, 14, 13, 28,
    20, 22, 20, 20, 22, 22, 22, 23, 22, 23, 23, 23, 23, 23, 24, 23,
    24, 24, 22, 23, 24, 23, 23, 23, 23, 21, 22, 23, 22, 23, 23, 24,
    22, 21, 20, 22, 22, 23, 23, 21, 23, 22, 22, 24, 21, 22, 23, 23,
    21, 21, 22, 21, 23, 22, 23, 23, 20, 22, 22, 22, 23, 22, 22, 23,
    26, 26, 20, 19, 22, 23, 22, 25, 26, 26, 26, 27, 27, 26, 24, 25,
    19, 21, 26, 27, 27, 26, 27, 24, 21, 21, 26, 26, 28, 27, 27, 27,
    20, 24, 20, 21, 22, 21, 21, 23, 22, 22, 25, 25, 24, 24, 26, 23,
    26, 27, 26, 26, 27, 27, 27, 27, 27, 28, 27, 27, 27, 27, 27, 26,
    30,
];
const LONGEST: usize = 30;
const END: u16 = 256;

struct HuffmanTables {
    /// Huffman code of each symbol (byte or end of string), in the low bits.
    of: [u32; 257],
    /// Symbols in ascending order of their Huffman codes.
    ordered: [u16; 257],
    /// For each code length: the first code above all codes of at most this length, left-aligned in 32 bits.
    beyond: [u64; LONGEST + 1],
    /// For each code length: the difference between the index in `ordered` and the code.
    shift: [i32; LONGEST + 1],
    /// For each value of the next eight bits: symbol and length of the code that they start with; length 0 if the code
    /// is longer.
    short: [(u8, u8); 256],
}

static CODE: HuffmanTables = code();

const fn code() -> HuffmanTables {
    let mut all = HuffmanTables {
        of: [0; 257],
        ordered: [0; 257],
        beyond: [0; LONGEST + 1],
        shift: [0; LONGEST + 1],
        short: [(0, 0); 256],
    };
    let mut next: u32 = 0;
    let mut place = 0;
    let mut length = 1;
    while length <= LONGEST {
        next <<= 1;
        all.shift[length] = place as i32 - next as i32;
        let mut symbol = 0;
        while symbol < 257 {
            if LENGTHS[symbol] as usize == length {
                all.of[symbol] = next;
                all.ordered[place] = symbol as u16;
                if length <= 8 {
                    let first = (next as usize) << (8 - length);
                    let mut at = first;
                    while at < first + (1 << (8 - length)) {
                        all.short[at] = (symbol as u8, length as u8);
                        at += 1;
                    }
                }
                place += 1;
                next += 1;
            }
            symbol += 1;
        }
        all.beyond[length] = (next as u64) << (32 - length);
        length += 1;
    }
    all
}

/// Decodes the Huffman-coded `input` and appends it to `out` (RFC 7541 §5.2). Returns `None` if `input` is invalid or
/// decodes to more than `most` bytes; the bytes decoded before the error then remain in `out`.
pub(crate) fn decode(input: &[u8], most: usize, out: &mut Vec<u8>) -> Option<()> {
    let end = out.len() + most;
    let mut window: u64 = 0;
    let mut bits: u32 = 0;
    let mut input = input.iter();
    loop {
        while bits <= 56 {
            let Some(byte) = input.next() else { break };
            window |= u64::from(*byte) << (56 - bits);
            bits += 8;
        }
        let (symbol, length) = match CODE.short[(window >> 56) as usize] {
            (_, 0) => longer(window)?,
            (symbol, length) => (u16::from(symbol), u32::from(length)),
        };
        if length > bits {
            break;
        }
        if symbol == END || out.len() == end {
            return None;
        }
        out.push(symbol as u8);
        window <<= length;
        bits -= length;
    }
    // The remaining bits are padding: fewer than eight, and a prefix of the end-of-string code.
    let padding = !(u64::MAX >> bits);
    (bits < 8 && window & padding == padding).then_some(())
}

fn longer(window: u64) -> Option<(u16, u32)> {
    let top = window >> 32;
    let length = (9..=LONGEST).find(|length| top < CODE.beyond[*length])?;
    let place = (top >> (32 - length)) as i32 + CODE.shift[length];
    Some((*CODE.ordered.get(place as usize)?, length as u32))
}

/// Returns the length in bytes of `text` when it is Huffman-coded.
pub(crate) fn encoded_len(text: &[u8]) -> usize {
    let bits: usize = text.iter().map(|byte| usize::from(LENGTHS[usize::from(*byte)])).sum();
    bits.div_ceil(8)
}

/// Encodes `text` by the Huffman code and appends it to `out`.
pub(crate) fn encode(text: &[u8], out: &mut Vec<u8>) {
    let mut window: u64 = 0;
    let mut bits = 0;
    for byte in text {
        let length = u32::from(LENGTHS[usize::from(*byte)]);
        window = window << length | u64::from(CODE.of[usize::from(*byte)]);
        bits += length;
        while bits >= 8 {
            bits -= 8;
            out.push((window >> bits) as u8);
        }
    }
    if bits > 0 {
        out.push((window << (8 - bits)) as u8 | (0xff >> bits));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(input: &[u8]) -> Option<Vec<u8>> {
        let mut out = Vec::new();
        decode(input, 1000, &mut out).map(|()| out)
    }

    #[test]
    fn the_code_is_complete() {
        assert_eq!(CODE.of[256], 0x3fff_ffff);
        assert_eq!(CODE.beyond[LONGEST], 1 << 32);
        assert_eq!((CODE.of[usize::from(b'a')], CODE.of[usize::from(b'Z')]), (0x3, 0xfd));
    }

    #[test]
    fn every_pair_of_bytes_reads_back() {
        for first in 0..=255 {
            for second in 0..=255 {
                let mut out = Vec::new();
                encode(&[first, second], &mut out);
                assert_eq!(out.len(), encoded_len(&[first, second]));
                assert_eq!(decoded(&out), Some(vec![first, second]));
            }
        }
    }

    #[test]
    fn padding_is_short_and_made_of_ones() {
        let mut a = Vec::new();
        encode(b"a", &mut a);
        assert_eq!(a, [0b0001_1111]);
        assert_eq!(decoded(&[0b0001_1111, 0xff]), None);
        assert_eq!(decoded(&[0b0001_1110]), None);
        assert_eq!(decoded(&[0xff; 4]), None);
        assert_eq!(decoded(&[0xff; 1]), None);
        assert_eq!(decoded(&[]), Some(vec![]));
    }

    #[test]
    fn nothing_longer_than_allowed_is_written() {
        let mut text = Vec::new();
        encode(b"aaaa", &mut text);
        let mut out = Vec::new();
        assert_eq!(decode(&text, 3, &mut out), None);
        assert_eq!(out.len(), 3);
        assert_eq!(decode(&text, 4, &mut Vec::new()), Some(()));
    }
}
