//! Memory that the prefix codes of a lossless WebP stream take in a decoder (RFC 9649 section 3.7).
//!
//! A stream may have 65,536 groups of five codes, and a decoder builds tables of some kilobytes from a code of about
//! twelve bytes: a file of one megabyte may take hundreds of megabytes. The stream is therefore parsed up to its
//! pixels, and the allocations of the decoder are added up. Where the decoder deviates from the RFC, this code follows
//! the decoder.

use crate::image::error::ImageError;
use crate::image::size::ImageSize;

/// Size in the decoder of a group of prefix codes without its tables, in bytes, while the vector of groups grows.
const GROUP: u64 = 1024;
/// Length up to which code words are looked up in a table of four bytes per entry; longer ones use nodes of sixteen
/// bytes.
const TABLE_BITS: usize = 10;
/// Maximum length of a code word of a prefix code, in bits.
const LONGEST: usize = 15;
/// Number of symbols of the codes for green, red, blue, alpha and distances. Green also has a symbol for each entry of
/// the color cache.
const SYMBOLS: [usize; 5] = [256 + 24, 256, 256, 256, 40];
/// Order in which a stream states the code lengths of the code that compresses the lengths of another code.
const ORDER: [usize; 19] = [17, 18, 0, 1, 2, 3, 4, 5, 16, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15];
/// Distances of the first 120 distance symbols: number of columns to the left, and of rows above.
#[rustfmt::skip]
const NEAR: [(i8, i8); 120] = [
    (0, 1), (1, 0), (1, 1), (-1, 1), (0, 2), (2, 0), (1, 2), (-1, 2), (2, 1), (-2, 1), (2, 2), (-2, 2), (0, 3), (3, 0), (1, 3),
    (-1, 3), (3, 1), (-3, 1), (2, 3), (-2, 3), (3, 2), (-3, 2), (0, 4), (4, 0), (1, 4), (-1, 4), (4, 1), (-4, 1), (3, 3), (-3, 3),
    (2, 4), (-2, 4), (4, 2), (-4, 2), (0, 5), (3, 4), (-3, 4), (4, 3), (-4, 3), (5, 0), (1, 5), (-1, 5), (5, 1), (-5, 1), (2, 5),
    (-2, 5), (5, 2), (-5, 2), (4, 4), (-4, 4), (3, 5), (-3, 5), (5, 3), (-5, 3), (0, 6), (6, 0), (1, 6), (-1, 6), (6, 1), (-6, 1),
    (2, 6), (-2, 6), (6, 2), (-6, 2), (4, 5), (-4, 5), (5, 4), (-5, 4), (3, 6), (-3, 6), (6, 3), (-6, 3), (0, 7), (7, 0), (1, 7),
    (-1, 7), (5, 5), (-5, 5), (7, 1), (-7, 1), (4, 6), (-4, 6), (6, 4), (-6, 4), (2, 7), (-2, 7), (7, 2), (-7, 2), (3, 7), (-3, 7),
    (7, 3), (-7, 3), (5, 6), (-5, 6), (6, 5), (-6, 5), (8, 0), (4, 7), (-4, 7), (7, 4), (-7, 4), (8, 1), (8, 2), (6, 6), (-6, 6),
    (8, 3), (5, 7), (-5, 7), (7, 5), (-7, 5), (8, 4), (6, 7), (-6, 7), (7, 6), (-7, 6), (8, 5), (7, 7), (-7, 7), (8, 6), (8, 7),
];

/// Returns an error if the prefix codes in the data of a `VP8L` chunk take more than `room` bytes, or are invalid.
pub(super) fn check(data: &[u8], size: ImageSize, room: u64) -> Result<(), ImageError> {
    // The header of five bytes contains the size, which the caller knows.
    check_stream(data.get(5..).unwrap_or_default(), size, room)
}

/// Returns an error if the prefix codes in the data of an `ALPH` chunk take more than `room` bytes, or are invalid;
/// accepts data without prefix codes.
pub(super) fn check_alpha(data: &[u8], size: ImageSize, room: u64) -> Result<(), ImageError> {
    match data.split_first() {
        Some((head, stream)) if head & 3 == 1 => check_stream(stream, size, room),
        _ => Ok(()),
    }
}

fn check_stream(stream: &[u8], size: ImageSize, room: u64) -> Result<(), ImageError> {
    let mut reader = CodeReader { bytes: stream, at: 0, memory: 0, room };
    match reader.stream(size) {
        Some(()) => Ok(()),
        None if reader.memory > room => Err(ImageError::TooCostly("the prefix codes take too much memory")),
        None => Err(ImageError::Broken("invalid or truncated WebP")),
    }
}

type Pixel = [u8; 4];

/// Bit reader, least significant bit first, with the memory that the codes have taken so far. Functions return `None`
/// for invalid data, and if the memory exceeds the limit.
struct CodeReader<'a> {
    bytes: &'a [u8],
    /// Position in the data, in bits.
    at: usize,
    memory: u64,
    room: u64,
}

