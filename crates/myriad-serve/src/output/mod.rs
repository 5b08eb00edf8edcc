//! From an answer to a response: conditions, filters, the coding, ranges, the head.

mod add_header;
pub(crate) mod allow;
mod cache_debug;
mod conditions;
mod cut;
mod date;
mod encoding;
mod error_answer;
mod expires;
mod explained;
pub(crate) mod filters;
mod head;
mod keepalive;
mod ranges;
mod rate;
mod refusal;
mod send;
pub(crate) mod slice;
mod trailers;
mod transform;

pub(crate) use encoding::{Encodings, accepted, encodings};
pub(crate) use explained::explain;
pub(crate) use filters::{body_of_subrequest, compiled as compiled_filters, names_utf8};
pub(crate) use refusal::refusal;
pub(crate) use send::send;

#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
