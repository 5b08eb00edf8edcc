//! From bytes to bytes.

use crate::facts::Facts;
use crate::fault::Fault;
use crate::interrupt::Interrupt;
use crate::kind::Kind;
use crate::picture::Picture;
use crate::plan;
use crate::read::read;
use crate::sharpen::sharpen;
use crate::size::Size;
use crate::wish::{Format, Shape, Turn, Wish};
use crate::write::{write, write_as};

/// What became of a picture.
#[derive(Debug, PartialEq, Eq)]
pub enum Made {
    /// It is as it is asked for.
    AsItIs,
    /// It was written anew.
    Anew {
        /// The picture.
        bytes: Vec<u8>,
        /// Its format; none where it kept its own.
        format: Option<Format>,
    },
}

/// Makes what is asked for of a picture. Work that `interrupt` cancels ends with [`Fault::Cancelled`].
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

/// Reads a picture as it is seen, at least as large as it is going to be.
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

/// Whether a picture is as it is asked for, but for its format. What is laden with other things is written anew without
/// them, where anything may be done to it at all.
fn fits(facts: &Facts, wish: &Wish) -> bool {
    let laden = facts.laden && wish.shape != Shape::Keep;
    wish.turn == Turn::None && !laden && plan::fits(wish.shape, facts.seen())
}

/// Writes a picture that fits in a format in which it is smaller.
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
        // It fits, so that a picture that cannot be read is no error.
        return interrupt.check().map(|()| Made::AsItIs);
    };
    Ok(match best(kind, &picture, wish, bytes.len(), interrupt)? {
        Some((format, bytes)) => Made::Anew { bytes, format: Some(format) },
        None => Made::AsItIs,
    })
}

/// Returns the first of the formats asked for in which the picture has less than `most` bytes.
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

/// Whether it may be more than one picture: another format would hold the first of them alone.
fn moves(kind: Kind, bytes: &[u8]) -> bool {
    let contains = |text: &[u8]| bytes.windows(text.len()).any(|part| part == text);
    match kind {
        Kind::Jpeg => false,
        // The block of a browser that says how often it is shown again, or a second picture's control block.
        Kind::Gif => {
            contains(b"NETSCAPE2.0") || bytes.windows(3).filter(|part| *part == b"\x21\xf9\x04").count() > 1
        }
        Kind::Png => contains(b"acTL"),
        Kind::Webp => contains(b"ANIM"),
    }
}

#[cfg(test)]
mod tests;
