//! Images: any input is rejected or converted to an image of the right format that is not larger than requested, within
//! the memory that its pixels and its length permit. Work is bounded by the time limit of the fuzzer.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_output::image::{
    ConvertedImage, ImageKind, ImageMetadata, ImageRequest, ImageRotation, Interrupt, OutputFormat,
    RequestedSize, make,
};
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// Maximum number of pixels that are read.
const PIXELS: usize = 1 << 14;
/// Memory in addition to pixels, in bytes: tables of prefix codes (16 MB), chunks other than pixels, blocks at the
/// edges, tables of encoders.
const BESIDE: usize = 40 << 20;

/// Returns the requested conversion, selected by bits.
fn wish(bits: u32) -> ImageRequest {
    let (width, height) = (bits >> 24 & 63, bits >> 16 & 63);
    let (width, height) = (width + 1, if height == 0 { RequestedSize::ANY } else { height });
    ImageRequest {
        shape: match bits & 3 {
            0 => RequestedSize::Keep,
            1 => RequestedSize::Crop { width, height },
            _ => RequestedSize::Resize { width, height },
        },
        turn: [
            ImageRotation::None,
            ImageRotation::Quarter,
            ImageRotation::Half,
            ImageRotation::ThreeQuarters,
        ][(bits >> 2 & 3) as usize],
        sharpen: (bits >> 4 & 3) * 30,
        interlace: bits & 64 != 0,
        transparency: bits & 128 != 0,
        formats: if bits & 256 != 0 { vec![OutputFormat::Webp] } else { Vec::new() },
        max_pixels: PIXELS as u64,
        ..ImageRequest::default()
    }
}

fuzz_target!(|input: (u32, &[u8])| {
    let (bits, bytes) = input;
    let Some(kind) = ImageKind::of(bytes) else { return };
    let wish = wish(bits);
    MEMORY.reset_peak_usage();
    let before = MEMORY.current_usage();
    let made = make(bytes, kind, &wish, Interrupt::never());
    let peak = MEMORY.peak_usage().saturating_sub(before);
    assert!(
        peak < 16 * PIXELS + 16 * bytes.len() + BESIDE,
        "{peak} bytes of memory for a file of {}",
        bytes.len()
    );
    let Ok(ConvertedImage::Reencoded { bytes, format: None }) = made else { return };
    assert_eq!(ImageKind::of(&bytes), Some(kind));
    let facts = ImageMetadata::read(kind, &bytes).expect("its own head");
    if let RequestedSize::Resize { width, height } | RequestedSize::Crop { width, height } = wish.shape
        && wish.turn == ImageRotation::None
    {
        assert!(facts.size.width <= width && facts.size.height <= height, "{facts:?} for {wish:?}");
    }
});
