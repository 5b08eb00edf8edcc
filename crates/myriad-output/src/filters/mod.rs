//! What changes a body on its way to the client, in nginx's order:
//!
//! ```text
//! content -> gunzip -> sub_filter -> charset -> ssi -> addition -> (gzip, br, zstd) -> client
//! ```
//!
//! Each filter wraps the body that is pulled, mends the head of the answer, and holds no more than a fixed window of
//! the bytes. A filter is a folder: its settings, how they are compiled, what it does; `order.rs` names it in one line.

pub mod addition;
pub mod charset;
pub mod gunzip;
mod order;
mod run;
pub mod ssi;
pub mod sub_filter;
mod wrap;

pub use charset::names_utf8;
pub use order::compiled;
pub use run::{apply, body_of_subrequest};
pub(crate) use wrap::is_bodiless;

#[cfg(test)]
mod tests;
