//! Compilation of `limit_req_zone` and of the `limit_req*` directives.

use std::collections::HashMap;
use std::sync::Arc;

use myriad_conf::model::HttpConf;
use myriad_conf::settings::Settings;
use myriad_log::LogLevel;

use super::check::LimitReq;
use super::settings::RequestLimitSettings;
use super::table::{Limit, RequestTable};
use crate::limit_zone::LimitZone;
use myriad_exchange::exchange::Check;
use myriad_exchange::runtime::LimitCounts;

/// `limit_req_zone` zones of a configuration, by name, with their rates in thousandths of a request per second.
#[derive(Default)]
pub(crate) struct RequestZones(HashMap<Box<str>, (Arc<LimitZone<RequestTable>>, u64)>);

impl RequestZones {
    /// Adds a zone with its rate in thousandths of a request per second.
    pub(crate) fn add(&mut self, zone: Arc<LimitZone<RequestTable>>, rate: u64) {
        self.0.insert(zone.name.clone(), (zone, rate));
    }

    /// Returns the name of each zone and its counters of admitted, delayed and rejected requests.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (Box<str>, Arc<LimitCounts>)> {
        self.0.iter().map(|(name, (zone, _))| (name.clone(), Arc::clone(&zone.counts)))
    }
}

/// Returns the check of a location: of the limits with `origin_only` or of those without; `None` if it has no such
/// limit. Every zone exists, because the configuration has been validated.
pub(crate) fn check(settings: &Settings, zones: &RequestZones, origin_only: bool) -> Option<Box<dyn Check>> {
    let settings = settings.feature::<RequestLimitSettings>();
    let limits =
        settings.limits.iter().filter(|limit| limit.origin_only == origin_only).filter_map(|limit| {
            let (zone, rate) = zones.0.get(&*limit.zone)?;
            Some((Arc::clone(zone), Limit { rate: *rate, burst: limit.burst, delay: limit.delay }))
        });
    let limits: Vec<_> = limits.collect();
    let answer = settings.answer;
    (!limits.is_empty()).then(|| {
        Box::new(LimitReq { limits, answer, origin_only, delay_level: less_severe(answer.level) }) as _
    })
}

/// Returns the largest burst of the limits of each zone, in thousandths of a request, by the name of the zone.
pub(crate) fn max_bursts(http: &HttpConf) -> HashMap<&str, u64> {
    let levels = http.levels().into_iter();
    let limits = levels.flat_map(|settings| &settings.feature::<RequestLimitSettings>().limits);
    let mut bursts = HashMap::new();
    for limit in limits {
        let burst = bursts.entry(limit.zone.as_str()).or_default();
        *burst = limit.burst.max(*burst);
    }
    bursts
}

/// Returns the log level of a delay: one below that of a rejection, at lowest `info`, as in nginx.
fn less_severe(level: LogLevel) -> LogLevel {
    match level {
        LogLevel::Error => LogLevel::Warn,
        LogLevel::Warn => LogLevel::Notice,
        _ => LogLevel::Info,
    }
}
