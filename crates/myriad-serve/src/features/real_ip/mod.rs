//! `set_real_ip_from` and related directives: client address as reported by trusted proxies (nginx's realip module).

mod client_address;
mod compile;
mod directives;
mod settings;
mod variables;

pub(crate) use client_address::{set_client_address, set_client_address_at_both_levels};
use myriad_exchange::feature::Feature;
pub(super) use settings::RealIpSettings;

/// Registration of the directives and variables of nginx's realip module.
pub(super) const FEATURE: Feature = Feature::new("realip", directives::ROWS)
    .compiled_by(compile::compile)
    .with_variables(variables::VARIABLES);
