//! Tests of resizing, cropping, rotation and re-encoding for each format, and of invalid images.

use super::{Fault, Made};
use crate::image::Kind;
use crate::image::facts::Facts;
use crate::image::interrupt::Interrupt;
use crate::image::picture::Picture;
use crate::image::pixels::Pixels;
use crate::image::size::Size;
use crate::image::wish::{Format, Shape, Turn, Wish};
use crate::image::write::write_as;

const KINDS: [Kind; 4] = [Kind::Jpeg, Kind::Gif, Kind::Png, Kind::Webp];

/// Returns an image of smooth colors, or of four plain colors.
fn drawn(width: u32, height: u32, plain: bool) -> Picture {
    let pixel = |at: u32| {
        let (x, y) = (at % width, at / width);
        if plain {
            return [(x * 2 / width * 200) as u8, (y * 2 / height * 200) as u8, 90, 255];
        }
        let blue = (x + y) * 255 / (width + height);
        [(x * 255 / width) as u8, (y * 255 / height) as u8, blue as u8, 255]
    };
    let data = (0..width * height).flat_map(pixel).collect();
    let pixels = Pixels::new(Size { width, height }, data).unwrap();
    Picture { pixels, has_palette: plain, profile: None }
}

fn file(kind: Kind, picture: &Picture) -> Vec<u8> {
    crate::image::write::write(kind, picture, &Wish::default(), Interrupt::never()).unwrap()
}

fn read(kind: Kind, bytes: &[u8], wanted: Size, max_pixels: u64) -> Result<Picture, Fault> {
    crate::image::read::read(kind, bytes, wanted, max_pixels, Interrupt::never())
}

fn make(bytes: &[u8], kind: Kind, wish: &Wish) -> Result<Made, Fault> {
    super::make(bytes, kind, wish, Interrupt::never())
}

/// Returns the bytes of the result, which has the input format.
fn anew(bytes: &[u8], kind: Kind, wish: &Wish) -> Vec<u8> {
    match make(bytes, kind, wish).unwrap() {
        Made::Anew { bytes, format: None } => bytes,
        other => panic!("{kind:?}: {other:?}"),
    }
}

fn size(kind: Kind, bytes: &[u8]) -> (u32, u32) {
    assert_eq!(Kind::of(bytes), Some(kind));
    let picture = read(kind, bytes, Size::LARGEST, 1 << 20).unwrap();
    let facts = Facts::read(kind, bytes).unwrap();
    assert_eq!(facts.size, picture.pixels.size);
    (facts.size.width, facts.size.height)
}

fn resize(width: u32, height: u32) -> Wish {
    Wish { shape: Shape::Resize { width, height }, ..Wish::default() }
}

