//! Limits of concurrent sessions per key (`limit_conn`). Directives and tables are the same as in `http`; sessions and
//! requests are counted separately.

use std::collections::HashMap;
use std::sync::Arc;

use myriad_access::limit_conn::{ConnectionLimitSettings, ConnectionTable};
use myriad_access::{
    LimitBlock, LimitKind, LimitZone, LimitZoneConf, SharedLimitZone, ZoneTables, limit_zones,
};
use myriad_conf::model::HttpConf;
use myriad_conf::settings::Settings;
use myriad_exchange::runtime::LimitCounts;
use myriad_log::LogLevel;
use myriad_script::Template;

/// Counting tables of the `limit_conn` zones, retained over reloads.
#[derive(Default)]
pub(crate) struct LimitTables(ZoneTables<ConnectionTable>);

impl LimitTables {
    /// Applies the zone sizes of the running configuration and drops the tables of removed zones.
    pub(crate) fn apply_zone_sizes(&mut self, stream: Option<&HttpConf>) {
        self.0.apply_zones(stream.map_or(&[], limit_zones));
    }

    /// Returns the zones of a `stream` block whose limits apply to all nodes of a cluster together.
    pub(crate) fn shared(&self, stream: Option<&HttpConf>) -> Vec<SharedLimitZone> {
        self.0.shared(stream.map_or(&[], limit_zones), LimitBlock::Stream, |_| 0)
    }
}

/// Returns the `limit_conn_zone` settings of a `stream` block.
pub(crate) fn zones(stream: &HttpConf) -> impl Iterator<Item = &LimitZoneConf> {
    limit_zones(stream).iter().filter(|zone| zone.kind == LimitKind::Connections)
}

/// Compiled `limit_conn` zones of a `stream` block, by name.
#[derive(Default)]
pub(crate) struct ConnectionLimitZones(HashMap<String, Arc<LimitZone<ConnectionTable>>>);

impl ConnectionLimitZones {
    pub(crate) fn add(&mut self, conf: &LimitZoneConf, key: Template, kept: &mut LimitTables) {
        self.0.insert(conf.name.clone(), kept.0.zone(conf, key));
    }

    /// Returns the name and the decision counters of each `limit_conn` zone.
    pub(crate) fn counts(&self) -> Vec<(Box<str>, Arc<LimitCounts>)> {
        self.0.values().map(|zone| (zone.name.clone(), Arc::clone(&zone.counts))).collect()
    }
}

/// Decision of `limit_conn` for a session (`$limit_conn_status`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LimitStatus {
    Passed,
    Rejected,
    RejectedDryRun,
}

impl LimitStatus {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Passed => "PASSED",
            Self::Rejected => "REJECTED",
            Self::RejectedDryRun => "REJECTED_DRY_RUN",
        }
    }
}

/// Compiled `limit_conn` directives of a server.
pub(crate) struct SessionLimits {
    /// Zones, each with the maximum number of concurrent sessions per key.
    pub zones: Vec<(Arc<LimitZone<ConnectionTable>>, u16)>,
    /// Level of the log message about a rejected session.
    pub level: LogLevel,
    /// True if sessions beyond the limit are only logged and counted (`limit_conn_dry_run`).
    pub dry_run: bool,
}

impl SessionLimits {
    /// Returns the limits of a server. Its zones exist: this was checked when the configuration was parsed.
    pub(crate) fn of(settings: &Settings, zones: &ConnectionLimitZones) -> Self {
        let settings = settings.feature::<ConnectionLimitSettings>();
        let limits = settings.limits.iter();
        let limits = limits.filter_map(|limit| Some((Arc::clone(zones.0.get(&limit.zone)?), limit.max)));
        Self { zones: limits.collect(), level: settings.answer.level, dry_run: settings.answer.dry_run }
    }
}
