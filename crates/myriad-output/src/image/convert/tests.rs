//! Tests of resizing, cropping, rotation and re-encoding for each format, and of invalid images.

use super::{ConvertedImage, ImageError};
use crate::image::ImageKind;
use crate::image::decoded_image::DecodedImage;
use crate::image::interrupt::Interrupt;
use crate::image::metadata::ImageMetadata;
use crate::image::pixels::Pixels;
use crate::image::request::{ImageRequest, ImageRotation, OutputFormat, RequestedSize};
use crate::image::size::ImageSize;
use crate::image::write::write_as;

const KINDS: [ImageKind; 4] = [ImageKind::Jpeg, ImageKind::Gif, ImageKind::Png, ImageKind::Webp];

/// Returns an image of smooth colors, or, with `plain`, of four colors.
fn drawn(width: u32, height: u32, plain: bool) -> DecodedImage {
    let pixel = |at: u32| {
        let (x, y) = (at % width, at / width);
        if plain {
            return [(x * 2 / width * 200) as u8, (y * 2 / height * 200) as u8, 90, 255];
        }
        let blue = (x + y) * 255 / (width + height);
        [(x * 255 / width) as u8, (y * 255 / height) as u8, blue as u8, 255]
    };
    let data = (0..width * height).flat_map(pixel).collect();
    let pixels = Pixels::new(ImageSize { width, height }, data).unwrap();
    DecodedImage { pixels, has_palette: plain, profile: None }
}

fn file(kind: ImageKind, picture: &DecodedImage) -> Vec<u8> {
    crate::image::write::write(kind, picture, &ImageRequest::default(), Interrupt::never()).unwrap()
}

fn read(
    kind: ImageKind,
    bytes: &[u8],
    wanted: ImageSize,
    max_pixels: u64,
) -> Result<DecodedImage, ImageError> {
    crate::image::read::read(kind, bytes, wanted, max_pixels, Interrupt::never())
}

fn make(bytes: &[u8], kind: ImageKind, wish: &ImageRequest) -> Result<ConvertedImage, ImageError> {
    super::make(bytes, kind, wish, Interrupt::never())
}

/// Returns the bytes of the result, which must have the input format.
fn reencoded_bytes(bytes: &[u8], kind: ImageKind, wish: &ImageRequest) -> Vec<u8> {
    match make(bytes, kind, wish).unwrap() {
        ConvertedImage::Reencoded { bytes, format: None } => bytes,
        other => panic!("{kind:?}: {other:?}"),
    }
}

fn size(kind: ImageKind, bytes: &[u8]) -> (u32, u32) {
    assert_eq!(ImageKind::of(bytes), Some(kind));
    let picture = read(kind, bytes, ImageSize::LARGEST, 1 << 20).unwrap();
    let facts = ImageMetadata::read(kind, bytes).unwrap();
    assert_eq!(facts.size, picture.pixels.size);
    (facts.size.width, facts.size.height)
}

fn resize(width: u32, height: u32) -> ImageRequest {
    ImageRequest { shape: RequestedSize::Resize { width, height }, ..ImageRequest::default() }
}

#[test]
fn every_kind_is_read_back_as_it_was_written() {
    for kind in KINDS {
        for plain in [true, false] {
            let picture = drawn(64, 48, plain);
            let back = read(kind, &file(kind, &picture), ImageSize::LARGEST, 1 << 20).unwrap();
            let far =
                picture.pixels.data.iter().zip(&back.pixels.data).map(|(a, b)| u32::from(a.abs_diff(*b)));
            let (sum, count) = (far.sum::<u32>(), picture.pixels.data.len() as u32);
            assert!(sum < count * 12, "{kind:?}: {} a color", sum / count);
            if plain && kind != ImageKind::Jpeg {
                assert_eq!(sum, 0, "{kind:?} of few colors loses nothing");
            }
        }
    }
}

#[test]
fn every_kind_is_made_smaller_cut_and_turned() {
    for kind in KINDS {
        for plain in [true, false] {
            let bytes = file(kind, &drawn(100, 120, plain));
            assert_eq!(size(kind, &reencoded_bytes(&bytes, kind, &resize(10, 12))), (10, 12));
            assert_eq!(size(kind, &reencoded_bytes(&bytes, kind, &resize(RequestedSize::ANY, 12))), (10, 12));
            let crop = ImageRequest {
                shape: RequestedSize::Crop { width: 60, height: 80 },
                ..ImageRequest::default()
            };
            assert_eq!(size(kind, &reencoded_bytes(&bytes, kind, &crop)), (60, 80));
            let turn = ImageRequest { turn: ImageRotation::Quarter, ..ImageRequest::default() };
            assert_eq!(size(kind, &reencoded_bytes(&bytes, kind, &turn)), (120, 100));
            let both = ImageRequest { turn: ImageRotation::Quarter, ..resize(5, 6) };
            assert_eq!(size(kind, &reencoded_bytes(&bytes, kind, &both)), (6, 5));
            let crop = ImageRequest {
                shape: RequestedSize::Crop { width: 5, height: 6 },
                turn: ImageRotation::Quarter,
                ..ImageRequest::default()
            };
            assert_eq!(size(kind, &reencoded_bytes(&bytes, kind, &crop)), (5, 5));
        }
    }
}

