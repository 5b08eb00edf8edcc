//! `fancyindex`: listing of a directory without an index file as a sortable table (the fancyindex module).
//!
//! | file | content |
//! |---|---|
//! | `directives`, `settings` | directives and their settings |
//! | `list` | reading of the directory, assembly of the page |
//! | `order` | sort order |
//! | `page` | HTML of the page |
//! | `insert` | configured header and footer |

mod directives;
mod insert;
mod list;
mod order;
mod page;
mod settings;
use myriad_exchange::feature::Feature;

/// Registration of the feature `fancyindex`.
pub const FEATURE: Feature = Feature::new("fancyindex", directives::ROWS).compiled_by(list::compile);
