//! Pixels, and operations on them: scaling, cropping, rotation.

use fast_image_resize::images::{Image, ImageRef};
use fast_image_resize::{PixelType, ResizeAlg, ResizeOptions, Resizer};

use crate::image::error::ImageError;
use crate::image::plan::CropArea;
use crate::image::request::ImageRotation;
use crate::image::size::ImageSize;

/// Number of bytes per pixel: red, green, blue, alpha.
pub(crate) const DEPTH: usize = 4;

/// Decoded image: its size and its pixels.
pub(crate) struct Pixels {
    pub size: ImageSize,
    /// Pixels from left to right and row by row, [`DEPTH`] bytes each.
    pub data: Vec<u8>,
}

impl Pixels {
    /// Creates an image from its pixels; `None` if their number does not match the size.
    pub(crate) fn new(size: ImageSize, data: Vec<u8>) -> Option<Self> {
        (data.len() as u64 == size.pixels() * DEPTH as u64).then_some(Self { size, data })
    }

    /// Creates an image of `size` whose pixels are all transparent.
    pub(crate) fn clear(size: ImageSize) -> Self {
        Self { size, data: vec![0; size.pixels() as usize * DEPTH] }
    }

    pub(crate) fn each(&self) -> impl Iterator<Item = [u8; DEPTH]> {
        self.data.as_chunks::<DEPTH>().0.iter().copied()
    }

    pub(crate) fn each_mut(&mut self) -> impl Iterator<Item = &mut [u8; DEPTH]> {
        self.data.as_chunks_mut::<DEPTH>().0.iter_mut()
    }

    /// Returns the rows of pixels as bytes.
    pub(crate) fn lines(&self) -> impl Iterator<Item = &[u8]> {
        self.data.chunks_exact(self.size.width as usize * DEPTH)
    }

    pub(crate) fn is_opaque(&self) -> bool {
        self.each().all(|[.., alpha]| alpha == u8::MAX)
    }

    /// Makes all pixels opaque without changing their color.
    pub(crate) fn make_opaque(&mut self) {
        self.each_mut().for_each(|[.., alpha]| *alpha = u8::MAX);
    }

    /// Returns the image scaled to a size. Colors of transparent pixels do not affect the result.
    pub(crate) fn scaled(&self, size: ImageSize) -> Result<Self, ImageError> {
        let mut made = Self::clear(size);
        let from = ImageRef::new(self.size.width, self.size.height, &self.data, PixelType::U8x4);
        let to = Image::from_slice_u8(size.width, size.height, &mut made.data, PixelType::U8x4);
        let options = ResizeOptions::new()
            .use_alpha(!self.is_opaque())
            .resize_alg(ResizeAlg::Convolution(fast_image_resize::FilterType::CatmullRom));
        let scaled = match (from, to) {
            (Ok(from), Ok(mut to)) => Resizer::new().resize(&from, &mut to, &options).is_ok(),
            _ => false,
        };
        scaled.then_some(made).ok_or(ImageError::Broken("scaling failed"))
    }

    /// Returns a transparent canvas with the image at a distance from its left and its top edge, in pixels. Parts
    /// outside of the canvas are cropped.
    pub(crate) fn on_canvas(self, canvas: ImageSize, (left, top): (u32, u32)) -> Self {
        if self.size == canvas && (left, top) == (0, 0) {
            return self;
        }
        let mut made = Self::clear(canvas);
        let width = canvas.width.saturating_sub(left).min(self.size.width) as usize * DEPTH;
        if width > 0 {
            let left = left as usize * DEPTH;
            let lines = made.data.chunks_exact_mut(canvas.width as usize * DEPTH).skip(top as usize);
            for (to, from) in lines.zip(self.lines()) {
                to[left..left + width].copy_from_slice(&from[..width]);
            }
        }
        made
    }

    /// Returns the part of the image in the area `cut` as a new image.
    pub(crate) fn cut(&self, cut: CropArea) -> Self {
        let (left, width) = (cut.left as usize * DEPTH, cut.size.width as usize * DEPTH);
        let lines = self.lines().skip(cut.top as usize).take(cut.size.height as usize);
        let data = lines.flat_map(|line| &line[left..left + width]).copied().collect();
        Self { size: cut.size, data }
    }

    /// Returns the image rotated counterclockwise.
    pub(crate) fn turned(mut self, turn: ImageRotation) -> Self {
        match turn {
            ImageRotation::None => self,
            ImageRotation::Half => {
                self.data.as_chunks_mut::<DEPTH>().0.reverse();
                self
            }
            ImageRotation::Quarter => self.on_its_side(true, false),
            ImageRotation::ThreeQuarters => self.on_its_side(false, true),
        }
    }

