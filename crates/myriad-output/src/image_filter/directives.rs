//! Directives `image_filter*`, and their parsers.

use crate::image::OutputFormat;
use myriad_conf::registry::{
    Arguments, Contexts, Directive, FLAG, ONE, Set, SetterResult, at_least, between,
};
use myriad_conf::settings::Settings;
use myriad_conf::{Diagnostic, Text, set};

use super::settings::{ImageAction, ImageSettings};
use super::task::{angle, number, side};

const HSL: Contexts = Contexts::HSL;

pub(super) static ROWS: &[Directive] = &[
    Directive::new(
        "image_filter",
        HSL,
        between(1, 3),
        Set::Settings(image_filter),
        "Processes images: `test` (other content is answered with 415), `size` (returns the size as JSON), `rotate` by \
             90, 180 or 270 degrees counterclockwise, `resize` or `crop` to a width and a height (`-` for any); `rotate` can \
             be combined with `resize` or `crop`.",
    )
    .default("off")
    .repeats()
    .differs(
        "images are rotated as their Exif orientation specifies, ICC profiles of JPEG and PNG are preserved, and PNG is never \
             interlaced; separate threads do the work, and if too many images are queued, the response is 503",
    ),
    Directive::new(
        "image_filter_jpeg_quality",
        HSL,
        ONE,
        Set::Settings(|settings, args| {
            image_settings(settings).jpeg_quality = quality(args)?;
            Ok(())
        }),
        "Quality of JPEG images, 1 to 100.",
    )
    .default("75"),
    Directive::new(
        "image_filter_webp_quality",
        HSL,
        ONE,
        Set::Settings(|settings, args| {
            image_settings(settings).webp_quality = quality(args)?;
            Ok(())
        }),
        "Quality of WebP images, 1 to 100; images with few colors are always lossless.",
    )
    .default("80"),
    Directive::new(
        "image_filter_avif_quality",
        HSL,
        ONE,
        Set::Settings(|settings, args| {
            image_settings(settings).avif_quality = quality(args)?;
            Ok(())
        }),
        "Quality of AVIF images, 1 to 100.",
    )
    .default("60")
    .own(),
    Directive::new(
        "image_filter_format",
        HSL,
        at_least(1),
        Set::Settings(format),
        "Formats to which images are converted if the browser accepts them (`Accept`) and the result is smaller, the \
             preferred first: `avif`, `webp`; `off`. AVIF takes a second of processor time per million pixels, so cache the \
             responses (a `proxy_cache` in front); images of more than 8 million pixels get the next format.",
    )
    .default("off")
    .own(),
    Directive::new(
        "image_filter_sharpen",
        HSL,
        ONE,
        Set::Settings(|settings, args| {
            let percent = args.text(0)?;
            if !percent.has_variables() {
                args.number(0)?;
            }
            image_settings(settings).sharpen = percent;
            Ok(())
        }),
        "Sharpening of encoded images, in percent.",
    )
    .default("0"),
    Directive::new(
        "image_filter_transparency",
        HSL,
        FLAG,
        set!(Feature<ImageSettings>.flag => transparency),
        "Preserves the transparency of GIF, and of PNG with a palette.",
    )
    .default("on"),
    Directive::new(
        "image_filter_interlace",
        HSL,
        FLAG,
        set!(Feature<ImageSettings>.flag => interlace),
        "Writes interlaced GIF and progressive JPEG.",
    )
    .default("off"),
    Directive::new(
        "image_filter_buffer",
        HSL,
        ONE,
        set!(Feature<ImageSettings>.size => buffer),
        "Maximum size of an image in bytes; a larger one is answered with 415.",
    )
    .default("1m"),
    Directive::new(
        "image_filter_pixels",
        HSL,
        ONE,
        set!(Feature<ImageSettings>.size => pixels),
        "Maximum number of pixels of an image that is encoded again; a larger one is answered with 415. A pixel takes up \
             to 16 bytes while the image is read (20 in a progressive CMYK JPEG). Images that require more memory or work \
             are answered with 415, such as a progressive JPEG of more than 128 scans.",
    )
    .default("25m")
    .own(),
];

fn image_settings(settings: &mut Settings) -> &mut ImageSettings {
    settings.feature_mut()
}

fn image_filter(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let act = match (args.bytes(0), args.len()) {
        (b"off", 1) => ImageAction::Off,
        (b"test", 1) => ImageAction::Test,
        (b"size", 1) => ImageAction::Size,
        (b"rotate", 2) => ImageAction::Rotate(angle_of(args)?),
        (b"resize", 3) => ImageAction::Resize(side_of(args, 1)?, side_of(args, 2)?),
        (b"crop", 3) => ImageAction::Crop(side_of(args, 1)?, side_of(args, 2)?),
        _ => {
            let must_be = "\"off\", \"test\", \"size\", \"rotate\" and an angle, \"resize\" or \"crop\" with a width and a height";
            return Err(args.invalid(0, must_be));
        }
    };
    let acts = &mut image_settings(settings).actions;
    args.start(acts);
    acts.push(act);
    Ok(())
}

fn angle_of(args: &Arguments<'_>) -> Result<Text, Diagnostic> {
    let text = args.text(1)?;
    if !text.has_variables() && angle(text.bytes()).is_none() {
        return Err(args.invalid(1, "90, 180 or 270"));
    }
    Ok(text)
}

fn side_of(args: &Arguments<'_>, index: usize) -> Result<Text, Diagnostic> {
    let text = args.text(index)?;
    if !text.has_variables() && side(text.bytes()).is_none() {
        return Err(args.invalid(index, "a number of pixels, or \"-\" for any"));
    }
    Ok(text)
}

fn quality(args: &Arguments<'_>) -> Result<Text, Diagnostic> {
    let text = args.text(0)?;
    if !text.has_variables() && number(text.bytes()).is_none() {
        return Err(args.invalid(0, "a number from 1 to 100"));
    }
    Ok(text)
}

fn format(settings: &mut Settings, args: &mut Arguments<'_>) -> SetterResult {
    let mut formats = Vec::new();
    for index in 0..args.len() {
        match args.bytes(index) {
            b"off" if args.len() == 1 => {}
            b"avif" if !formats.contains(&OutputFormat::Avif) => formats.push(OutputFormat::Avif),
            b"webp" if !formats.contains(&OutputFormat::Webp) => formats.push(OutputFormat::Webp),
            _ => return Err(args.invalid(index, "\"avif\" and \"webp\", each once, or \"off\" alone")),
        }
    }
    image_settings(settings).formats = formats;
    Ok(())
}
