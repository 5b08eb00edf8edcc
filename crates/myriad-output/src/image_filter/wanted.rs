//! Parameters of a request: sides, angles and qualities may be variables.

use crate::image::{Shape, Turn, Wish};
use myriad_exchange::exchange::Exchange;
use myriad_script::Template;

use super::accept::accepted;
use super::rules::{Images, Rule, Shaping};

/// Requested processing of a response.
pub(super) enum Wanted {
    /// Test that it is an image.
    Test,
    /// Size of the image.
    Size,
    /// Conversion of the image.
    Make(Wish),
}

impl Images {
    /// Returns the parameters of a request; `None` if a side, an angle or a quality is invalid.
    pub(super) fn wanted(&self, exchange: &mut Exchange) -> Option<Wanted> {
        let shaping = match &self.rule {
            Rule::Test => return Some(Wanted::Test),
            Rule::Size => return Some(Wanted::Size),
            Rule::Make(shaping) => shaping,
        };
        let mut value = |template: &Template| {
            let Exchange { request, frame } = exchange;
            let mut text = Vec::new();
            template.eval(request, frame, &mut text).ok()?;
            Some(text)
        };
        let turn = match &self.angle {
            // As in nginx, an invalid angle is ignored if a size is configured.
            Some(by) => angle(&value(by)?).or((!matches!(shaping, Shaping::Keep)).then_some(Turn::None))?,
            None => Turn::None,
        };
        let mut sides = |width, height| Some((side(&value(width)?)?, side(&value(height)?)?));
        let shape = match shaping {
            Shaping::Keep => Shape::Keep,
            Shaping::Resize(width, height) => {
                sides(width, height).map(|(width, height)| Shape::Resize { width, height })?
            }
            Shaping::Crop(width, height) => {
                sides(width, height).map(|(width, height)| Shape::Crop { width, height })?
            }
        };
        // As in nginx, an invalid quality only matters if the image is encoded with it.
        let mut quality = |template| Some(number(&value(template)?).unwrap_or(0).min(100) as u8);
        let (jpeg_quality, webp_quality) = (quality(&self.jpeg_quality)?, quality(&self.webp_quality)?);
        let avif_quality = quality(&self.avif_quality)?;
        Some(Wanted::Make(Wish {
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

/// Parses a number above 0.
pub(super) fn number(text: &[u8]) -> Option<u32> {
    let digits = !text.is_empty() && text.iter().all(u8::is_ascii_digit);
    let number = std::str::from_utf8(text).ok().filter(|_| digits)?.parse().ok()?;
    (number > 0).then_some(number)
}

/// Parses a side: a number above 0, or `-`.
pub(super) fn side(text: &[u8]) -> Option<u32> {
    if text == b"-" { Some(Shape::ANY) } else { number(text) }
}

/// Parses an angle, counterclockwise.
pub(super) fn angle(text: &[u8]) -> Option<Turn> {
    match text {
        b"90" => Some(Turn::Quarter),
        b"180" => Some(Turn::Half),
        b"270" => Some(Turn::ThreeQuarters),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Shape, Turn, angle, number, side};

    #[test]
    fn words_that_are_asked_with() {
        assert_eq!(
            [side(b"-"), side(b"12"), side(b"0"), side(b"+1"), side(b""), side(b"1.5")],
            [Some(Shape::ANY), Some(12), None, None, None, None]
        );
        assert_eq!((number(b"-"), number(b"99999999999")), (None, None));
        assert_eq!(
            [angle(b"90"), angle(b"180"), angle(b"270"), angle(b"45")],
            [Some(Turn::Quarter), Some(Turn::Half), Some(Turn::ThreeQuarters), None]
        );
    }
}
