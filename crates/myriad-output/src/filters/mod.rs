//! Body filters, in nginx's order:
//!
//! ```text
//! content -> gunzip -> sub_filter -> charset -> ssi -> addition -> (gzip, br, zstd) -> client
//! ```
//!
//! Each filter wraps the body, updates the response head, and buffers a bounded number of bytes. A filter is a folder
//! with its settings, compilation and implementation. `order` lists the filters, `run` applies them to a response, and
//! `wrap` contains functions that they share.

#[cfg(feature = "nginx-extras")]
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
#[cfg(feature = "image")]
pub(crate) use wrap::is_bodiless;
