//! `auth_basic`: who knows a password; `auth_delay`: how long those wait who do not.

mod check;
mod compile;
mod credentials;
mod directives;
mod examine;
mod file;
mod passwords;
mod settings;
mod variables;

pub(super) use compile::check;
pub use compile::texts;
use myriad_exchange::feature::Feature;
pub(super) use passwords::Passwords;
pub(super) use settings::AuthBasicSettings;

/// The feature, for the list of them.
pub const FEATURE: Feature = Feature::new("access", directives::ROWS)
    .examining_locations(examine::examine)
    .with_variables(variables::VARIABLES);

#[cfg(test)]
mod tests;
