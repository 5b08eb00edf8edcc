//! Functions of texts, with which directives of a rewrite program set variables (`set_md5 $digest $uri`).
//!
//! A [`Function`] is called with the values of a directive's arguments, and appends its result. External inputs (the
//! time and random bytes) are provided by [`FunctionInputs`]; a function that uses them is marked as varying.
//!
//! | module | content |
//! |---|---|
//! | `escape` | URIs: `set_escape_uri`, `set_unescape_uri` |
//! | `quote` | strings of SQL and JSON |
//! | `coding` | hexadecimal, base64 |
//! | `base32` | base32 with a configurable alphabet |
//! | `digest` | MD5, SHA-1, HMAC |
//! | `random` | random numbers and texts |
//! | `rotate` | cyclic counter |
//! | `dates` | current date, current time in a format |
//! | `upstream_list` | selection of a name from a list, by the hash of a text |
//!
//! The functions behave as documented by the nginx modules set-misc and devel kit. The length of a result does not
//! exceed ten times the length of the arguments plus 256 bytes, except for a name of `upstream_list`.

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

pub use function::{ConstantInputs, Function, FunctionError, FunctionInputs};