impl CodeReader<'_> {
    fn bit(&mut self) -> Option<bool> {
        let byte = *self.bytes.get(self.at / 8)?;
        let bit = byte >> (self.at % 8) & 1;
        self.at += 1;
        Some(bit == 1)
    }

    fn bits(&mut self, count: usize) -> Option<usize> {
        (0..count).try_fold(0, |value, at| Some(value | usize::from(self.bit()?) << at))
    }

    /// Counts bytes that the decoder allocates; `None` if they exceed the limit.
    fn take(&mut self, bytes: u64) -> Option<()> {
        self.memory += bytes;
        (self.memory <= self.room).then_some(())
    }

    /// Parses a stream up to its pixels: transformations, each with an image, and the codes. Returns `None` if it is
    /// invalid or the codes take too much memory.
    fn stream(&mut self, size: ImageSize) -> Option<()> {
        let (mut width, height) = (size.width, size.height);
        let mut seen = [false; 4];
        while self.bit()? {
            let kind = self.bits(2)?;
            if std::mem::replace(&mut seen[kind], true) {
                return None;
            }
            match kind {
                // Prediction and color transformations contain a pixel for each block.
                0 | 1 => {
                    let bits = self.bits(3)? + 2;
                    self.picture(blocks(width, bits), blocks(height, bits))?;
                }
                // Palette; if it is small, several pixels are packed into one.
                3 => {
                    let colors = self.bits(8)? + 1;
                    self.picture(colors, 1)?;
                    let bits = [(2, 3), (4, 2), (16, 1)].iter().find(|(most, _)| colors <= *most);
                    width = blocks(width, bits.map_or(0, |(_, bits)| *bits)) as u32;
                }
                _ => {}
            }
        }
        let cache = self.color_cache()?;
        let mut groups = 1;
        if self.bit()? {
            let bits = self.bits(3)? + 2;
            let numbers = self.picture(blocks(width, bits), blocks(height, bits))?;
            let last =
                numbers.iter().map(|[red, green, ..]| usize::from(*red) << 8 | usize::from(*green)).max();
            groups += last?;
        }
        for _ in 0..groups {
            self.group(cache)?;
        }
        Some(())
    }

    /// Parses the number of index bits of the color cache: 0 without a cache, `None` if it is invalid.
    fn color_cache(&mut self) -> Option<usize> {
        if !self.bit()? {
            return Some(0);
        }
        Some(self.bits(4)?).filter(|bits| (1..=11).contains(bits))
    }

    fn group(&mut self, cache: usize) -> Option<[PrefixCode; 5]> {
        self.take(GROUP)?;
        let mut group = [const { PrefixCode::Single(0) }; 5];
        for (at, code) in group.iter_mut().enumerate() {
            let cached = if at == 0 && cache > 0 { 1 << cache } else { 0 };
            *code = self.code(SYMBOLS[at] + cached)?;
        }
        Some(group)
    }

    /// Parses a prefix code with this number of symbols; `None` if it is invalid or incomplete.
    fn code(&mut self, symbols: usize) -> Option<PrefixCode> {
        if self.bit()? {
            let has_two = self.bit()?;
            let bits = if self.bit()? { 8 } else { 1 };
            let first = Some(self.bits(bits)?).filter(|symbol| *symbol < symbols)?;
            if !has_two {
                return Some(PrefixCode::Single(first));
            }
            let second = Some(self.bits(8)?).filter(|symbol| *symbol < symbols)?;
            return Some(PrefixCode::Two([first, second]));
        }
        let mut lengths = [0; 19];
        let count = 4 + self.bits(4)?;
        for at in &ORDER[..count] {
            lengths[*at] = self.bits(3)? as u8;
        }
        let (code, _) = PrefixCode::of(&lengths)?;
        let lengths = self.lengths(&code, symbols)?;
        let (code, room) = PrefixCode::of(&lengths)?;
        self.take(room)?;
        Some(code)
    }

    /// Parses the lengths of a code's words, which are written in another code (`code`); `None` if they are invalid.
    fn lengths(&mut self, code: &PrefixCode, symbols: usize) -> Option<Vec<u8>> {
        let mut left = symbols;
        if self.bit()? {
            let bits = 2 + 2 * self.bits(3)?;
            left = Some(2 + self.bits(bits)?).filter(|left| *left <= symbols)?;
        }
        let (mut lengths, mut before) = (Vec::new(), 8);
        while lengths.len() < symbols && left > 0 {
            left -= 1;
            let (length, repeated) = match code.read(self)? {
                16 => (before, 3 + self.bits(2)?),
                17 => (0, 3 + self.bits(3)?),
                18 => (0, 11 + self.bits(7)?),
                length => (length as u8, 1),
            };
            if length != 0 {
                before = length;
            }
            lengths.resize(lengths.len() + repeated, length);
        }
        (lengths.len() <= symbols).then_some(lengths)
    }

    /// Parses an image that is part of the header of a stream, and returns its pixels; `None` if it is invalid or
    /// incomplete.
    fn picture(&mut self, width: usize, height: usize) -> Option<Vec<Pixel>> {
        let cache = self.color_cache()?;
        let codes = self.group(cache)?;
        let mut cached = vec![[0; 4]; if cache > 0 { 1 << cache } else { 0 }];
        let mut pixels: Vec<Pixel> = Vec::new();
        while pixels.len() < width * height {
            let begin = pixels.len();
            let code = codes[0].read(self)?;
            if let Some(index) = code.checked_sub(SYMBOLS[0]) {
                pixels.push(*cached.get(index)?);
            } else if let Some(length) = code.checked_sub(256) {
                let length = self.distance(length)?;
                let distance = codes[4].read(self)?;
                let distance = near(width, self.distance(distance)?);
                if distance > begin || width * height - begin < length {
                    return None;
                }
                for at in begin..begin + length {
                    pixels.push(pixels[at - distance]);
                }
            } else {
                let [red, blue, alpha] = [codes[1].read(self)?, codes[2].read(self)?, codes[3].read(self)?]
                    .map(|color| color as u8);
                pixels.push([red, code as u8, blue, alpha]);
            }
            if cache > 0 {
                for [red, green, blue, alpha] in &pixels[begin..] {
                    let color = u32::from_be_bytes([*alpha, *red, *green, *blue]);
                    let index = color.wrapping_mul(0x1e35_a7bd) >> (32 - cache);
                    cached[index as usize] = [*red, *green, *blue, *alpha];
                }
            }
        }
        Some(pixels)
    }

    /// Returns the length or distance that a symbol denotes, with the additional bits that follow in the data; `None`
    /// if the data lacks these bits.
    fn distance(&mut self, symbol: usize) -> Option<usize> {
        if symbol < 4 {
            return Some(symbol + 1);
        }
        let bits = (symbol - 2) >> 1;
        Some(((2 + (symbol & 1)) << bits) + self.bits(bits)? + 1)
    }
}

