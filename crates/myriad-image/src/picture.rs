//! A picture that was read, and the bound that it was read under.

use crate::fault::Fault;
use crate::pixels::Pixels;
use crate::size::Size;

/// Maximum length of a profile that is kept; those of cameras and telephones have less than a thousand bytes.
pub(crate) const LONGEST_PROFILE: usize = 64 << 10;

/// A picture that was read.
pub(crate) struct Picture {
    pub pixels: Pixels,
    /// It came as numbers of colors, so that it is drawn rather than taken by a camera.
    pub has_palette: bool,
    /// What its colors mean, where they are not those of screens (sRGB): an ICC profile.
    pub profile: Option<Vec<u8>>,
}

/// Refuses a picture of too many pixels.
pub(crate) fn bounded(size: Size, max_pixels: u64) -> Result<Size, Fault> {
    if size.pixels() > max_pixels { Err(Fault::TooLarge(size)) } else { Ok(size) }
}
