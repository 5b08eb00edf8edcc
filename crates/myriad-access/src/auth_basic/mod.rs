//! `auth_basic`: authentication by password; `auth_delay`: delay after failed authentication.

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
pub use compile::variable_texts;
use myriad_exchange::feature::Feature;
pub(super) use passwords::PasswordVerifier;
pub(super) use settings::AuthBasicSettings;

/// Registration of this feature.
pub const FEATURE: Feature = Feature::new("access", directives::ROWS)
    .examining_locations(examine::examine)
    .with_variables(variables::VARIABLES);
