//! Settings of `forwarded_scheme_from` and `forwarded_host_from`.

use myriad_conf::settings::Network;

/// Proxies whose `X-Forwarded-*` headers are trusted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ForwardedSettings {
    /// `forwarded_scheme_from`: proxies whose `X-Forwarded-Proto` sets the scheme of a request.
    pub scheme_from: Vec<Network>,
    /// `forwarded_host_from`: proxies whose `X-Forwarded-Host` sets the host of a request whose `Host` matches no
    /// `server_name`.
    pub host_from: Vec<Network>,
}

myriad_conf::feature_settings!(ForwardedSettings);
