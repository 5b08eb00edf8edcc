//! Decoder of PNG, by the crate `png`: of an animation, the default image.

use png::{BitDepth, ColorType, Decoder, Limits, Transformations};

use crate::image::decoded_image::{DecodedImage, bounded};
use crate::image::error::ImageError;
use crate::image::interrupt::{Interrupt, InterruptibleInput};
use crate::image::pixels::{DEPTH, Pixels};
use crate::image::size::ImageSize;

/// Maximum number of bytes of ancillary chunks (metadata) of a PNG, both as stored and decompressed. A profile that
/// decompresses to more is ignored.
const MAX_ANCILLARY: usize = 1 << 20;
/// Maximum width of a PNG, in pixels; JPEG and GIF allow 65,535. The decoder's limit covers a row and the chunks
/// together.
const LONGEST_LINE: u32 = 1 << 17;

pub(super) fn read(
    bytes: &[u8],
    max_pixels: u64,
    interrupt: Interrupt<'_>,
) -> Result<DecodedImage, ImageError> {
    let broken = |_| ImageError::Broken("invalid or truncated PNG");
    let mut reader = Decoder::new(InterruptibleInput::new(bytes, interrupt));
    reader.set_transformations(Transformations::normalize_to_color8() | Transformations::ALPHA);
    reader.set_ignore_text_chunk(true);
    let header = reader.read_header_info().map_err(broken)?;
    let has_palette = header.color_type == ColorType::Indexed;
    let size =
        ImageSize::new(header.width, header.height).ok_or(ImageError::Broken("the image has no size"))?;
    let size = bounded(size, max_pixels)?;
    if size.width > LONGEST_LINE {
        return Err(ImageError::TooCostly("a row has more than 131,072 pixels"));
    }
    // Colors of two bytes are read before one of the bytes is dropped.
    reader.set_limits(Limits { bytes: MAX_ANCILLARY + size.width as usize * 2 * DEPTH });
    let mut reader = reader.read_info().map_err(broken)?;
    let room = reader.output_buffer_size().ok_or(ImageError::TooLarge(size))?;
    let mut data = vec![0; room];
    let frame = reader.next_frame(&mut data).map_err(broken)?;
    data.truncate(frame.buffer_size());
    let data = match (frame.color_type, frame.bit_depth) {
        (ColorType::Rgba, BitDepth::Eight) => data,
        (ColorType::GrayscaleAlpha, BitDepth::Eight) => {
            data.as_chunks::<2>().0.iter().flat_map(|[gray, alpha]| [*gray, *gray, *gray, *alpha]).collect()
        }
        _ => return Err(ImageError::Broken("unsupported color type")),
    };
    let pixels = Pixels::new(size, data).ok_or(ImageError::Broken("invalid or truncated PNG"))?;
    Ok(DecodedImage {
        pixels,
        has_palette,
        profile: reader.info().icc_profile.as_deref().map(<[u8]>::to_vec),
    })
}
