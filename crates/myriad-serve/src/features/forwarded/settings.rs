//! Settings of the directives.

use myriad_conf::settings::Network;

/// Trusted proxies of the `http` block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ForwardedSettings {
    /// `forwarded_scheme_from`.
    pub scheme_from: Vec<Network>,
    /// `forwarded_host_from`.
    pub host_from: Vec<Network>,
}

myriad_conf::feature_settings!(ForwardedSettings);
