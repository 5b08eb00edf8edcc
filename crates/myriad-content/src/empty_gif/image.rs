//! Image in GIF89a format; two-byte numbers are little-endian.

/// GIF with one transparent pixel, 43 bytes.
#[rustfmt::skip]
pub(super) const IMAGE: &[u8] = &[
    // Header, and the screen: width and height 1, a global table of two colors, background color 1.
    b'G', b'I', b'F', b'8', b'9', b'a',
    1, 0, 1, 0, 0b1000_0000, 1, 0,
    // Colors: black, white.
    0, 0, 0, 0xff, 0xff, 0xff,
    // Graphic control extension: color 1 is transparent.
    0x21, 0xf9, 4, 0b0000_0001, 0, 0, 1, 0,
    // Image descriptor: at the upper left corner, width and height 1.
    0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0,
    // Pixels, as LZW codes of three bits, least significant bit first: clear (4), color 1, stop (5).
    2, 2, 0b0100_1100, 0b0000_0001, 0,
    // Trailer.
    0x3b,
];