#[test]
fn every_kind_is_read_back_as_it_was_written() {
    for kind in KINDS {
        for plain in [true, false] {
            let picture = drawn(64, 48, plain);
            let back = read(kind, &file(kind, &picture), Size::LARGEST, 1 << 20).unwrap();
            let far =
                picture.pixels.data.iter().zip(&back.pixels.data).map(|(a, b)| u32::from(a.abs_diff(*b)));
            let (sum, count) = (far.sum::<u32>(), picture.pixels.data.len() as u32);
            assert!(sum < count * 12, "{kind:?}: {} a color", sum / count);
            if plain && kind != Kind::Jpeg {
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
            assert_eq!(size(kind, &anew(&bytes, kind, &resize(10, 12))), (10, 12));
            assert_eq!(size(kind, &anew(&bytes, kind, &resize(Shape::ANY, 12))), (10, 12));
            let crop = Wish { shape: Shape::Crop { width: 60, height: 80 }, ..Wish::default() };
            assert_eq!(size(kind, &anew(&bytes, kind, &crop)), (60, 80));
            let turn = Wish { turn: Turn::Quarter, ..Wish::default() };
            assert_eq!(size(kind, &anew(&bytes, kind, &turn)), (120, 100));
            let both = Wish { turn: Turn::Quarter, ..resize(5, 6) };
            assert_eq!(size(kind, &anew(&bytes, kind, &both)), (6, 5));
            let crop =
                Wish { shape: Shape::Crop { width: 5, height: 6 }, turn: Turn::Quarter, ..Wish::default() };
            assert_eq!(size(kind, &anew(&bytes, kind, &crop)), (5, 5));
        }
    }
}

#[test]
fn large_jpeg_that_is_read_at_a_fraction_looks_as_if_it_was_read_whole() {
    let picture = drawn(803, 611, false);
    let bytes = file(Kind::Jpeg, &picture);
    for width in [700, 390, 201, 100, 33] {
        let made = anew(&bytes, Kind::Jpeg, &resize(width, Shape::ANY));
        let made = read(Kind::Jpeg, &made, Size::LARGEST, 1 << 20).unwrap().pixels;
        let whole = picture.pixels.scaled(made.size).unwrap();
        let far: u32 = whole.data.iter().zip(&made.data).map(|(a, b)| u32::from(a.abs_diff(*b))).sum();
        assert!(far < 3 * made.data.len() as u32, "{width}: {}", far as usize / made.data.len());
    }
}

#[test]
fn picture_that_fits_stays_as_it_is() {
    for kind in KINDS {
        let bytes = file(kind, &drawn(100, 120, false));
        assert_eq!(make(&bytes, kind, &resize(100, 120)), Ok(Made::AsItIs), "{kind:?}");
        assert_eq!(make(&bytes, kind, &Wish::default()), Ok(Made::AsItIs), "{kind:?}");
    }
}

#[test]
fn another_format_is_taken_where_it_is_smaller() {
    let bytes = file(Kind::Jpeg, &drawn(200, 200, false));
    for (formats, expected) in
        [(vec![Format::Avif, Format::Webp], Format::Avif), (vec![Format::Webp, Format::Avif], Format::Webp)]
    {
        for wish in [resize(1000, 1000), resize(100, 100)] {
            let wish = Wish { formats: formats.clone(), ..wish };
            let Made::Anew { bytes: made, format } = make(&bytes, Kind::Jpeg, &wish).unwrap() else {
                panic!()
            };
            assert_eq!(format, Some(expected));
            assert!(made.len() < bytes.len());
            let begins =
                if expected == Format::Avif { &made[4..12] == b"ftypavif" } else { &made[8..12] == b"WEBP" };
            assert!(begins, "{expected:?}: {:?}", &made[..16]);
        }
    }
    let tiny = file(Kind::Gif, &drawn(2, 2, true));
    let wish = Wish { formats: vec![Format::Avif], ..Wish::default() };
    assert_eq!(make(&tiny, Kind::Gif, &wish), Ok(Made::AsItIs), "its own format is smaller");
}

#[test]
fn image_with_color_profile_retains_profile_and_format() {
    let mut picture = drawn(100, 100, false);
    picture.profile = Some([&[0; 16], &b"RGB "[..], &[0; 100]].concat());
    for kind in [Kind::Jpeg, Kind::Png] {
        let wish = Wish { formats: vec![Format::Webp, Format::Avif], ..resize(50, 50) };
        let made = anew(&file(kind, &picture), kind, &wish);
        assert_eq!(read(kind, &made, Size::LARGEST, 1 << 20).unwrap().profile, picture.profile, "{kind:?}");
    }
    assert!(write_as(Format::Webp, &picture, &Wish::default()).is_none());
}

#[test]
fn picture_of_a_camera_is_laid_upright_and_loses_what_else_it_holds() {
    let exif = b"\xff\xe1\x00\x22Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
    let mut bytes = file(Kind::Jpeg, &drawn(100, 50, false));
    bytes.splice(2..2, exif.iter().copied());
    assert_eq!(make(&bytes, Kind::Jpeg, &resize(50, 100)), Ok(Made::AsItIs), "it is seen 50 wide");
    let made = anew(&bytes, Kind::Jpeg, &resize(25, 100));
    assert_eq!(size(Kind::Jpeg, &made), (25, 50));
    assert!(!made.windows(4).any(|part| part == b"Exif"));
    let laden = [b"\xff\xe1\xff\xfe", &vec![0; 65_532][..]].concat();
    bytes.splice(2..2, laden);
    assert_eq!(size(Kind::Jpeg, &anew(&bytes, Kind::Jpeg, &resize(500, 500))), (50, 100));
}

#[test]
fn what_is_transparent_stays_so_or_not() {
    for kind in [Kind::Gif, Kind::Png, Kind::Webp] {
        let mut picture = drawn(40, 40, true);
        picture.pixels.each_mut().take(800).for_each(|pixel| pixel[3] = 0);
        let bytes = file(kind, &picture);
        let holes = |wish: &Wish| {
            let made = anew(&bytes, kind, wish);
            read(kind, &made, Size::LARGEST, 1 << 20)
                .unwrap()
                .pixels
                .each()
                .filter(|pixel| pixel[3] == 0)
                .count()
        };
        assert!((170..=210).contains(&holes(&resize(20, 20))), "{kind:?}: {}", holes(&resize(20, 20)));
        let without = Wish { transparency: false, ..resize(20, 20) };
        // An image without a palette preserves transparency in any case.
        assert_eq!(holes(&without) == 0, kind != Kind::Webp, "{kind:?}");
    }
}

#[test]
fn interlaced_gif_and_progressive_jpeg_show_the_same() {
    for (kind, plain) in [(Kind::Gif, true), (Kind::Jpeg, false)] {
        let bytes = file(kind, &drawn(64, 64, plain));
        let straight = anew(&bytes, kind, &resize(32, 32));
        let woven = anew(&bytes, kind, &Wish { interlace: true, ..resize(32, 32) });
        assert!(straight != woven);
        let pixels = |bytes: &[u8]| read(kind, bytes, Size::LARGEST, 1 << 20).unwrap().pixels.data;
        assert!(pixels(&straight) == pixels(&woven), "{kind:?}");
    }
}

#[test]
fn quality_and_sharpness_are_obeyed() {
    let bytes = file(Kind::Jpeg, &drawn(200, 200, false));
    let of = |quality| anew(&bytes, Kind::Jpeg, &Wish { jpeg_quality: quality, ..resize(100, 100) });
    assert!(of(20).len() < of(90).len());
    assert!(of(40).windows(12).any(|part| part == b"quality = 40"));
    let sharp = anew(&bytes, Kind::Jpeg, &Wish { sharpen: 100, ..resize(100, 100) });
    assert!(sharp != of(75));
}

#[test]
fn too_many_pixels_are_refused_before_there_is_room_for_them() {
    for kind in KINDS {
        let bytes = file(kind, &drawn(100, 120, false));
        let wish = Wish { max_pixels: 11_999, ..resize(10, 10) };
        let too_large = Err(Fault::TooLarge(Size { width: 100, height: 120 }));
        assert_eq!(make(&bytes, kind, &wish), too_large, "{kind:?}");
        let wish = Wish { formats: vec![Format::Webp], shape: Shape::Keep, ..wish };
        assert_eq!(make(&bytes, kind, &wish), Ok(Made::AsItIs), "{kind:?}");
    }
    let bomb = [&b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR"[..], &[0x7f; 8], b"\x08\x06\0\0\0\0\0\0\0"].concat();
    assert!(make(&bomb, Kind::Png, &resize(10, 10)).is_err());
}

#[test]
fn broken_pictures_are_refused_and_nothing_panics() {
    for kind in KINDS {
        let whole = file(kind, &drawn(40, 40, false));
        for end in (0..whole.len()).step_by(7) {
            _ = make(&whole[..end], kind, &resize(10, 10));
        }
        assert!(
            matches!(make(&whole[..whole.len() / 4], kind, &resize(10, 10)), Err(Fault::Broken(_)))
                || kind == Kind::Jpeg
        );
        for at in 0..whole.len().min(600) {
            let mut bent = whole.clone();
            bent[at] ^= 0x55;
            _ = make(&bent, kind, &resize(10, 10));
        }
    }
    assert!(matches!(make(b"\xff\xd8", Kind::Jpeg, &resize(10, 10)), Err(Fault::Broken(_))));
}

#[test]
fn pictures_that_move_keep_their_format() {
    let mut bytes = file(Kind::Gif, &drawn(100, 100, false));
    let wish = Wish { formats: vec![Format::Webp], ..Wish::default() };
    assert!(matches!(make(&bytes, Kind::Gif, &wish), Ok(Made::Anew { .. })));
    let at = bytes.len() - 1;
    bytes.splice(at..at, b"\x21\xff\x0bNETSCAPE2.0\x03\x01\0\0\0".iter().copied());
    assert_eq!(make(&bytes, Kind::Gif, &wish), Ok(Made::AsItIs));
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

fn wished(random: &mut fastrand::Rng) -> Wish {
    let side = |random: &mut fastrand::Rng| if random.u8(..5) == 0 { Shape::ANY } else { random.u32(1..80) };
    let (width, height) = (side(random), side(random));
    Wish {
        shape: match random.u8(..5) {
            0 => Shape::Keep,
            1 | 2 => Shape::Crop { width, height },
            _ => Shape::Resize { width, height },
        },
        turn: [Turn::None, Turn::Quarter, Turn::Half, Turn::ThreeQuarters][random.usize(..4)],
        sharpen: random.u32(..3) * 40,
        interlace: random.bool(),
        transparency: random.bool(),
        formats: if random.bool() { vec![Format::Webp] } else { Vec::new() },
        max_pixels: 1 << 14,
        ..Wish::default()
    }
}

/// Runs longer with `MYRIAD_BENT_SECONDS`, from a seed by the clock, which is printed.
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
        if let Some(kind) = Kind::of(&bytes) {
            let done = std::panic::catch_unwind(|| make(&bytes, kind, &wish));
            if let Ok(Made::Anew { bytes, format: None }) =
                done.unwrap_or_else(|_| panic!("seed {seed} panics"))
            {
                assert_eq!(Kind::of(&bytes), Some(kind), "seed {seed}");
                assert!(Facts::read(kind, &bytes).is_some(), "seed {seed}");
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
