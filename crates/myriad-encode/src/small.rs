//! gzip for bodies that fit in one packet, with the fixed codes of DEFLATE (RFC 1951 §3.2.6).
//!
//! Libraries prepare for bodies of any length: they clear a hash table of 128 KB and compute dynamic codes, which takes
//! nine times as long as compressing a small body. Fixed codes need neither. For markup, JSON and English text of 1 KB,
//! the result is a fifth to a third longer than that of a library, and still fits in one packet in most cases. Texts
//! without repetitions (tokens, Base64) hardly become shorter, and non-ASCII text may become longer.

use libdeflater::crc32;

/// Maximum length of a body for [`gzip_small`] in bytes. Even uncompressed, such a body and a head of usual size fit in
/// an Ethernet packet.
pub const SMALL_MAX: usize = 1200;

/// Minimum length of a repetition that [`gzip_small`] encodes as a reference, in bytes: the number of hashed bytes.
const MATCH_MIN: usize = 4;
/// Maximum length of a repetition in bytes (RFC 1951 §3.2.5).
const MATCH_MAX: usize = 258;
/// Shortest match that DEFLATE can encode, in bytes: the first of [`LENGTHS`].
const LENGTH_FIRST: usize = 3;

/// Base-2 logarithm of the number of entries of the table that finds repetitions. The table of 2 KB is cleared for each
/// body.
const HASH_BITS: u32 = 10;

/// gzip header (RFC 1952 §2.3): deflate, no name, no time, fastest algorithm, unknown operating
/// system.
const HEAD: [u8; 10] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 255];

/// Bits of a code, the first to be sent in the lowest bit, and their number.
#[derive(Clone, Copy)]
struct HuffmanCode {
    bits: u16,
    count: u8,
}

impl HuffmanCode {
    const NONE: Self = Self { bits: 0, count: 0 };

    /// Returns the fixed code of a symbol: a literal, the end of the block, or a range of lengths.
    const fn fixed(symbol: u16) -> Self {
        let (code, count) = match symbol {
            0..=143 => (0b0011_0000 + symbol, 8),
            144..=255 => (0b1_1001_0000 + symbol - 144, 9),
            256..=279 => (symbol - 256, 7),
            _ => (0b1100_0000 + symbol - 280, 8),
        };
        Self { bits: sent_first_to_last(code, count), count }
    }

    /// Returns the code of a match length, including the extra bits of its range.
    const fn of_length(length: usize) -> Self {
        if length == MATCH_MAX {
            return Self::fixed(285);
        }
        let over = (length - LENGTH_FIRST) as u16;
        let extra = if over < 8 { 0 } else { over.ilog2() as u16 - 2 };
        let Self { bits, count } = Self::fixed(257 + (extra << 2) + (over >> extra));
        Self { bits: bits | (over & ((1 << extra) - 1)) << count, count: count + extra as u8 }
    }
}

/// Reverses the bits of a code: codes are sent starting with the highest bit, all other values with the lowest.
const fn sent_first_to_last(code: u16, count: u8) -> u16 {
    code.reverse_bits() >> (16 - count)
}

const LITERALS: [HuffmanCode; 256] = {
    let mut codes = [HuffmanCode::NONE; 256];
    let mut byte = 0;
    while byte < codes.len() {
        codes[byte] = HuffmanCode::fixed(byte as u16);
        byte += 1;
    }
    codes
};

const LENGTHS: [HuffmanCode; MATCH_MAX - LENGTH_FIRST + 1] = {
    let mut codes = [HuffmanCode::NONE; MATCH_MAX - LENGTH_FIRST + 1];
    let mut over = 0;
    while over < codes.len() {
        codes[over] = HuffmanCode::of_length(over + LENGTH_FIRST);
        over += 1;
    }
    codes
};

/// Fixed five-bit codes of the distance ranges (RFC 1951 §3.2.6), bits reversed for [`BitWriter`].
const DISTANCES: [u8; 32] = {
    let mut codes = [0; 32];
    let mut range = 0;
    while range < codes.len() {
        codes[range] = sent_first_to_last(range as u16, 5) as u8;
        range += 1;
    }
    codes
};

/// Compresses a body of at most [`SMALL_MAX`] bytes with gzip; `None` for a longer body.
///
/// Incompressible bytes become up to an eighth plus 20 bytes longer.
pub fn gzip_small(body: &[u8]) -> Option<Vec<u8>> {
    if body.len() > SMALL_MAX {
        return None;
    }
    let mut out =
        BitWriter { bytes: Vec::with_capacity(body.len() + body.len() / 8 + 32), held: 0, count: 0 };
    out.bytes.extend_from_slice(&HEAD);
    out.put(0b011, 3); // the last block, of fixed codes
    deflate(body, &mut out);
    out.put_code(HuffmanCode::fixed(256));
    let mut bytes = out.finish();
    bytes.extend_from_slice(&crc32(body).to_le_bytes());
    bytes.extend_from_slice(&(body.len() as u32).to_le_bytes());
    Some(bytes)
}

/// Writes a body as literals and as references to earlier positions at which at least four bytes are equal.
fn deflate(body: &[u8], out: &mut BitWriter) {
    let mut places = HashPositions([0; 1 << HASH_BITS]);
    let mut at = 0;
    while at < body.len() {
        let earlier = places.replace(body, at);
        let length = earlier.map_or(0, |earlier| common_length(body, earlier, at));
        let Some(earlier) = earlier.filter(|_| length >= MATCH_MIN) else {
            out.put_code(LITERALS[usize::from(body[at])]);
            at += 1;
            continue;
        };
        out.put_reference(length, at - earlier);
        // Of the positions inside a match, only the second and the last are stored: storing all takes half as long
        // again and finds no more matches.
        for inside in [at + 1, at + length - 1] {
            places.replace(body, inside);
        }
        at += length;
    }
}

