//! Tests of images that are expensive to decode: each must be rejected, or decoded within the memory that its pixels
//! permit.
#![cfg(target_os = "linux")]

mod jpeg;
mod png;
mod webp;

use std::cell::Cell;
use std::fs;
use std::sync::{Mutex, PoisonError};

use myriad_output::image::{
    ConvertedImage, ImageError, ImageKind, ImageRequest, ImageRotation, Interrupt, OutputFormat,
    RequestedSize, make,
};

/// Maximum growth of memory for a small image, in bytes: tables of the decoders, and measurement noise.
const SMALL: u64 = 24 << 20;

/// Lock that makes the tests run one at a time, so that they do not allocate while another measures.
static ALONE: Mutex<()> = Mutex::new(());

/// Returns a request for a small, rotated image; because of the rotation, no image remains unchanged.
fn thumbnail() -> ImageRequest {
    ImageRequest {
        shape: RequestedSize::Resize { width: 8, height: 8 },
        turn: ImageRotation::Quarter,
        ..ImageRequest::default()
    }
}

fn made(bytes: &[u8], wish: &ImageRequest) -> Result<ConvertedImage, ImageError> {
    make(bytes, ImageKind::of(bytes).expect("a picture"), wish, Interrupt::never())
}

/// Returns the number in a line of `/proc/self/status`, in bytes.
fn memory(line: &str) -> u64 {
    let status = fs::read_to_string("/proc/self/status").expect("the process's status");
    let line = status.lines().find_map(|text| text.strip_prefix(line)).expect("a line of the status");
    line.trim_start_matches(':').trim().trim_end_matches(" kB").parse::<u64>().expect("a number") << 10
}

/// Runs `work`, and returns by how many bytes the memory grew at its peak.
fn growth(work: impl FnOnce()) -> u64 {
    // Reset the peak to the current use.
    fs::write("/proc/self/clear_refs", "5").expect("the memory peak is reset");
    let before = memory("VmRSS");
    work();
    memory("VmHWM").saturating_sub(before)
}

type Expected = fn(&Result<ConvertedImage, ImageError>) -> bool;

#[test]
fn pictures_that_are_made_to_cost_memory_take_what_their_pixels_allow() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let is_made: Expected = |made| made.is_ok();
    let is_broken: Expected = |made| matches!(made, Err(ImageError::Broken(_)));
    let is_costly: Expected = |made| matches!(made, Err(ImageError::TooCostly(_)));
    let is_large: Expected = |made| matches!(made, Err(ImageError::TooLarge(_)));
    let attacks: Vec<(&str, Vec<u8>, Expected)> = vec![
        ("PNG: a profile of 200 MB in 200 KB", png::with(&[(b"iCCP", png::profile(200 << 20))]), is_made),
        ("PNG: texts of 64 MB each", png::with(&png::texts(64 << 20)), is_made),
        ("PNG: 20,000 frames", png::with(&png::frames(20_000)), is_made),
        ("PNG: a line of 25 million pixels and a profile", png::line(25 << 20), is_costly),
        ("PNG: 4 billion pixels", png::head(65_535, 65_535), is_large),
        (
            "WebP: lossy picture of 268 million pixels on a canvas of one",
            webp::small_canvas(false),
            is_broken,
        ),
        ("WebP: the same in an animation", webp::small_canvas(true), is_broken),
        ("WebP: 18,000 groups of prefix codes in 1 MB", webp::codes(18_000), is_costly),
        ("WebP: the same as the alpha of a lossy picture", webp::codes_of_alpha(18_000), is_costly),
        ("WebP: a profile said to have 4 GB", webp::long_profile(), is_broken),
        ("GIF: a frame larger than its canvas", gif_of_large_frame(), is_broken),
    ];
    for (name, bytes, expected) in attacks {
        assert!(bytes.len() <= 2 << 20, "{name}: {} bytes", bytes.len());
        let mut result = None;
        // The number of pixels is permitted: the test measures the cost in addition to the pixels.
        let wish = ImageRequest { max_pixels: 1 << 22, ..thumbnail() };
        let wish = if name.contains("25 million") { thumbnail() } else { wish };
        let grown = growth(|| result = Some(made(&bytes, &wish)));
        let result = result.expect("the conversion was run");
        assert!(expected(&result), "{name}: {:?}", result.map(|_| "made"));
        assert!(grown < SMALL + bytes.len() as u64, "{name}: {} KB", grown >> 10);
    }
}

