//! Structural similarity of two images (SSIM, Wang et al. 2004): a measure of visible differences.

use crate::image::pixels::Pixels;
use crate::image::size::ImageSize;

/// Width and height of the windows that are compared, in values.
const WINDOW: usize = 8;
/// Distance between the starts of two adjacent windows, in values; windows overlap.
const STEP: usize = 4;
/// Constants that stabilize the quotient in dark and in plain windows, for values up to 255.
const DARK: f64 = (0.01 * 255.0) * (0.01 * 255.0);
const PLAIN: f64 = (0.03 * 255.0) * (0.03 * 255.0);

/// Returns the structural similarity of two opaque images of the same size: the mean similarity for brightness or for
/// one of the two color differences, whichever is lowest. Color differences are compared at half the size. The result
/// is 1 for equal images, less for others, and 0 if the sizes differ.
pub(crate) fn similarity(first: &Pixels, second: &Pixels) -> f64 {
    if first.size != second.size {
        return 0.0;
    }
    let (first, second) = (Planes::of(first), Planes::of(second));
    let means = [
        mean_similarity(&first.brightness, &second.brightness),
        mean_similarity(&first.blue, &second.blue),
        mean_similarity(&first.red, &second.red),
    ];
    means.into_iter().fold(1.0, f64::min)
}

/// Values of one component of an image, such as its brightness, row by row.
struct Plane {
    width: usize,
    values: Vec<u8>,
}

/// Brightness and color differences of an image (BT.601).
struct Planes {
    brightness: Plane,
    blue: Plane,
    red: Plane,
}

impl Planes {
    fn of(pixels: &Pixels) -> Self {
        let ImageSize { width, height } = pixels.size;
        let (width, height) = (width as usize, height as usize);
        let brightness = pixels
            .each()
            .map(|[r, g, b, _]| ((77 * u32::from(r) + 150 * u32::from(g) + 29 * u32::from(b)) >> 8) as u8);
        let brightness = Plane { width, values: brightness.collect() };
        let (half_width, half_height) = (width.div_ceil(2), height.div_ceil(2));
        let (mut blue, mut red) = (Vec::new(), Vec::new());
        for y in 0..half_height {
            for x in 0..half_width {
                let [r, g, b] = mean_color(pixels, (2 * x, 2 * y));
                let value = |weighted: i32| ((weighted >> 8) + 128).clamp(0, 255) as u8;
                blue.push(value(-43 * r - 85 * g + 128 * b));
                red.push(value(128 * r - 107 * g - 21 * b));
            }
        }
        let plane = |values| Plane { width: half_width, values };
        Self { brightness, blue: plane(blue), red: plane(red) }
    }
}

/// Returns the mean of up to four pixels, the first of which is at column `x` and row `y`.
fn mean_color(pixels: &Pixels, (x, y): (usize, usize)) -> [i32; 3] {
    let (width, height) = (pixels.size.width as usize, pixels.size.height as usize);
    let all = pixels.data.as_chunks::<4>().0;
    let (mut sums, mut count) = ([0; 3], 0);
    for row in y..(y + 2).min(height) {
        for column in x..(x + 2).min(width) {
            let [colors @ .., _] = all[row * width + column];
            sums.iter_mut().zip(colors).for_each(|(sum, color)| *sum += i32::from(color));
            count += 1;
        }
    }
    sums.map(|sum| sum / count)
}

/// Returns the mean of the structural similarities of all pairs of windows at equal positions.
fn mean_similarity(first: &Plane, second: &Plane) -> f64 {
    let height = first.values.len() / first.width;
    let starts = |length: usize| (0..=length.saturating_sub(WINDOW)).step_by(STEP);
    let (mut sum, mut count) = (0.0, 0.0);
    for y in starts(height) {
        for x in starts(first.width) {
            sum += window_similarity(first, second, (x, y));
            count += 1.0;
        }
    }
    sum / count
}

/// Returns the similarity of the windows at column `x` and row `y`.
fn window_similarity(first: &Plane, second: &Plane, (x, y): (usize, usize)) -> f64 {
    let right = (x + WINDOW).min(first.width);
    let bottom = (y + WINDOW).min(first.values.len() / first.width);
    let (mut sum_a, mut sum_b, mut squares_a, mut squares_b, mut products) =
        (0_u32, 0_u32, 0_u32, 0_u32, 0_u32);
    for row in y..bottom {
        let range = row * first.width + x..row * first.width + right;
        for (a, b) in first.values[range.clone()].iter().zip(&second.values[range]) {
            let (a, b) = (u32::from(*a), u32::from(*b));
            sum_a += a;
            sum_b += b;
            squares_a += a * a;
            squares_b += b * b;
            products += a * b;
        }
    }
    let count = ((right - x) * (bottom - y)) as f64;
    let (mean_a, mean_b) = (f64::from(sum_a) / count, f64::from(sum_b) / count);
    let variance_a = f64::from(squares_a) / count - mean_a * mean_a;
    let variance_b = f64::from(squares_b) / count - mean_b * mean_b;
    let covariance = f64::from(products) / count - mean_a * mean_b;
    (2.0 * mean_a * mean_b + DARK) * (2.0 * covariance + PLAIN)
        / ((mean_a * mean_a + mean_b * mean_b + DARK) * (variance_a + variance_b + PLAIN))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(width: u32, height: u32, color: impl Fn(u32, u32) -> [u8; 3]) -> Pixels {
        let size = ImageSize::new(width, height).expect("not empty");
        let places = (0..height).flat_map(|y| (0..width).map(move |x| (x, y)));
        let data = places.flat_map(|(x, y)| {
            let [r, g, b] = color(x, y);
            [r, g, b, 255]
        });
        Pixels::new(size, data.collect()).expect("whole")
    }

    fn texture(x: u32, y: u32) -> [u8; 3] {
        [(x * 37 + y * 11) as u8, (x * y) as u8, (x * 5) as u8]
    }

    #[test]
    fn equal_images_have_one_and_different_ones_less() {
        for (width, height) in [(1, 1), (3, 9), (8, 8), (40, 33)] {
            let first = image(width, height, texture);
            let same = similarity(&first, &image(width, height, texture));
            assert!((same - 1.0).abs() < 1e-9, "{width}x{height}: {same}");
        }
        let first = image(40, 40, texture);
        let noisy =
            image(40, 40, |x, y| texture(x, y).map(|value| value.wrapping_add((x * y % 3) as u8 * 40)));
        let flat = image(40, 40, |_, _| [128; 3]);
        assert!(similarity(&first, &noisy) < 0.9);
        assert!(similarity(&first, &flat) < similarity(&first, &noisy));
        assert!(similarity(&first, &image(40, 41, texture)).abs() < 1e-9, "another size");
    }

    #[test]
    fn another_color_of_the_same_brightness_is_found() {
        let blue = image(32, 32, |x, _| if x % 16 < 8 { [60, 60, 250] } else { [90, 90, 90] });
        let gray = image(32, 32, |x, _| if x % 16 < 8 { [82, 82, 82] } else { [90, 90, 90] });
        assert!(similarity(&blue, &gray) < 0.6);
    }
}
