//! Color reduction for GIF, and for PNG with a palette.

use color_quant::NeuQuant;

use crate::image::error::ImageError;
use crate::image::interrupt::Interrupt;
use crate::image::pixels::{DEPTH, Pixels};

/// Maximum number of colors of a palette in GIF and PNG images.
pub(crate) const MOST: usize = 256;
/// Sampling factor of the color quantizer: it learns colors from every tenth pixel. The crate accepts 1 to 30.
const EVERY: i32 = 10;
/// Maximum number of pixels from which colors are learned. Larger images are sampled at even distances.
const MOST_LEARNED: usize = 1 << 20;
/// Number of pixels processed between two checks of the interrupt. Processing this number takes some milliseconds.
const CHECK_EVERY: usize = 1 << 16;

/// Image with a palette.
pub(crate) struct PaletteImage {
    /// Palette, at most [`MOST`] colors.
    pub colors: Vec<[u8; DEPTH]>,
    /// Palette index of each pixel.
    pub numbers: Vec<u8>,
}

/// Returns the image with its exact colors; `None` if it has more than [`MOST`].
pub(crate) fn exact_palette(pixels: &Pixels) -> Option<PaletteImage> {
    let mut known = foldhash::HashMap::<[u8; DEPTH], u8>::default();
    let mut few = PaletteImage { colors: Vec::new(), numbers: Vec::with_capacity(pixels.data.len() / DEPTH) };
    let mut last = ([0; DEPTH], None);
    for pixel in pixels.each() {
        let number = match last {
            // Adjacent pixels mostly have the same color.
            (color, Some(number)) if color == pixel => number,
            _ if known.contains_key(&pixel) => known[&pixel],
            _ => {
                let number = u8::try_from(few.colors.len()).ok()?;
                few.colors.push(pixel);
                known.insert(pixel, number);
                number
            }
        };
        last = (pixel, Some(number));
        few.numbers.push(number);
    }
    Some(few)
}

/// Returns the image in at most `most` colors, which approximate the original ones. Returns an error only if the
/// interrupt cancels.
pub(crate) fn approximate_palette(
    pixels: &Pixels,
    most: usize,
    interrupt: Interrupt<'_>,
) -> Result<PaletteImage, ImageError> {
    let (all, _) = pixels.data.as_chunks::<DEPTH>();
    let found = match all.len().div_ceil(MOST_LEARNED) {
        0 | 1 => NeuQuant::new(EVERY, most, &pixels.data),
        step => {
            NeuQuant::new(EVERY, most, all.iter().step_by(step).copied().collect::<Vec<_>>().as_flattened())
        }
    };
    let mut colors = found.color_map_rgba().as_chunks::<DEPTH>().0.to_vec();
    colors.truncate(most.min(MOST));
    let mut numbers = Vec::with_capacity(all.len());
    for part in all.chunks(CHECK_EVERY) {
        interrupt.check()?;
        numbers.extend(part.iter().map(|pixel| found.index_of(pixel) as u8));
    }
    Ok(PaletteImage { colors, numbers })
}

#[cfg(test)]
mod tests {
    use super::{Interrupt, approximate_palette, exact_palette};
    use crate::image::pixels::Pixels;
    use crate::image::size::ImageSize;

    fn shades(of: u32) -> Pixels {
        let data = (0..of).flat_map(|at| [(at % 256) as u8, (at / 256) as u8, 7, 255]).collect();
        Pixels::new(ImageSize { width: of, height: 1 }, data).unwrap()
    }

    #[test]
    fn up_to_256_colors_are_retained_exactly() {
        let few = exact_palette(&shades(256)).unwrap();
        assert_eq!(few.colors.len(), 256);
        assert!(few.numbers.iter().enumerate().all(|(at, number)| at == usize::from(*number)));
        assert!(exact_palette(&shades(257)).is_none());
    }

    #[test]
    fn many_colors_become_few_that_are_close() {
        let pixels = shades(2000);
        let few = approximate_palette(&pixels, 64, Interrupt::never()).unwrap();
        assert_eq!((few.colors.len(), few.numbers.len()), (64, 2000));
        let far = pixels.each().zip(&few.numbers).map(|(pixel, number)| {
            let color = few.colors[usize::from(*number)];
            (0..3).map(|at| pixel[at].abs_diff(color[at])).max().unwrap()
        });
        assert!(far.max().unwrap() < 64);
    }
}
