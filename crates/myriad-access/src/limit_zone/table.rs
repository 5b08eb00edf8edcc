//! Zones at run time, and their tables of counts by key.
//!
//! Tables are shared by all workers and survive reloads. The size of each table is bounded by the size of its zone,
//! computed as in the manual of nginx, so that many clients cannot exhaust the memory.

use std::collections::HashMap;
use std::sync::Arc;

use myriad_log::LogLevel;
use myriad_script::{EvalError, Template};

use super::settings::{LimitKind, LimitZoneConf};
use super::usage::{LimitBlock, SharedLimitZone, UsageTable};
use myriad_exchange::exchange::Exchange;
use myriad_exchange::runtime::LimitCounts;

/// Compiled `limit_req_zone` or `limit_conn_zone`, with its table of counts.
pub struct LimitZone<T> {
    /// Name of the zone.
    pub name: Box<str>,
    /// Key by which requests are counted; may contain variables.
    pub key: Template,
    /// Table of counts by key.
    pub table: Arc<T>,
    /// Numbers of requests that the zone's limits admitted, delayed or rejected.
    pub counts: Arc<LimitCounts>,
}

impl<T> LimitZone<T> {
    /// Evaluates the key of a request into `key`. Leaves `key` empty if the request is not counted: the key is empty,
    /// or longer than `longest` bytes (which is logged).
    pub(crate) fn key(
        &self,
        exchange: &mut Exchange,
        longest: usize,
        key: &mut Vec<u8>,
    ) -> Result<(), EvalError> {
        let Exchange { request, frame } = exchange;
        self.key.eval(request, frame, key)?;
        if key.len() > longest {
            let name = &self.name;
            request.log(
                LogLevel::Error,
                format_args!("the value of the key of zone \"{name}\" is more than {longest} bytes"),
            );
            key.clear();
        }
        Ok(())
    }
}

/// Table of a limit zone, which counts requests by key.
pub trait LimitTable {
    /// Creates an empty table of at most `bytes` bytes.
    fn new(bytes: u64) -> Self;

    /// Returns true if zones of this kind have tables of this type.
    fn has_kind(kind: LimitKind) -> bool;

    /// Changes the maximum size in bytes; evicts the least recently used entries beyond it.
    fn resize(&self, bytes: u64);
}

/// Returns the accounted size of a table entry in bytes: key and overhead, rounded up to a power of two like the slabs
/// of nginx.
pub(crate) fn weight(key: &[u8], overhead: usize) -> u32 {
    u32::try_from((overhead + key.len()).next_power_of_two()).unwrap_or(u32::MAX)
}

/// Table with the text of its key, and the counters of its zone.
type KeyedTable<T> = (Vec<u8>, Arc<T>, Arc<LimitCounts>);

/// Tables that survive a reload, by zone name. Each is stored with the text of its key, because counts are meaningless
/// for another key.
pub struct ZoneTables<T>(HashMap<String, KeyedTable<T>>);

impl<T> Default for ZoneTables<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T: LimitTable> ZoneTables<T> {
    /// Returns the zone of a configuration, with the existing table if the zone had the same key before, otherwise with
    /// a new table, which replaces the one stored here. The counters of the zone are kept in both cases.
    pub fn zone(&mut self, conf: &LimitZoneConf, key: Template) -> Arc<LimitZone<T>> {
        let (table, counts) = self.table(conf);
        Arc::new(LimitZone { name: conf.name.as_str().into(), key, table, counts })
    }

    fn table(&mut self, conf: &LimitZoneConf) -> (Arc<T>, Arc<LimitCounts>) {
        let key = conf.key.bytes();
        match self.0.get(&conf.name) {
            Some((known, table, counts)) if known == key => (Arc::clone(table), Arc::clone(counts)),
            before => {
                let counts = before.map(|(_, _, counts)| Arc::clone(counts)).unwrap_or_default();
                let table = Arc::new(T::new(conf.size));
                let stored = (key.to_vec(), Arc::clone(&table), Arc::clone(&counts));
                self.0.insert(conf.name.clone(), stored);
                (table, counts)
            }
        }
    }

    /// Adopts the zones of a configuration that has become active: resizes their tables, and removes the tables of
    /// zones that no longer exist, or have another kind.
    pub fn apply_zones(&mut self, zones: &[LimitZoneConf]) {
        self.0.retain(|name, (_, table, _)| {
            let zone = zones.iter().find(|zone| zone.name == *name && T::has_kind(zone.kind));
            zone.inspect(|zone| table.resize(zone.size)).is_some()
        });
    }
}

impl<T: LimitTable + UsageTable + 'static> ZoneTables<T> {
    /// Returns those of these zones that have a table here and whose limits apply to a cluster (`cluster=on`).
    /// `max_burst` returns the largest burst of the limits of a zone, in thousandths of a request.
    pub fn shared(
        &self,
        zones: &[LimitZoneConf],
        block: LimitBlock,
        max_burst: impl Fn(&LimitZoneConf) -> u64,
    ) -> Vec<SharedLimitZone> {
        let shared = zones.iter().filter(|zone| zone.cluster && T::has_kind(zone.kind));
        let shared = shared.filter_map(|zone| {
            let (_, table, _) = self.0.get(&zone.name)?;
            Some(SharedLimitZone::new(zone, block, max_burst(zone), Arc::clone(table) as Arc<dyn UsageTable>))
        });
        shared.collect()
    }
}
