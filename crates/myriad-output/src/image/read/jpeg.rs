//! Decoder of JPEG, by the crate `jpeg-decoder`.

use jpeg_decoder::{CodingProcess, Decoder, PixelFormat};

use crate::image::decoded_image::{DecodedImage, bounded};
use crate::image::error::ImageError;
use crate::image::interrupt::{Interrupt, InterruptibleInput};
use crate::image::metadata::jpeg::scans;
use crate::image::pixels::Pixels;
use crate::image::size::ImageSize;

/// Limit of the memory of the decoder, in bytes per permitted pixel: coefficients of a progressive image, and colors.
const BYTES_OF_A_PIXEL: u64 = 16;
/// Maximum number of scans of a JPEG file. Encoders usually write about ten scans, and encoders that minimize the file
/// size up to thirty.
const MOST_SCANS: u64 = 128;
/// Maximum number of visits of blocks by scans, per pixel of the largest permitted image. A scan of a few bytes visits
/// all blocks of its components, so the work is not proportional to the length of the file.
const MOST_VISITS: u64 = 64;

/// Decodes an image. If half, a quarter or an eighth of its size is at least `wanted`, decodes it at this size, which
/// takes a fraction of the time and memory.
pub(super) fn read(
    bytes: &[u8],
    wanted: ImageSize,
    max_pixels: u64,
    interrupt: Interrupt<'_>,
) -> Result<DecodedImage, ImageError> {
    let broken = |_| ImageError::Broken("invalid or truncated JPEG");
    let mut reader = Decoder::new(InterruptibleInput::new(bytes, interrupt));
    let most = max_pixels.saturating_mul(BYTES_OF_A_PIXEL);
    reader.set_max_decoding_buffer_size(usize::try_from(most).unwrap_or(usize::MAX));
    reader.read_info().map_err(broken)?;
    let info = reader.info().ok_or(ImageError::Broken("the image has no size"))?;
    let size = ImageSize::new(info.width.into(), info.height.into())
        .ok_or(ImageError::Broken("the image has no size"))?;
    bounded(size, max_pixels)?;
    if info.coding_process == CodingProcess::Lossless {
        return Err(ImageError::Broken("lossless JPEG is not supported"));
    }
    check_scans(bytes, size, max_pixels)?;
    let side = |side: u32| u16::try_from(side).unwrap_or(u16::MAX);
    let (width, height) = reader.scale(side(wanted.width), side(wanted.height)).map_err(broken)?;
    let data = reader.decode().map_err(broken)?;
    let profile = reader.icc_profile();
    // The reader holds the coefficients, which are no longer needed.
    drop(reader);
    let data = rgba(info.pixel_format, &data);
    let size = ImageSize { width: width.into(), height: height.into() };
    let pixels = Pixels::new(size, data).ok_or(ImageError::Broken("invalid or truncated JPEG"))?;
    Ok(DecodedImage { pixels, has_palette: false, profile })
}

/// Returns an error if there are more than [`MOST_SCANS`] scans, or if they cause more work than `max_pixels` permits.
fn check_scans(bytes: &[u8], size: ImageSize, max_pixels: u64) -> Result<(), ImageError> {
    let scans = scans(bytes);
    let visits = scans.components.saturating_mul(size.pixels());
    if scans.count > MOST_SCANS || visits > max_pixels.saturating_mul(MOST_VISITS) {
        return Err(ImageError::TooCostly("the image has too many scans"));
    }
    Ok(())
}

fn rgba(format: PixelFormat, data: &[u8]) -> Vec<u8> {
    match format {
        PixelFormat::L8 => data.iter().flat_map(|gray| [*gray, *gray, *gray, u8::MAX]).collect(),
        // Only lossless images have more than eight bits.
        PixelFormat::L16 => Vec::new(),
        PixelFormat::RGB24 => {
            data.as_chunks::<3>().0.iter().flat_map(|[r, g, b]| [*r, *g, *b, u8::MAX]).collect()
        }
        // Light that an ink reflects from white paper, reduced by black.
        PixelFormat::CMYK32 => {
            let left = |ink: u8, black: u8| (u16::from(!ink) * u16::from(!black) / 255) as u8;
            let each = data.as_chunks::<4>().0.iter();
            each.flat_map(|[c, m, y, k]| [left(*c, *k), left(*m, *k), left(*y, *k), u8::MAX]).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{PixelFormat, rgba};

    #[test]
    fn colors_of_every_kind_become_red_green_and_blue() {
        assert_eq!(rgba(PixelFormat::L8, &[7]), [7, 7, 7, 255]);
        assert_eq!(rgba(PixelFormat::RGB24, &[1, 2, 3]), [1, 2, 3, 255]);
        assert_eq!(
            rgba(PixelFormat::CMYK32, &[255, 0, 0, 0, 0, 0, 0, 255]),
            [0, 255, 255, 255, 0, 0, 0, 255]
        );
    }
}
