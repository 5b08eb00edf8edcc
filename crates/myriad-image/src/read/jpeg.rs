//! JPEG, by `jpeg-decoder`.

use jpeg_decoder::{Decoder, PixelFormat};

use crate::fault::Fault;
use crate::picture::{Picture, bounded};
use crate::pixels::Pixels;
use crate::size::Size;

/// Bytes that a pixel takes while it is read: what a progressive picture has been told of it, and its colors.
const BYTES_OF_A_PIXEL: u64 = 16;

/// Reads a picture. It may be read at half its size, or a quarter, or an eighth, as long as it stays at least as large as
/// `wanted`: that takes a fraction of the time, and of the room.
pub(super) fn read(bytes: &[u8], wanted: Size, max_pixels: u64) -> Result<Picture, Fault> {
    let broken = |_| Fault::Broken("it is no whole JPEG");
    let mut reader = Decoder::new(bytes);
    let most = max_pixels.saturating_mul(BYTES_OF_A_PIXEL);
    reader.set_max_decoding_buffer_size(usize::try_from(most).unwrap_or(usize::MAX));
    reader.read_info().map_err(broken)?;
    let info = reader.info().ok_or(Fault::Broken("it has no size"))?;
    let size = Size::new(info.width.into(), info.height.into()).ok_or(Fault::Broken("it has no size"))?;
    bounded(size, max_pixels)?;
    let side = |side: u32| u16::try_from(side).unwrap_or(u16::MAX);
    let (width, height) = reader.scale(side(wanted.width), side(wanted.height)).map_err(broken)?;
    let data = reader.decode().map_err(broken)?;
    let data = rgba(info.pixel_format, &data);
    let size = Size { width: width.into(), height: height.into() };
    let pixels = Pixels::new(size, data).ok_or(Fault::Broken("it is no whole JPEG"))?;
    Ok(Picture { pixels, has_palette: false, profile: reader.icc_profile() })
}

fn rgba(format: PixelFormat, data: &[u8]) -> Vec<u8> {
    match format {
        PixelFormat::L8 => data.iter().flat_map(|gray| [*gray, *gray, *gray, u8::MAX]).collect(),
        // The upper byte comes first or last, as the machine has it.
        PixelFormat::L16 => {
            let each = data.as_chunks::<2>().0.iter().map(|pair| (u16::from_ne_bytes(*pair) >> 8) as u8);
            each.flat_map(|gray| [gray, gray, gray, u8::MAX]).collect()
        }
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
        assert_eq!(rgba(PixelFormat::L16, &0x0713_u16.to_ne_bytes()), [7, 7, 7, 255]);
        assert_eq!(rgba(PixelFormat::RGB24, &[1, 2, 3]), [1, 2, 3, 255]);
        assert_eq!(
            rgba(PixelFormat::CMYK32, &[255, 0, 0, 0, 0, 0, 0, 255]),
            [0, 255, 255, 255, 0, 0, 0, 255]
        );
    }
}
