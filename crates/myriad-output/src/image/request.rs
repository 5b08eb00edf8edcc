//! Requested changes of an image.

/// Requested size. A side of [`RequestedSize::ANY`] is not bounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequestedSize {
    /// Unchanged size (`image_filter rotate`, or a change of the format only).
    #[default]
    Keep,
    /// Maximum size; the proportions are preserved (`image_filter resize`).
    Resize {
        /// Maximum width in pixels.
        width: u32,
        /// Maximum height in pixels.
        height: u32,
    },
    /// Maximum size; the longer side is cropped at both edges (`image_filter crop`).
    Crop {
        /// Maximum width in pixels.
        width: u32,
        /// Maximum height in pixels.
        height: u32,
    },
}

impl RequestedSize {
    /// Unbounded side: `-`.
    pub const ANY: u32 = u32::MAX;
}

/// Counterclockwise rotation (`image_filter rotate`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ImageRotation {
    /// No rotation.
    #[default]
    None,
    /// 90 degrees.
    Quarter,
    /// 180 degrees.
    Half,
    /// 270 degrees.
    ThreeQuarters,
}

/// Output format that may replace the input format.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputFormat {
    /// WebP.
    Webp,
    /// AVIF.
    Avif,
}

impl OutputFormat {
    /// Returns the media type.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Webp => "image/webp",
            Self::Avif => "image/avif",
        }
    }
}

/// Requested changes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageRequest {
    /// Requested size.
    pub shape: RequestedSize,
    /// Rotation.
    pub turn: ImageRotation,
    /// Percentage of sharpening; 0 for none.
    pub sharpen: u32,
    /// Set if GIF and JPEG are interlaced or progressive.
    pub interlace: bool,
    /// Set if images with a palette preserve their transparency.
    pub transparency: bool,
    /// JPEG quality, 1 to 100; 0 is invalid, and encoding with it fails.
    pub jpeg_quality: u8,
    /// WebP quality, 1 to 100.
    pub webp_quality: u8,
    /// AVIF quality, 1 to 100.
    pub avif_quality: u8,
    /// Permitted output formats, in order of preference. The input format is used if none is smaller.
    pub formats: Vec<OutputFormat>,
    /// Maximum number of pixels of an input image: each takes four bytes, with a progressive JPEG up to sixteen during
    /// decoding.
    pub max_pixels: u64,
}

impl Default for ImageRequest {
    /// Returns nginx's defaults, and 25 million pixels.
    fn default() -> Self {
        Self {
            shape: RequestedSize::Keep,
            turn: ImageRotation::None,
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