#[test]
fn large_jpeg_that_is_read_at_a_fraction_looks_as_if_it_was_read_whole() {
    let picture = drawn(803, 611, false);
    let bytes = file(ImageKind::Jpeg, &picture);
    for width in [700, 390, 201, 100, 33] {
        let made = reencoded_bytes(&bytes, ImageKind::Jpeg, &resize(width, RequestedSize::ANY));
        let made = read(ImageKind::Jpeg, &made, ImageSize::LARGEST, 1 << 20).unwrap().pixels;
        let whole = picture.pixels.scaled(made.size).unwrap();
        let far: u32 = whole.data.iter().zip(&made.data).map(|(a, b)| u32::from(a.abs_diff(*b))).sum();
        assert!(far < 3 * made.data.len() as u32, "{width}: {}", far as usize / made.data.len());
    }
}

#[test]
fn picture_that_fits_stays_as_it_is() {
    for kind in KINDS {
        let bytes = file(kind, &drawn(100, 120, false));
        assert_eq!(make(&bytes, kind, &resize(100, 120)), Ok(ConvertedImage::Unchanged), "{kind:?}");
        assert_eq!(make(&bytes, kind, &ImageRequest::default()), Ok(ConvertedImage::Unchanged), "{kind:?}");
    }
}

#[test]
fn another_format_is_taken_where_it_is_smaller() {
    let bytes = file(ImageKind::Jpeg, &drawn(200, 200, false));
    for (formats, expected) in [
        (vec![OutputFormat::Avif, OutputFormat::Webp], OutputFormat::Avif),
        (vec![OutputFormat::Webp, OutputFormat::Avif], OutputFormat::Webp),
    ] {
        for wish in [resize(1000, 1000), resize(100, 100)] {
            let wish = ImageRequest { formats: formats.clone(), ..wish };
            let ConvertedImage::Reencoded { bytes: made, format } =
                make(&bytes, ImageKind::Jpeg, &wish).unwrap()
            else {
                panic!()
            };
            assert_eq!(format, Some(expected));
            assert!(made.len() < bytes.len());
            let begins = if expected == OutputFormat::Avif {
                &made[4..12] == b"ftypavif"
            } else {
                &made[8..12] == b"WEBP"
            };
            assert!(begins, "{expected:?}: {:?}", &made[..16]);
        }
    }
    let tiny = file(ImageKind::Gif, &drawn(2, 2, true));
    let wish = ImageRequest { formats: vec![OutputFormat::Avif], ..ImageRequest::default() };
    assert_eq!(
        make(&tiny, ImageKind::Gif, &wish),
        Ok(ConvertedImage::Unchanged),
        "the original format is smaller"
    );
}

#[test]
fn image_with_color_profile_retains_profile_and_format() {
    let mut picture = drawn(100, 100, false);
    picture.profile = Some([&[0; 16], &b"RGB "[..], &[0; 100]].concat());
    for kind in [ImageKind::Jpeg, ImageKind::Png] {
        let wish = ImageRequest { formats: vec![OutputFormat::Webp, OutputFormat::Avif], ..resize(50, 50) };
        let made = reencoded_bytes(&file(kind, &picture), kind, &wish);
        assert_eq!(
            read(kind, &made, ImageSize::LARGEST, 1 << 20).unwrap().profile,
            picture.profile,
            "{kind:?}"
        );
    }
    assert!(write_as(OutputFormat::Webp, &picture, &ImageRequest::default()).is_none());
}

