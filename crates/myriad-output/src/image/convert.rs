//! Conversion of an encoded image to another encoded image: decodes, changes and encodes it.

use crate::image::decoded_image::DecodedImage;
use crate::image::error::ImageError;
use crate::image::interrupt::Interrupt;
use crate::image::kind::ImageKind;
use crate::image::metadata::ImageMetadata;
use crate::image::plan;
use crate::image::read::read;
use crate::image::request::{ImageRequest, ImageRotation, OutputFormat, RequestedSize};
use crate::image::sharpen::sharpen;
use crate::image::size::ImageSize;
use crate::image::write::{write, write_as};

/// Result of a conversion.
#[derive(Debug, PartialEq, Eq)]
pub enum ConvertedImage {
    /// The image already satisfies the request: its bytes can be sent.
    Unchanged,
    /// The image was encoded again.
    Reencoded {
        /// Encoded image.
        bytes: Vec<u8>,
        /// New format; `None` if the format is unchanged.
        format: Option<OutputFormat>,
    },
}

/// Converts an image as requested. Returns an error if it must be changed but cannot be decoded or encoded or exceeds a
/// limit, or if `interrupt` cancels the work ([`ImageError::Cancelled`]).
pub fn make(
    bytes: &[u8],
    kind: ImageKind,
    wish: &ImageRequest,
    interrupt: Interrupt<'_>,
) -> Result<ConvertedImage, ImageError> {
    let facts = ImageMetadata::read(kind, bytes);
    if let Some(facts) = facts.filter(|facts| fits(facts, wish)) {
        return smaller(bytes, kind, &facts, wish, interrupt);
    }
    let mut picture = decode_upright(kind, bytes, facts.as_ref(), wish, interrupt)?;
    if !wish.transparency && picture.has_palette {
        picture.pixels.make_opaque();
    }
    let size = facts.map_or(picture.pixels.size, |facts| facts.displayed_size());
    let size = plan::scaled(wish.shape, size).unwrap_or(size);
    if picture.pixels.size != size {
        picture.pixels = picture.pixels.scaled(size)?;
    }
    interrupt.check()?;
    picture.pixels = picture.pixels.turned(wish.turn);
    if let Some(cut) = plan::cut(wish.shape, picture.pixels.size) {
        picture.pixels = picture.pixels.cut(cut);
    }
    sharpen(&mut picture.pixels, wish.sharpen);
    let own = write(kind, &picture, wish, interrupt)?;
    Ok(match smallest_format(kind, &picture, wish, own.len(), interrupt)? {
        Some((format, bytes)) => ConvertedImage::Reencoded { bytes, format: Some(format) },
        None => ConvertedImage::Reencoded { bytes: own, format: None },
    })
}

/// Decodes an image and rotates it for display by the metadata `facts`. The result may be smaller than the original,
/// but not smaller than the requested size. Without metadata, the image is neither rotated nor reduced.
fn decode_upright(
    kind: ImageKind,
    bytes: &[u8],
    facts: Option<&ImageMetadata>,
    wish: &ImageRequest,
    interrupt: Interrupt<'_>,
) -> Result<DecodedImage, ImageError> {
    let Some(facts) = facts else { return read(kind, bytes, ImageSize::LARGEST, wish.max_pixels, interrupt) };
    let wanted = plan::scaled(wish.shape, facts.displayed_size()).unwrap_or(ImageSize::LARGEST);
    let wanted = if facts.swaps_sides() { wanted.on_its_side() } else { wanted };
    let mut picture = read(kind, bytes, wanted, wish.max_pixels, interrupt)?;
    picture.pixels = picture.pixels.upright(facts.orientation);
    Ok(picture)
}

/// Returns whether an image satisfies the request, except for its format. Returns false for an image with much
/// metadata, which is encoded again to remove the metadata, unless the requested size is `Keep`.
fn fits(facts: &ImageMetadata, wish: &ImageRequest) -> bool {
    let laden = facts.laden && wish.shape != RequestedSize::Keep;
    wish.turn == ImageRotation::None && !laden && plan::fits(wish.shape, facts.displayed_size())
}

/// Encodes an image that satisfies the request in the first permitted format in which it is smaller. Returns
/// `Unchanged` if there is none, if the image may be animated, or if it cannot be decoded.
fn smaller(
    bytes: &[u8],
    kind: ImageKind,
    facts: &ImageMetadata,
    wish: &ImageRequest,
    interrupt: Interrupt<'_>,
) -> Result<ConvertedImage, ImageError> {
    if wish.formats.is_empty() || may_be_animated(kind, bytes) {
        return Ok(ConvertedImage::Unchanged);
    }
    let Ok(picture) = decode_upright(kind, bytes, Some(facts), wish, interrupt) else {
        // The image satisfies the request as it is, so a decoding failure is no error.
        return interrupt.check().map(|()| ConvertedImage::Unchanged);
    };
    Ok(match smallest_format(kind, &picture, wish, bytes.len(), interrupt)? {
        Some((format, bytes)) => ConvertedImage::Reencoded { bytes, format: Some(format) },
        None => ConvertedImage::Unchanged,
    })
}

/// Returns the image in the first of the permitted formats in which it has fewer than `max_bytes` bytes; `None` if
/// there is none.
fn smallest_format(
    kind: ImageKind,
    picture: &DecodedImage,
    wish: &ImageRequest,
    max_bytes: usize,
    interrupt: Interrupt<'_>,
) -> Result<Option<(OutputFormat, Vec<u8>)>, ImageError> {
    for format in
        wish.formats.iter().filter(|format| !(kind == ImageKind::Webp && **format == OutputFormat::Webp))
    {
        interrupt.check()?;
        let written = write_as(*format, picture, wish);
        if let Some(bytes) = written.filter(|bytes| bytes.len() < max_bytes) {
            return Ok(Some((*format, bytes)));
        }
    }
    Ok(None)
}

/// Returns whether an image may be animated. Such an image is not converted to another format only to be smaller,
/// because only its first frame would remain.
pub(crate) fn may_be_animated(kind: ImageKind, bytes: &[u8]) -> bool {
    let contains = |text: &[u8]| bytes.windows(text.len()).any(|part| part == text);
    match kind {
        ImageKind::Jpeg => false,
        // Application block with the number of repetitions, or a second graphic control block.
        ImageKind::Gif => {
            contains(b"NETSCAPE2.0") || bytes.windows(3).filter(|part| *part == b"\x21\xf9\x04").count() > 1
        }
        ImageKind::Png => contains(b"acTL"),
        ImageKind::Webp => contains(b"ANIM"),
    }
}

#[cfg(test)]
mod tests;
