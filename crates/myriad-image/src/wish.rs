//! What is asked for of a picture.

/// The size that is asked for. A side of [`Shape::ANY`] is not bounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// As it is (`image_filter rotate`, or another format alone).
    #[default]
    Keep,
    /// At most so large, with its own proportions (`image_filter resize`).
    Resize {
        /// Pixels of a line, at most.
        width: u32,
        /// Lines, at most.
        height: u32,
    },
    /// At most so large, and what hangs over on the longer side is cut off on both ends (`image_filter crop`).
    Crop {
        /// Pixels of a line, at most.
        width: u32,
        /// Lines, at most.
        height: u32,
    },
}

impl Shape {
    /// A side that is not bounded: `-`.
    pub const ANY: u32 = u32::MAX;
}

/// By how much the picture is turned, against the clock (`image_filter rotate`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Turn {
    /// Not at all.
    #[default]
    None,
    /// 90 degrees.
    Quarter,
    /// 180 degrees.
    Half,
    /// 270 degrees.
    ThreeQuarters,
}

/// A format that a picture may be given instead of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// WebP.
    Webp,
    /// AVIF.
    Avif,
}

impl Format {
    /// Its media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Webp => "image/webp",
            Self::Avif => "image/avif",
        }
    }
}

/// What is asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wish {
    /// The size.
    pub shape: Shape,
    /// How it lies.
    pub turn: Turn,
    /// By how many percent edges are sharpened; 0 is not at all.
    pub sharpen: u32,
    /// Whether GIF and JPEG show themselves by and by.
    pub interlace: bool,
    /// Whether pictures of few colors keep what is transparent in them.
    pub transparency: bool,
    /// 1 to 100; 0 is none, and nothing can be written with it.
    pub jpeg_quality: u8,
    /// 1 to 100.
    pub webp_quality: u8,
    /// 1 to 100.
    pub avif_quality: u8,
    /// Formats that it may be given, the best first. It keeps its own where none is smaller.
    pub formats: Vec<Format>,
    /// How many pixels a picture may have that is read: each takes four bytes, a progressive JPEG's up to sixteen meanwhile.
    pub max_pixels: u64,
}

impl Default for Wish {
    /// nginx's defaults, and 25 million pixels.
    fn default() -> Self {
        Self {
            shape: Shape::Keep,
            turn: Turn::None,
            sharpen: 0,
            interlace: false,
            transparency: true,
            jpeg_quality: 75,
            webp_quality: 80,
            avif_quality: 60,
            formats: Vec::new(),
            max_pixels: 25 << 20,
        }
    }
}
