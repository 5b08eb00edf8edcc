//! What changes a body on its way to the client, in nginx's order:
//!
//! ```text
//! content -> gunzip -> sub_filter -> charset -> ssi -> (gzip, br, zstd) -> client
//! ```
//!
//! Each filter wraps the body that is pulled, mends the head of the answer, and holds no more than a fixed window of
//! the bytes. A filter is a folder: its settings, how they are compiled, what it does; `order.rs` names it in one line.

pub(crate) mod charset;
pub(crate) mod gunzip;
mod order;
mod run;
pub(crate) mod ssi;
pub(crate) mod sub_filter;
mod wrap;

pub(crate) use charset::names_utf8;
pub(crate) use order::compiled;
pub(crate) use run::{apply, body_of_subrequest};

#[cfg(test)]
mod tests;
