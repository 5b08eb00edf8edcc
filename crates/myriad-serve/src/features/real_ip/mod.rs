//! `set_real_ip_from` and related directives: client address as reported by trusted proxies (nginx's realip module).

mod compile;
mod directives;
mod find;
mod settings;
mod variables;

pub(crate) use find::{set_client_address, set_client_address_at_both_levels};
use myriad_exchange::feature::Feature;
pub(super) use settings::RealIpSettings;

/// Entry for the list of features.
pub(super) const FEATURE: Feature = Feature::new("realip", directives::ROWS)
    .compiled_by(compile::compile)
    .with_variables(variables::VARIABLES);
