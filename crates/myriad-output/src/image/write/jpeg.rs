//! Encoder of JPEG, by the crate `jpeg-encoder`.

use std::num::NonZeroU8;

use jpeg_encoder::{ColorType, Encoder};

use crate::image::decoded_image::DecodedImage;
use crate::image::request::ImageRequest;

pub(super) fn write(picture: &DecodedImage, wish: &ImageRequest) -> Option<Vec<u8>> {
    let size = picture.pixels.size;
    let quality = NonZeroU8::new(wish.jpeg_quality)?.get().min(100);
    let mut made = Vec::new();
    let mut writer = Encoder::new(&mut made, quality);
    writer.set_progressive(wish.interlace);

    if let Some(profile) = &picture.profile {
        writer.add_icc_profile(profile).ok()?;
    }
    let (width, height) = (size.width.try_into().ok()?, size.height.try_into().ok()?);
    writer.encode(&picture.pixels.data, width, height, ColorType::Rgba).ok()?;
    // As in GD, a comment states the encoder and the quality.
    let comment = format!("CREATOR: Myriad, quality = {quality}\n");
    let length = comment.len() as u16 + 2;
    made.splice(2..2, [&[0xff, 0xfe], &length.to_be_bytes()[..], comment.as_bytes()].concat());
    Some(made)
}
