//! Decoder of GIF, by the crate `gif`: the first frame, at its position on the canvas.

use std::num::NonZeroU64;

use gif::{ColorOutput, DecodeOptions, MemoryLimit};

use crate::image::decoded_image::{DecodedImage, bounded};
use crate::image::error::ImageError;
use crate::image::interrupt::{Interrupt, InterruptibleInput};
use crate::image::pixels::{DEPTH, Pixels};
use crate::image::size::ImageSize;

pub(super) fn read(
    bytes: &[u8],
    max_pixels: u64,
    interrupt: Interrupt<'_>,
) -> Result<DecodedImage, ImageError> {
    let broken = |_| ImageError::Broken("invalid or truncated GIF");
    let mut options = DecodeOptions::new();
    options.set_color_output(ColorOutput::RGBA);
    let most = NonZeroU64::new(max_pixels.saturating_mul(DEPTH as u64)).unwrap_or(NonZeroU64::MIN);
    options.set_memory_limit(MemoryLimit::Bytes(most));
    let mut reader = options.read_info(InterruptibleInput::new(bytes, interrupt)).map_err(broken)?;
    let size = ImageSize::new(reader.width().into(), reader.height().into())
        .ok_or(ImageError::Broken("the image has no size"))?;
    let size = bounded(size, max_pixels)?;
    let frame =
        reader.read_next_frame().map_err(broken)?.ok_or(ImageError::Broken("the file contains no image"))?;
    let (left, top) = (frame.left.into(), frame.top.into());
    let pixels = match ImageSize::new(frame.width.into(), frame.height.into()) {
        Some(part) => Pixels::new(part, frame.buffer.to_vec())
            .ok_or(ImageError::Broken("invalid or truncated GIF"))?
            .on_canvas(size, (left, top)),
        None => Pixels::clear(size),
    };
    Ok(DecodedImage { pixels, has_palette: true, profile: None })
}
