//! `dav_methods`: clients write, copy, move and delete files (nginx's dav module, RFC 4918).
//!
//! | file | content |
//! |---|---|
//! | `directives`, `settings` | directives and their settings |
//! | `handler` | dispatch of requests to the methods, after checks that precede any change |
//! | `answer` | blocking work, the response after a change, `Depth` |
//! | `body` | request bodies |
//! | `target` | a path as a name in an open directory |
//! | `destination` | the field `Destination` |
//! | `put`, `delete`, `mkcol`, `copy` | the methods |
//! | `tree` | copying and removing of directories with their contents |
//! | `ext` | properties and locks (`dav_ext_methods`) |
//! | `failure` | errors with their statuses |

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
mod tree;

use myriad_exchange::feature::Feature;

/// Registration of the feature `dav`.
pub const FEATURE: Feature = Feature::new("dav", directives::ROWS).compiled_by(handler::compile);
/// Registration of `dav_ext_*`: directives only, because one handler serves all methods.
pub const EXT: Feature = Feature::new("dav_ext", ext::ROWS);
