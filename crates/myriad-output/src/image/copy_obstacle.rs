//! Properties of an image that a copy with the same pixels in another format would lose.

use crate::image::kind::ImageKind;
use crate::image::metadata::{gif, jpeg, png};

/// Returns whether an image has a color profile, even one that cannot be read. Returns an error with the reason if the
/// image already is a WebP image, or if browsers may show a copy of it differently for another reason than its profile.
pub(crate) fn copy_obstacle(bytes: &[u8], kind: ImageKind) -> Result<bool, &'static str> {
    match kind {
        ImageKind::Jpeg => of_jpeg(bytes),
        ImageKind::Png => of_png(bytes),
        ImageKind::Gif if gif::is_still(bytes) => Ok(false),
        ImageKind::Gif => Err("it has several images or an invalid block"),
        ImageKind::Webp => Err("it is a WebP image"),
    }
}

fn of_jpeg(bytes: &[u8]) -> Result<bool, &'static str> {
    let extras = jpeg::extras(bytes).ok_or("its size cannot be read")?;
    if extras.has_inks {
        Err("its colors are those of inks (CMYK)")
    } else if extras.changes_display {
        // The copy would be rotated, and `image-orientation: none` would have no effect.
        Err("its Exif data may rotate or scale it")
    } else if extras.has_more_images {
        Err("it has further images, such as a gain map")
    } else {
        Ok(extras.has_profile)
    }
}

fn of_png(bytes: &[u8]) -> Result<bool, &'static str> {
    let (mut has_profile, mut has_color_space, mut has_colors, mut has_pixels) = (false, false, false, false);
    for chunk in png::chunks(bytes) {
        let chunk = chunk.ok_or("a chunk is truncated")?;
        match chunk.name {
            b"IHDR" if chunk.data.get(8) == Some(&16) => return Err("its colors have 16 bits"),
            b"acTL" => return Err("it is animated"),
            b"eXIf" => return Err("it has Exif data"),
            b"cICP" | b"mDCV" | b"cLLI" => {
                return Err("it defines other colors than sRGB (cICP, mDCV or cLLI)");
            }
            b"gAMA" | b"cHRM" => has_colors = true,
            // Ignored after the pixels.
            b"sRGB" | b"iCCP" => {
                has_profile |= chunk.name == b"iCCP";
                has_color_space |= !has_pixels;
            }
            b"IDAT" => has_pixels = true,
            _ => {}
        }
    }
    // iCCP and sRGB take precedence (PNG specification, section 4.3).
    if has_colors && !has_color_space {
        return Err("it defines its gamma or primaries without sRGB or a color profile (gAMA or cHRM)");
    }
    Ok(has_profile)
}
