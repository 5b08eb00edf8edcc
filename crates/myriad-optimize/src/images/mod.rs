//! Images: their size from the first bytes of the file, and attributes that order their loading.

mod attributes;
mod size;

pub(crate) use attributes::{FIRST_IMAGES, ImageChanges, PageImages, order_loading};
pub use size::{ImageSize, image_size};
