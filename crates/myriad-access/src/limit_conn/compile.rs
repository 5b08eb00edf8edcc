//! Compilation of `limit_conn_zone` and of the `limit_conn*` directives.

use std::collections::HashMap;
use std::sync::Arc;

use myriad_conf::settings::Settings;

use super::check::LimitConn;
use super::settings::ConnectionLimitSettings;
use super::table::ConnectionTable;
use crate::limit_zone::LimitZone;
use myriad_exchange::exchange::Check;
use myriad_exchange::runtime::LimitCounts;

/// `limit_conn_zone` zones of a configuration, by name.
#[derive(Default)]
pub(crate) struct ConnectionZones(HashMap<Box<str>, Arc<LimitZone<ConnectionTable>>>);

impl ConnectionZones {
    /// Adds a zone, which `limit_conn` can then refer to.
    pub(crate) fn add(&mut self, zone: Arc<LimitZone<ConnectionTable>>) {
        self.0.insert(zone.name.clone(), zone);
    }

    /// Returns the name of each zone and its counters of admitted and rejected requests.
    pub(crate) fn counts(&self) -> impl Iterator<Item = (Box<str>, Arc<LimitCounts>)> {
        self.0.values().map(|zone| (zone.name.clone(), Arc::clone(&zone.counts)))
    }
}

/// Returns the check of a location: of the limits with `origin_only` or of those without; `None` if it has no such
/// limit. Every zone exists, because the configuration has been validated.
pub(crate) fn check(
    settings: &Settings,
    zones: &ConnectionZones,
    origin_only: bool,
) -> Option<Box<dyn Check>> {
    let settings = settings.feature::<ConnectionLimitSettings>();
    let limits = settings.limits.iter().filter(|limit| limit.origin_only == origin_only);
    let limits = limits.filter_map(|limit| Some((Arc::clone(zones.0.get(&*limit.zone)?), limit.max)));
    let limits: Vec<_> = limits.collect();
    let answer = settings.answer;
    (!limits.is_empty()).then(|| Box::new(LimitConn { limits, answer, origin_only }) as _)
}
