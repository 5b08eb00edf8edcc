//! Decoding of images, with a separate crate for each format. Sizes are checked before memory is allocated.

mod gif;
mod jpeg;
mod png;
mod webp;

use crate::image::decoded_image::{DecodedImage, LONGEST_PROFILE};
use crate::image::error::ImageError;
use crate::image::interrupt::Interrupt;
use crate::image::kind::ImageKind;
use crate::image::size::ImageSize;

/// Decodes an image of at most `max_pixels` pixels; of an animation, the first frame. If it is faster, the result is
/// smaller than the original, but not smaller than `wanted`. Memory and work are bounded by `max_pixels`.
pub(crate) fn read(
    kind: ImageKind,
    bytes: &[u8],
    wanted: ImageSize,
    max_pixels: u64,
    interrupt: Interrupt<'_>,
) -> Result<DecodedImage, ImageError> {
    let mut picture = decode(kind, bytes, wanted, max_pixels, interrupt)?;
    picture.profile = picture.profile.filter(|profile| is_relevant_profile(profile));
    Ok(picture)
}

/// Decodes an image as [`read`] does, and returns its color profile even if it need not be preserved.
pub(crate) fn decode(
    kind: ImageKind,
    bytes: &[u8],
    wanted: ImageSize,
    max_pixels: u64,
    interrupt: Interrupt<'_>,
) -> Result<DecodedImage, ImageError> {
    let picture = match kind {
        ImageKind::Jpeg => jpeg::read(bytes, wanted, max_pixels, interrupt),
        ImageKind::Gif => gif::read(bytes, max_pixels, interrupt),
        ImageKind::Png => png::read(bytes, max_pixels, interrupt),
        ImageKind::Webp => webp::read(bytes, max_pixels, interrupt),
    };
    // A decoder reports a cancelled read as an invalid file.
    interrupt.check()?;
    picture
}

/// Returns whether a profile (ICC.1:2022 section 7.2) must be preserved: it is not too long, and defines RGB colors
/// other than sRGB, the default without a profile.
fn is_relevant_profile(profile: &[u8]) -> bool {
    let contains = |text: &[u8]| profile.windows(text.len()).any(|part| part == text);
    profile.len() <= LONGEST_PROFILE
        && profile.get(16..20) == Some(b"RGB ")
        && !contains(b"sRGB")
        && !contains(b"s\0R\0G\0B")
}

#[cfg(test)]
mod tests {
    use super::is_relevant_profile;

    #[test]
    fn profile_is_retained_only_for_non_srgb_colors() {
        let profile = |space: &[u8], name: &[u8]| [&[0; 16], space, &[0; 100], name].concat();
        assert!(is_relevant_profile(&profile(b"RGB ", b"Display P3")));
        assert!(!is_relevant_profile(&profile(b"RGB ", b"sRGB IEC61966-2.1")));
        assert!(!is_relevant_profile(&profile(b"RGB ", b"\0s\0R\0G\0B")));
        assert!(
            !is_relevant_profile(&profile(b"CMYK", b"Coated")),
            "the pixels are read as red, green and blue"
        );
        assert!(!is_relevant_profile(b"short"));
        assert!(!is_relevant_profile(&profile(b"RGB ", &vec![0; 65_536])));
    }
}
