//! Settings of `image_filter*`.

use crate::image::OutputFormat;
use myriad_conf::Text;

/// One `image_filter` directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ImageAction {
    /// `off`: cancels the actions before it; a rotation still applies if a size follows.
    Off,
    /// `test`: images are sent unchanged.
    Test,
    /// `size`: the size is returned instead of the image.
    Size,
    /// `rotate ANGLE`, counterclockwise in degrees.
    Rotate(Text),
    /// `resize WIDTH HEIGHT`: maximum size in pixels; `-` for no limit.
    Resize(Text, Text),
    /// `crop WIDTH HEIGHT`: maximum size in pixels, with cropping; `-` for no limit.
    Crop(Text, Text),
}

/// Settings of `image_filter*` on a configuration level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ImageSettings {
    /// All `image_filter` directives of the level, in the order of the configuration.
    pub actions: Vec<ImageAction>,
    /// `image_filter_jpeg_quality`: a number from 1 to 100; may contain variables.
    pub jpeg_quality: Text,
    /// `image_filter_webp_quality`: a number from 1 to 100; may contain variables.
    pub webp_quality: Text,
    /// `image_filter_avif_quality`: a number from 1 to 100; may contain variables.
    pub avif_quality: Text,
    /// `image_filter_sharpen`, in percent; may contain variables.
    pub sharpen: Text,
    /// `image_filter_transparency`: true if images with a palette preserve their transparency.
    pub transparency: bool,
    /// `image_filter_interlace`: true if GIF is written interlaced, JPEG progressive.
    pub interlace: bool,
    /// `image_filter_buffer`: maximum size of an input image, in bytes.
    pub buffer: u64,
    /// `image_filter_pixels`: maximum number of pixels of an input image.
    pub pixels: u64,
    /// `image_filter_format`: output formats, in order of preference; empty for `off`.
    pub formats: Vec<OutputFormat>,
}

impl Default for ImageSettings {
    /// Returns nginx's defaults, and Myriad's for its own directives.
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
