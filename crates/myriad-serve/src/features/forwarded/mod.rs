//! `forwarded_scheme_from`, `forwarded_host_from`: scheme and host of a request as reported by a trusted proxy.
//!
//! ```text
//! browser --https--> proxy --http, X-Forwarded-Proto: https--> this server:
//!                                                              $scheme, $https, $server_port of the browser's request
//! ```
//!
//! The client's address is handled by [`super::real_ip`]. The lists are used in `myriad-exchange`
//! (`exchange/forwarded.rs`).

mod directives;
mod settings;

use myriad_conf::settings::Settings;
use myriad_exchange::feature::Feature;
use myriad_exchange::runtime::TrustedForwarders;

/// Registration of the directives `forwarded_*_from`.
pub(super) const FEATURE: Feature = Feature::new("forwarded", directives::ROWS);

/// Returns the trusted proxies of the `http` block, in the form in which requests check them.
pub(crate) fn compiled(settings: &Settings) -> TrustedForwarders {
    let settings = settings.feature::<settings::ForwardedSettings>();
    TrustedForwarders { scheme_from: settings.scheme_from.clone(), host_from: settings.host_from.clone() }
}
