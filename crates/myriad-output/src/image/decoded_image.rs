//! Decoded image, and its size limit.

use crate::image::error::ImageError;
use crate::image::pixels::Pixels;
use crate::image::size::ImageSize;

/// Maximum length of a color profile that is preserved, in bytes. Profiles of cameras and phones mostly have at most a
/// few thousand bytes.
pub(crate) const LONGEST_PROFILE: usize = 64 << 10;

/// Decoded image with the properties that encoders need.
pub(crate) struct DecodedImage {
    pub pixels: Pixels,
    /// True if the file had a palette (assumed for every GIF), which means that the image is a drawing rather than a
    /// photograph.
    pub has_palette: bool,
    /// ICC color profile to preserve; `None` if there is none, or if it is for sRGB, for other colors than RGB, or
    /// longer than `LONGEST_PROFILE`.
    pub profile: Option<Vec<u8>>,
}

/// Returns the size unchanged, or an error if it has more than `max_pixels` pixels.
pub(crate) fn bounded(size: ImageSize, max_pixels: u64) -> Result<ImageSize, ImageError> {
    if size.pixels() > max_pixels { Err(ImageError::TooLarge(size)) } else { Ok(size) }
}
