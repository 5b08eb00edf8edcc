//! From an answer to a response: conditions, ranges, encodings, the head.

pub(crate) mod allow;
mod answer;
mod cache_debug;
mod charset;
mod date;
mod encoding;
mod error_body;
mod expires;
mod fields;
mod filters;
mod keepalive;
pub(crate) mod msie;
mod ranges;
mod refusal;
mod send;
mod slice;
mod trailers;

pub(crate) use answer::{Answer, Source};
pub(crate) use charset::names_utf8;
pub(crate) use encoding::{Encodings, accepted, encodings};
pub(crate) use error_body::error_body;
pub(crate) use fields::{copy_lines, line_named, lines_named};
pub(crate) use filters::{Transform, body_of_subrequest, pulled, transformed};
pub(crate) use refusal::refusal;
pub(crate) use send::send;
