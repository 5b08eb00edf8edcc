//! Width and height from the header of an image file.

/// Width and height in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageSize {
    /// Width in pixels, at least 1.
    pub width: u32,
    /// Height in pixels, at least 1.
    pub height: u32,
}

/// Maximum number of segments of a JPEG file before its frame header.
const SEGMENTS: usize = 500;

/// Returns the size of a PNG, JPEG, GIF or WebP image; `None` if it is another format, its header is damaged, or Exif
/// data is found by which browsers may show it with another size.
pub fn image_size(bytes: &[u8]) -> Option<ImageSize> {
    let (width, height) = if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
        png(bytes)?
    } else if bytes.starts_with(b"GIF87a") || bytes.starts_with(b"GIF89a") {
        (little(bytes, 6, 2)?, little(bytes, 8, 2)?)
    } else if bytes.starts_with(b"\xff\xd8") {
        jpeg(bytes)?
    } else if bytes.starts_with(b"RIFF") && bytes.get(8..12)? == b"WEBP" {
        webp(bytes)?
    } else {
        return None;
    };
    (width > 0 && height > 0).then_some(ImageSize { width, height })
}

fn big(bytes: &[u8], at: usize, length: usize) -> Option<u32> {
    Some(bytes.get(at..at + length)?.iter().fold(0, |value, byte| value << 8 | u32::from(*byte)))
}

fn little(bytes: &[u8], at: usize, length: usize) -> Option<u32> {
    Some(bytes.get(at..at + length)?.iter().rev().fold(0, |value, byte| value << 8 | u32::from(*byte)))
}

fn png(bytes: &[u8]) -> Option<(u32, u32)> {
    let has_exif = memchr::memmem::find(&bytes[..bytes.len().min(64 << 10)], b"eXIf").is_some();
    (bytes.get(12..16)? == b"IHDR" && !has_exif).then_some((big(bytes, 16, 4)?, big(bytes, 20, 4)?))
}

fn jpeg(bytes: &[u8]) -> Option<(u32, u32)> {
    let mut at = 2;
    for _ in 0..SEGMENTS {
        if *bytes.get(at)? != 0xff {
            return None;
        }
        let marker = *bytes.get(at + 1)?;
        let length = big(bytes, at + 2, 2)? as usize;
        match marker {
            // Fill byte before a marker.
            0xff => {
                at += 1;
            }
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => {
                return Some((big(bytes, at + 7, 2)?, big(bytes, at + 5, 2)?));
            }
            0xe1 if bytes.get(at + 4..at + 8) == Some(b"Exif") => return None,
            0xd8..=0xda => return None,
            _ => at += 2 + length,
        }
    }
    None
}

fn webp(bytes: &[u8]) -> Option<(u32, u32)> {
    match bytes.get(12..16)? {
        b"VP8 " if bytes.get(23..26)? == b"\x9d\x01\x2a" => {
            Some((little(bytes, 26, 2)? & 0x3fff, little(bytes, 28, 2)? & 0x3fff))
        }
        b"VP8L" if *bytes.get(20)? == 0x2f => {
            let bits = little(bytes, 21, 4)?;
            Some(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        // Bit 3 of the flags announces Exif data.
        b"VP8X" if bytes.get(20)? & 8 == 0 => Some((little(bytes, 24, 3)? + 1, little(bytes, 27, 3)? + 1)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_from_headers() {
        let png = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\x01\x02\0\0\0\x03\x08\x06\0\0\0".to_vec();
        let jpeg = b"\xff\xd8\xff\xe0\0\x04ab\xff\xff\xc2\0\x0b\x08\0\x05\0\x07\x01".to_vec();
        let lossy = b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a\x0a\0\x0b\0".to_vec();
        let lossless = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f\x09\xc0\x02\0".to_vec();
        let extended = b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0\x09\0\0\x0a\0\0".to_vec();
        for (bytes, expected) in [
            (png.clone(), Some((258, 3))),
            (jpeg.clone(), Some((7, 5))),
            (b"GIF89a\x03\0\x04\0".to_vec(), Some((3, 4))),
            (lossy, Some((10, 11))),
            (lossless, Some((10, 12))),
            (extended.clone(), Some((10, 11))),
            ([png, b"eXIf".to_vec()].concat(), None),
            (b"\xff\xd8\xff\xe1\0\x0aExif\0\0ab\xff\xc0\0\x0b\x08\0\x05\0\x07".to_vec(), None),
            (b"GIF89a\0\0\x04\0".to_vec(), None),
            (b"<svg/>".to_vec(), None),
        ] {
            let found = image_size(&bytes).map(|size| (size.width, size.height));
            assert_eq!(found, expected, "{bytes:?}");
        }
        let with_exif: Vec<u8> =
            extended.iter().enumerate().map(|(at, byte)| if at == 20 { 8 } else { *byte }).collect();
        assert_eq!(image_size(&with_exif), None);
        for length in 0..jpeg.len() {
            let _ = image_size(&jpeg[..length]);
        }
    }
}
