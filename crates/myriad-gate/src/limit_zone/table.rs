//! A zone as it runs: what visitors are told apart by, and a table of what is known of them.
//!
//! Tables are shared by all workers and kept over reloads. Each is bounded by the size of its zone, counted as nginx's manual
//! does, so that a flood of visitors displaces the oldest and never fills the memory.

use std::collections::HashMap;
use std::sync::Arc;

use myriad_log::Level;
use myriad_script::{EvalError, Template};

use super::settings::LimitZoneConf;
use myriad_exchange::exchange::Exchange;
use myriad_exchange::runtime::LimitCounts;

/// A zone, compiled.
pub struct LimitZone<T> {
    /// Its name.
    pub name: Box<str>,
    /// What visitors are told apart by.
    pub key: Template,
    /// What is known of them.
    pub table: Arc<T>,
    /// What it has decided.
    pub counts: Arc<LimitCounts>,
}

impl<T> LimitZone<T> {
    /// Appends the key of a request, nothing where the request is not to be counted: its key is empty, or longer than `longest`
    /// bytes, which the error log is told.
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
                Level::Error,
                format_args!("the value of the key of zone \"{name}\" is more than {longest} bytes"),
            );
            key.clear();
        }
        Ok(())
    }
}

/// What a zone knows of visitors.
pub trait Table {
    /// An empty table of at most so many bytes.
    fn new(bytes: u64) -> Self;

    /// Changes the bound; what is beyond it goes, the oldest first.
    fn resize(&self, bytes: u64);
}

/// What a visitor weighs in a table: its key and what nginx keeps beside it, rounded up to a power of two as nginx's slabs are.
pub(crate) fn weight(key: &[u8], overhead: usize) -> u32 {
    u32::try_from((overhead + key.len()).next_power_of_two()).unwrap_or(u32::MAX)
}

/// A table, with the text of its key and what was counted of it.
type Kept<T> = (Vec<u8>, Arc<T>, Arc<LimitCounts>);

/// Tables that outlive a reload, by the name of their zone. Each with the text of its key: what was counted by one key means
/// nothing to another.
pub struct Tables<T>(HashMap<String, Kept<T>>);

impl<T> Default for Tables<T> {
    fn default() -> Self {
        Self(HashMap::new())
    }
}

impl<T: Table> Tables<T> {
    /// The zone of a configuration, with the table that it had before, or a new one.
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
                let kept = (key.to_vec(), Arc::clone(&table), Arc::clone(&counts));
                self.0.insert(conf.name.clone(), kept);
                (table, counts)
            }
        }
    }

    /// The configuration with these zones runs: tables take its sizes, those of zones that are gone go.
    pub fn settle(&mut self, zones: &[LimitZoneConf]) {
        self.0.retain(|name, (_, table, _)| {
            let zone = zones.iter().find(|zone| zone.name == *name);
            zone.inspect(|zone| table.resize(zone.size)).is_some()
        });
    }
}
