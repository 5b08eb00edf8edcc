//! Encoder of WebP, by libwebp, because no Rust encoder supports lossy WebP. It receives only pixels, never untrusted
//! bytes.

use std::num::NonZeroU8;

use webp::Encoder;

use crate::image::colors::exact_palette;
use crate::image::pixels::Pixels;

/// Maximum width and height of a WebP image, in pixels.
const LONGEST: u32 = 16_383;
/// Compression effort of lossless images, from 0 to 100: the default of the library.
const EFFORT: f32 = 75.0;

pub(super) fn write(pixels: &Pixels, quality: u8) -> Option<Vec<u8>> {
    // Drawings and text with few colors are smaller in lossless form, and stay sharp.
    if exact_palette(pixels).is_some() {
        return write_lossless(pixels);
    }
    let quality = f32::from(NonZeroU8::new(quality)?.get().min(100));
    encoded(pixels, false, quality)
}

/// Encodes an image in lossless form. The colors of transparent pixels may change.
pub(super) fn write_lossless(pixels: &Pixels) -> Option<Vec<u8>> {
    encoded(pixels, true, EFFORT)
}

fn encoded(pixels: &Pixels, lossless: bool, quality: f32) -> Option<Vec<u8>> {
    if pixels.size.width > LONGEST || pixels.size.height > LONGEST {
        return None;
    }
    let writer = Encoder::from_rgba(&pixels.data, pixels.size.width, pixels.size.height);
    Some(writer.encode_simple(lossless, quality).ok()?.to_vec())
}
