//! Stored form of an origin's response (a page), its encodings, and the response to a client that is built from it.

mod address;
mod answer;
mod decoding;
mod encodings;
mod record;
mod selection;
mod tag;

pub(crate) use address::{address_of, marks_of, target_of};
pub(crate) use answer::{answer, answer_of_head};
pub(crate) use decoding::{decoded, decoder};
pub(crate) use encodings::{alternatives_of, first_encodings};
pub(crate) use record::{is_opaque, meta_of, origin_coding, removed_coding, response_time};
pub(crate) use selection::{is_too_long, selection};
pub(crate) use tag::tag_of;
