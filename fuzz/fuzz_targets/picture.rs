//! Images: any bytes are refused or converted to an image of the right format that is not larger than requested.
#![no_main]

use libfuzzer_sys::fuzz_target;
use myriad_image::{Facts, Format, Kind, Made, Shape, Turn, Wish, make};

/// The requested conversion, selected by bits.
fn wish(bits: u32) -> Wish {
    let (width, height) = (bits >> 24 & 63, bits >> 16 & 63);
    let (width, height) = (width + 1, if height == 0 { Shape::ANY } else { height });
    Wish {
        shape: match bits & 3 {
            0 => Shape::Keep,
            1 => Shape::Crop { width, height },
            _ => Shape::Resize { width, height },
        },
        turn: [Turn::None, Turn::Quarter, Turn::Half, Turn::ThreeQuarters][(bits >> 2 & 3) as usize],
        sharpen: (bits >> 4 & 3) * 30,
        interlace: bits & 64 != 0,
        transparency: bits & 128 != 0,
        formats: if bits & 256 != 0 { vec![Format::Webp] } else { Vec::new() },
        // Memory is allocated before decoding.
        max_pixels: 1 << 14,
        ..Wish::default()
    }
}

fuzz_target!(|input: (u32, &[u8])| {
    let (bits, bytes) = input;
    let Some(kind) = Kind::of(bytes) else { return };
    let wish = wish(bits);
    let Ok(Made::Anew { bytes, format: None }) = make(bytes, kind, &wish) else { return };
    assert_eq!(Kind::of(&bytes), Some(kind));
    let facts = Facts::read(kind, &bytes).expect("its own head");
    if let Shape::Resize { width, height } | Shape::Crop { width, height } = wish.shape
        && wish.turn == Turn::None
    {
        assert!(facts.size.width <= width && facts.size.height <= height, "{facts:?} for {wish:?}");
    }
});
