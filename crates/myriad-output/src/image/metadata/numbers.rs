//! Numbers in the headers of images.

/// Returns the two-byte little-endian number at an offset; `None` if it exceeds the bytes.
pub(crate) fn le16(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?).into())
}

/// Returns the three-byte little-endian number at an offset; `None` if it exceeds the bytes.
pub(crate) fn le24(bytes: &[u8], at: usize) -> Option<u32> {
    Some(le16(bytes, at)? | u32::from(*bytes.get(at + 2)?) << 16)
}

/// Returns the four-byte big-endian number at an offset; `None` if it exceeds the bytes.
pub(crate) fn be32(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}
