//! Copies of images as WebP that look like the original.

use std::fmt;

use crate::image::convert::may_be_animated;
use crate::image::error::ImageError;
use crate::image::interrupt::Interrupt;
use crate::image::kind::ImageKind;
use crate::image::metadata::{ImageMetadata, jpeg, numbers};
use crate::image::pixels::Pixels;
use crate::image::read::read;
use crate::image::similarity::similarity;
use crate::image::size::ImageSize;
use crate::image::write::{write_lossless_webp, write_lossy_webp};

/// Qualities that are tried for a photograph, until its copy is similar enough.
const QUALITIES: [u8; 3] = [75, 84, 92];
/// Minimum structural similarity of a copy with the original.
const MIN_SIMILARITY: f64 = 0.98;
/// Value of a `gAMA` chunk of a PNG with the usual colors (1/2.2, in hundred thousandths).
const USUAL_GAMMA: u32 = 45_455;

/// Reason why an image has no copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyRefusal {
    /// A copy may look different in browsers, for this reason.
    Unsuitable(&'static str),
    /// No copy of the required similarity is at least a tenth smaller.
    NotSmaller,
    /// The image cannot be decoded or encoded, exceeds a limit, or the work was cancelled.
    Failed(ImageError),
}

impl fmt::Display for CopyRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unsuitable(reason) => f.write_str(reason),
            Self::NotSmaller => f.write_str("no similar copy is at least 10% smaller"),
            Self::Failed(error) => error.fmt(f),
        }
    }
}

impl From<ImageError> for CopyRefusal {
    fn from(error: ImageError) -> Self {
        Self::Failed(error)
    }
}

/// Returns a copy of an image as WebP that is at least a tenth smaller: of a JPEG image with a structural similarity of at
/// least 0.98, of a PNG or GIF image with equal pixels. The image may have at most `max_pixels` pixels.
pub fn webp_copy(
    bytes: &[u8],
    kind: ImageKind,
    max_pixels: u64,
    interrupt: Interrupt<'_>,
) -> Result<Vec<u8>, CopyRefusal> {
    if let Some(reason) = unsuitable(bytes, kind) {
        return Err(CopyRefusal::Unsuitable(reason));
    }
    let picture = read(kind, bytes, ImageSize::LARGEST, max_pixels, interrupt)?;
    if picture.profile.is_some() {
        return Err(CopyRefusal::Unsuitable("it has a color profile"));
    }
    let max_bytes = bytes.len() - bytes.len() / 10;
    let decoded = |copy: &[u8]| read(ImageKind::Webp, copy, ImageSize::LARGEST, max_pixels, interrupt);
    let failed = ImageError::Broken("encoding failed");
    if kind != ImageKind::Jpeg {
        let copy = write_lossless_webp(&picture.pixels).ok_or(failed)?;
        if copy.len() > max_bytes {
            return Err(CopyRefusal::NotSmaller);
        }
        let is_equal = looks_equal(&picture.pixels, &decoded(&copy)?.pixels);
        return if is_equal { Ok(copy) } else { Err(ImageError::Broken("the copy has other pixels").into()) };
    }
    for quality in QUALITIES {
        interrupt.check()?;
        let copy = write_lossy_webp(&picture.pixels, quality).ok_or(failed)?;
        if copy.len() > max_bytes {
            break;
        }
        interrupt.check()?;
        if similarity(&picture.pixels, &decoded(&copy)?.pixels) >= MIN_SIMILARITY {
            return Ok(copy);
        }
    }
    Err(CopyRefusal::NotSmaller)
}

/// Returns the reason why a copy may look different in browsers, if there is one.
fn unsuitable(bytes: &[u8], kind: ImageKind) -> Option<&'static str> {
    match kind {
        ImageKind::Jpeg if jpeg::has_inks(bytes) => Some("its colors are those of inks"),
        // The copy would be rotated, and `image-orientation: none` would have no effect.
        ImageKind::Jpeg if ImageMetadata::read(kind, bytes).is_some_and(|facts| facts.orientation != 1) => {
            Some("it is rotated for display")
        }
        ImageKind::Webp => Some("it is a WebP image"),
        _ if may_be_animated(kind, bytes) => Some("it may be animated"),
        ImageKind::Png if bytes.get(24) == Some(&16) => Some("its colors have 16 bits"),
        ImageKind::Png if has_unusual_gamma(bytes) => Some("its brightness is unusual"),
        _ => None,
    }
}

/// Returns whether a PNG has a `gAMA` chunk with another value than usual.
fn has_unusual_gamma(png: &[u8]) -> bool {
    let at = png.windows(4).position(|name| name == b"gAMA");
    at.is_some_and(|at| numbers::be32(png, at + 4) != Some(USUAL_GAMMA))
}

