//! What the directives say.

use myriad_conf::Text;

use super::database::Content;
use crate::visitor::Proxies;

/// A database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct DatabaseConf {
    /// What it must be about.
    pub content: Content,
    /// The file.
    pub path: Text,
    /// Whether texts are made UTF-8 of the ISO-8859-1 that they are.
    pub utf8: bool,
}

/// All that `http` says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct GeoipSettings {
    /// The databases, one of each content.
    pub databases: Vec<DatabaseConf>,
    /// `geoip_proxy`, `geoip_proxy_recursive`.
    pub proxies: Proxies,
}

myriad_conf::feature_settings!(GeoipSettings);
