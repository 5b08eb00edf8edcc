//! `forwarded_scheme_from`, `forwarded_host_from`: the scheme and the host of a request as a trusted proxy reports them.
//!
//! ```text
//! browser --https--> proxy --http, X-Forwarded-Proto: https--> this server: $scheme, $https, $server_port of the browser's request
//! ```
//!
//! The client's address is [`super::real_ip`]'s. The use of the lists is in `myriad-exchange` (`exchange/forwarded.rs`).

mod directives;
mod settings;

use myriad_conf::settings::Settings;
use myriad_exchange::feature::Feature;
use myriad_exchange::runtime::Forwarded;

/// The feature, for the list of them.
pub(super) const FEATURE: Feature = Feature::new("forwarded", directives::ROWS);

/// Compiles the lists of trusted proxies of the `http` block.
pub(crate) fn compiled(settings: &Settings) -> Forwarded {
    let settings = settings.feature::<settings::ForwardedSettings>();
    Forwarded { scheme_from: settings.scheme_from.clone(), host_from: settings.host_from.clone() }
}
