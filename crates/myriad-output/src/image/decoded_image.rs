//! Decoded image, and its size limit.

use crate::image::error::ImageError;
use crate::image::pixels::Pixels;
use crate::image::size::ImageSize;

/// Maximum length of a profile that is preserved; those of cameras and telephones have less than a thousand bytes.
pub(crate) const LONGEST_PROFILE: usize = 64 << 10;

/// Decoded image.
pub(crate) struct DecodedImage {
    pub pixels: Pixels,
    /// Set if the image had a palette: a drawing rather than a photograph.
    pub has_palette: bool,
    /// ICC profile, if the colors are not sRGB.
    pub profile: Option<Vec<u8>>,
}

/// Rejects an image with too many pixels.
pub(crate) fn bounded(size: ImageSize, max_pixels: u64) -> Result<ImageSize, ImageError> {
    if size.pixels() > max_pixels { Err(ImageError::TooLarge(size)) } else { Ok(size) }
}
