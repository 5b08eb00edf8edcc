//! `set_real_ip_from` and what goes with it: the client's address as trusted proxies tell it (nginx's realip module).

mod compile;
mod directives;
mod find;
mod settings;
mod variables;

pub(crate) use find::{find, find_at_both};
use myriad_exchange::feature::Feature;
pub(super) use settings::RealIpSettings;

/// The feature, for the list of them.
pub(super) const FEATURE: Feature = Feature::new("realip", directives::ROWS)
    .compiled_by(compile::compile)
    .with_variables(variables::VARIABLES);
