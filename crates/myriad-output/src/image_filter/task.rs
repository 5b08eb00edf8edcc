//! Evaluation of the settings of `image_filter*` for a request: sides, angles and qualities may contain variables.

use crate::image::{ImageRequest, ImageRotation, RequestedSize};
use myriad_base::digits::decimal;
use myriad_exchange::exchange::Exchange;
use myriad_script::Template;

use super::accept::accepted;
use super::rules::{ImageFilter, ImageRule, SizeRule};

/// Processing that `image_filter` requests for the body of a response.
pub(super) enum ImageTask {
    /// Test that the response is an image.
    Test,
    /// Return the size of the image.
    Size,
    /// Convert the image.
    Make(ImageRequest),
}

impl ImageFilter {
    /// Evaluates the settings for a request; `None` if a side is invalid, if an angle is invalid and no size is
    /// configured, or if a text cannot be evaluated.
    pub(super) fn wanted(&self, exchange: &mut Exchange) -> Option<ImageTask> {
        let shaping = match &self.rule {
            ImageRule::Test => return Some(ImageTask::Test),
            ImageRule::Size => return Some(ImageTask::Size),
            ImageRule::Make(shaping) => shaping,
        };
        let mut value = |template: &Template| {
            let Exchange { request, frame } = exchange;
            let mut text = Vec::new();
            template.eval(request, frame, &mut text).ok()?;
            Some(text)
        };
        let turn = match &self.angle {
            // As in nginx, an invalid angle is ignored if a size is configured.
            Some(by) => {
                angle(&value(by)?).or((!matches!(shaping, SizeRule::Keep)).then_some(ImageRotation::None))?
            }
            None => ImageRotation::None,
        };
        let mut sides = |width, height| Some((side(&value(width)?)?, side(&value(height)?)?));
        let shape = match shaping {
            SizeRule::Keep => RequestedSize::Keep,
            SizeRule::Resize(width, height) => {
                sides(width, height).map(|(width, height)| RequestedSize::Resize { width, height })?
            }
            SizeRule::Crop(width, height) => {
                sides(width, height).map(|(width, height)| RequestedSize::Crop { width, height })?
            }
        };
        // As in nginx, an invalid quality matters only if the image is encoded with it.
        let mut quality = |template| Some(number(&value(template)?).unwrap_or(0).min(100) as u8);
        let (jpeg_quality, webp_quality) = (quality(&self.jpeg_quality)?, quality(&self.webp_quality)?);
        let avif_quality = quality(&self.avif_quality)?;
        Some(ImageTask::Make(ImageRequest {
            shape,
            turn,
            sharpen: number(&value(&self.sharpen)?).unwrap_or(0),
            interlace: self.interlace,
            transparency: self.transparency,
            jpeg_quality,
            webp_quality,
            avif_quality,
            formats: accepted(&self.formats, &exchange.request),
            max_pixels: self.pixels,
        }))
    }
}

/// Parses a number above 0; `None` if it is invalid.
pub(super) fn number(text: &[u8]) -> Option<u32> {
    decimal(text).filter(|number| *number > 0)
}

/// Parses a side in pixels: a number above 0, or `-` for no limit. `None` if it is invalid.
pub(super) fn side(text: &[u8]) -> Option<u32> {
    if text == b"-" { Some(RequestedSize::ANY) } else { number(text) }
}

/// Parses an angle of 90, 180 or 270 degrees, counterclockwise; `None` for any other text.
pub(super) fn angle(text: &[u8]) -> Option<ImageRotation> {
    match text {
        b"90" => Some(ImageRotation::Quarter),
        b"180" => Some(ImageRotation::Half),
        b"270" => Some(ImageRotation::ThreeQuarters),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{ImageRotation, RequestedSize, angle, number, side};

    #[test]
    fn words_that_are_asked_with() {
        assert_eq!(
            [side(b"-"), side(b"12"), side(b"0"), side(b"+1"), side(b""), side(b"1.5")],
            [Some(RequestedSize::ANY), Some(12), None, None, None, None]
        );
        assert_eq!((number(b"-"), number(b"99999999999")), (None, None));
        assert_eq!(
            [angle(b"90"), angle(b"180"), angle(b"270"), angle(b"45")],
            [
                Some(ImageRotation::Quarter),
                Some(ImageRotation::Half),
                Some(ImageRotation::ThreeQuarters),
                None
            ]
        );
    }
}
