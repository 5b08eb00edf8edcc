//! `limit_req*` and `limit_conn*`.

use std::collections::HashMap;
use std::sync::Arc;

use myriad_conf::model::{LimitKind, LimitZoneConf};
use myriad_conf::settings::LogLevel;
use myriad_conf::settings::{self, LimitSettings};
use myriad_log::Level;

use super::Compile;
use crate::limits::{ConnectionTable, Limit, RequestTable};
use crate::runtime::{ConnectionLimits, LimitAnswer, LimitZone, RequestLimits};

/// The zones of a configuration, by name.
#[derive(Default)]
pub(super) struct LimitZones {
    /// With the rate, thousandths of a request a second.
    requests: HashMap<String, (Arc<LimitZone<RequestTable>>, u64)>,
    connections: HashMap<String, Arc<LimitZone<ConnectionTable>>>,
}

/// Tables that outlive a reload, by the name of their zone.
#[derive(Default)]
pub(crate) struct LimitTables {
    requests: Tables<RequestTable>,
    connections: Tables<ConnectionTable>,
}

/// Each with the text of its key: what was counted by one key means nothing to another.
type Tables<T> = HashMap<String, (Vec<u8>, Arc<T>)>;

fn table<T>(tables: &mut Tables<T>, conf: &LimitZoneConf, new: fn(u64) -> T) -> Arc<T> {
    let key = conf.key.bytes();
    match tables.get(&conf.name) {
        Some((known, table)) if known == key => Arc::clone(table),
        _ => {
            let table = Arc::new(new(conf.size));
            tables.insert(conf.name.clone(), (key.to_vec(), Arc::clone(&table)));
            table
        }
    }
}

impl LimitTables {
    /// The configuration runs: tables take its sizes, those of zones that are gone go.
    pub(crate) fn settle(&mut self, zones: &[LimitZoneConf]) {
        let size = |name: &str| zones.iter().find(|zone| zone.name == name).map(|zone| zone.size);
        self.requests.retain(|name, (_, table)| size(name).inspect(|size| table.resize(*size)).is_some());
        self.connections.retain(|name, (_, table)| size(name).inspect(|size| table.resize(*size)).is_some());
    }
}

impl Compile<'_> {
    /// Compiles the zones.
    pub(super) fn limit_zones(&mut self) {
        for conf in &self.http.limit_zones {
            let key = self.template(&conf.key);
            let name = conf.name.as_str().into();
            let tables = &mut self.around.kept.limits;
            match conf.kind {
                LimitKind::Requests { rate } => {
                    let table = table(&mut tables.requests, conf, RequestTable::new);
                    let zone = Arc::new(LimitZone { name, key, table });
                    self.limits.requests.insert(conf.name.clone(), (zone, rate));
                }
                LimitKind::Connections => {
                    let table = table(&mut tables.connections, conf, ConnectionTable::new);
                    let zone = Arc::new(LimitZone { name, key, table });
                    self.limits.connections.insert(conf.name.clone(), zone);
                }
            }
        }
    }

    /// `limit_req` of a level. The zones are there: the configuration was checked for that.
    pub(super) fn request_limits(&self, settings: &LimitSettings) -> Option<RequestLimits> {
        let limits: Vec<_> = settings
            .requests
            .iter()
            .filter_map(|limit| {
                let (zone, rate) = self.limits.requests.get(&limit.zone)?;
                let counted = Limit { rate: *rate, burst: limit.burst, delay: limit.delay };
                Some((Arc::clone(zone), counted))
            })
            .collect();
        let delay_level = match settings.requests_answer.log_level {
            LogLevel::Error => Level::Warn,
            LogLevel::Warn => Level::Notice,
            _ => Level::Info,
        };
        let answer = answer(settings.requests_answer);
        (!limits.is_empty()).then_some(RequestLimits { limits, answer, delay_level })
    }

    /// `limit_conn` of a level.
    pub(super) fn connection_limits(&self, settings: &LimitSettings) -> Option<ConnectionLimits> {
        let limits: Vec<_> = settings
            .connections
            .iter()
            .filter_map(|limit| {
                let zone = self.limits.connections.get(&limit.zone)?;
                Some((Arc::clone(zone), limit.most))
            })
            .collect();
        let answer = answer(settings.connections_answer);
        (!limits.is_empty()).then_some(ConnectionLimits { limits, answer })
    }
}

fn answer(conf: settings::LimitAnswer) -> LimitAnswer {
    let level = match conf.log_level {
        LogLevel::Info => Level::Info,
        LogLevel::Notice => Level::Notice,
        LogLevel::Warn => Level::Warn,
        _ => Level::Error,
    };
    LimitAnswer { status: conf.status, level, dry_run: conf.dry_run }
}
