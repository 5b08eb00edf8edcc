//! `autoindex`: listing of a directory without an index file (nginx's autoindex module).
//!
//! | file | content |
//! |---|---|
//! | `directives`, `settings` | directives and their settings |
//! | `list` | reading of the directory, choice of the format |
//! | `html`, `json`, `xml` | formats |

mod directives;
mod html;
mod json;
mod list;
mod settings;
mod xml;

use myriad_exchange::feature::Feature;

/// Registration of the feature `autoindex`.
pub const FEATURE: Feature = Feature::new("autoindex", directives::ROWS).compiled_by(list::compile);
