//! Segments of a JPEG file (ITU-T T.81 annex B): size and metadata before the first scan; scans.

use memchr::memmem;

use super::exif;
use crate::image::size::ImageSize;

/// Returns the size, the orientation, and whether more than a twentieth of the file is metadata; `None` if the size is
/// missing before the first scan or invalid.
pub(super) fn read(bytes: &[u8]) -> Option<(ImageSize, u8, bool)> {
    let mut rest = bytes.get(2..)?;
    let (mut size, mut orientation, mut laden) = (None, 1, 0);
    while let Some((marker, segment, behind)) = segment(rest) {
        match marker {
            _ if is_frame(marker) => size = frame_size(segment),
            0xe1..=0xef => {
                laden += segment.len() + 2;
                if let (0xe1, Some(tiff)) = (marker, segment.strip_prefix(b"Exif\0\0")) {
                    orientation = exif::orientation(tiff).unwrap_or(orientation);
                }
            }
            0xda => break,
            _ => {}
        }
        rest = behind;
    }
    Some((size?, orientation, bytes.len() / 20 < laden))
}

/// Returns the size in a frame, which contains precision, height and width; `None` if it is truncated or invalid.
fn frame_size(frame: &[u8]) -> Option<ImageSize> {
    let sides = frame.get(1..5)?;
    let side = |at: usize| u32::from(u16::from_be_bytes([sides[at], sides[at + 1]]));
    ImageSize::new(side(2), side(0))
}

/// Properties in the segments before the first scan that a copy in another format would lose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct JpegExtras {
    /// True if the image has four components, which are the inks cyan, magenta, yellow and black.
    pub has_inks: bool,
    /// True if a segment contains a color profile or a part of one.
    pub has_profile: bool,
    /// True if Exif data may change the orientation or the size for display.
    pub changes_display: bool,
    /// True if there are further images, such as a gain map for displays with a high dynamic range.
    pub has_more_images: bool,
}

/// Reads the properties that a copy would lose; `None` if the size is missing before the first scan or invalid.
pub(crate) fn extras(bytes: &[u8]) -> Option<JpegExtras> {
    let (mut rest, mut extras) = (bytes.get(2..)?, JpegExtras::default());
    // Exif data usually precedes the size, with which it is compared.
    let (mut size, mut exif_data) = (None, Vec::new());
    while let Some((marker, segment, behind)) = segment(rest) {
        match marker {
            _ if is_frame(marker) => {
                size = frame_size(segment);
                extras.has_inks |= segment.get(5) == Some(&4);
            }
            0xe1 => {
                exif_data.extend(segment.strip_prefix(b"Exif\0\0"));
                extras.has_more_images |=
                    [&b"hdrgm:"[..], b"HDRGainMap"].iter().any(|name| memmem::find(segment, name).is_some());
            }
            0xe2 => {
                extras.has_profile |= segment.starts_with(b"ICC_PROFILE\0");
                extras.has_more_images |=
                    segment.starts_with(b"MPF\0") || segment.starts_with(b"urn:iso:std:iso:ts:21496:-1");
            }
            0xda => break,
            _ => {}
        }
        rest = behind;
    }
    let size = size?;
    extras.changes_display = exif_data.iter().any(|tiff| exif::changes_display(tiff, size));
    Some(extras)
}

/// Returns whether a marker starts a frame: all markers of this range except DHT, JPG and DAC.
fn is_frame(marker: u8) -> bool {
    matches!(marker, 0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf)
}

/// Scans of a file, by which the work of a decoder is estimated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct JpegScans {
    /// Number of scans in the file.
    pub count: u64,
    /// Number of components of all scans together. A decoder visits each block of a component once per scan, even if
    /// the scan contains no data for it.
    pub components: u64,
}

/// Counts the scans of a file and their components.
pub(crate) fn scans(bytes: &[u8]) -> JpegScans {
    let (mut rest, mut scans) = (bytes.get(2..).unwrap_or_default(), JpegScans::default());
    while let Some((marker, segment, behind)) = segment(rest) {
        if marker == 0xda {
            scans.count += 1;
            scans.components += segment.first().copied().map_or(0, u64::from);
        }
        rest = behind;
    }
    scans
}

