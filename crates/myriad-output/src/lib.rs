//! Conversion of an answer to a response: conditions, filters, coding, ranges, head.

mod agents;
pub mod allow;
pub mod cache_debug;
mod conditions;
mod date;
pub mod encoding;
mod error_answer;
mod explanation;
pub mod filters;
mod head;
pub mod headers;
#[cfg(feature = "image")]
pub mod image;
#[cfg(feature = "image")]
pub mod image_filter;
mod keepalive;
pub mod more_headers;
mod range_response;
mod ranges;
mod rate;
mod rejection;
mod send;
pub mod slice;
mod transform;
#[cfg(feature = "nginx-extras")]
pub mod userid;

pub use encoding::{Encodings, accepted, encodings, is_compressed};
pub use explanation::explain;
pub use filters::{body_of_subrequest, compiled as compiled_filters, names_utf8};
pub use rejection::conditional_rejection;
pub use send::send;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
