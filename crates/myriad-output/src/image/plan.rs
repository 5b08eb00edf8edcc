//! Arithmetic of the target sizes of images, as in nginx; an image is never enlarged.

use crate::image::request::RequestedSize;
use crate::image::size::ImageSize;

/// Area of an image that remains after cropping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CropArea {
    /// Number of columns that are removed at the left.
    pub left: u32,
    /// Number of rows that are removed at the top.
    pub top: u32,
    /// Size of the area that remains after cropping.
    pub size: ImageSize,
}

/// Returns whether an image of this size need not be scaled or cropped.
pub(crate) fn fits(shape: RequestedSize, size: ImageSize) -> bool {
    match shape {
        RequestedSize::Keep => true,
        RequestedSize::Resize { width, height } | RequestedSize::Crop { width, height } => {
            size.width <= width && size.height <= height
        }
    }
}

/// Returns the size to which an image is scaled; `None` if it is not scaled.
pub(crate) fn scaled(shape: RequestedSize, size: ImageSize) -> Option<ImageSize> {
    let scaled = match shape {
        RequestedSize::Keep => size,
        // The width is reduced first, then the height.
        RequestedSize::Resize { width, height } => as_high(as_wide(size, width), height),
        // One side is reduced to the requested length if it is longer; the other may remain longer.
        RequestedSize::Crop { width, height } => {
            let narrower =
                u64::from(size.width) * u64::from(height) < u64::from(width) * u64::from(size.height);
            if narrower { as_wide(size, width) } else { as_high(size, height) }
        }
    };
    (scaled != size).then_some(scaled)
}

/// Returns the area to which a scaled and rotated image is cropped; `None` if it is not cropped.
pub(crate) fn cut(shape: RequestedSize, size: ImageSize) -> Option<CropArea> {
    let RequestedSize::Crop { width, height } = shape else { return None };
    let left = ImageSize { width: size.width.min(width), height: size.height.min(height) };
    (left != size).then(|| CropArea {
        left: (size.width - left.width) / 2,
        top: (size.height - left.height) / 2,
        size: left,
    })
}

fn as_wide(size: ImageSize, width: u32) -> ImageSize {
    if size.width <= width {
        return size;
    }
    ImageSize { width, height: of(size.height, width, size.width) }
}

fn as_high(size: ImageSize, height: u32) -> ImageSize {
    if size.height <= height {
        return size;
    }
    ImageSize { width: of(size.width, height, size.height), height }
}

/// Returns `side * numerator / denominator`, rounded down, at least 1.
fn of(side: u32, numerator: u32, denominator: u32) -> u32 {
    let side = u64::from(side) * u64::from(numerator) / u64::from(denominator);
    // The result does not exceed `side`, because callers only reduce.
    (side as u32).max(1)
}

#[cfg(test)]
mod tests {
    use super::{CropArea, cut, fits, scaled};
    use crate::image::request::RequestedSize;
    use crate::image::size::ImageSize;

    const ANY: u32 = RequestedSize::ANY;

    fn size((width, height): (u32, u32)) -> ImageSize {
        ImageSize { width, height }
    }

    #[test]
    fn pictures_are_scaled_as_nginx_does_it() {
        for (from, within, to) in [
            ((100, 120), (10, 12), Some((10, 12))),
            ((100, 120), (10, ANY), Some((10, 12))),
            ((100, 120), (ANY, 12), Some((10, 12))),
            ((100, 120), (50, 30), Some((25, 30))),
            ((100, 120), (100, 120), None),
            ((100, 120), (1000, 1000), None),
            ((1000, 1), (10, 10), Some((10, 1))),
            ((65_535, 65_535), (65_534, ANY), Some((65_534, 65_534))),
        ] {
            let shape = RequestedSize::Resize { width: within.0, height: within.1 };
            assert_eq!(scaled(shape, size(from)), to.map(size), "{from:?} within {within:?}");
            assert_eq!(fits(shape, size(from)), to.is_none(), "{from:?} within {within:?}");
        }
    }

    #[test]
    fn pictures_are_cut_in_their_middle() {
        for (from, within, to, left) in [
            ((100, 120), (60, 80), Some((66, 80)), Some((3, 0, 60, 80))),
            ((100, 120), (50, 10), Some((50, 60)), Some((0, 25, 50, 10))),
            ((100, 120), (200, 60), None, Some((0, 30, 100, 60))),
            ((100, 120), (200, 200), None, None),
        ] {
            let shape = RequestedSize::Crop { width: within.0, height: within.1 };
            let made = scaled(shape, size(from));
            assert_eq!(made, to.map(size), "{from:?} within {within:?}");
            let left =
                left.map(|(left, top, width, height)| CropArea { left, top, size: size((width, height)) });
            assert_eq!(cut(shape, made.unwrap_or(size(from))), left, "{from:?} within {within:?}");
        }
        assert_eq!(cut(RequestedSize::Resize { width: 1, height: 1 }, size((9, 9))), None);
    }
}
