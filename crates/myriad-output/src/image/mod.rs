//! Resizing, cropping, rotation and re-encoding of images, as in nginx's `image_filter`.
//!
//! ```text
//! bytes -> ImageKind (the first bytes) -> ImageMetadata (the header) -> plan (arithmetic) -> Pixels -> bytes
//! ```
//!
//! | file | content |
//! |---|---|
//! | `kind` | detection of the format by the first bytes |
//! | `metadata` | size, orientation and amount of metadata, from the header |
//! | `request` | requested changes |
//! | `plan` | target sizes: nginx's arithmetic |
//! | `convert` | conversion from bytes to bytes |
//! | `pixels`, `sharpen` | operations on pixels |
//! | `read`, `write` | decoders and encoders of the formats |
//! | `decoded_image`, `size`, `error`, `interrupt` | common types; cancellation |
//! | `colors` | color reduction |
//! | `webp_copy`, `similarity` | smaller copies that look like the original; a measure for visible differences |
//! | `copy_obstacle` | properties of an image that a copy would lose |
//!
//! This module uses no files, clocks or threads. The caller chooses the thread, because an image of many pixels takes
//! seconds of processor time, and passes an [`Interrupt`] that cancels the work. Input is untrusted: memory and work
//! are bounded before the decoder starts, by the maximum number of pixels, and all decoders are written in Rust
//! (libwebp, which is C, is used only as an encoder).

mod colors;
mod convert;
mod copy_obstacle;
mod decoded_image;
mod error;
mod interrupt;
mod kind;
mod metadata;
mod pixels;
mod plan;
mod read;
mod request;
mod sharpen;
mod similarity;
mod size;
mod webp_copy;
mod write;

pub use convert::{ConvertedImage, make};
pub use error::ImageError;
pub use interrupt::Interrupt;
pub use kind::ImageKind;
pub use metadata::ImageMetadata;
pub use request::{ImageRequest, ImageRotation, OutputFormat, RequestedSize};
pub use size::ImageSize;
pub use webp_copy::{CopyRefusal, webp_copy};
