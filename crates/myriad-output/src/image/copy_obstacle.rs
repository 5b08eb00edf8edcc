//! Properties of an image that a copy with the same pixels in another format would lose.

use crate::image::kind::ImageKind;
use crate::image::metadata::{ImageMetadata, gif, jpeg, png};

/// Returns an error with the reason if browsers may show a copy of an image differently, except for its color profile.
pub(crate) fn copy_obstacle(bytes: &[u8], kind: ImageKind) -> Result<(), &'static str> {
    let reason = match kind {
        ImageKind::Jpeg => of_jpeg(bytes),
        ImageKind::Png => of_png(bytes),
        ImageKind::Gif => (!gif::is_still(bytes)).then_some("it has several images or an invalid block"),
        ImageKind::Webp => Some("it is a WebP image"),
    };
    reason.map_or(Ok(()), Err)
}

/// Returns whether an image has a color profile, even one that cannot be read.
pub(crate) fn has_profile(bytes: &[u8], kind: ImageKind) -> bool {
    match kind {
        ImageKind::Jpeg => ImageMetadata::read(kind, bytes)
            .is_none_or(|metadata| jpeg::extras(bytes, metadata.size).has_profile),
        ImageKind::Png => png::chunks(bytes).flatten().any(|chunk| chunk.name == b"iCCP"),
        ImageKind::Gif => false,
        ImageKind::Webp => true,
    }
}

fn of_jpeg(bytes: &[u8]) -> Option<&'static str> {
    let Some(metadata) = ImageMetadata::read(ImageKind::Jpeg, bytes) else {
        return Some("its size cannot be read");
    };
    let extras = jpeg::extras(bytes, metadata.size);
    if jpeg::has_inks(bytes) {
        Some("its colors are those of inks (CMYK)")
    } else if extras.changes_display {
        // The copy would be rotated, and `image-orientation: none` would have no effect.
        Some("its Exif data may rotate or scale it")
    } else if extras.has_more_images {
        Some("it has further images, such as a gain map")
    } else {
        None
    }
}

fn of_png(bytes: &[u8]) -> Option<&'static str> {
    let (mut is_srgb, mut has_colors, mut has_pixels) = (false, false, false);
    for chunk in png::chunks(bytes) {
        let Some(chunk) = chunk else { return Some("a chunk is truncated") };
        match chunk.name {
            b"IHDR" if chunk.data.get(8) == Some(&16) => return Some("its colors have 16 bits"),
            b"acTL" => return Some("it is animated"),
            b"eXIf" => return Some("it has Exif data"),
            b"cICP" | b"mDCV" | b"cLLI" => {
                return Some("it defines other colors than sRGB (cICP, mDCV or cLLI)");
            }
            b"gAMA" | b"cHRM" => has_colors = true,
            // Ignored after the pixels.
            b"sRGB" => is_srgb |= !has_pixels,
            b"IDAT" => has_pixels = true,
            _ => {}
        }
    }
    // sRGB takes precedence (PNG specification, section 4.3).
    (has_colors && !is_srgb).then_some("it defines its gamma or primaries without sRGB (gAMA or cHRM)")
}