/// Returns the number of blocks of `2^bits` pixels that cover a side.
fn blocks(side: u32, bits: usize) -> usize {
    (side as usize).div_ceil(1 << bits)
}

/// Converts a coded distance to a number of pixels; `width` is the width of the image.
fn near(width: usize, distance: usize) -> usize {
    match NEAR.get(distance - 1) {
        Some((left, above)) => {
            let pixels = width as i64 * i64::from(*above) + i64::from(*left);
            pixels.max(1) as usize
        }
        None => distance - NEAR.len(),
    }
}

/// Prefix code (Huffman code) of a lossless WebP stream.
enum PrefixCode {
    /// Code with one symbol, which occupies no bits in the stream.
    Single(usize),
    /// Code with two symbols of one bit each.
    Two([usize; 2]),
    /// Number of code words of each length, and the symbols in the order of their code words.
    Words([usize; LONGEST + 1], Vec<usize>),
}

impl PrefixCode {
    /// Returns the prefix code in which the word of each symbol has the length that `lengths` states, and the size of
    /// its tables in the decoder, in bytes; `None` if the code is not complete.
    fn of(lengths: &[u8]) -> Option<(Self, u64)> {
        let mut counts = [0; LONGEST + 1];
        let mut symbols: Vec<usize> = (0..lengths.len()).filter(|symbol| lengths[*symbol] > 0).collect();
        for symbol in &symbols {
            counts[usize::from(lengths[*symbol])] += 1;
        }
        match symbols[..] {
            [] => return None,
            [symbol] => return Some((Self::Single(symbol), 0)),
            _ => symbols.sort_by_key(|symbol| lengths[*symbol]),
        }
        let longest = counts.iter().rposition(|count| *count > 0)?;
        let words: usize =
            counts.iter().enumerate().map(|(length, count)| count << (longest - length.min(longest))).sum();
        if words != 1 << longest {
            return None;
        }
        let long: usize = counts[TABLE_BITS + 1..].iter().sum();
        let room = (4 << longest.min(TABLE_BITS)) + 2 * 16 * long + lengths.len() * 2;
        Some((Self::Words(counts, symbols), room as u64))
    }

    fn read(&self, reader: &mut CodeReader<'_>) -> Option<usize> {
        let (counts, symbols) = match self {
            Self::Single(symbol) => return Some(*symbol),
            Self::Two(symbols) => return Some(symbols[usize::from(reader.bit()?)]),
            Self::Words(counts, symbols) => (counts, symbols),
        };
        let (mut word, mut first, mut before) = (0, 0, 0);
        for count in &counts[1..] {
            word = word << 1 | usize::from(reader.bit()?);
            if word < first + count {
                return symbols.get(before + word - first).copied();
            }
            before += count;
            first = (first + count) << 1;
        }
        None
    }
}
