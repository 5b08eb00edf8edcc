//! Output settings of a location with `vhost_traffic_status_display`.

use super::settings::{DisplayFormat, TrafficStatusSettings, TrafficZoneConf};
use myriad_exchange::traffic::Average;

/// Output settings of a location with `vhost_traffic_status_display`.
pub(super) struct DisplaySettings {
    pub(super) zone: TrafficZoneConf,
    pub(super) format: DisplayFormat,
    pub(super) callback: String,
    pub(super) sum_key: String,
    pub(super) average: Average,
    /// Names of the `upstream` blocks.
    pub(super) upstreams: Vec<String>,
}

impl DisplaySettings {
    pub(super) fn of(conf: &TrafficStatusSettings, zone: &TrafficZoneConf, upstreams: Vec<String>) -> Self {
        Self {
            zone: zone.clone(),
            format: conf.format,
            callback: conf.callback.clone(),
            sum_key: conf.sum_key.clone(),
            average: Average { weighted: conf.weighted, period_ms: conf.average_ms },
            upstreams,
        }
    }
}
