//! Errors of image processing.

use std::fmt;

use crate::image::size::ImageSize;

/// Reason why an image was not converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageError {
    /// The image cannot be decoded, scaled or encoded; the text is for the log.
    Broken(&'static str),
    /// The image of this size exceeds the maximum number of pixels.
    TooLarge(ImageSize),
    /// Decoding would take more processor time or memory than is permitted; the text is for the log.
    TooCostly(&'static str),
    /// The interrupt cancelled the work.
    Cancelled,
}

impl fmt::Display for ImageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Broken(why) | Self::TooCostly(why) => f.write_str(why),
            Self::TooLarge(size) => {
                write!(
                    f,
                    "the image has {} x {} pixels, more than \"image_filter_pixels\" allows",
                    size.width, size.height
                )
            }
            Self::Cancelled => f.write_str("cancelled: no client is waiting"),
        }
    }
}

impl std::error::Error for ImageError {}