#[test]
fn picture_of_a_camera_is_laid_upright_and_loses_what_else_it_holds() {
    let exif = b"\xff\xe1\x00\x22Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
    let mut bytes = file(ImageKind::Jpeg, &drawn(100, 50, false));
    bytes.splice(2..2, exif.iter().copied());
    assert_eq!(
        make(&bytes, ImageKind::Jpeg, &resize(50, 100)),
        Ok(ConvertedImage::Unchanged),
        "the image is displayed with a width of 50 pixels"
    );
    let made = reencoded_bytes(&bytes, ImageKind::Jpeg, &resize(25, 100));
    assert_eq!(size(ImageKind::Jpeg, &made), (25, 50));
    assert!(!made.windows(4).any(|part| part == b"Exif"));
    let laden = [b"\xff\xe1\xff\xfe", &vec![0; 65_532][..]].concat();
    bytes.splice(2..2, laden);
    assert_eq!(
        size(ImageKind::Jpeg, &reencoded_bytes(&bytes, ImageKind::Jpeg, &resize(500, 500))),
        (50, 100)
    );
}

#[test]
fn what_is_transparent_stays_so_or_not() {
    for kind in [ImageKind::Gif, ImageKind::Png, ImageKind::Webp] {
        let mut picture = drawn(40, 40, true);
        picture.pixels.each_mut().take(800).for_each(|pixel| pixel[3] = 0);
        let bytes = file(kind, &picture);
        let holes = |wish: &ImageRequest| {
            let made = reencoded_bytes(&bytes, kind, wish);
            read(kind, &made, ImageSize::LARGEST, 1 << 20)
                .unwrap()
                .pixels
                .each()
                .filter(|pixel| pixel[3] == 0)
                .count()
        };
        assert!((170..=210).contains(&holes(&resize(20, 20))), "{kind:?}: {}", holes(&resize(20, 20)));
        let without = ImageRequest { transparency: false, ..resize(20, 20) };
        // An image without a palette always preserves its transparency.
        assert_eq!(holes(&without) == 0, kind != ImageKind::Webp, "{kind:?}");
    }
}

#[test]
fn interlaced_gif_and_progressive_jpeg_show_the_same() {
    for (kind, plain) in [(ImageKind::Gif, true), (ImageKind::Jpeg, false)] {
        let bytes = file(kind, &drawn(64, 64, plain));
        let straight = reencoded_bytes(&bytes, kind, &resize(32, 32));
        let woven = reencoded_bytes(&bytes, kind, &ImageRequest { interlace: true, ..resize(32, 32) });
        assert!(straight != woven);
        let pixels = |bytes: &[u8]| read(kind, bytes, ImageSize::LARGEST, 1 << 20).unwrap().pixels.data;
        assert!(pixels(&straight) == pixels(&woven), "{kind:?}");
    }
}

#[test]
fn quality_and_sharpness_are_obeyed() {
    let bytes = file(ImageKind::Jpeg, &drawn(200, 200, false));
    let of = |quality| {
        reencoded_bytes(&bytes, ImageKind::Jpeg, &ImageRequest { jpeg_quality: quality, ..resize(100, 100) })
    };
    assert!(of(20).len() < of(90).len());
    assert!(of(40).windows(12).any(|part| part == b"quality = 40"));
    let sharp = reencoded_bytes(&bytes, ImageKind::Jpeg, &ImageRequest { sharpen: 100, ..resize(100, 100) });
    assert!(sharp != of(75));
}

