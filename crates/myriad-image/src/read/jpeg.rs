//! JPEG, by `jpeg-decoder`.

use jpeg_decoder::{CodingProcess, Decoder, PixelFormat};

use crate::facts::jpeg::scans;
use crate::fault::Fault;
use crate::interrupt::{Interrupt, Source};
use crate::picture::{Picture, bounded};
use crate::pixels::Pixels;
use crate::size::Size;

/// Bytes that a pixel takes while it is decoded: the coefficients of a progressive picture, and its colors.
const BYTES_OF_A_PIXEL: u64 = 16;
/// Maximum number of scans. Encoders write some ten, those that search for the smallest file up to thirty.
const MOST_SCANS: u64 = 128;
/// Maximum number of times that each sample of the largest allowed picture is visited. A scan of a few bytes visits all
/// samples of its components, so that the work does not follow from the length of the file.
const MOST_VISITS: u64 = 64;

/// Reads a picture. It may be read at half its size, or a quarter, or an eighth, as long as it stays at least as large as
/// `wanted`: that takes a fraction of the time and memory.
pub(super) fn read(
    bytes: &[u8],
    wanted: Size,
    max_pixels: u64,
    interrupt: Interrupt<'_>,
) -> Result<Picture, Fault> {
    let broken = |_| Fault::Broken("it is no whole JPEG");
    let mut reader = Decoder::new(Source::new(bytes, interrupt));
    let most = max_pixels.saturating_mul(BYTES_OF_A_PIXEL);
    reader.set_max_decoding_buffer_size(usize::try_from(most).unwrap_or(usize::MAX));
    reader.read_info().map_err(broken)?;
    let info = reader.info().ok_or(Fault::Broken("it has no size"))?;
    let size = Size::new(info.width.into(), info.height.into()).ok_or(Fault::Broken("it has no size"))?;
    bounded(size, max_pixels)?;
    if info.coding_process == CodingProcess::Lossless {
        return Err(Fault::Broken("lossless JPEG is not supported"));
    }
    check_scans(bytes, size, max_pixels)?;
    let side = |side: u32| u16::try_from(side).unwrap_or(u16::MAX);
    let (width, height) = reader.scale(side(wanted.width), side(wanted.height)).map_err(broken)?;
    let data = reader.decode().map_err(broken)?;
    let profile = reader.icc_profile();
    // It holds the coefficients.
    drop(reader);
    let data = rgba(info.pixel_format, &data);
    let size = Size { width: width.into(), height: height.into() };
    let pixels = Pixels::new(size, data).ok_or(Fault::Broken("it is no whole JPEG"))?;
    Ok(Picture { pixels, has_palette: false, profile })
}

/// Refuses a picture whose scans make more work than its size allows.
fn check_scans(bytes: &[u8], size: Size, max_pixels: u64) -> Result<(), Fault> {
    let scans = scans(bytes);
    let visits = scans.components.saturating_mul(size.pixels());
    if scans.count > MOST_SCANS || visits > max_pixels.saturating_mul(MOST_VISITS) {
        return Err(Fault::TooCostly("it has too many scans"));
    }
    Ok(())
}

fn rgba(format: PixelFormat, data: &[u8]) -> Vec<u8> {
    match format {
        PixelFormat::L8 => data.iter().flat_map(|gray| [*gray, *gray, *gray, u8::MAX]).collect(),
        // Lossless pictures alone have more than eight bits.
        PixelFormat::L16 => Vec::new(),
        PixelFormat::RGB24 => {
            data.as_chunks::<3>().0.iter().flat_map(|[r, g, b]| [*r, *g, *b, u8::MAX]).collect()
        }
        // What an ink leaves of white paper, and black of that.
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