/// Returns the marker and the data of the next segment, and the bytes after it; `None` after the last segment, or if it
/// is truncated. Skips data of scans, and markers without a segment.
fn segment(mut rest: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    loop {
        // Fill bytes may precede a marker.
        let at = rest.windows(2).position(|pair| pair[0] == 0xff && !matches!(pair[1], 0 | 0xff))?;
        let marker = rest[at + 1];
        rest = &rest[at + 2..];
        if marker == 0xd9 {
            return None;
        }
        if !matches!(marker, 0x01 | 0xd0..=0xd8) {
            let length = usize::from(u16::from_be_bytes(rest.get(..2)?.try_into().ok()?));
            return Some((marker, rest.get(2..length)?, &rest[length..]));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{JpegExtras, JpegScans, extras, read, scans};

    const FRAME: &[u8] = b"\xff\xc2\x00\x0b\x08\x00\x78\x00\x64\x01\x01\x11\x00";

    #[test]
    fn size_stands_in_the_frame_whatever_is_before_it() {
        let (size, orientation, _) =
            read(&[b"\xff\xd8\xff\xff\xe0\x00\x04ab\xff\xd0\xff\xc4\x00\x03a", FRAME].concat()).unwrap();
        assert_eq!((size.width, size.height, orientation), (100, 120, 1));
    }

    #[test]
    fn exif_orientation_is_read() {
        let exif =
            b"\xff\xe1\x00\x22Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
        let (_, orientation, laden) = read(&[b"\xff\xd8", &exif[..], FRAME].concat()).unwrap();
        assert_eq!(orientation, 6);
        assert!(laden, "half of the file is Exif data");
        let picture = [b"\xff\xd8", &exif[..], FRAME, &[0; 1000]].concat();
        assert!(!read(&picture).unwrap().2);
    }

    #[test]
    fn extras_before_the_first_scan_are_found() {
        let of = |segment: &[u8]| {
            let length = (segment.len() as u16 + 1).to_be_bytes();
            let file = [b"\xff\xd8\xff", &segment[..1], &length, &segment[1..], FRAME].concat();
            extras(&file).expect("a size")
        };
        let none = JpegExtras::default();
        assert_eq!(of(b"\xe1http://ns.adobe.com/xap/1.0/\0<x>"), none);
        assert_eq!(of(b"\xe2ICC_PROFILE\0\x01\x01"), JpegExtras { has_profile: true, ..none });
        assert_eq!(of(b"\xe1Exif\0\0"), JpegExtras { changes_display: true, ..none });
        for more in [&b"\xe2MPF\0"[..], b"\xe2urn:iso:std:iso:ts:21496:-1\0", b"\xe1<x hdrgm:Version='1.0'>"]
        {
            assert_eq!(of(more), JpegExtras { has_more_images: true, ..none }, "{more:?}");
        }
        let later = [b"\xff\xd8", FRAME, b"\xff\xda\0\x02\xff\xe2\0\x06MPF\0"].concat();
        assert_eq!(extras(&later), Some(none));
        assert_eq!(extras(b"\xff\xd8\xff\xe2\0\x06MPF\0"), None, "no size");
    }

    #[test]
    fn scans_are_counted_whatever_stands_between_them() {
        let scan = b"\xff\xda\x00\x08\x01\x01\x00\x00\x00\x00ab\xff\x00\xff\xd0c";
        let interleaved = b"\xff\xda\x00\x0c\x03\x01\x00\x02\x00\x03\x00\x00\x3f\x00";
        let comment = b"\xff\xfe\x00\x08\xff\xda\x00\x02\xff\xda";
        let file =
            [b"\xff\xd8", FRAME, interleaved, comment, b"\xff", scan, scan, b"\xff\xd9", scan].concat();
        assert_eq!(scans(&file), JpegScans { count: 3, components: 5 });
        assert_eq!(scans(b"\xff"), JpegScans::default());
    }

    #[test]
    fn heads_that_break_off_have_no_size() {
        for bytes in [
            &b"\xff\xd8"[..],
            b"\xff\xd8\xff\xc0\x00\x0b\x08\x00",
            b"\xff\xd8\xff\xda\x00\x02",
            b"\xff\xd8\xff\xe0\x00\x01",
        ] {
            assert!(read(bytes).is_none(), "{bytes:?}");
        }
        assert!(
            read(&[b"\xff\xd8\xff\xda\x00\x02", FRAME].concat()).is_none(),
            "a frame behind the first scan"
        );
    }
}
