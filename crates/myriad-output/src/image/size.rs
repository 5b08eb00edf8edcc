//! Size of an image.

/// Size of an image, in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ImageSize {
    /// Number of columns.
    pub width: u32,
    /// Number of rows.
    pub height: u32,
}

impl ImageSize {
    /// Largest possible size; as a requested size, it permits no reduction of the decoded image.
    pub(crate) const LARGEST: Self = Self { width: u32::MAX, height: u32::MAX };

    /// Creates a size; `None` if a side is 0.
    pub(crate) fn new(width: u32, height: u32) -> Option<Self> {
        (width > 0 && height > 0).then_some(Self { width, height })
    }

    /// Returns the size with width and height exchanged.
    pub(crate) fn on_its_side(self) -> Self {
        Self { width: self.height, height: self.width }
    }

    /// Returns the number of pixels.
    pub(crate) fn pixels(self) -> u64 {
        u64::from(self.width) * u64::from(self.height)
    }
}

#[cfg(test)]
mod tests {
    use super::ImageSize;

    #[test]
    fn picture_on_its_side_has_its_sides_exchanged() {
        let size = ImageSize { width: 3, height: 2 };
        assert_eq!((size.on_its_side(), size.pixels()), (ImageSize { width: 2, height: 3 }, 6));
    }
}
