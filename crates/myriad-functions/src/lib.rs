//! Functions of texts, by which directives of a rewrite program give variables their values (`set_md5 $digest $uri`).
//!
//! A [`Function`] is called with the values of a directive's arguments and appends its own. What it needs of the world, the time
//! and random bytes, comes in through [`Surroundings`]; a function that needs any of it says that it varies.
//!
//! | module | what |
//! |---|---|
//! | `escape` | URIs: `set_escape_uri`, `set_unescape_uri` |
//! | `quote` | strings of SQL and JSON |
//! | `coding` | hexadecimal, base64 |
//! | `base32` | base32, with an alphabet of one's own |
//! | `digest` | MD5, SHA-1, HMAC |
//! | `random` | random numbers and texts |
//! | `rotate` | a number that goes round |
//! | `dates` | the date of today, the time in a format |
//! | `upstream_list` | a name of a list, by the hash of a text |
//!
//! What they do is what the nginx modules set-misc and devel kit document; no length of what they make exceeds ten times that of
//! what they are given, and 256 bytes.

#![forbid(unsafe_code)]

pub mod base32;
pub mod coding;
pub mod dates;
pub mod digest;
pub mod escape;
mod function;
mod number;
pub mod quote;
pub mod random;
pub mod rotate;
pub mod upstream_list;

pub use function::{Function, Still, Surroundings, Wrong};
