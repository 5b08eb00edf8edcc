//! Sizes in the headers of WebP files and of the streams in them.

use super::numbers::{le16, le24};
use crate::image::size::ImageSize;

/// Returns the size that the first chunk of a file states; `None` if it is missing or 0.
pub(super) fn size(bytes: &[u8]) -> Option<ImageSize> {
    let data = bytes.get(20..)?;
    match bytes.get(12..16)? {
        b"VP8 " => lossy_size(data),
        b"VP8L" => lossless_size(data),
        b"VP8X" => ImageSize::new(le24(data, 4)? + 1, le24(data, 7)? + 1),
        _ => None,
    }
}

/// Returns the size in the header of a lossy stream (RFC 6386 section 9.1): 14 bits each, after the start code of a key
/// frame. `None` if it is invalid.
pub(crate) fn lossy_size(data: &[u8]) -> Option<ImageSize> {
    let is_key_frame = data.first()? & 1 == 0 && data.get(3..6)? == b"\x9d\x01\x2a";
    if is_key_frame { ImageSize::new(le16(data, 6)? & 0x3fff, le16(data, 8)? & 0x3fff) } else { None }
}

/// Returns the size in the header of a lossless stream (RFC 9649 section 3.4); `None` if it is invalid.
pub(crate) fn lossless_size(data: &[u8]) -> Option<ImageSize> {
    let bits = le16(data, 1)? | le16(data, 3)? << 16;
    let size = ImageSize::new((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1);
    size.filter(|_| data[0] == 0x2f)
}
