//! Fields of requests set, replaced and taken out before anybody else reads them, as by the module headers-more:
//! `more_set_input_headers`, `more_clear_input_headers`.
//!
//! It works as the first check of a place, behind the rewrite rules as in nginx: it lets everybody in.

mod check;
mod directives;
mod settings;
#[cfg(test)]
mod tests;

use myriad_exchange::feature::Feature;

pub(crate) use check::check;

/// The feature, for the list of them.
pub const FEATURE: Feature = Feature::new("headers_more", directives::ROWS);
