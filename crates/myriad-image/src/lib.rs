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
//! | `picture`, `size`, `fault` | what is handed on |
//! | `colors` | few colors for many |
//!
//! It is pure: no file, no clock, no thread. Whoever calls it chooses the thread, for a picture of many pixels takes the
//! processor for long. Everything that is read is a stranger's: sizes are bounded before room is made for them, and only
//! crates without `unsafe` code of their own or in Rust read bytes (libwebp, which is C, only writes).

#![forbid(unsafe_code)]

mod colors;
mod facts;
mod fault;
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
pub use kind::Kind;
pub use make::{Made, make};
pub use size::Size;
pub use wish::{Format, Shape, Turn, Wish};
