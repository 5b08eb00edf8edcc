//! What the directives of purges say.

use myriad_conf::Text;
use myriad_conf::feature_settings;
use myriad_conf::settings::Network;

/// How the answer to a purge says what it was of: `cache_purge_response_type`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum PurgeStyle {
    /// A page.
    #[default]
    Html,
    /// An object.
    Json,
    /// A document.
    Xml,
    /// A line.
    Text,
}

feature_settings!(PurgeStyle);

/// `*_cache_purge` where it names no zone: which requests of a place purge what is stored, and who may send them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct PurgeSettings {
    /// Which requests purge.
    pub when: PurgeCondition,
    /// `purge_all`: they purge the whole zone.
    pub everything: bool,
    /// `from`: who may. None: loopback and the server's own addresses, by requests that nobody passed on.
    pub from: Option<Vec<Network>>,
}

feature_settings!(PurgeSettings);

/// What makes a request one that purges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum PurgeCondition {
    /// Nothing.
    #[default]
    Off,
    /// Its method, one of these.
    Methods(Vec<String>),
    /// One of the texts, when it is neither empty nor `0`.
    Texts(Vec<Text>),
}
