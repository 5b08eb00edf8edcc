//! `https_only`: redirect from http and `Strict-Transport-Security` in one directive.

mod compile;
mod directives;
mod lead;
mod settings;
mod warn;

pub(crate) use compile::{hsts_line, port};
pub(crate) use lead::redirect_to_https;
use myriad_exchange::feature::Feature;

/// Entry for the list of features.
pub(super) const FEATURE: Feature = Feature::new("https_only", directives::ROWS).warning_by(warn::warn);
