//! PNG, by `png`: the default image of an animation.

use png::{BitDepth, ColorType, Decoder, Limits, Transformations};

use crate::image::fault::Fault;
use crate::image::interrupt::{Interrupt, Source};
use crate::image::picture::{Picture, bounded};
use crate::image::pixels::{DEPTH, Pixels};
use crate::image::size::Size;

/// Maximum number of bytes of the ancillary chunks, both stored and decompressed. A profile that decompresses to more
/// is ignored.
const BESIDE: usize = 1 << 20;
/// Maximum width in pixels; JPEG and GIF support 65,535. The decoder counts a line and the chunks together.
const LONGEST_LINE: u32 = 1 << 17;

pub(super) fn read(bytes: &[u8], max_pixels: u64, interrupt: Interrupt<'_>) -> Result<Picture, Fault> {
    let broken = |_| Fault::Broken("invalid or truncated PNG");
    let mut reader = Decoder::new(Source::new(bytes, interrupt));
    reader.set_transformations(Transformations::normalize_to_color8() | Transformations::ALPHA);
    reader.set_ignore_text_chunk(true);
    let header = reader.read_header_info().map_err(broken)?;
    let has_palette = header.color_type == ColorType::Indexed;
    let size = Size::new(header.width, header.height).ok_or(Fault::Broken("the image has no size"))?;
    let size = bounded(size, max_pixels)?;
    if size.width > LONGEST_LINE {
        return Err(Fault::TooCostly("a row has more than 131,072 pixels"));
    }
    // Two bytes per color are read before one of them is dropped.
    reader.set_limits(Limits { bytes: BESIDE + size.width as usize * 2 * DEPTH });
    let mut reader = reader.read_info().map_err(broken)?;
    let room = reader.output_buffer_size().ok_or(Fault::TooLarge(size))?;
    let mut data = vec![0; room];
    let frame = reader.next_frame(&mut data).map_err(broken)?;
    data.truncate(frame.buffer_size());
    let data = match (frame.color_type, frame.bit_depth) {
        (ColorType::Rgba, BitDepth::Eight) => data,
        (ColorType::GrayscaleAlpha, BitDepth::Eight) => {
            data.as_chunks::<2>().0.iter().flat_map(|[gray, alpha]| [*gray, *gray, *gray, *alpha]).collect()
        }
        _ => return Err(Fault::Broken("unsupported color type")),
    };
    let pixels = Pixels::new(size, data).ok_or(Fault::Broken("invalid or truncated PNG"))?;
    Ok(Picture { pixels, has_palette, profile: reader.info().icc_profile.as_deref().map(<[u8]>::to_vec) })
}