#[test]
fn too_many_pixels_are_refused_before_there_is_room_for_them() {
    for kind in KINDS {
        let bytes = file(kind, &drawn(100, 120, false));
        let wish = ImageRequest { max_pixels: 11_999, ..resize(10, 10) };
        let too_large = Err(ImageError::TooLarge(ImageSize { width: 100, height: 120 }));
        assert_eq!(make(&bytes, kind, &wish), too_large, "{kind:?}");
        let wish = ImageRequest { formats: vec![OutputFormat::Webp], shape: RequestedSize::Keep, ..wish };
        assert_eq!(make(&bytes, kind, &wish), Ok(ConvertedImage::Unchanged), "{kind:?}");
    }
    let bomb = [&b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR"[..], &[0x7f; 8], b"\x08\x06\0\0\0\0\0\0\0"].concat();
    assert!(make(&bomb, ImageKind::Png, &resize(10, 10)).is_err());
}

#[test]
fn broken_pictures_are_refused_and_nothing_panics() {
    for kind in KINDS {
        let whole = file(kind, &drawn(40, 40, false));
        for end in (0..whole.len()).step_by(7) {
            _ = make(&whole[..end], kind, &resize(10, 10));
        }
        assert!(
            matches!(make(&whole[..whole.len() / 4], kind, &resize(10, 10)), Err(ImageError::Broken(_)))
                || kind == ImageKind::Jpeg
        );
        for at in 0..whole.len().min(600) {
            let mut bent = whole.clone();
            bent[at] ^= 0x55;
            _ = make(&bent, kind, &resize(10, 10));
        }
    }
    assert!(matches!(make(b"\xff\xd8", ImageKind::Jpeg, &resize(10, 10)), Err(ImageError::Broken(_))));
}

#[test]
fn pictures_that_move_keep_their_format() {
    let mut bytes = file(ImageKind::Gif, &drawn(100, 100, false));
    let wish = ImageRequest { formats: vec![OutputFormat::Webp], ..ImageRequest::default() };
    assert!(matches!(make(&bytes, ImageKind::Gif, &wish), Ok(ConvertedImage::Reencoded { .. })));
    let at = bytes.len() - 1;
    bytes.splice(at..at, b"\x21\xff\x0bNETSCAPE2.0\x03\x01\0\0\0".iter().copied());
    assert_eq!(make(&bytes, ImageKind::Gif, &wish), Ok(ConvertedImage::Unchanged));
}

/// Returns an image with some bytes changed, added, removed, or copied from elsewhere in it.
fn bent(whole: &[u8], random: &mut fastrand::Rng) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    for _ in 0..random.usize(1..8) {
        if bytes.len() < 8 {
            break;
        }
        // The most relevant bytes are at the start.
        let near = if random.bool() { bytes.len() } else { bytes.len().min(64) };
        let at = random.usize(..near);
        match random.u8(..7) {
            0 => bytes[at] = random.u8(..),
            1 => bytes[at] ^= 1 << random.u8(..8),
            2 => bytes[at] = [0, 1, 0x7f, 0x80, 0xff][random.usize(..5)],
            3 => drop(bytes.remove(at)),
            4 => bytes.insert(at, random.u8(..)),
            5 => bytes.truncate(at.max(8)),
            _ => {
                let from = random.usize(..bytes.len());
                let piece = bytes[from..bytes.len().min(from + random.usize(1..40))].to_vec();
                bytes.splice(at..at, piece);
            }
        }
    }
    bytes
}

fn wished(random: &mut fastrand::Rng) -> ImageRequest {
    let side =
        |random: &mut fastrand::Rng| if random.u8(..5) == 0 { RequestedSize::ANY } else { random.u32(1..80) };
    let (width, height) = (side(random), side(random));
    ImageRequest {
        shape: match random.u8(..5) {
            0 => RequestedSize::Keep,
            1 | 2 => RequestedSize::Crop { width, height },
            _ => RequestedSize::Resize { width, height },
        },
        turn: [
            ImageRotation::None,
            ImageRotation::Quarter,
            ImageRotation::Half,
            ImageRotation::ThreeQuarters,
        ][random.usize(..4)],
        sharpen: random.u32(..3) * 40,
        interlace: random.bool(),
        transparency: random.bool(),
        formats: if random.bool() { vec![OutputFormat::Webp] } else { Vec::new() },
        max_pixels: 1 << 14,
        ..ImageRequest::default()
    }
}

/// Runs for `MYRIAD_BENT_SECONDS` seconds if this is set, from a random seed, which is printed.
#[test]
fn bent_pictures_come_to_an_error_or_to_a_picture_that_is_one() {
    let seconds = std::env::var("MYRIAD_BENT_SECONDS").ok().and_then(|text| text.parse::<u64>().ok());
    let first = seconds.map_or(0, |_| fastrand::u64(..));
    let began = std::time::Instant::now();
    let wholes: Vec<_> = KINDS
        .into_iter()
        .flat_map(|kind| {
            [(kind, file(kind, &drawn(60, 40, true))), (kind, file(kind, &drawn(40, 60, false)))]
        })
        .collect();
    let (mut seed, mut made) = (first, 0_u64);
    while seconds.map_or(seed < 2_000, |seconds| began.elapsed().as_secs() < seconds) {
        let mut random = fastrand::Rng::with_seed(seed);
        let (_, whole) = &wholes[random.usize(..wholes.len())];
        let (bytes, wish) = (bent(whole, &mut random), wished(&mut random));
        if let Some(kind) = ImageKind::of(&bytes) {
            let done = std::panic::catch_unwind(|| make(&bytes, kind, &wish));
            if let Ok(ConvertedImage::Reencoded { bytes, format: None }) =
                done.unwrap_or_else(|_| panic!("seed {seed} panics"))
            {
                assert_eq!(ImageKind::of(&bytes), Some(kind), "seed {seed}");
                assert!(ImageMetadata::read(kind, &bytes).is_some(), "seed {seed}");
                made += 1;
            }
        }
        seed = seed.wrapping_add(1);
    }
    assert!(made > 20, "{made} of them were pictures still");
    if seconds.is_some() {
        println!(
            "{} bent pictures from seed {first}, {made} of them still pictures",
            seed.wrapping_sub(first)
        );
    }
}
