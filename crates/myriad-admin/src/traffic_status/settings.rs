//! Settings of the directives.

use myriad_conf::Text;

/// Format of a page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum DisplayFormat {
    /// JSON object.
    #[default]
    Json,
    /// Function call with that object.
    Jsonp,
    /// HTML page.
    Html,
    /// Prometheus text format.
    Prometheus,
}

/// `vhost_traffic_status_zone`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TrafficZoneConf {
    /// Name.
    pub name: String,
    /// Maximum size of keys that clients influence, in bytes per worker.
    pub size: u64,
}

/// `vhost_traffic_status_filter_by_set_key`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TrafficFilterConf {
    /// Key that is counted separately.
    pub key: Text,
    /// Group of the filter; `None` for servers.
    pub group: Option<Text>,
}

/// `vhost_traffic_status_filter_max_node`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MaxNodes {
    /// Maximum number of keys; 0 for no limit by number.
    pub number: u64,
    /// Prefixes of the groups that the limit applies to; empty for all.
    pub beginnings: Vec<Vec<u8>>,
}

/// All settings of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TrafficStatusSettings {
    /// Zone; without a zone nothing is counted.
    pub zone: Option<TrafficZoneConf>,
    /// `vhost_traffic_status`.
    pub on: bool,
    /// `_filter`.
    pub filter: bool,
    /// `_filter_by_host`.
    pub by_host: bool,
    /// `_filter_by_set_key`.
    pub filters: Vec<TrafficFilterConf>,
    /// `_filter_check_duplicate`.
    pub drops_duplicates: bool,
    /// `_filter_max_node`.
    pub most_nodes: MaxNodes,
    /// `_display_format`.
    pub format: DisplayFormat,
    /// `_display_jsonp`.
    pub callback: String,
    /// `_display_sum_key`.
    pub sum_key: String,
    /// `_average_method`: set if later requests have a higher weight.
    pub weighted: bool,
    /// Maximum age of requests that the average includes, in milliseconds; 0 for no limit.
    pub average_ms: u64,
    /// `_histogram_buckets`, in milliseconds, ascending.
    pub buckets: Vec<u64>,
    /// `_bypass_stats`.
    pub passes_by: bool,
    /// `_stats_by_upstream`.
    pub by_upstream: bool,
    /// `_ignore_status`, indexed by the first digit of the status, from 1.
    pub ignored: [bool; 5],
}

myriad_conf::feature_settings!(TrafficStatusSettings);
