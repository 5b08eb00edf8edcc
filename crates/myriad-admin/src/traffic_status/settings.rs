//! Settings of `vhost_traffic_status_*`.

use myriad_conf::Text;

/// Format of a traffic status page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum DisplayFormat {
    /// JSON object.
    #[default]
    Json,
    /// Call of a JavaScript function with the JSON object.
    Jsonp,
    /// HTML page.
    Html,
    /// Prometheus text format.
    Prometheus,
}

/// `vhost_traffic_status_zone`: enables the traffic counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TrafficZoneConf {
    /// Name of the traffic zone, which only appears in reports.
    pub name: String,
    /// Maximum total size of the names that clients can choose (hosts, filter keys, origins outside of `upstream`
    /// blocks), in bytes per worker.
    pub size: u64,
}

/// `vhost_traffic_status_filter_by_set_key`: a filter that counts requests by a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TrafficFilterConf {
    /// Key under which requests are counted; may contain variables.
    pub key: Text,
    /// Group of the filter; `None` to count the key like a server.
    pub group: Option<Text>,
}

/// `vhost_traffic_status_filter_max_node`: limit of the number of filter keys.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MaxNodes {
    /// Maximum number of filter keys; 0 for no limit of their number.
    pub number: u64,
    /// Prefixes of the groups to which the limit applies; empty for all groups.
    pub beginnings: Vec<Vec<u8>>,
}

/// All settings of nginx-module-vts (`vhost_traffic_status_*`) of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TrafficStatusSettings {
    /// `vhost_traffic_status_zone`; `None` if it is missing, so that nothing is counted.
    pub zone: Option<TrafficZoneConf>,
    /// `vhost_traffic_status`: true if requests are counted.
    pub on: bool,
    /// `vhost_traffic_status_filter`: true if the filters apply.
    pub filter: bool,
    /// `vhost_traffic_status_filter_by_host`: true if requests are counted by requested host, not by server name;
    /// without effect if `filter` is false.
    pub by_host: bool,
    /// `vhost_traffic_status_filter_by_set_key`: filters of the level.
    pub filters: Vec<TrafficFilterConf>,
    /// `vhost_traffic_status_filter_check_duplicate`: true if equal filters count a request only once.
    pub drops_duplicates: bool,
    /// `vhost_traffic_status_filter_max_node`: limit of the number of filter keys.
    pub most_nodes: MaxNodes,
    /// `vhost_traffic_status_display_format`: format of status pages.
    pub format: DisplayFormat,
    /// `vhost_traffic_status_display_jsonp`: name of the JavaScript function that is called with the JSON object.
    pub callback: String,
    /// `vhost_traffic_status_display_sum_key`: name in reports of the sum of all servers.
    pub sum_key: String,
    /// `vhost_traffic_status_average_method`: true if later requests have a higher weight.
    pub weighted: bool,
    /// Second argument of `vhost_traffic_status_average_method`: maximum age of requests that the average includes, in
    /// milliseconds; 0 for no limit.
    pub average_ms: u64,
    /// `vhost_traffic_status_histogram_buckets`: upper bounds of the buckets in milliseconds, ascending; empty for no
    /// histograms.
    pub buckets: Vec<u64>,
    /// `vhost_traffic_status_bypass_stats`: true if requests of the level are not counted.
    pub passes_by: bool,
    /// `vhost_traffic_status_stats_by_upstream`: true if requests are also counted for the origins that they contacted.
    pub by_upstream: bool,
    /// `vhost_traffic_status_ignore_status`: true for each status class (from 1xx to 5xx) that is not counted.
    pub ignored: [bool; 5],
}

myriad_conf::feature_settings!(TrafficStatusSettings);
