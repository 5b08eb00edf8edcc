//! Builder of WebP files (RFC 9649) that cost a decoder more than their size suggests.

fn chunk(kind: &[u8], data: &[u8]) -> Vec<u8> {
    let padding = &[0][..data.len() % 2];
    [kind, &(data.len() as u32).to_le_bytes()[..], data, padding].concat()
}

fn file(chunks: &[u8]) -> Vec<u8> {
    [b"RIFF", &(chunks.len() as u32 + 4).to_le_bytes()[..], b"WEBP", chunks].concat()
}

/// Returns a chunk `VP8X` with a canvas of one pixel.
fn canvas(flags: u8) -> Vec<u8> {
    chunk(b"VP8X", &[flags, 0, 0, 0, 0, 0, 0, 0, 0, 0])
}

/// Returns a lossy image of 16,383 x 16,383 pixels on a canvas of one pixel, in some hundred bytes.
pub(crate) fn small_canvas(animated: bool) -> Vec<u8> {
    // Key frame whose first partition has 16 bytes; start code; width and height.
    let mut lossy = vec![0x10, 0x02, 0x00, 0x9d, 0x01, 0x2a, 0xff, 0x3f, 0xff, 0x3f];
    lossy.extend([0; 500]);
    let picture = chunk(b"VP8 ", &lossy);
    let chunks = if animated {
        let place = [0; 16];
        [canvas(0x02), chunk(b"ANIM", &[0; 6]), chunk(b"ANMF", &[&place[..], &picture].concat())].concat()
    } else {
        [canvas(0), picture].concat()
    };
    file(&chunks)
}

/// Returns a file with a color profile whose declared length exceeds the file.
pub(crate) fn long_profile() -> Vec<u8> {
    let profile = [b"ICCP", &u32::MAX.to_le_bytes()[..], &[0; 100]].concat();
    file(&[canvas(0x20), profile].concat())
}

/// Returns a lossless image with `groups` groups of five codes, each of which takes 12 bytes and results in a table of
/// 4 KB.
pub(crate) fn codes(groups: u32) -> Vec<u8> {
    let mut bits = Bits::default();
    bits.push(0x2f, 8);
    bits.push(SIDE - 1, 14);
    bits.push(SIDE - 1, 14);
    bits.push(0, 4);
    file(&chunk(b"VP8L", &stream(bits, groups)))
}

/// Returns an image with the codes of [`codes`] in the alpha channel of a lossy image.
pub(crate) fn codes_of_alpha(groups: u32) -> Vec<u8> {
    let mut bits = Bits::default();
    bits.push(1, 8);
    let alpha = stream(bits, groups);
    let mut lossy = vec![0x10, 0x02, 0x00, 0x9d, 0x01, 0x2a, SIDE as u8, 0, SIDE as u8, 0];
    lossy.extend([0; 500]);
    let side = SIDE as u8 - 1;
    let head = chunk(b"VP8X", &[0x10, 0, 0, 0, side, 0, 0, side, 0, 0]);
    file(&[head, chunk(b"ALPH", &alpha), chunk(b"VP8 ", &lossy)].concat())
}

const SIDE: u32 = 4;

/// Appends a stream without transformations and color cache, whose image of one pixel refers to the last of the groups.
fn stream(mut bits: Bits, groups: u32) -> Vec<u8> {
    bits.push(0, 1);
    bits.push(0, 1);
    bits.push(1, 1);
    bits.push(0, 3);
    bits.push(0, 1);
    // Codes of one symbol each for green, red, blue, alpha and distance: green is the low half of the group number, red
    // its high half.
    let last = groups - 1;
    for symbol in [last & 0xff, last >> 8, 0, 0, 0] {
        bits.push(0b101, 3);
        bits.push(symbol, 8);
    }
    for _ in 0..groups * 5 {
        code(&mut bits);
    }
    bits.bytes
}

/// Appends a code of eleven words of 1, 2, …, 9, 10 and 10 bits.
fn code(bits: &mut Bits) {
    bits.push(0, 1);
    // Fourteen lengths of the code-length code, for the symbols 17, 18, 0, 1, …, 5, 16, 6, …, 10.
    bits.push(10, 4);
    for length in [0, 0, 0, 3, 3, 3, 3, 3, 0, 3, 4, 4, 4, 4] {
        bits.push(length, 3);
    }
    bits.push(1, 1);
    bits.push(1, 3);
    bits.push(11 - 2, 4);
    for length in (1..=10).chain([10]) {
        let (word, count): (u32, u32) = if length <= 6 { (length - 1, 3) } else { (length + 5, 4) };
        bits.push(word.reverse_bits() >> (32 - count), count);
    }
}

/// Bit writer, least significant bit first.
#[derive(Default)]
struct Bits {
    bytes: Vec<u8>,
    count: u32,
}

impl Bits {
    fn push(&mut self, value: u32, count: u32) {
        for at in 0..count {
            if self.count.is_multiple_of(8) {
                self.bytes.push(0);
            }
            let last = self.bytes.len() - 1;
            self.bytes[last] |= ((value >> at & 1) as u8) << (self.count % 8);
            self.count += 1;
        }
    }
}
