//! GIF, by `gif`: the first frame, at its position on the canvas.

use std::num::NonZeroU64;

use gif::{ColorOutput, DecodeOptions, MemoryLimit};

use crate::image::fault::Fault;
use crate::image::interrupt::{Interrupt, Source};
use crate::image::picture::{Picture, bounded};
use crate::image::pixels::{DEPTH, Pixels};
use crate::image::size::Size;

pub(super) fn read(bytes: &[u8], max_pixels: u64, interrupt: Interrupt<'_>) -> Result<Picture, Fault> {
    let broken = |_| Fault::Broken("invalid or truncated GIF");
    let mut options = DecodeOptions::new();
    options.set_color_output(ColorOutput::RGBA);
    let most = NonZeroU64::new(max_pixels.saturating_mul(DEPTH as u64)).unwrap_or(NonZeroU64::MIN);
    options.set_memory_limit(MemoryLimit::Bytes(most));
    let mut reader = options.read_info(Source::new(bytes, interrupt)).map_err(broken)?;
    let size = Size::new(reader.width().into(), reader.height().into())
        .ok_or(Fault::Broken("the image has no size"))?;
    let size = bounded(size, max_pixels)?;
    let frame =
        reader.read_next_frame().map_err(broken)?.ok_or(Fault::Broken("the file contains no image"))?;
    let (left, top) = (frame.left.into(), frame.top.into());
    let pixels = match Size::new(frame.width.into(), frame.height.into()) {
        Some(part) => Pixels::new(part, frame.buffer.to_vec())
            .ok_or(Fault::Broken("invalid or truncated GIF"))?
            .on_canvas(size, (left, top)),
        None => Pixels::clear(size),
    };
    Ok(Picture { pixels, has_palette: true, profile: None })
}
