//! Compiled settings of a place.

use crate::image::Format;
use myriad_conf::settings::Settings;
use myriad_exchange::exchange::Hold;
use myriad_exchange::runtime::{PlaceFeatures, SettingsCompiler};
use myriad_script::Template;

use super::settings::{Act, ImageSettings};

/// Processing of the images of a place.
pub(super) enum Rule {
    /// Images are sent unchanged.
    Test,
    /// The size is returned as JSON.
    Size,
    /// Images are converted.
    Make(Shaping),
}

/// Requested size.
pub(super) enum Shaping {
    /// Size of the image.
    Keep,
    /// Maximum width and height.
    Resize(Template, Template),
    /// Width and height, with cropping.
    Crop(Template, Template),
}

/// Compiled settings of a place with `image_filter`.
pub(super) struct Images {
    pub(super) rule: Rule,
    pub(super) angle: Option<Template>,
    pub(super) jpeg_quality: Template,
    pub(super) webp_quality: Template,
    pub(super) avif_quality: Template,
    pub(super) sharpen: Template,
    pub(super) transparency: bool,
    pub(super) interlace: bool,
    pub(super) buffer: u64,
    pub(super) pixels: u64,
    pub(super) formats: Vec<Format>,
}

/// Compiles the settings of a place with `image_filter`.
pub(super) fn compile(
    compiler: &mut dyn SettingsCompiler,
    settings: &Settings,
    features: &mut PlaceFeatures,
) {
    let said = settings.feature::<ImageSettings>();
    let (mut rule, mut angle) = (None, None);
    for act in &said.acts {
        match act {
            Act::Off => rule = None,
            Act::Test => rule = Some(Rule::Test),
            Act::Size => rule = Some(Rule::Size),
            Act::Rotate(by) => {
                angle = Some(compiler.template(by));
                let shaped = matches!(rule, Some(Rule::Make(Shaping::Resize(..) | Shaping::Crop(..))));
                rule = if shaped { rule } else { Some(Rule::Make(Shaping::Keep)) };
            }
            Act::Resize(width, height) => {
                let sides = (compiler.template(width), compiler.template(height));
                rule = Some(Rule::Make(Shaping::Resize(sides.0, sides.1)));
            }
            Act::Crop(width, height) => {
                let sides = (compiler.template(width), compiler.template(height));
                rule = Some(Rule::Make(Shaping::Crop(sides.0, sides.1)));
            }
        }
    }
    let Some(rule) = rule else { return };
    let images: Box<dyn Hold> = Box::new(Images {
        rule,
        angle,
        jpeg_quality: compiler.template(&said.jpeg_quality),
        webp_quality: compiler.template(&said.webp_quality),
        avif_quality: compiler.template(&said.avif_quality),
        sharpen: compiler.template(&said.sharpen),
        transparency: said.transparency,
        interlace: said.interlace,
        buffer: said.buffer,
        pixels: said.pixels,
        formats: said.formats.clone(),
    });
    features.keep(images);
}
