//! Settings of the purge directives.

use myriad_conf::Text;
use myriad_conf::feature_settings;
use myriad_conf::settings::Network;

/// Format of the response to a purge: `cache_purge_response_type`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PurgeStyle {
    /// HTML page.
    #[default]
    Html,
    /// JSON object.
    Json,
    /// XML document.
    Xml,
    /// Line of text.
    Text,
}

feature_settings!(PurgeStyle);

/// `*_cache_purge` without a zone: which requests purge, and from which clients.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PurgeSettings {
    /// Condition of purge requests.
    pub when: PurgeCondition,
    /// `purge_all`: true if a purge request purges the whole zone.
    pub everything: bool,
    /// `from`: permitted networks. `None`: clients on a Unix socket, on loopback or with the address that they
    /// connected to, for requests not forwarded by a proxy.
    pub from: Option<Vec<Network>>,
}

feature_settings!(PurgeSettings);

/// Condition that makes a request a purge request (`*_cache_purge` without a zone).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum PurgeCondition {
    /// No request.
    #[default]
    Off,
    /// Requests with one of these methods.
    Methods(Vec<String>),
    /// Requests for which one of these texts is neither empty nor `0`.
    Texts(Vec<Text>),
}
