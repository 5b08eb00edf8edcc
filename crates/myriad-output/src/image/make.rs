//! Conversion from bytes to bytes.

use crate::image::facts::Facts;
use crate::image::fault::Fault;
use crate::image::interrupt::Interrupt;
use crate::image::kind::Kind;
use crate::image::picture::Picture;
use crate::image::plan;
use crate::image::read::read;
use crate::image::sharpen::sharpen;
use crate::image::size::Size;
use crate::image::wish::{Format, Shape, Turn, Wish};
use crate::image::write::{write, write_as};

/// Result of a conversion.
#[derive(Debug, PartialEq, Eq)]
pub enum Made {
    /// The image already satisfies the request.
    AsItIs,
    /// The image was encoded again.
    Anew {
        /// Encoded image.
        bytes: Vec<u8>,
        /// New format; `None` if the format is unchanged.
        format: Option<Format>,
    },
}

/// Converts an image as requested. If `interrupt` cancels the work, the result is [`Fault::Cancelled`].
pub fn make(bytes: &[u8], kind: Kind, wish: &Wish, interrupt: Interrupt<'_>) -> Result<Made, Fault> {
    let facts = Facts::read(kind, bytes);
    if let Some(facts) = facts.filter(|facts| fits(facts, wish)) {
        return smaller(bytes, kind, &facts, wish, interrupt);
    }
    let mut picture = upright(kind, bytes, facts.as_ref(), wish, interrupt)?;
    if !wish.transparency && picture.has_palette {
        picture.pixels.make_opaque();
    }
    let size = facts.map_or(picture.pixels.size, |facts| facts.seen());
    let size = plan::scaled(wish.shape, size).unwrap_or(size);
    if picture.pixels.size != size {
        picture.pixels = picture.pixels.scaled(size)?;
    }
    interrupt.check()?;
    picture.pixels = picture.pixels.turned(wish.turn);
    if let Some(cut) = plan::cut(wish.shape, picture.pixels.size) {
        picture.pixels = picture.pixels.cut(cut);
    }
    sharpen(&mut picture.pixels, wish.sharpen);
    let own = write(kind, &picture, wish, interrupt)?;
    Ok(match best(kind, &picture, wish, own.len(), interrupt)? {
        Some((format, bytes)) => Made::Anew { bytes, format: Some(format) },
        None => Made::Anew { bytes: own, format: None },
    })
}

/// Decodes an image in its display orientation, at least as large as the result.
fn upright(
    kind: Kind,
    bytes: &[u8],
    facts: Option<&Facts>,
    wish: &Wish,
    interrupt: Interrupt<'_>,
) -> Result<Picture, Fault> {
    let Some(facts) = facts else { return read(kind, bytes, Size::LARGEST, wish.max_pixels, interrupt) };
    let wanted = plan::scaled(wish.shape, facts.seen()).unwrap_or(Size::LARGEST);
    let wanted = if facts.lies_on_its_side() { wanted.on_its_side() } else { wanted };
    let mut picture = read(kind, bytes, wanted, wish.max_pixels, interrupt)?;
    picture.pixels = picture.pixels.upright(facts.orientation);
    Ok(picture)
}

/// Returns whether an image satisfies the request except for its format. An image with much metadata is encoded again
/// without it, unless its shape is to be preserved.
fn fits(facts: &Facts, wish: &Wish) -> bool {
    let laden = facts.laden && wish.shape != Shape::Keep;
    wish.turn == Turn::None && !laden && plan::fits(wish.shape, facts.seen())
}

/// Converts an image that satisfies the request to a format in which it is smaller.
fn smaller(
    bytes: &[u8],
    kind: Kind,
    facts: &Facts,
    wish: &Wish,
    interrupt: Interrupt<'_>,
) -> Result<Made, Fault> {
    if wish.formats.is_empty() || moves(kind, bytes) {
        return Ok(Made::AsItIs);
    }
    let Ok(picture) = upright(kind, bytes, Some(facts), wish, interrupt) else {
        // The image satisfies the request, so a decoding failure is not an error.
        return interrupt.check().map(|()| Made::AsItIs);
    };
    Ok(match best(kind, &picture, wish, bytes.len(), interrupt)? {
        Some((format, bytes)) => Made::Anew { bytes, format: Some(format) },
        None => Made::AsItIs,
    })
}

/// Returns the first of the requested formats in which the image has less than `most` bytes.
fn best(
    kind: Kind,
    picture: &Picture,
    wish: &Wish,
    most: usize,
    interrupt: Interrupt<'_>,
) -> Result<Option<(Format, Vec<u8>)>, Fault> {
    for format in wish.formats.iter().filter(|format| !(kind == Kind::Webp && **format == Format::Webp)) {
        interrupt.check()?;
        let written = write_as(*format, picture, wish);
        if let Some(bytes) = written.filter(|bytes| bytes.len() < most) {
            return Ok(Some((*format, bytes)));
        }
    }
    Ok(None)
}

/// Returns whether an image may be animated: other formats would only contain its first frame.
fn moves(kind: Kind, bytes: &[u8]) -> bool {
    let contains = |text: &[u8]| bytes.windows(text.len()).any(|part| part == text);
    match kind {
        Kind::Jpeg => false,
        // The application block with the number of repetitions, or a second graphic control block.
        Kind::Gif => {
            contains(b"NETSCAPE2.0") || bytes.windows(3).filter(|part| *part == b"\x21\xf9\x04").count() > 1
        }
        Kind::Png => contains(b"acTL"),
        Kind::Webp => contains(b"ANIM"),
    }
}

#[cfg(test)]
mod tests;
