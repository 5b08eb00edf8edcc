//! Metadata of an encoded image, read without decoding its pixels.

mod exif;
pub(crate) mod gif;
pub(crate) mod icc;
pub(crate) mod jpeg;
pub(crate) mod numbers;
pub(crate) mod png;
pub(crate) mod webp;

use self::numbers::{be32, le16};
use crate::image::kind::ImageKind;
use crate::image::size::ImageSize;

/// Metadata of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageMetadata {
    /// Size of the image as stored, before the rotation by the orientation.
    pub size: ImageSize,
    /// Orientation for display of a JPEG image (Exif's `Orientation`), from 1 to 8; 1 for none, and for other formats.
    pub orientation: u8,
    /// Set if more than a twentieth of a JPEG file is metadata, such as Exif, XMP and previews; false for other
    /// formats.
    pub laden: bool,
}

impl ImageMetadata {
    /// Returns the size as displayed, after the rotation by the orientation.
    pub(crate) fn displayed_size(&self) -> ImageSize {
        if self.swaps_sides() { self.size.on_its_side() } else { self.size }
    }

    /// Returns whether the orientation exchanges width and height.
    pub(crate) fn swaps_sides(&self) -> bool {
        self.orientation > 4
    }

    /// Reads the metadata of an image; `None` if its size cannot be found.
    pub fn read(kind: ImageKind, bytes: &[u8]) -> Option<Self> {
        let upright = |size| Self { size, orientation: 1, laden: false };
        match kind {
            ImageKind::Jpeg => {
                jpeg::read(bytes).map(|(size, orientation, laden)| Self { size, orientation, laden })
            }
            ImageKind::Gif => ImageSize::new(le16(bytes, 6)?, le16(bytes, 8)?).map(upright),
            ImageKind::Png => ImageSize::new(be32(bytes, 16)?, be32(bytes, 20)?).map(upright),
            ImageKind::Webp => webp::size(bytes).map(upright),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ImageMetadata;
    use crate::image::ImageKind;

    fn size(kind: ImageKind, bytes: &[u8]) -> Option<(u32, u32)> {
        ImageMetadata::read(kind, bytes).map(|facts| (facts.size.width, facts.size.height))
    }

    #[test]
    fn sizes_are_read_from_heads() {
        assert_eq!(size(ImageKind::Gif, b"GIF89a\x64\x00\x78\x01"), Some((100, 376)));
        let png =
            [&b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR"[..], &100_u32.to_be_bytes(), &70_000_u32.to_be_bytes()];
        assert_eq!(size(ImageKind::Png, &png.concat()), Some((100, 70_000)));
        assert_eq!(
            size(ImageKind::Webp, b"RIFF0000WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a\x0a\x40\x0c\x00"),
            Some((10, 12))
        );
        assert_eq!(size(ImageKind::Webp, b"RIFF0000WEBPVP8L\0\0\0\0\x2f\x09\xc0\x02\x00"), Some((10, 12)));
        assert_eq!(
            size(ImageKind::Webp, b"RIFF0000WEBPVP8X\0\0\0\0\0\0\0\0\x09\0\0\x0b\0\0"),
            Some((10, 12))
        );
    }

    #[test]
    fn truncated_or_empty_image_headers_have_no_size() {
        assert_eq!(size(ImageKind::Gif, b"GIF89a\x64\x00\x78"), None);
        assert_eq!(size(ImageKind::Gif, b"GIF89a\x00\x00\x78\x00"), None);
        assert_eq!(size(ImageKind::Webp, b"RIFF0000WEBPVP8 \0\0\0\0\x01\0\0\x9d\x01\x2a\x0a\0\x0c\0"), None);
        assert_eq!(size(ImageKind::Webp, b"RIFF0000WEBPALPH\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), None);
        for kind in [ImageKind::Jpeg, ImageKind::Gif, ImageKind::Png, ImageKind::Webp] {
            assert_eq!(ImageMetadata::read(kind, b""), None);
        }
    }
}
