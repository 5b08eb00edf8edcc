//! `more_set_headers`, `more_clear_headers`: response fields are set, replaced and removed, as by the module
//! headers-more.
//!
//! | file | content |
//! |---|---|
//! | `directives` | directives, and parsers of options and fields |
//! | `settings` | settings of a level: the directives of the outer levels, then its own |
//! | `rules` | compiled form: consecutive directives without conditions are joined |
//! | `apply` | application: to the media type before the filters, to the head before `add_header` |

mod apply;
mod directives;
mod rules;
mod settings;

use myriad_exchange::feature::Feature;

/// Registration of the directives `more_set_headers` and `more_clear_headers`.
pub const FEATURE: Feature = Feature::new("headers_more", directives::ROWS).compiled_by(rules::compile);
