//! `dav_methods`: clients write, copy, move and delete files (nginx's dav module, RFC 4918).
//!
//! | file | content |
//! |---|---|
//! | `handler` | dispatch and validation of requests before any file is changed |
//! | `answer` | blocking work, its response, `Depth` |
//! | `body` | request bodies |
//! | `target` | a path as a name in an open directory |
//! | `destination` | the field `Destination` |
//! | `put`, `delete`, `mkcol`, `copy` | the methods |
//! | `tree` | copying and removing of directories with their contents |
//! | `ext` | properties and locks (`dav_ext_methods`) |
//! | `failure` | system errors as statuses |

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

/// Feature entry for the list of features.
pub const FEATURE: Feature = Feature::new("dav", directives::ROWS).compiled_by(handler::compile);
/// Feature entry of the extended methods: directive table only, since one handler serves all methods.
pub const EXT: Feature = Feature::new("dav_ext", ext::ROWS);
