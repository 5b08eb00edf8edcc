//! Encoding, with a separate crate for each format.

mod avif;
mod gif;
mod jpeg;
mod png;
mod webp;

use crate::image::fault::Fault;
use crate::image::interrupt::Interrupt;
use crate::image::kind::Kind;
use crate::image::picture::Picture;
use crate::image::wish::{Format, Wish};

/// Encodes an image in its input format.
pub(crate) fn write(
    kind: Kind,
    picture: &Picture,
    wish: &Wish,
    interrupt: Interrupt<'_>,
) -> Result<Vec<u8>, Fault> {
    interrupt.check()?;
    match kind {
        Kind::Jpeg => jpeg::write(picture, wish),
        Kind::Gif => gif::write(&picture.pixels, wish.interlace, interrupt)?,
        Kind::Png => png::write(picture, interrupt)?,
        Kind::Webp => webp::write(&picture.pixels, wish.webp_quality),
    }
    .ok_or(Fault::Broken("encoding failed"))
}

/// Encodes an image in another format; `None` if the format does not support it.
pub(crate) fn write_as(format: Format, picture: &Picture, wish: &Wish) -> Option<Vec<u8>> {
    // Neither encoder writes a profile, and the colors would differ without it.
    if picture.profile.is_some() {
        return None;
    }
    match format {
        Format::Webp => webp::write(&picture.pixels, wish.webp_quality),
        Format::Avif => avif::write(&picture.pixels, wish.avif_quality),
    }
}
