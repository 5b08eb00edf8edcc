//! Settings of `geoip_*`.

use myriad_conf::Text;

use super::database::GeoipContent;
use crate::geo_database::client_address::TrustedProxies;

/// One database: `geoip_country`, `geoip_city` or `geoip_org`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DatabaseConf {
    /// Type that the database must have.
    pub content: GeoipContent,
    /// Path of the database file.
    pub path: Text,
    /// Set if texts are converted from ISO-8859-1 to UTF-8 (parameter `utf8`).
    pub utf8: bool,
}

/// `geoip_*` directives of `http`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct GeoipSettings {
    /// Databases, at most one of each type.
    pub databases: Vec<DatabaseConf>,
    /// `geoip_proxy`, `geoip_proxy_recursive`: proxies that may report the client address.
    pub proxies: TrustedProxies,
}

myriad_conf::feature_settings!(GeoipSettings);
