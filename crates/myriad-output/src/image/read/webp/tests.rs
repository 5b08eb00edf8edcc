//! Tests of animations, streams that do not match their container, and prefix codes written by libwebp.

use super::container::WebpFrame;
use super::{codes, read};
use crate::image::interrupt::Interrupt;
use crate::image::pixels::DEPTH;
use crate::image::size::ImageSize;

fn lossless(width: u32, height: u32, seed: u64) -> Vec<u8> {
    let mut random = fastrand::Rng::with_seed(seed);
    // Few colors, smooth colors, noise, or repeated sections.
    let kind = random.u8(..4);
    let pixel = |at: u32| -> [u8; DEPTH] {
        let (x, y) = (at % width, at / width);
        match kind {
            0 => [[9, 9, 9, 255], [90, 0, 0, 255], [0, 0, 90, 0]][random.usize(..3)],
            1 => [x as u8, y as u8, (x ^ y) as u8, 255],
            2 => [random.u8(..), random.u8(..), random.u8(..), random.u8(..)],
            _ => [(x % 13) as u8, (y % 7) as u8, random.u8(..4), 255],
        }
    };
    let pixels: Vec<u8> = (0..width * height).flat_map(pixel).collect();
    let effort = fastrand::Rng::with_seed(seed).u32(..=100) as f32;
    webp::Encoder::from_rgba(&pixels, width, height).encode_simple(true, effort).unwrap().to_vec()
}

/// Every stream of an encoder can be parsed up to its pixels: a single bit too many or too few would result in an
/// invalid code.
#[test]
fn codes_of_every_lossless_picture_are_read_and_take_little() {
    for seed in 0..120 {
        let mut random = fastrand::Rng::with_seed(seed);
        let (width, height) = (random.u32(1..200), random.u32(1..200));
        let file = lossless(width, height, seed);
        let data = &file[20..];
        let size = ImageSize { width, height };
        assert_eq!(codes::check(data, size, 4 << 20), Ok(()), "seed {seed}");
        assert!(codes::check(data, size, 1000).is_err(), "seed {seed}: a group of codes takes more");
        assert!(codes::check(&data[..data.len().min(12)], size, 4 << 20).is_err(), "seed {seed}");
    }
}

fn chunk(kind: &[u8], data: &[u8]) -> Vec<u8> {
    [kind, &(data.len() as u32).to_le_bytes()[..], data, &[0][..data.len() % 2]].concat()
}

/// Returns an animation whose frame of 6 x 4 pixels is at a position of a canvas of 10 x 10. `width` is the width that
/// the chunk of the frame states.
fn animated(left: u8, top: u8, width: u8) -> Vec<u8> {
    let stream = &lossless(6, 4, 1)[12..];
    let place = [left / 2, 0, 0, top / 2, 0, 0, width - 1, 0, 0, 3, 0, 0, 0, 0, 0, 0];
    let chunks = [
        chunk(b"VP8X", &[0x12, 0, 0, 0, 9, 0, 0, 9, 0, 0]),
        chunk(b"ICCP", b"profile"),
        chunk(b"ANIM", &[0; 6]),
        chunk(b"ANMF", &[&place[..], stream].concat()),
        chunk(b"ANMF", b"broken"),
    ]
    .concat();
    [b"RIFF", &(chunks.len() as u32 + 4).to_le_bytes()[..], b"WEBP", &chunks].concat()
}

#[test]
fn first_animation_frame_is_placed_at_its_offset() {
    let alone = read(&lossless(6, 4, 1), 100, Interrupt::never()).unwrap().pixels;
    let picture = read(&animated(4, 2, 6), 100, Interrupt::never()).unwrap();
    assert_eq!(picture.profile.as_deref(), Some(&b"profile"[..]));
    let canvas = picture.pixels;
    assert_eq!(canvas.size, ImageSize { width: 10, height: 10 });
    for (y, line) in canvas.lines().enumerate() {
        let within = |x: usize| (4..10).contains(&x) && (2..6).contains(&y);
        for (x, pixel) in line.as_chunks::<DEPTH>().0.iter().enumerate() {
            let expected = if within(x) {
                alone.lines().nth(y - 2).unwrap()[(x - 4) * DEPTH..][..DEPTH].to_vec()
            } else {
                vec![0; DEPTH]
            };
            assert_eq!(pixel[..], expected, "{x}, {y}");
        }
    }
}

#[test]
fn frames_outside_canvas_or_of_wrong_size_are_rejected() {
    assert!(WebpFrame::find(&animated(4, 2, 6)).is_some());
    for (left, top, width) in [(6, 2, 6), (4, 8, 6), (4, 2, 5)] {
        assert!(WebpFrame::find(&animated(left, top, width)).is_none(), "{left}, {top}, {width}");
    }
}
