//! Encoder of AVIF, by the crate `ravif`.

use std::num::NonZeroU8;

use ravif::{Encoder, Img, RGBA8};

use crate::image::pixels::Pixels;

/// Speed setting of the AVIF encoder: the fastest, which still takes about a second for a million pixels.
const SPEED: u8 = 10;
/// Maximum number of pixels of an image that is encoded as AVIF: a larger one would occupy a thread for too long,
/// because the encoder cannot be cancelled.
const MOST_PIXELS: u64 = 8 << 20;

pub(super) fn write(pixels: &Pixels, quality: u8) -> Option<Vec<u8>> {
    if pixels.size.pixels() > MOST_PIXELS {
        return None;
    }
    let colors: Vec<RGBA8> = pixels.each().map(|[r, g, b, a]| RGBA8 { r, g, b, a }).collect();
    let quality = f32::from(NonZeroU8::new(quality)?.get().min(100));
    let writer = Encoder::new()
        .with_quality(quality)
        .with_alpha_quality(quality)
        .with_speed(SPEED)
        .with_num_threads(Some(1));
    let (width, height) = (pixels.size.width as usize, pixels.size.height as usize);
    Some(writer.encode_rgba(Img::new(&colors, width, height)).ok()?.avif_file)
}
