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

/// `*_cache_purge` without a zone: conditions of purge requests at a place, and permitted clients.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PurgeSettings {
    /// Condition of purge requests.
    pub when: PurgeCondition,
    /// Set with `purge_all`: the whole zone is purged.
    pub everything: bool,
    /// `from`: permitted networks. `None`: loopback and the server's addresses, for requests without a proxy.
    pub from: Option<Vec<Network>>,
}

feature_settings!(PurgeSettings);

/// Condition that makes a request a purge request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum PurgeCondition {
    /// Never.
    #[default]
    Off,
    /// One of these methods.
    Methods(Vec<String>),
    /// One of the texts is neither empty nor `0`.
    Texts(Vec<Text>),
}
