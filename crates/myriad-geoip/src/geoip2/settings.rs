//! What the directives say.

use myriad_conf::{Span, Text};

use crate::visitor::Proxies;

/// What a database is asked about itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Metadata {
    /// `build_epoch`: when it was made.
    BuildEpoch,
    /// `last_check`: when its file was looked at.
    LastCheck,
    /// `last_change`: when its file was read.
    LastChange,
}

/// What a variable shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// `metadata FIELD`.
    Metadata(Metadata),
    /// What the database says of an address.
    Value {
        /// `default=`; shown where the database says nothing.
        default: Vec<u8>,
        /// `source=`; none for the client's address.
        source: Option<Text>,
        /// The keys that lead to the value.
        path: Vec<String>,
    },
}

/// A line `$variable ...` of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct VariableConf {
    /// Its name, without the `$`.
    pub variable: Text,
    /// What it shows.
    pub shown: Shown,
}

/// A `geoip2` block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DatabaseConf {
    /// The file.
    pub path: Text,
    /// `auto_reload`, milliseconds; 0 for never.
    pub reload_ms: u64,
    /// The variables.
    pub variables: Vec<VariableConf>,
    /// The head of the block.
    pub span: Span,
}

/// All that `http` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Geoip2Settings {
    /// The databases, in source order.
    pub databases: Vec<DatabaseConf>,
    /// `geoip2_proxy`, `geoip2_proxy_recursive`.
    pub proxies: Proxies,
}

myriad_conf::feature_settings!(Geoip2Settings);