    /// Returns the image as displayed, if it was stored with an Exif `Orientation` (1 to 8).
    pub(crate) fn upright(mut self, orientation: u8) -> Self {
        match orientation {
            2 => {
                self.swap_sides();
                self
            }
            3 => self.turned(ImageRotation::Half),
            4 => {
                self.swap_sides();
                self.turned(ImageRotation::Half)
            }
            5 => self.on_its_side(false, false),
            6 => self.on_its_side(false, true),
            7 => self.on_its_side(true, true),
            8 => self.on_its_side(true, false),
            _ => self,
        }
    }

    fn swap_sides(&mut self) {
        for line in self.data.chunks_exact_mut(self.size.width as usize * DEPTH) {
            line.as_chunks_mut::<DEPTH>().0.reverse();
        }
    }

    /// Exchanges columns and rows. With `from_right`, the last column becomes the first row. With `from_below`, rows
    /// start with the pixel of the last row.
    fn on_its_side(&self, from_right: bool, from_below: bool) -> Self {
        let (width, height) = (self.size.width as usize, self.size.height as usize);
        let mut made = Self::clear(self.size.on_its_side());
        let (from, _) = self.data.as_chunks::<DEPTH>();
        let (to, _) = made.data.as_chunks_mut::<DEPTH>();
        for (row, line) in to.chunks_exact_mut(height).enumerate() {
            let column = if from_right { width - 1 - row } else { row };
            for (at, pixel) in line.iter_mut().enumerate() {
                let above = if from_below { height - 1 - at } else { at };
                *pixel = from[above * width + column];
            }
        }
        made
    }
}

#[cfg(test)]
mod tests {
    use super::{CropArea, ImageRotation, ImageSize, Pixels};

    /// Returns an image with the rows `1 2 3` and `4 5 6`; the numbers are the red values.
    fn six() -> Pixels {
        let data = (1..=6).flat_map(|red| [red, 0, 0, 255]).collect();
        Pixels::new(ImageSize { width: 3, height: 2 }, data).unwrap()
    }

    fn reds(pixels: &Pixels) -> (u32, Vec<u8>) {
        (pixels.size.width, pixels.each().map(|[red, ..]| red).collect())
    }

    #[test]
    fn pictures_are_turned_against_the_clock() {
        for (turn, width, pixels) in [
            (ImageRotation::None, 3, [1, 2, 3, 4, 5, 6]),
            (ImageRotation::Quarter, 2, [3, 6, 2, 5, 1, 4]),
            (ImageRotation::Half, 3, [6, 5, 4, 3, 2, 1]),
            (ImageRotation::ThreeQuarters, 2, [4, 1, 5, 2, 6, 3]),
        ] {
            assert_eq!(reds(&six().turned(turn)), (width, pixels.to_vec()), "{turn:?}");
        }
    }

    /// Expected pixels according to the table of Exif: positions at which the first stored row and column are
    /// displayed.
    #[test]
    fn stored_pictures_are_laid_upright() {
        for (orientation, width, pixels) in [
            (1, 3, [1, 2, 3, 4, 5, 6]),
            (2, 3, [3, 2, 1, 6, 5, 4]),
            (3, 3, [6, 5, 4, 3, 2, 1]),
            (4, 3, [4, 5, 6, 1, 2, 3]),
            (5, 2, [1, 4, 2, 5, 3, 6]),
            (6, 2, [4, 1, 5, 2, 6, 3]),
            (7, 2, [6, 3, 5, 2, 4, 1]),
            (8, 2, [3, 6, 2, 5, 1, 4]),
        ] {
            assert_eq!(reds(&six().upright(orientation)), (width, pixels.to_vec()), "{orientation}");
        }
    }

    #[test]
    fn picture_is_put_on_a_canvas_and_the_rest_of_it_cut_off() {
        let canvas = ImageSize { width: 3, height: 3 };
        let placed = |left, top| reds(&six().on_canvas(canvas, (left, top))).1;
        assert_eq!(placed(0, 0), [1, 2, 3, 4, 5, 6, 0, 0, 0]);
        assert_eq!(placed(1, 2), [0, 0, 0, 0, 0, 0, 0, 1, 2]);
        assert_eq!(placed(3, 0), [0; 9]);
        assert_eq!(placed(0, 3), [0; 9]);
    }

    #[test]
    fn part_is_cut_out() {
        let cut = CropArea { left: 1, top: 1, size: ImageSize { width: 2, height: 1 } };
        assert_eq!(reds(&six().cut(cut)), (2, vec![5, 6]));
    }

    #[test]
    fn colors_of_transparent_pixels_do_not_shine_through() {
        let data = [[200, 0, 0, 255], [0, 0, 255, 0]].concat();
        let pixels = Pixels::new(ImageSize { width: 2, height: 1 }, data).unwrap();
        let made = pixels.scaled(ImageSize { width: 1, height: 1 }).unwrap();
        assert!(matches!(made.data[..], [199..=201, 0, 0, 127..=128]), "{:?}", made.data);
    }

    #[test]
    fn pixels_that_are_too_few_are_no_picture() {
        assert!(Pixels::new(ImageSize { width: 2, height: 1 }, vec![0; 4]).is_none());
    }
}
