//! What the directives say.

use myriad_conf::Text;

/// A page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Format {
    /// An object.
    #[default]
    Json,
    /// A call with that object.
    Jsonp,
    /// A page for people.
    Html,
    /// The text that Prometheus reads.
    Prometheus,
}

/// `vhost_traffic_status_zone`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ZoneConf {
    /// Its name.
    pub name: String,
    /// Bytes that keys may take in which visitors have a say, for each worker.
    pub size: u64,
}

/// `vhost_traffic_status_filter_by_set_key`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FilterConf {
    /// What is counted apart.
    pub key: Text,
    /// The group that it belongs to; none for servers.
    pub group: Option<Text>,
}

/// `vhost_traffic_status_filter_max_node`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MostNodes {
    /// How many there may be; 0 for no bound by number.
    pub number: u64,
    /// With what the groups begin that are meant; empty for all.
    pub beginnings: Vec<Vec<u8>>,
}

/// All that a level says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TrafficStatusSettings {
    /// The zone; without one nothing is counted.
    pub zone: Option<ZoneConf>,
    /// `vhost_traffic_status`.
    pub on: bool,
    /// `_filter`.
    pub filter: bool,
    /// `_filter_by_host`.
    pub by_host: bool,
    /// `_filter_by_set_key`.
    pub filters: Vec<FilterConf>,
    /// `_filter_check_duplicate`.
    pub drops_duplicates: bool,
    /// `_filter_max_node`.
    pub most_nodes: MostNodes,
    /// `_display_format`.
    pub format: Format,
    /// `_display_jsonp`.
    pub callback: String,
    /// `_display_sum_key`.
    pub sum_key: String,
    /// `_average_method`: whether later requests weigh more.
    pub weighted: bool,
    /// How old requests may be of which the average is made, milliseconds; 0 for any age.
    pub average_ms: u64,
    /// `_histogram_buckets`, milliseconds, rising.
    pub buckets: Vec<u64>,
    /// `_bypass_stats`.
    pub passes_by: bool,
    /// `_stats_by_upstream`.
    pub by_upstream: bool,
    /// `_ignore_status`: by the first digit, from 1.
    pub ignored: [bool; 5],
}

myriad_conf::feature_settings!(TrafficStatusSettings);
