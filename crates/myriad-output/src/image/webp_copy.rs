//! Copies of images as WebP that look like the original.

use std::fmt;

use crate::image::copy_obstacle::copy_obstacle;
use crate::image::error::ImageError;
use crate::image::interrupt::Interrupt;
use crate::image::kind::ImageKind;
use crate::image::metadata::icc;
use crate::image::pixels::Pixels;
use crate::image::read::{decode, read};
use crate::image::similarity::similarity;
use crate::image::size::ImageSize;
use crate::image::write::{write_lossless_webp, write_lossy_webp};

/// Qualities that are tried for a photograph, until its copy is similar enough.
const QUALITIES: [u8; 3] = [75, 84, 92];
/// Minimum structural similarity of a copy with the original.
const MIN_SIMILARITY: f64 = 0.98;

/// Reason why an image has no copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyRefusal {
    /// The image is not suitable for a copy, for this reason: for example, a copy may look different in browsers, or
    /// the image already is a WebP image.
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
            Self::Failed(ImageError::TooLarge(size)) => {
                write!(f, "it has too many pixels: {} x {}", size.width, size.height)
            }
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
    let has_profile = copy_obstacle(bytes, kind).map_err(CopyRefusal::Unsuitable)?;
    let picture = decode(kind, bytes, ImageSize::LARGEST, max_pixels, interrupt)?;
    // A profile that the decoder cannot read may be one that browsers can.
    let is_srgb = picture.profile.as_deref().map_or(!has_profile, icc::is_srgb);
    if !is_srgb {
        return Err(CopyRefusal::Unsuitable("it has a color profile other than sRGB"));
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

    /// Inserts a chunk after the header of a PNG.
    fn with_chunk(png: &[u8], name: &[u8], data: &[u8]) -> Vec<u8> {
        let mut crc = flate2::Crc::new();
        crc.update(name);
        crc.update(data);
        let length = (data.len() as u32).to_be_bytes();
        [&png[..33], &length, name, data, &crc.sum().to_be_bytes(), &png[33..]].concat()
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
    fn animated_rotated_and_deep_images_are_refused() {
        let png = encoded(ImageKind::Png, soft, 75);
        let mut deep = png.clone();
        deep[24] = 16;
        let gif = encoded(ImageKind::Gif, |x, _| [(x / 40) as u8, 0, 0, 255], 75);
        let image = gif.windows(2).position(|pair| pair == [0x2c, 0]).expect("an image");
        let animated = [&gif[..gif.len() - 1], &gif[image..]].concat();
        let exif: &[u8] =
            b"\xff\xd8\xff\xe1\x00\x22Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
        let rotated = [exif, &encoded(ImageKind::Jpeg, soft, 90)[2..]].concat();
        let inks =
            b"\xff\xd8\xff\xc0\x00\x14\x08\x00\x10\x00\x10\x04\x01\x11\0\x02\x11\0\x03\x11\0\x04\x11\0";
        for (kind, bytes, reason) in [
            (ImageKind::Png, with_chunk(&png, b"acTL", &[0; 8]), "it is animated"),
            (ImageKind::Png, deep, "its colors have 16 bits"),
            (ImageKind::Gif, animated, "it has several images or an invalid block"),
            (ImageKind::Jpeg, rotated, "its Exif data may rotate or scale it"),
            (ImageKind::Jpeg, inks.to_vec(), "its colors are those of inks (CMYK)"),
            (ImageKind::Webp, png, "it is a WebP image"),
        ] {
            assert_eq!(copy(&bytes, kind), Err(CopyRefusal::Unsuitable(reason)), "{kind:?}");
        }
        let still = copy(&gif, ImageKind::Gif);
        assert!(!matches!(still, Err(CopyRefusal::Unsuitable(_))), "{still:?}");
    }

    #[test]
    fn png_with_other_colors_is_refused() {
        let png = encoded(ImageKind::Png, |x, y| [x as u8, y as u8, 0, 255], 75);
        copy(&png, ImageKind::Png).expect("a copy");
        for name in [b"eXIf", b"cICP", b"iCCP", b"gAMA", b"cHRM", b"mDCV"] {
            let refused = copy(&with_chunk(&png, name, &[0; 4]), ImageKind::Png);
            assert!(matches!(refused, Err(CopyRefusal::Unsuitable(_))), "{name:?} {refused:?}");
        }
        let usual = with_chunk(&with_chunk(&png, b"gAMA", &45_455_u32.to_be_bytes()), b"sRGB", &[0]);
        copy(&usual, ImageKind::Png).expect("a copy: sRGB takes precedence");
        let mut info = png::Info::with_size(160, 120);
        info.color_type = png::ColorType::Rgb;
        for (profile, has_copy) in [(icc::tests::srgb(), true), (icc::tests::display_p3(), false)] {
            info.icc_profile = Some(profile.into());
            let mut file = Vec::new();
            let mut writer = png::Encoder::with_info(&mut file, info.clone())
                .expect("valid")
                .write_header()
                .expect("valid");
            writer.write_image_data(&vec![7; 160 * 120 * 3]).expect("valid");
            writer.finish().expect("valid");
            let with_gamma = with_chunk(&file, b"gAMA", &45_455_u32.to_be_bytes());
            for file in [file, with_gamma] {
                let made = copy(&file, ImageKind::Png);
                assert_eq!(made.is_ok(), has_copy, "{made:?}");
            }
        }
    }

    #[test]
    fn jpeg_with_a_profile_other_than_srgb_is_refused() {
        let photograph = encoded(ImageKind::Jpeg, soft, 90);
        let with_profile = |profile: &[u8]| {
            let length = (profile.len() as u16 + 16).to_be_bytes();
            let head = [b"\xff\xd8\xff\xe2", &length[..], b"ICC_PROFILE\0\x01\x01"].concat();
            copy(&[&head, profile, &photograph[2..]].concat(), ImageKind::Jpeg)
        };
        with_profile(&icc::tests::srgb()).expect("a copy");
        let mut gray = icc::tests::srgb();
        gray[16..20].copy_from_slice(b"GRAY");
        let refused = Err(CopyRefusal::Unsuitable("it has a color profile other than sRGB"));
        for profile in [icc::tests::display_p3(), gray, b"sRGB".to_vec(), Vec::new()] {
            assert_eq!(with_profile(&profile), refused);
        }
        // Part 2 of a profile without part 1.
        let broken = [b"\xff\xd8\xff\xe2\0\x11ICC_PROFILE\0\x02\x02a", &photograph[2..]].concat();
        assert_eq!(copy(&broken, ImageKind::Jpeg), refused);
    }

    #[test]
    fn limits_and_cancellation_are_errors() {
        let png = encoded(ImageKind::Png, soft, 75);
        let too_large = webp_copy(&png, ImageKind::Png, 1000, Interrupt::never());
        assert!(matches!(too_large, Err(CopyRefusal::Failed(ImageError::TooLarge(_)))));
        let cancelled = webp_copy(&png, ImageKind::Png, MAX_PIXELS, Interrupt::new(&|| true));
        assert_eq!(cancelled, Err(CopyRefusal::Failed(ImageError::Cancelled)));
    }
}
