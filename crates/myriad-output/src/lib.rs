//! Conversion of the result of a content handler to the response that is sent: conditions, filters, coding, ranges,
//! head.
//!
//! | module | content |
//! |---|---|
//! | `send` | the steps of the conversion, in order |
//! | `conditions`, `rejection` | conditions of the request (304, 412) |
//! | `filters`, `transform` | body filters; streaming transformation of a body |
//! | `encoding` | content codings |
//! | `ranges`, `range_response` | ranges |
//! | `head`, `date`, `headers`, `more_headers`, `allow`, `cache_debug` | fields of the response |
//! | `userid` | cookie with a visitor ID |
//! | `slice` | responses in slices |
//! | `image`, `image_filter` | image processing |
//! | `keepalive`, `rate`, `agents` | persistent connections, send rate, browsers with special treatment |
//! | `explanation`, `error_answer` | explanation of filters and codings; built-in error responses |

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
