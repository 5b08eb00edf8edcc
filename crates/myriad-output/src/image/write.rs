//! Encoding of images, with a separate crate for each format.

mod avif;
mod gif;
mod jpeg;
mod png;
mod webp;

use crate::image::decoded_image::DecodedImage;
use crate::image::error::ImageError;
use crate::image::interrupt::Interrupt;
use crate::image::kind::ImageKind;
use crate::image::pixels::Pixels;
use crate::image::request::{ImageRequest, OutputFormat};

/// Encodes an image in its input format. Returns an error if that fails or the interrupt cancels.
pub(crate) fn write(
    kind: ImageKind,
    picture: &DecodedImage,
    wish: &ImageRequest,
    interrupt: Interrupt<'_>,
) -> Result<Vec<u8>, ImageError> {
    interrupt.check()?;
    match kind {
        ImageKind::Jpeg => jpeg::write(picture, wish),
        ImageKind::Gif => gif::write(&picture.pixels, wish.interlace, interrupt)?,
        ImageKind::Png => png::write(picture, interrupt)?,
        ImageKind::Webp => webp::write(&picture.pixels, wish.webp_quality),
    }
    .ok_or(ImageError::Broken("encoding failed"))
}

/// Encodes an image in another format; `None` if it has a color profile, is too large for the format or its encoder, or
/// if encoding fails.
pub(crate) fn write_as(format: OutputFormat, picture: &DecodedImage, wish: &ImageRequest) -> Option<Vec<u8>> {
    // These encoders write no color profile, and the colors would differ without it.
    if picture.profile.is_some() {
        return None;
    }
    match format {
        OutputFormat::Webp => webp::write(&picture.pixels, wish.webp_quality),
        OutputFormat::Avif => avif::write(&picture.pixels, wish.avif_quality),
    }
}

/// Encodes an image as WebP with a quality from 1 to 100; `None` if it is too large for the format, or if encoding fails.
pub(crate) fn write_lossy_webp(pixels: &Pixels, quality: u8) -> Option<Vec<u8>> {
    webp::write(pixels, quality)
}

/// Encodes an image as WebP without changes of its visible pixels; `None` if it is too large for the format, or if encoding
/// fails.
pub(crate) fn write_lossless_webp(pixels: &Pixels) -> Option<Vec<u8>> {
    webp::write_lossless(pixels)
}
