//! Orientation in Exif metadata (CIPA DC-008 section 4.6.4, tag 0x0112), which is in TIFF format.

use crate::image::size::ImageSize;

const ORIENTATION: u16 = 0x0112;
const X_RESOLUTION: u16 = 0x011a;
const Y_RESOLUTION: u16 = 0x011b;
const EXIF_DIRECTORY: u16 = 0x8769;
const PIXEL_X_DIMENSION: u16 = 0xa002;
const PIXEL_Y_DIMENSION: u16 = 0xa003;
/// Maximum number of entries of an Exif directory that are read; cameras write about twenty.
const MOST_ENTRIES: usize = 512;

/// Data in TIFF format.
struct TiffData<'a> {
    bytes: &'a [u8],
    is_little: bool,
}

impl<'a> TiffData<'a> {
    /// Parses the header of TIFF data (byte order and signature); `None` if it is invalid.
    fn new(bytes: &'a [u8]) -> Option<Self> {
        let is_little = match bytes.get(..4)? {
            b"II\x2a\0" => true,
            b"MM\0\x2a" => false,
            _ => return None,
        };
        Some(Self { bytes, is_little })
    }

    fn short(&self, at: usize) -> Option<u16> {
        let pair = self.bytes.get(at..at.checked_add(2)?)?.try_into().ok()?;
        Some(if self.is_little { u16::from_le_bytes(pair) } else { u16::from_be_bytes(pair) })
    }

    fn long(&self, at: usize) -> Option<u32> {
        let (first, second) = (u32::from(self.short(at)?), u32::from(self.short(at.checked_add(2)?)?));
        Some(if self.is_little { second << 16 | first } else { first << 16 | second })
    }

    /// Returns the offset of the entry with a tag in the directory at an offset; `None` if it is missing or after
    /// [`MOST_ENTRIES`].
    fn entry(&self, directory: usize, tag: u16) -> Option<usize> {
        let entries = usize::from(self.short(directory)?).min(MOST_ENTRIES);
        (0..entries).map(|index| directory + 2 + 12 * index).find(|entry| self.short(*entry) == Some(tag))
    }

    /// Returns the value of the entry at offset `entry`; `None` unless it is a number of type `SHORT` or `LONG`.
    fn number(&self, entry: usize) -> Option<u32> {
        match self.short(entry + 2)? {
            3 => self.short(entry + 8).map(u32::from),
            4 => self.long(entry + 8),
            _ => None,
        }
    }

    /// Returns the value of the entry at offset `entry`; `None` unless it is a fraction (`RATIONAL`).
    fn fraction(&self, entry: usize) -> Option<f64> {
        let at = self.long(entry + 8).filter(|_| self.short(entry + 2) == Some(5))? as usize;
        Some(f64::from(self.long(at)?) / f64::from(self.long(at.checked_add(4)?)?))
    }

    fn first_directory(&self) -> Option<usize> {
        Some(self.long(4)? as usize)
    }
}

/// Returns the orientation, from 1 to 8; `None` if it is missing or invalid.
pub(super) fn orientation(tiff: &[u8]) -> Option<u8> {
    let data = TiffData::new(tiff)?;
    let entry = data.entry(data.first_directory()?, ORIENTATION)?;
    let is_short = data.short(entry + 2)? == 3;
    let value = data.short(entry + 8)?;
    (is_short && (1..=8).contains(&value)).then_some(value as u8)
}

/// Returns whether browsers may show an image of this size in another orientation or size because of its Exif data.
/// Returns true if the data cannot be read completely.
pub(super) fn changes_display(tiff: &[u8], size: ImageSize) -> bool {
    let Some(data) = TiffData::new(tiff) else { return true };
    let Some(directory) = data.first_directory() else { return true };
    let entries = data.short(directory).map(usize::from);
    if entries.is_none_or(|count| count > MOST_ENTRIES || directory + 2 + 12 * count > tiff.len()) {
        return true;
    }
    let orientation =
        data.entry(directory, ORIENTATION).map(|entry| (data.short(entry + 2), data.short(entry + 8)));
    orientation.is_some_and(|value| value != (Some(3), Some(1))) || is_scaled(&data, directory, size)
}

/// Returns whether browsers may show an image in the size that its Exif data states because its resolution is consistent
/// with that size (HTML, "density-corrected natural width and height"). Browsers require both sides to be consistent; one
/// side that differs is sufficient here.
fn is_scaled(data: &TiffData<'_>, directory: usize, size: ImageSize) -> bool {
    let number = |directory: usize, tag: u16| data.number(data.entry(directory, tag)?);
    let is_side_scaled = |side: u32, resolution: u16, dimension: u16| {
        let details = number(directory, EXIF_DIRECTORY)? as usize;
        let resolution = data.fraction(data.entry(directory, resolution)?)?;
        let stated = number(details, dimension)?;
        let scaled = f64::from(side) * 72.0 / resolution;
        Some(stated != side && (scaled - f64::from(stated)).abs() < 2.0)
    };
    is_side_scaled(size.width, X_RESOLUTION, PIXEL_X_DIMENSION) == Some(true)
        || is_side_scaled(size.height, Y_RESOLUTION, PIXEL_Y_DIMENSION) == Some(true)
}

#[cfg(test)]
mod tests {
    use super::{changes_display, orientation};
    use crate::image::size::ImageSize;

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

    #[test]
    fn orientation_and_density_change_the_display() {
        let size = ImageSize { width: 600, height: 500 };
        let upright = b"MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x01\0\0";
        assert!(!changes_display(upright, size));
        assert!(!changes_display(b"MM\0\x2a\0\0\0\x08\0\0", size));
        let mut other = upright.to_vec();
        for (at, value) in [(19, 6), (19, 9), (13, 4), (0, b'X'), (9, 2)] {
            other.copy_from_slice(upright);
            other[at] = value;
            assert!(changes_display(&other, size), "byte {at}");
        }
        assert!(changes_display(&upright[..20], size) && changes_display(b"", size));
        // A resolution of 144 dots per inch (last bytes of the tags 0x011a and 0x011b), and a length of that side in pixels.
        let dense = |resolution_tag: u8, dimension_tag: u8, length: u16| {
            let resolution = [b"\0\x02\x01", &[resolution_tag][..], b"\0\x05\0\0\0\x01\0\0\0\x26"].concat();
            let details = b"\x87\x69\0\x04\0\0\0\x01\0\0\0\x2e\0\0\0\0\0\0\0\x90\0\0\0\x01";
            let dimension = [b"\0\x01\xa0", &[dimension_tag][..], b"\0\x03\0\0\0\x01"].concat();
            [b"MM\0\x2a\0\0\0\x08", &resolution[..], details, &dimension, &length.to_be_bytes(), b"\0\0"]
                .concat()
        };
        assert!(changes_display(&dense(0x1a, 2, 300), size), "shown in half the width");
        assert!(changes_display(&dense(0x1b, 3, 250), size), "shown in half the height");
        for (resolution_tag, dimension_tag, length) in
            [(0x1a, 2, 600), (0x1a, 2, 400), (0x1b, 3, 500), (0x1b, 3, 400), (0x1a, 3, 250)]
        {
            let data = dense(resolution_tag, dimension_tag, length);
            assert!(!changes_display(&data, size), "{length} pixels, inconsistent with the resolution");
        }
    }
}
