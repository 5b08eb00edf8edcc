//! Detection of the format of an image by its first bytes.

/// Format of an input image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageKind {
    /// JPEG.
    Jpeg,
    /// GIF.
    Gif,
    /// PNG.
    Png,
    /// WebP.
    Webp,
}

impl ImageKind {
    /// Number of bytes at the start of an image that [`of`](Self::of) requires to recognize its format.
    pub const NEEDED: usize = 16;

    /// Returns the format, by the first [`NEEDED`](Self::NEEDED) bytes; `None` if there are fewer bytes or the format
    /// is unknown.
    pub fn of(bytes: &[u8]) -> Option<Self> {
        match bytes.get(..Self::NEEDED)? {
            [0xff, 0xd8, ..] => Some(Self::Jpeg),
            [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some(Self::Gif),
            [0x89, b'P', b'N', b'G', 0x0d, 0x0a, 0x1a, 0x0a, ..] => Some(Self::Png),
            [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Self::Webp),
            _ => None,
        }
    }

    /// Returns the name of the format in the response of `image_filter size`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Jpeg => "jpeg",
            Self::Gif => "gif",
            Self::Png => "png",
            Self::Webp => "webp",
        }
    }

    /// Returns the media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Jpeg => "image/jpeg",
            Self::Gif => "image/gif",
            Self::Png => "image/png",
            Self::Webp => "image/webp",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::ImageKind;

    #[test]
    fn image_kinds_are_recognized_by_magic_bytes() {
        let of = |begin: &[u8]| ImageKind::of(&[begin, &[0; 16]].concat());
        assert_eq!(of(b"\xff\xd8"), Some(ImageKind::Jpeg));
        assert_eq!(of(b"GIF87a"), Some(ImageKind::Gif));
        assert_eq!(of(b"GIF89a"), Some(ImageKind::Gif));
        assert_eq!(of(b"\x89PNG\r\n\x1a\n"), Some(ImageKind::Png));
        assert_eq!(of(b"RIFF0000WEBP"), Some(ImageKind::Webp));
        for other in [&b"GIF88a"[..], b"RIFF0000WAVE", b"<svg", b"\x89PNG\n", b"\xd8\xff"] {
            assert_eq!(of(other), None, "{other:?}");
        }
        assert_eq!(ImageKind::of(b"\xff\xd8 too short"), None);
    }
}
