//! Settings of the directives.

use myriad_conf::{Span, Text};

use crate::geo_database::client_address::TrustedProxies;

/// Metadata of a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DatabaseMetadata {
    /// `build_epoch`: build time.
    BuildEpoch,
    /// `last_check`: time of the last check of the file.
    LastCheck,
    /// `last_change`: time at which the file was last read.
    LastChange,
}

/// Value of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum VariableValue {
    /// `metadata FIELD`.
    Metadata(DatabaseMetadata),
    /// Value from the record of an address.
    Value {
        /// `default=`; used if the database has no value.
        default: Vec<u8>,
        /// `source=`; `None` for the client address.
        source: Option<Text>,
        /// Keys that lead to the value.
        path: Vec<String>,
    },
}

/// Settings of a line `$variable ...` of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct VariableConf {
    /// Name, without the `$`.
    pub variable: Text,
    /// Value of the variable.
    pub value: VariableValue,
}

/// Settings of a `geoip2` block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DatabaseConf {
    /// Path of the file.
    pub path: Text,
    /// `auto_reload`, in milliseconds; 0 for never.
    pub reload_ms: u64,
    /// Variables of the block.
    pub variables: Vec<VariableConf>,
    /// Position of the block's head.
    pub span: Span,
}

/// Settings of `http`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Geoip2Settings {
    /// Databases, in source order.
    pub databases: Vec<DatabaseConf>,
    /// `geoip2_proxy`, `geoip2_proxy_recursive`.
    pub proxies: TrustedProxies,
}

myriad_conf::feature_settings!(Geoip2Settings);
