//! Metadata from the head of an image, without decoding its pixels.

mod exif;
pub(crate) mod jpeg;
pub(crate) mod numbers;
pub(crate) mod webp;

use self::numbers::{be32, le16};
use crate::image::kind::Kind;
use crate::image::size::Size;

/// Metadata of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Size as stored.
    pub size: Size,
    /// Rotation for display (Exif's `Orientation`), 1 to 8; 1 is none.
    pub orientation: u8,
    /// Set if more than a twentieth of the file is metadata: Exif, XMP, previews of cameras.
    pub laden: bool,
}

impl Facts {
    /// Returns the size as displayed.
    pub(crate) fn seen(&self) -> Size {
        if self.lies_on_its_side() { self.size.on_its_side() } else { self.size }
    }

    /// Returns whether the columns are displayed as lines.
    pub(crate) fn lies_on_its_side(&self) -> bool {
        self.orientation > 4
    }

    /// Reads the head of an image; `None` if it contains no size.
    pub fn read(kind: Kind, bytes: &[u8]) -> Option<Self> {
        let upright = |size| Self { size, orientation: 1, laden: false };
        match kind {
            Kind::Jpeg => {
                jpeg::read(bytes).map(|(size, orientation, laden)| Self { size, orientation, laden })
            }
            Kind::Gif => Size::new(le16(bytes, 6)?, le16(bytes, 8)?).map(upright),
            Kind::Png => Size::new(be32(bytes, 16)?, be32(bytes, 20)?).map(upright),
            Kind::Webp => webp::size(bytes).map(upright),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Facts;
    use crate::image::Kind;

    fn size(kind: Kind, bytes: &[u8]) -> Option<(u32, u32)> {
        Facts::read(kind, bytes).map(|facts| (facts.size.width, facts.size.height))
    }

    #[test]
    fn sizes_are_read_from_heads() {
        assert_eq!(size(Kind::Gif, b"GIF89a\x64\x00\x78\x01"), Some((100, 376)));
        let png =
            [&b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR"[..], &100_u32.to_be_bytes(), &70_000_u32.to_be_bytes()];
        assert_eq!(size(Kind::Png, &png.concat()), Some((100, 70_000)));
        assert_eq!(
            size(Kind::Webp, b"RIFF0000WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a\x0a\x40\x0c\x00"),
            Some((10, 12))
        );
        assert_eq!(size(Kind::Webp, b"RIFF0000WEBPVP8L\0\0\0\0\x2f\x09\xc0\x02\x00"), Some((10, 12)));
        assert_eq!(size(Kind::Webp, b"RIFF0000WEBPVP8X\0\0\0\0\0\0\0\0\x09\0\0\x0b\0\0"), Some((10, 12)));
    }

    #[test]
    fn truncated_or_empty_image_headers_have_no_size() {
        assert_eq!(size(Kind::Gif, b"GIF89a\x64\x00\x78"), None);
        assert_eq!(size(Kind::Gif, b"GIF89a\x00\x00\x78\x00"), None);
        assert_eq!(size(Kind::Webp, b"RIFF0000WEBPVP8 \0\0\0\0\x01\0\0\x9d\x01\x2a\x0a\0\x0c\0"), None);
        assert_eq!(size(Kind::Webp, b"RIFF0000WEBPALPH\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), None);
        for kind in [Kind::Jpeg, Kind::Gif, Kind::Png, Kind::Webp] {
            assert_eq!(Facts::read(kind, b""), None);
        }
    }
}
