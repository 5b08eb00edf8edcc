//! Settings of `geoip2*`.

use myriad_conf::{Span, Text};

use crate::geo_database::client_address::TrustedProxies;

/// Metadata of a database that a variable may contain, in seconds since the Unix epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DatabaseMetadata {
    /// `build_epoch`: time at which the database was built.
    BuildEpoch,
    /// `last_check`: time of the last check of the database file for changes; before the first check, that of its
    /// opening.
    LastCheck,
    /// `last_change`: time at which the database file was last read.
    LastChange,
}

/// Source of a variable's value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum VariableValue {
    /// `metadata FIELD`: property of the database, the same for every address.
    Metadata(DatabaseMetadata),
    /// Value from the record of an address.
    Value {
        /// `default=`: text if the database has no value for the address.
        default: Vec<u8>,
        /// `source=`: text that contains the address; `None` for the client address.
        source: Option<Text>,
        /// Keys that lead from the record to the value.
        path: Vec<String>,
    },
}

/// Settings of one variable: a line `$variable ...` of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct VariableConf {
    /// Name of the variable, without the `$`.
    pub variable: Text,
    /// Source of the variable's value.
    pub value: VariableValue,
}

/// Settings of one `geoip2` block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DatabaseConf {
    /// Path of the database file.
    pub path: Text,
    /// `auto_reload`: minimum interval between checks of the database file for changes, in milliseconds; 0 for no
    /// checks.
    pub reload_ms: u64,
    /// Variables of the block.
    pub variables: Vec<VariableConf>,
    /// Position of the head of the block in the configuration.
    pub span: Span,
}

/// `geoip2*` directives of `http` or `stream`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Geoip2Settings {
    /// Databases, in source order.
    pub databases: Vec<DatabaseConf>,
    /// `geoip2_proxy`, `geoip2_proxy_recursive`: proxies that may report the client address.
    pub proxies: TrustedProxies,
}

myriad_conf::feature_settings!(Geoip2Settings);
