//! Encoder of PNG, by the crate `png`. An image that was decoded from a file with a palette is written with a palette,
//! because it could otherwise be several times as large.

use png::{BitDepth, ColorType, Compression, Encoder, Filter, Info};

use crate::image::colors::{MOST, PaletteImage, approximate_palette, exact_palette};
use crate::image::decoded_image::DecodedImage;
use crate::image::error::ImageError;
use crate::image::interrupt::Interrupt;

pub(super) fn write(picture: &DecodedImage, interrupt: Interrupt<'_>) -> Result<Option<Vec<u8>>, ImageError> {
    let few = match picture.has_palette.then(|| exact_palette(&picture.pixels)) {
        None => None,
        Some(Some(few)) => Some(few),
        Some(None) => Some(approximate_palette(&picture.pixels, MOST, interrupt)?),
    };
    Ok(encoded(picture, few.as_ref()))
}

fn encoded(picture: &DecodedImage, few: Option<&PaletteImage>) -> Option<Vec<u8>> {
    let size = picture.pixels.size;
    let mut info = Info::with_size(size.width, size.height);
    info.bit_depth = BitDepth::Eight;
    info.icc_profile = picture.profile.as_deref().map(Into::into);
    let opaque;
    let data = if let Some(PaletteImage { colors, numbers }) = few {
        info.color_type = ColorType::Indexed;
        info.palette = Some(colors.iter().flat_map(|color| &color[..3]).copied().collect());
        if colors.iter().any(|[.., alpha]| *alpha != u8::MAX) {
            info.trns = Some(colors.iter().map(|[.., alpha]| *alpha).collect());
        }
        numbers
    } else if picture.pixels.is_opaque() {
        info.color_type = ColorType::Rgb;
        opaque = picture.pixels.each().flat_map(|[r, g, b, _]| [r, g, b]).collect();
        &opaque
    } else {
        info.color_type = ColorType::Rgba;
        &picture.pixels.data
    };
    let mut made = Vec::new();
    let mut writer = Encoder::with_info(&mut made, info).ok()?;
    writer.set_compression(Compression::Balanced);
    // Palette indices cannot be predicted from adjacent pixels.
    writer.set_filter(if few.is_some() { Filter::NoFilter } else { Filter::Adaptive });
    let mut writer = writer.write_header().ok()?;
    writer.write_image_data(data).ok()?;
    writer.finish().ok()?;
    Some(made)
}
