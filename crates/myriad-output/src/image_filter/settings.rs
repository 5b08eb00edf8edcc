//! Settings of the directives.

use crate::image::OutputFormat;
use myriad_conf::Text;

/// Single `image_filter`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ImageAction {
    /// `off`.
    Off,
    /// `test`: images are sent unchanged.
    Test,
    /// `size`: the size is returned instead of the image.
    Size,
    /// `rotate ANGLE`.
    Rotate(Text),
    /// `resize WIDTH HEIGHT`.
    Resize(Text, Text),
    /// `crop WIDTH HEIGHT`.
    Crop(Text, Text),
}

/// Settings of a level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ImageSettings {
    /// All `image_filter` of a level.
    pub actions: Vec<ImageAction>,
    /// `image_filter_jpeg_quality`.
    pub jpeg_quality: Text,
    /// `image_filter_webp_quality`.
    pub webp_quality: Text,
    /// `image_filter_avif_quality`.
    pub avif_quality: Text,
    /// `image_filter_sharpen`.
    pub sharpen: Text,
    /// `image_filter_transparency`.
    pub transparency: bool,
    /// `image_filter_interlace`.
    pub interlace: bool,
    /// `image_filter_buffer`, in bytes.
    pub buffer: u64,
    /// `image_filter_pixels`.
    pub pixels: u64,
    /// `image_filter_format`, in order of preference.
    pub formats: Vec<OutputFormat>,
}

impl Default for ImageSettings {
    /// Returns nginx's defaults.
    fn default() -> Self {
        Self {
            actions: Vec::new(),
            jpeg_quality: Text::builtin("75"),
            webp_quality: Text::builtin("80"),
            avif_quality: Text::builtin("60"),
            sharpen: Text::builtin("0"),
            transparency: true,
            interlace: false,
            buffer: 1 << 20,
            pixels: 25 << 20,
            formats: Vec::new(),
        }
    }
}

myriad_conf::feature_settings!(ImageSettings);