fn gif_of_large_frame() -> Vec<u8> {
    let mut bytes = b"GIF89a\x01\0\x01\0\x80\0\0\0\0\0\xff\xff\xff".to_vec();
    bytes.extend(b"\x2c\0\0\0\0\xff\xff\xff\xff\0\x02\x02\x44\x01\0;");
    bytes
}

#[test]
fn progressive_jpeg_of_a_thousand_scans_is_refused_and_one_of_a_hundred_is_read() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let file = jpeg::Progressive { width: 640, height: 640, scans: 100 }.file();
    assert!(matches!(made(&file, &thumbnail()), Ok(ConvertedImage::Reencoded { .. })));
    for scans in [200, 20_000] {
        let file = jpeg::Progressive { width: 640, height: 640, scans }.file();
        assert!(file.len() < 1 << 20);
        assert_eq!(
            made(&file, &thumbnail()),
            Err(ImageError::TooCostly("the image has too many scans")),
            "{scans}"
        );
    }
    // Few scans of an image of the maximum size cause as much work as many scans of a small image.
    let file = jpeg::Progressive { width: 640, height: 640, scans: 70 }.file();
    let wish = ImageRequest { max_pixels: 640 * 640, ..thumbnail() };
    assert_eq!(made(&file, &wish), Err(ImageError::TooCostly("the image has too many scans")));
}

#[test]
fn jpeg_of_other_processes_and_without_the_number_of_lines_is_refused() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let file = jpeg::Progressive { width: 64, height: 64, scans: 1 }.file();
    let at = file.windows(2).position(|pair| pair == b"\xff\xc2").expect("a frame");
    // Lossless, differential and arithmetic variants.
    for process in [0xc3, 0xc5, 0xc6, 0xc7, 0xc9, 0xca, 0xcb, 0xcd, 0xce, 0xcf] {
        let mut file = file.clone();
        file[at + 1] = process;
        assert!(matches!(made(&file, &thumbnail()), Err(ImageError::Broken(_))), "{process:x}");
    }
    // The marker DNL states the number of rows after the first scan.
    let mut lines = file.clone();
    lines[at + 5..at + 7].fill(0);
    lines.splice(lines.len() - 2.., *b"\xff\xdc\x00\x04\x00\x40\xff\xd9");
    assert!(matches!(made(&lines, &thumbnail()), Err(ImageError::Broken(_))));
    // A restart interval of one block, without restart markers.
    let mut restarts = file;
    restarts.splice(at..at, *b"\xff\xdd\x00\x04\x00\x01");
    assert!(matches!(made(&restarts, &thumbnail()), Err(ImageError::Broken(_))));
}

/// Cancels at the first poll, then at the second, and so on until the work completes. Returns the number of polls.
fn cancelled_at_each_poll(bytes: &[u8], wish: &ImageRequest) -> u32 {
    for number in 0.. {
        let polls = Cell::new(0);
        let is_cancelled = || polls.replace(polls.get() + 1) >= number;
        match make(bytes, ImageKind::of(bytes).expect("a picture"), wish, Interrupt::new(&is_cancelled)) {
            Err(ImageError::Cancelled) => {}
            Ok(_) => return number,
            other => panic!("cancelled at {number}: {other:?}"),
        }
    }
    unreachable!()
}

#[test]
fn work_is_cancelled_while_pictures_are_decoded_and_encoded() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let jpeg = jpeg::Progressive { width: 320, height: 320, scans: 40 }.file();
    let png = png::noise(300, 300);
    let of = |format, bytes: &[u8]| {
        let wish = ImageRequest { formats: vec![format], ..ImageRequest::default() };
        match made(bytes, &wish) {
            Ok(ConvertedImage::Reencoded { bytes, format: Some(_) }) => bytes,
            other => panic!("{:?}", other.err()),
        }
    };
    let webp = of(OutputFormat::Webp, &png);
    // The interrupt is polled regularly during decoding: about every 4 KB of compressed data, of a JPEG every 32 bytes.
    for (bytes, least) in [(&jpeg, 20), (&png, 60), (&webp, 3)] {
        let polls = cancelled_at_each_poll(bytes, &thumbnail());
        assert!(polls >= least, "{:?}: {polls}", ImageKind::of(bytes));
    }
    // The interrupt is also polled before each output format.
    let both = ImageRequest { formats: vec![OutputFormat::Avif, OutputFormat::Webp], ..thumbnail() };
    assert!(cancelled_at_each_poll(&png, &both) > cancelled_at_each_poll(&png, &thumbnail()));
}
