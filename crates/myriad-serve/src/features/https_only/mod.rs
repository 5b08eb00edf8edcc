//! `https_only`: the redirect from http and the promise to browsers, in one directive.

mod compile;
mod directives;
mod lead;
mod settings;
mod warn;

pub(crate) use compile::{hsts_line, port};
pub(crate) use lead::lead;
use myriad_exchange::feature::Feature;

/// The feature, for the list of them.
pub(super) const FEATURE: Feature = Feature::new("https_only", directives::ROWS).warning_by(warn::warn);
