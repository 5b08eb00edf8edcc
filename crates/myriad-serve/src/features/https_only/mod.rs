//! `https_only`: redirect from HTTP to HTTPS and `Strict-Transport-Security` in one directive.

mod compile;
mod directives;
mod redirect;
mod settings;
mod warn;

pub(crate) use compile::{hsts_line, port};
use myriad_exchange::feature::Feature;
pub(crate) use redirect::redirect_to_https;

/// Registration of the directive `https_only`.
pub(super) const FEATURE: Feature = Feature::new("https_only", directives::ROWS).warning_by(warn::warn);
