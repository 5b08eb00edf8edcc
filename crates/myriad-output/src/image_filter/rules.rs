//! Compiled settings of `image_filter*`.

use crate::image::OutputFormat;
use myriad_conf::settings::Settings;
use myriad_exchange::exchange::ResponseHold;
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};
use myriad_script::Template;

use super::settings::{ImageAction, ImageSettings};

/// Processing of the images of a location by `image_filter`.
pub(super) enum ImageRule {
    /// `test`: images are sent unchanged, other responses are rejected.
    Test,
    /// `size`: the size is returned as JSON.
    Size,
    /// `resize`, `crop` or `rotate`: images are converted.
    Make(SizeRule),
}

/// Requested size of images.
pub(super) enum SizeRule {
    /// The size is not changed.
    Keep,
    /// `resize`: maximum width and height.
    Resize(Template, Template),
    /// `crop`: maximum width and height, with cropping.
    Crop(Template, Template),
}

/// Compiled `image_filter*` of a location.
pub(super) struct ImageFilter {
    pub(super) rule: ImageRule,
    pub(super) angle: Option<Template>,
    pub(super) jpeg_quality: Template,
    pub(super) webp_quality: Template,
    pub(super) avif_quality: Template,
    pub(super) sharpen: Template,
    pub(super) transparency: bool,
    pub(super) interlace: bool,
    pub(super) buffer: u64,
    pub(super) pixels: u64,
    pub(super) formats: Vec<OutputFormat>,
}

/// Stores the compiled settings of a configuration level in `features`, unless `image_filter` is `off` or not
/// configured.
pub(super) fn compile(
    compiler: &mut dyn SettingsCompiler,
    settings: &Settings,
    features: &mut PlaceFeatures,
) {
    let image_settings = settings.feature::<ImageSettings>();
    let (mut rule, mut angle) = (None, None);
    for act in &image_settings.actions {
        match act {
            ImageAction::Off => rule = None,
            ImageAction::Test => rule = Some(ImageRule::Test),
            ImageAction::Size => rule = Some(ImageRule::Size),
            ImageAction::Rotate(by) => {
                angle = Some(compiler.template(by));
                let shaped = matches!(rule, Some(ImageRule::Make(SizeRule::Resize(..) | SizeRule::Crop(..))));
                rule = if shaped { rule } else { Some(ImageRule::Make(SizeRule::Keep)) };
            }
            ImageAction::Resize(width, height) => {
                let sides = (compiler.template(width), compiler.template(height));
                rule = Some(ImageRule::Make(SizeRule::Resize(sides.0, sides.1)));
            }
            ImageAction::Crop(width, height) => {
                let sides = (compiler.template(width), compiler.template(height));
                rule = Some(ImageRule::Make(SizeRule::Crop(sides.0, sides.1)));
            }
        }
    }
    let Some(rule) = rule else { return };
    let images: Box<dyn ResponseHold> = Box::new(ImageFilter {
        rule,
        angle,
        jpeg_quality: compiler.template(&image_settings.jpeg_quality),
        webp_quality: compiler.template(&image_settings.webp_quality),
        avif_quality: compiler.template(&image_settings.avif_quality),
        sharpen: compiler.template(&image_settings.sharpen),
        transparency: image_settings.transparency,
        interlace: image_settings.interlace,
        buffer: image_settings.buffer,
        pixels: image_settings.pixels,
        formats: image_settings.formats.clone(),
    });
    // Copies of images, which the page optimizer makes, are for unchanged files only.
    let _ = features.take::<Box<dyn ResponseHold>>();
    features.insert(images);
}