/// Last position of each hash of four bytes, plus one; 0 if there is none.
struct HashPositions([u16; 1 << HASH_BITS]);

impl HashPositions {
    /// Stores a position. Returns the previous position with the same hash; `None` if there is none or fewer than four
    /// bytes are left.
    fn replace(&mut self, body: &[u8], at: usize) -> Option<usize> {
        let bytes = body.get(at..)?.first_chunk::<MATCH_MIN>()?;
        let hash = u32::from_le_bytes(*bytes).wrapping_mul(0x9E37_79B1) >> (32 - HASH_BITS);
        let earlier = std::mem::replace(&mut self.0[hash as usize], at as u16 + 1);
        usize::from(earlier).checked_sub(1)
    }
}

/// Returns the number of equal bytes at two positions of a body; at most [`MATCH_MAX`].
fn common_length(body: &[u8], earlier: usize, later: usize) -> usize {
    let most = (body.len() - later).min(MATCH_MAX);
    let (earlier, later) = (&body[earlier..earlier + most], &body[later..later + most]);
    let (words, _) = earlier.as_chunks::<8>();
    for (number, (word, other)) in words.iter().zip(later.as_chunks::<8>().0).enumerate() {
        let differing = u64::from_le_bytes(*word) ^ u64::from_le_bytes(*other);
        if differing != 0 {
            return number * 8 + differing.trailing_zeros() as usize / 8;
        }
    }
    let whole = words.len() * 8;
    whole + earlier[whole..].iter().zip(&later[whole..]).take_while(|(byte, other)| byte == other).count()
}

/// Writer of bits into a byte vector.
struct BitWriter {
    bytes: Vec<u8>,
    held: u64,
    count: u32,
}

impl BitWriter {
    /// Appends the lowest `count` bits of `bits`, at most 32. The higher bits of `bits` must be 0.
    fn put(&mut self, bits: u32, count: u32) {
        self.held |= u64::from(bits) << self.count;
        self.count += count;
        if self.count >= 32 {
            self.bytes.extend_from_slice(&(self.held as u32).to_le_bytes());
            self.held >>= 32;
            self.count -= 32;
        }
    }

    fn put_code(&mut self, code: HuffmanCode) {
        self.put(code.bits.into(), code.count.into());
    }

    /// Appends a reference: its length and distance (RFC 1951 §3.2.5), at most 13 and 18 bits.
    fn put_reference(&mut self, length: usize, distance: usize) {
        let length = LENGTHS[length - LENGTH_FIRST];
        let over = distance as u32 - 1;
        let extra = if over < 4 { 0 } else { over.ilog2() - 1 };
        let code = u32::from(DISTANCES[((extra << 1) + (over >> extra)) as usize]);
        let distance = code | (over & ((1 << extra) - 1)) << 5;
        let count = u32::from(length.count);
        self.put(u32::from(length.bits) | distance << count, count + 5 + extra);
    }

    /// Returns the bytes; the last is padded with zero bits.
    fn finish(mut self) -> Vec<u8> {
        let rest = self.held.to_le_bytes();
        self.bytes.extend_from_slice(&rest[..self.count.div_ceil(8) as usize]);
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Coding, CompressionLevel, compress, decompress};

    fn comes_back(body: &[u8]) -> usize {
        let packed = gzip_small(body).expect("a small body");
        assert!(decompress(Coding::Gzip, &packed, SMALL_MAX).expect("gzip") == body, "{body:?}");
        packed.len()
    }

    #[test]
    fn bodies_of_all_lengths_and_kinds_come_back() {
        let mut random = fastrand::Rng::with_seed(7);
        for length in (0..300).chain((300..=SMALL_MAX).step_by(36)) {
            // With few different letters, bodies have matches at all distances; with 256, hardly any.
            for letters in [1, 2, 4, 30, 256] {
                let body: Vec<u8> = (0..length).map(|_| random.u32(..letters) as u8).collect();
                let packed = comes_back(&body);
                assert!(packed <= length + length / 8 + 20, "{length} bytes of {letters} letters: {packed}");
            }
        }
        assert!(gzip_small(&[b'x'; SMALL_MAX + 1]).is_none());
    }

    #[test]
    fn every_length_and_distance_of_a_reference_comes_back() {
        let mut random = fastrand::Rng::with_seed(8);
        for length in MATCH_MIN..=MATCH_MAX + 2 {
            for distance in [length, length + 1, 300, 511, 512, 513, 768, 769, SMALL_MAX - length] {
                let mut body: Vec<u8> = (0..distance.max(length)).map(|_| random.u8(..)).collect();
                body.extend_from_within(
                    body.len() - distance.max(length)..body.len() - distance.max(length) + length,
                );
                comes_back(&body[..body.len().min(SMALL_MAX)]);
            }
        }
    }

    #[test]
    fn markup_is_packed_nearly_as_well_as_by_a_library() {
        let item = |number: usize| {
            format!("<li class=\"item-{number}\"><a href=\"/page/{number}\">Page {number}</a></li>\n")
        };
        let page = (0..18).map(item).collect::<Vec<_>>().concat();
        let (small, library) = (
            comes_back(page.as_bytes()),
            compress(Coding::Gzip, CompressionLevel::Number(1), page.as_bytes()),
        );
        assert!(small * 3 < library.expect("gzip").len() * 4, "{small} bytes");
        assert!(small * 3 < page.len(), "{small} bytes");
    }
}
