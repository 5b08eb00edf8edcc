//! Encoder of GIF, by the crate `gif`.

use gif::{Encoder, Frame};
use std::borrow::Cow;

use crate::image::colors::{MOST, PaletteImage, approximate_palette, exact_palette};
use crate::image::error::ImageError;
use crate::image::interrupt::Interrupt;
use crate::image::pixels::{DEPTH, Pixels};

/// Minimum alpha of a pixel that is written as opaque in a GIF, which supports no partial transparency.
const OPAQUE: u8 = 128;

pub(super) fn write(
    pixels: &Pixels,
    interlace: bool,
    interrupt: Interrupt<'_>,
) -> Result<Option<Vec<u8>>, ImageError> {
    let mut pixels = Pixels { size: pixels.size, data: pixels.data.clone() };
    for pixel in pixels.each_mut() {
        match pixel {
            [.., alpha] if *alpha >= OPAQUE => *alpha = u8::MAX,
            _ => *pixel = [0; DEPTH],
        }
    }
    let few = match exact_palette(&pixels) {
        Some(few) => few,
        None => with_clear(&pixels, interrupt)?,
    };
    Ok(encoded(&pixels, few, interlace))
}

/// Returns the image in approximated colors. If it has transparent pixels, one color is reserved for them.
fn with_clear(pixels: &Pixels, interrupt: Interrupt<'_>) -> Result<PaletteImage, ImageError> {
    let has_clear = !pixels.is_opaque();
    let mut few = approximate_palette(pixels, MOST - usize::from(has_clear), interrupt)?;
    if has_clear {
        let clear = few.colors.len() as u8;
        few.colors.push([0; DEPTH]);
        let holes = few.numbers.iter_mut().zip(pixels.each()).filter(|(_, pixel)| pixel[3] == 0);
        holes.for_each(|(number, _)| *number = clear);
    }
    Ok(few)
}

fn encoded(pixels: &Pixels, mut few: PaletteImage, interlace: bool) -> Option<Vec<u8>> {
    let (width, height) = (pixels.size.width.try_into().ok()?, pixels.size.height.try_into().ok()?);
    let clear = pixels.each().position(|[.., alpha]| alpha == 0).map(|at| few.numbers[at]);
    if interlace {
        few.numbers = interlaced(&few.numbers, width);
    }
    let palette = few.colors.iter().flat_map(|color| &color[..3]).copied().collect();
    let frame = Frame {
        width,
        height,
        interlaced: interlace,
        transparent: clear,
        palette: Some(palette),
        buffer: Cow::Owned(few.numbers),
        ..Frame::default()
    };
    let mut made = Vec::new();
    Encoder::new(&mut made, width, height, &[]).ok()?.write_frame(&frame).ok()?;
    Some(made)
}

/// Returns the rows of palette indices in the order of an interlaced image (GIF89a appendix E): every eighth row, then
/// the rows between them, and so on.
fn interlaced(numbers: &[u8], width: u16) -> Vec<u8> {
    let lines: Vec<&[u8]> = numbers.chunks_exact(width.into()).collect();
    let passes = [(0, 8), (4, 8), (2, 4), (1, 2)];
    let ordered = passes.iter().flat_map(|(first, step)| lines.iter().skip(*first).step_by(*step));
    ordered.flat_map(|line| line.iter().copied()).collect()
}

#[cfg(test)]
mod tests {
    use super::interlaced;

    #[test]
    fn lines_of_an_interlaced_picture_come_in_four_passes() {
        let lines: Vec<u8> = (0..10).flat_map(|line| [line, line]).collect();
        let order: Vec<u8> = interlaced(&lines, 2).chunks(2).map(|line| line[0]).collect();
        assert_eq!(order, [0, 8, 4, 2, 6, 1, 3, 5, 7, 9]);
    }
}
