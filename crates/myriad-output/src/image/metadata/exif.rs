//! Orientation in Exif metadata (CIPA DC-008 section 4.6.4, tag 0x0112), which is in TIFF format.

/// Maximum number of entries of an Exif directory that are read; cameras write about twenty.
const MOST_ENTRIES: usize = 512;

/// Returns the orientation, from 1 to 8; `None` if it is missing or invalid.
pub(super) fn orientation(tiff: &[u8]) -> Option<u8> {
    let little = match tiff.get(..4)? {
        b"II\x2a\0" => true,
        b"MM\0\x2a" => false,
        _ => return None,
    };
    let short = |at: usize| -> Option<u16> {
        let pair = tiff.get(at..at.checked_add(2)?)?.try_into().ok()?;
        Some(if little { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) })
    };
    let (first, second) = (usize::from(short(4)?), usize::from(short(6)?));
    let at = if little { second << 16 | first } else { first << 16 | second };
    let entries = usize::from(short(at)?).min(MOST_ENTRIES);
    let entry = (0..entries).map(|index| at + 2 + 12 * index).find(|entry| short(*entry) == Some(0x0112))?;
    let is_short = short(entry + 2)? == 3;
    let value = short(entry + 8)?;
    (is_short && (1..=8).contains(&value)).then_some(value as u8)
}

#[cfg(test)]
mod tests {
    use super::orientation;

    #[test]
    fn orientation_is_found_in_either_order_of_bytes() {
        let other = b"\0\x0e\0\x02\0\0\0\x04abcd";
        let big = [&b"MM\0\x2a\0\0\0\x08\0\x02"[..], other, b"\x01\x12\0\x03\0\0\0\x01\0\x08\0\0"].concat();
        assert_eq!(orientation(&big), Some(8));
        let little = b"II\x2a\0\x0a\0\0\0..\x01\0\x12\x01\x03\0\x01\0\0\0\x03\0\0\0";
        assert_eq!(orientation(little), Some(3));
    }

    #[test]
    fn what_is_no_orientation_is_none() {
        for bytes in [
            &b""[..],
            b"XX\0\x2a\0\0\0\x08",
            b"MM\0\x2a\xff\xff\xff\xff",
            b"MM\0\x2a\0\0\0\x08\xff\xff",
            b"MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x09\0\0",
            b"MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x04\0\0\0\x01\0\x06\0\0",
        ] {
            assert_eq!(orientation(bytes), None, "{bytes:?}");
        }
    }
}