/// Returns whether two images have equal pixels. The colors of transparent pixels do not count.
fn looks_equal(first: &Pixels, second: &Pixels) -> bool {
    first.size == second.size
        && first.each().zip(second.each()).all(|(a, b)| a == b || a[3] == 0 && b[3] == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::image::decoded_image::DecodedImage;
    use crate::image::request::ImageRequest;
    use crate::image::write::write;

    const MAX_PIXELS: u64 = 1 << 20;

    /// Returns an image as encoded by [`write`], with a color for each place.
    fn encoded(kind: ImageKind, color: impl Fn(u32, u32) -> [u8; 4], jpeg_quality: u8) -> Vec<u8> {
        let size = ImageSize::new(160, 120).expect("not empty");
        let places = (0..size.height).flat_map(|y| (0..size.width).map(move |x| (x, y)));
        let data = places.flat_map(|(x, y)| color(x, y)).collect();
        let pixels = Pixels::new(size, data).expect("whole");
        let picture = DecodedImage { pixels, has_palette: false, profile: None };
        let request = ImageRequest { jpeg_quality, ..ImageRequest::default() };
        write(kind, &picture, &request, Interrupt::never()).expect("encoded")
    }

    /// Color of a photograph with soft shapes.
    fn soft(x: u32, y: u32) -> [u8; 4] {
        let wave = |value: f64| (128.0 + 100.0 * value.sin()) as u8;
        let (x, y) = (f64::from(x), f64::from(y));
        [wave(x / 9.0 + y / 31.0), wave(y / 13.0), wave((x + y) / 17.0), 255]
    }

    fn copy(bytes: &[u8], kind: ImageKind) -> Result<Vec<u8>, CopyRefusal> {
        webp_copy(bytes, kind, MAX_PIXELS, Interrupt::never())
    }

    fn decoded(kind: ImageKind, bytes: &[u8]) -> Pixels {
        read(kind, bytes, ImageSize::LARGEST, MAX_PIXELS, Interrupt::never()).expect("valid").pixels
    }

    #[test]
    fn photograph_gets_a_similar_smaller_copy() {
        let photograph = encoded(ImageKind::Jpeg, soft, 90);
        let made = copy(&photograph, ImageKind::Jpeg).expect("smaller");
        assert!(made.len() * 10 <= photograph.len() * 9, "{} of {}", made.len(), photograph.len());
        let (before, after) = (decoded(ImageKind::Jpeg, &photograph), decoded(ImageKind::Webp, &made));
        assert!(similarity(&before, &after) >= MIN_SIMILARITY);
        // The quality is as low that a copy would be larger or look different.
        let poor = encoded(ImageKind::Jpeg, |x, y| soft(x * 7 + y * y, y * 9), 5);
        assert_eq!(copy(&poor, ImageKind::Jpeg), Err(CopyRefusal::NotSmaller));
    }

    #[test]
    fn drawing_gets_a_copy_with_equal_pixels() {
        let shape = |x: u32, y: u32| {
            if x / 20 % 2 == y / 20 % 2 { [200, (x * y) as u8, 30, 255] } else { [9, 9, 9, 0] }
        };
        let drawing = encoded(ImageKind::Png, shape, 75);
        let made = copy(&drawing, ImageKind::Png).expect("smaller");
        assert!(made.len() < drawing.len());
        assert!(looks_equal(&decoded(ImageKind::Png, &drawing), &decoded(ImageKind::Webp, &made)));
    }

    #[test]
    fn images_whose_copy_may_look_different_are_refused() {
        let png = encoded(ImageKind::Png, soft, 75);
        let with_chunk = |chunk: &[u8]| [&png[..33], chunk, &png[33..]].concat();
        let gamma = |value: u32| [&4_u32.to_be_bytes(), &b"gAMA"[..], &value.to_be_bytes(), &[0; 4]].concat();
        assert!(
            has_unusual_gamma(&with_chunk(&gamma(100_000)))
                && !has_unusual_gamma(&with_chunk(&gamma(USUAL_GAMMA)))
        );
        let mut deep = png.clone();
        deep[24] = 16;
        for (kind, bytes) in [
            (ImageKind::Png, with_chunk(b"\0\0\0\x08acTL")),
            (ImageKind::Png, deep),
            (ImageKind::Webp, png.clone()),
        ] {
            assert!(matches!(copy(&bytes, kind), Err(CopyRefusal::Unsuitable(_))), "{kind:?}");
        }
        let inks =
            b"\xff\xd8\xff\xc0\x00\x14\x08\x00\x10\x00\x10\x04\x01\x11\0\x02\x11\0\x03\x11\0\x04\x11\0";
        assert_eq!(copy(inks, ImageKind::Jpeg), Err(CopyRefusal::Unsuitable("its colors are those of inks")));
        let exif: &[u8] =
            b"\xff\xd8\xff\xe1\x00\x22Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
        let rotated = [exif, &encoded(ImageKind::Jpeg, soft, 90)[2..]].concat();
        assert_eq!(
            copy(&rotated, ImageKind::Jpeg),
            Err(CopyRefusal::Unsuitable("it is rotated for display"))
        );
        let too_large = webp_copy(&png, ImageKind::Png, 1000, Interrupt::never());
        assert!(matches!(too_large, Err(CopyRefusal::Failed(ImageError::TooLarge(_)))));
        let cancelled = webp_copy(&png, ImageKind::Png, MAX_PIXELS, Interrupt::new(&|| true));
        assert_eq!(cancelled, Err(CopyRefusal::Failed(ImageError::Cancelled)));
    }
}
