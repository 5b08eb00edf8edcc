//! Phases of a request up to its content: rewrite, location, access, `try_files`.
//!
//! ```text
//! begin -> host -> server rewrite -> locate -> location rewrite -> access -> content
//!                                      ^            |                           |
//!                                      +-- changed -+        internal redirect -+
//! ```

mod begin;
mod challenge;
mod client;
mod engine;
mod errors;
mod limits;
mod locate;
mod padding;
mod report;
mod rewrite;
mod run;
mod server_options;
mod shortcut;
#[cfg(test)]
mod tests;
mod try_files;

pub(crate) use begin::{begin, begin_internal, reject};
pub(crate) use engine::{Phases, wait};
pub(crate) use run::PhaseDecision;
