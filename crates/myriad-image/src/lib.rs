//! Pictures made smaller, cut, turned and written anew, as nginx's `image_filter` does it.
//!
//! ```text
//! bytes -> Kind (the first bytes) -> Facts (the head) -> plan (arithmetic) -> Pixels -> bytes
//! ```
//!
//! | file | what |
//! |---|---|
//! | `kind` | which picture the first bytes are of |
//! | `facts` | what its head says: size, which way up, how much is not picture |
//! | `wish` | what is asked for |
//! | `plan` | what that means for a picture of a size: nginx's arithmetic |
//! | `make` | from bytes to bytes |
//! | `pixels`, `sharpen` | what is done to pixels |
//! | `read`, `write` | the formats, each by its crate |
//! | `picture`, `size`, `fault`, `interrupt` | what is handed on; how work is cancelled |
//! | `colors` | few colors for many |
//!
//! It is pure: no file, no clock, no thread of its own. The caller chooses the thread, since a picture of many pixels takes
//! seconds of processor time, and passes an [`Interrupt`] that cancels the work. Input is untrusted: memory and work are
//! bounded before the decoder starts, by the number of pixels that may be read, and only Rust decodes (libwebp, which is
//! C, only encodes).

#![forbid(unsafe_code)]

mod colors;
mod facts;
mod fault;
mod interrupt;
mod kind;
mod make;
mod picture;
mod pixels;
mod plan;
mod read;
mod sharpen;
mod size;
mod wish;
mod write;

pub use facts::Facts;
pub use fault::Fault;
pub use interrupt::Interrupt;
pub use kind::Kind;
pub use make::{Made, make};
pub use size::Size;
pub use wish::{Format, Shape, Turn, Wish};
