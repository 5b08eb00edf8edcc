//! `image_filter_sharpen`, as in GD: the difference of each pixel to its neighbors is increased, along columns and
//! then along rows.

use crate::image::pixels::{DEPTH, Pixels};

/// Sharpens by a percentage. An image of at most two rows or columns is unchanged.
pub(crate) fn sharpen(pixels: &mut Pixels, percent: u32) {
    let (width, height) = (pixels.size.width as usize, pixels.size.height as usize);
    if percent == 0 || width <= 2 || height <= 2 {
        return;
    }
    let outer = -(percent as f32) / 400.0;
    let inner = 1.0 - 2.0 * outer;
    let mut line = vec![[0; DEPTH]; width.max(height)];
    let (all, _) = pixels.data.as_chunks_mut::<DEPTH>();
    for column in 0..width {
        pass(all, column, width, &mut line[..height], (outer, inner));
    }
    for row in 0..height {
        pass(all, row * width, 1, &mut line[..width], (outer, inner));
    }
}

/// Sharpens the pixels at `start`, `start + step`, …; their number is the length of the buffer `before`.
fn pass(
    all: &mut [[u8; DEPTH]],
    start: usize,
    step: usize,
    before: &mut [[u8; DEPTH]],
    (outer, inner): (f32, f32),
) {
    for (at, pixel) in before.iter_mut().enumerate() {
        *pixel = all[start + at * step];
    }
    let last = before.len() - 1;
    for at in 0..=last {
        // Beyond the edge, the pixel of the edge is used.
        let neighbours = [before[at.saturating_sub(1)], before[(at + 1).min(last)]];
        let pixel = &mut all[start + at * step];
        for color in 0..DEPTH - 1 {
            let around: f32 = neighbours.iter().map(|pixel| f32::from(pixel[color])).sum();
            let sharp = inner * f32::from(before[at][color]) + outer * around;
            pixel[color] = sharp.clamp(0.0, 255.0) as u8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::sharpen;
    use crate::image::pixels::Pixels;
    use crate::image::size::ImageSize;

    fn edge(width: u32) -> Pixels {
        let line =
            |_| (0..width).flat_map(move |at| if at < width / 2 { [100, 0, 0, 9] } else { [200, 0, 0, 9] });
        Pixels::new(ImageSize { width, height: 3 }, (0..3).flat_map(line).collect()).unwrap()
    }

    #[test]
    fn edges_are_set_off_and_planes_stay() {
        let mut pixels = edge(4);
        sharpen(&mut pixels, 100);
        let reds: Vec<u8> = pixels.each().map(|[red, ..]| red).collect();
        assert_eq!(reds[..4], [100, 75, 225, 200]);
        assert!(pixels.each().all(|[.., alpha]| alpha == 9), "the alpha channel is unchanged");
    }

    #[test]
    fn nothing_is_asked_or_too_narrow() {
        for (width, percent) in [(4, 0), (2, 100)] {
            let mut pixels = edge(width);
            sharpen(&mut pixels, percent);
            assert_eq!(pixels.data, edge(width).data);
        }
        let mut much = edge(4);
        sharpen(&mut much, u32::MAX);
        assert_eq!(much.each().nth(1).unwrap(), [0, 0, 0, 9]);
    }
}
