//! Decoder of WebP, by the crate `image-webp`: of an animation, the first frame.
//!
//! The decoder limits neither the memory of a stream whose size differs from that of the file, nor the tables of its
//! prefix codes. Both are therefore checked before it starts, and it receives a file that contains only the checked
//! streams.

mod codes;
mod container;

use image_webp::WebPDecoder;

use self::container::{WebpFrame, WebpStream};
use crate::image::decoded_image::{DecodedImage, LONGEST_PROFILE, bounded};
use crate::image::error::ImageError;
use crate::image::interrupt::{Interrupt, InterruptibleInput};
use crate::image::pixels::Pixels;

/// Maximum number of bytes of prefix code tables of a lossless WebP: this fixed part, and [`TABLES_OF_A_PIXEL`] for
/// each permitted pixel.
const TABLES: u64 = 16 << 20;
const TABLES_OF_A_PIXEL: u64 = 8;

pub(super) fn read(
    bytes: &[u8],
    max_pixels: u64,
    interrupt: Interrupt<'_>,
) -> Result<DecodedImage, ImageError> {
    let broken = |_| ImageError::Broken("invalid or truncated WebP");
    let frame = WebpFrame::find(bytes).ok_or(ImageError::Broken("invalid or truncated WebP"))?;
    bounded(frame.canvas, max_pixels)?;
    let room = max_pixels.saturating_mul(TABLES_OF_A_PIXEL).saturating_add(TABLES);
    match frame.image {
        WebpStream::Lossless(data) => codes::check(data, frame.size, room)?,
        WebpStream::Lossy(_, Some(alpha)) => codes::check_alpha(alpha, frame.size, room)?,
        WebpStream::Lossy(_, None) => {}
    }
    let file = frame.file();
    let mut reader = WebPDecoder::new(InterruptibleInput::new(&file, interrupt)).map_err(broken)?;
    let mut data = vec![0; reader.output_buffer_size().ok_or(ImageError::TooLarge(frame.size))?];
    reader.read_image(&mut data).map_err(broken)?;
    if !reader.has_alpha() {
        data = data.as_chunks::<3>().0.iter().flat_map(|[r, g, b]| [*r, *g, *b, u8::MAX]).collect();
    }
    let pixels = Pixels::new(frame.size, data).ok_or(ImageError::Broken("invalid or truncated WebP"))?;
    let profile = frame.profile.filter(|profile| profile.len() <= LONGEST_PROFILE).map(<[u8]>::to_vec);
    let pixels = pixels.on_canvas(frame.canvas, frame.at);
    Ok(DecodedImage { pixels, has_palette: false, profile })
}

#[cfg(test)]
mod tests;
