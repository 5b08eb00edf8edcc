//! Reload: switch to another configuration, with the retained state of the previous one.

use std::time::Duration;

use myriad_conf::Model;

use super::history_file::history_path;
use super::inherited::Inherited;
use super::orders::Order;
use super::replaced::Drained;
use super::running::{Site, open_zones};
use super::sockets::{number, run};
use super::start_error::StartError;
use crate::apart::apart;
use crate::compile::{self, Surroundings};

impl Site {
    /// Replaces the configuration. Exchanges in progress finish with their configuration; `drained` is called when the
    /// last of them is finished.
    pub fn reload(&self, model: &Model, inherited: Inherited, drained: Drained) -> Result<(), StartError> {
        let mut inner = self.inner.lock();
        let inner = &mut *inner;
        self.logs.take(inherited.logs);
        let sockets = number(inherited.listeners, &mut inner.numbers);
        let surroundings = Surroundings {
            prefix: &inherited.prefix,
            folder: &inherited.folder,
            tls_files: &inherited.tls_files,
            listeners: &inner.numbers,
            logs: &self.logs,
            kept: &mut inner.kept,
        };
        let (runtime, streams) =
            apart(|| compile::compile_all(model, surroundings)).map_err(StartError::Configuration)?;
        open_zones(&runtime, &self.disks, &inherited.keeper);
        let tunnels_end = *self.shutdown_timeout.lock();
        run(&inner.workers, (&runtime, streams.as_ref()), &sockets, &mut inner.quic, tunnels_end)?;
        inner.agents.follow(runtime.acme.as_deref(), &inherited.keeper)?;
        inner.agents.staple(&runtime.staples, &runtime.zone_log)?;
        inner.kept.tls.settle(runtime.staples.iter().map(|planned| &planned.staple));
        let issuers = runtime.acme.iter().flat_map(|plan| &plan.issuers);
        inner.kept.acme.settle(issuers.flat_map(|planned| &planned.slots));
        inner.kept.zones.retain(|name, _| runtime.zones.contains_key(name));
        inner.kept.traffic.prune();
        inner.kept.peers.prune();
        inner.kept.generations += 1;
        inner.kept.stream.settle(model);
        inner.kept.gate.settle(model.http.as_ref().map_or(&[], myriad_access::limit_zones));
        let next = model.main.worker_shutdown_timeout.map(Duration::from_millis);
        if let Some(after) = std::mem::replace(&mut *self.shutdown_timeout.lock(), next) {
            for worker in &inner.workers {
                // A worker that has exited has no connections.
                let _ = worker.orders.send(Order::EndStragglers(after));
            }
        }
        *inner.observing.sight().sources.lock() = inherited.sources.into();
        inner.watching.follow(&runtime, model.main.memory_limit);
        inner.observing.follow(&runtime, history_path(model, &inherited.prefix));
        let previous = std::mem::replace(&mut inner.runtime, runtime);
        let streams = std::mem::replace(&mut inner.streams, streams);
        inner.replaced.add(previous, streams, drained);
        Ok(())
    }
}
