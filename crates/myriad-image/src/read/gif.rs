//! GIF, by `gif`: the first picture, where it stands on its canvas.

use std::num::NonZeroU64;

use gif::{ColorOutput, DecodeOptions, MemoryLimit};

use crate::fault::Fault;
use crate::picture::{Picture, bounded};
use crate::pixels::{DEPTH, Pixels};
use crate::size::Size;

pub(super) fn read(bytes: &[u8], max_pixels: u64) -> Result<Picture, Fault> {
    let broken = |_| Fault::Broken("it is no whole GIF");
    let mut options = DecodeOptions::new();
    options.set_color_output(ColorOutput::RGBA);
    let most = NonZeroU64::new(max_pixels.saturating_mul(DEPTH as u64)).unwrap_or(NonZeroU64::MIN);
    options.set_memory_limit(MemoryLimit::Bytes(most));
    let mut reader = options.read_info(bytes).map_err(broken)?;
    let size =
        Size::new(reader.width().into(), reader.height().into()).ok_or(Fault::Broken("it has no size"))?;
    let size = bounded(size, max_pixels)?;
    let frame = reader.read_next_frame().map_err(broken)?.ok_or(Fault::Broken("it holds no picture"))?;
    let mut pixels = Pixels::clear(size);
    let (left, width) = (usize::from(frame.left), usize::from(frame.width));
    let on_canvas = (size.width as usize).saturating_sub(left).min(width) * DEPTH;
    if on_canvas > 0 {
        let lines = pixels.data.chunks_exact_mut(size.width as usize * DEPTH).skip(frame.top.into());
        for (to, from) in lines.zip(frame.buffer.chunks_exact(width * DEPTH)) {
            to[left * DEPTH..][..on_canvas].copy_from_slice(&from[..on_canvas]);
        }
    }
    Ok(Picture { pixels, has_palette: true, profile: None })
}
