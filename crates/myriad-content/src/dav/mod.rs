//! `dav_methods`: clients write, copy, move and delete files (nginx's dav module, RFC 4918).
//!
//! | file | what |
//! |---|---|
//! | `handler` | which requests are taken, and what is wrong with them before anything is touched |
//! | `answer` | work that blocks, the answer after it, `Depth` |
//! | `body` | the body of a request |
//! | `target` | a path as a name in an open folder |
//! | `destination` | the field `Destination` |
//! | `put`, `delete`, `mkcol`, `copy` | what the methods do |
//! | `tree` | folders with all that is in them, copied and removed |
//! | `ext` | properties and locks (`dav_ext_methods`) |
//! | `failure` | errors of the system as statuses |

mod answer;
mod body;
mod copy;
mod delete;
mod destination;
mod directives;
pub mod ext;
mod failure;
mod handler;
mod mkcol;
mod put;
mod settings;
mod target;
#[cfg(test)]
mod tests;
mod tree;

use myriad_exchange::feature::Feature;

/// The features, for the list of them.
pub const FEATURE: Feature = Feature::new("dav", directives::ROWS).compiled_by(handler::compile);
/// Its further methods: their rows alone, for one handler takes all.
pub const EXT: Feature = Feature::new("dav_ext", ext::ROWS);
