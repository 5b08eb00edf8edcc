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
    if pixels.size.width > LONGEST || pixels.size.height > LONGEST {
        return None;
    }
    // Drawings and text with few colors are smaller in lossless form, and stay sharp.
    let lossless = exact_palette(pixels).is_some();
    let quality = if lossless { EFFORT } else { f32::from(NonZeroU8::new(quality)?.get().min(100)) };
    let writer = Encoder::from_rgba(&pixels.data, pixels.size.width, pixels.size.height);
    Some(writer.encode_simple(lossless, quality).ok()?.to_vec())
}
