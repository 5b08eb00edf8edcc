//! Requested changes of an image.

/// Requested size. A side of [`RequestedSize::ANY`] is not limited.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequestedSize {
    /// Unchanged size (`image_filter rotate`, or only a change of the format).
    #[default]
    Keep,
    /// `image_filter resize`: maximum size; the proportions are preserved.
    Resize {
        /// Maximum width in pixels.
        width: u32,
        /// Maximum height in pixels.
        height: u32,
    },
    /// `image_filter crop`: maximum size; the image is scaled until one side fits, and the other side is cropped
    /// equally at its two edges.
    Crop {
        /// Maximum width in pixels.
        width: u32,
        /// Maximum height in pixels.
        height: u32,
    },
}

impl RequestedSize {
    /// Value of a width or height without a limit, which is configured as `-`.
    pub const ANY: u32 = u32::MAX;
}

/// `image_filter rotate`: counterclockwise rotation.
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

/// Format to which an image may be converted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputFormat {
    /// WebP.
    Webp,
    /// AVIF.
    Avif,
}

impl OutputFormat {
    /// Returns the media type of the format, such as `image/webp`.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::Webp => "image/webp",
            Self::Avif => "image/avif",
        }
    }
}

/// Requested changes of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageRequest {
    /// Requested size of the image.
    pub shape: RequestedSize,
    /// Requested rotation of the image.
    pub turn: ImageRotation,
    /// Percentage of sharpening (`image_filter_sharpen`); 0 for none.
    pub sharpen: u32,
    /// `image_filter_interlace`: true if GIF is written interlaced, JPEG progressive.
    pub interlace: bool,
    /// `image_filter_transparency`: true if images with a palette preserve their transparency.
    pub transparency: bool,
    /// JPEG quality, from 1 to 100; encoding fails with 0.
    pub jpeg_quality: u8,
    /// WebP quality, from 1 to 100; lossy encoding fails with 0.
    pub webp_quality: u8,
    /// AVIF quality, from 1 to 100; encoding fails with 0.
    pub avif_quality: u8,
    /// Formats to which the image may be converted, in order of preference. The input format is retained if the image
    /// is smaller in none of them.
    pub formats: Vec<OutputFormat>,
    /// Maximum number of pixels of an input image. Each pixel takes four bytes of memory, and up to twenty while a
    /// progressive JPEG is decoded.
    pub max_pixels: u64,
}

impl Default for ImageRequest {
    /// Returns the defaults of nginx's `image_filter*` directives, and 25 times 2^20 pixels.
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
