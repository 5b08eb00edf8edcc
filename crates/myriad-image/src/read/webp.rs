//! WebP, by `image-webp`: of those that move, the first picture.

use image_webp::WebPDecoder;
use std::io::Cursor;

use crate::fault::Fault;
use crate::picture::{Picture, bounded};
use crate::pixels::{DEPTH, Pixels};
use crate::size::Size;

pub(super) fn read(bytes: &[u8], max_pixels: u64) -> Result<Picture, Fault> {
    let broken = |_| Fault::Broken("it is no whole WebP");
    let mut reader = WebPDecoder::new(Cursor::new(bytes)).map_err(broken)?;
    let (width, height) = reader.dimensions();
    let size = Size::new(width, height).ok_or(Fault::Broken("it has no size"))?;
    let size = bounded(size, max_pixels)?;
    reader.set_memory_limit(usize::try_from(max_pixels).unwrap_or(usize::MAX).saturating_mul(DEPTH));
    let mut data = vec![0; reader.output_buffer_size().ok_or(Fault::TooLarge(size))?];
    reader.read_image(&mut data).map_err(broken)?;
    if !reader.has_alpha() {
        data = data.as_chunks::<3>().0.iter().flat_map(|[r, g, b]| [*r, *g, *b, u8::MAX]).collect();
    }
    let pixels = Pixels::new(size, data).ok_or(Fault::Broken("it is no whole WebP"))?;
    Ok(Picture { pixels, has_palette: false, profile: reader.icc_profile().ok().flatten() })
}
