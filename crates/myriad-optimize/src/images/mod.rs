//! Images: their size from the first bytes of the file, and attributes that order their loading.

mod attributes;
mod dimensions;
mod size;

pub(crate) use attributes::{FIRST_IMAGES, PageImages, is_sensitive, order_loading};
pub(crate) use dimensions::insert_image_dimensions;
pub use size::{ImageSize, image_size};
