//! WebP, by libwebp: no encoder in Rust writes its lossy kind. It sees pixels alone, never a stranger's bytes.

use std::num::NonZeroU8;

use webp::Encoder;

use crate::colors::exact;
use crate::pixels::Pixels;

/// The longest side that the format knows.
const LONGEST: u32 = 16_383;
/// How hard lossless pictures are packed, 0 to 100: the library's middle.
const EFFORT: f32 = 75.0;

pub(super) fn write(pixels: &Pixels, quality: u8) -> Option<Vec<u8>> {
    if pixels.size.width > LONGEST || pixels.size.height > LONGEST {
        return None;
    }
    // Drawings and text of few colors are smaller without loss, and stay sharp.
    let lossless = exact(pixels).is_some();
    let quality = if lossless { EFFORT } else { f32::from(NonZeroU8::new(quality)?.get().min(100)) };
    let writer = Encoder::from_rgba(&pixels.data, pixels.size.width, pixels.size.height);
    Some(writer.encode_simple(lossless, quality).ok()?.to_vec())
}
