//! Output settings of a place.

use super::settings::{Format, TrafficStatusSettings, ZoneConf};
use myriad_exchange::traffic::Average;

/// Output settings of a place.
pub(super) struct Shown {
    pub(super) zone: ZoneConf,
    pub(super) format: Format,
    pub(super) callback: String,
    pub(super) sum_key: String,
    pub(super) average: Average,
    /// Names of the `upstream` blocks.
    pub(super) upstreams: Vec<String>,
}

impl Shown {
    pub(super) fn of(conf: &TrafficStatusSettings, zone: &ZoneConf, upstreams: Vec<String>) -> Self {
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
