//! Reload: switch to another configuration, which retains state of the previous one.

use std::time::Duration;

use myriad_conf::Model;

use super::history_file::history_path;
use super::inherited_resources::InheritedResources;
use super::replaced_configs::DrainedCallback;
use super::running::{RunningSite, open_zones};
use super::sockets::{assign_numbers, run_on_workers};
use super::start_error::StartError;
use super::worker_command::WorkerCommand;
use crate::acme::AgentEnvironment;
use crate::compile::{self, CompileEnvironment};
use crate::temporary_thread::run_on_temporary_thread;

impl RunningSite {
    /// Replaces the configuration. Requests in progress finish with the previous one; `drained` is called when the last
    /// of them is finished. Returns an error if the new configuration cannot be compiled or started.
    pub fn reload(
        &self,
        model: &Model,
        inherited: InheritedResources,
        drained: DrainedCallback,
    ) -> Result<(), StartError> {
        let mut inner = self.inner.lock();
        let inner = &mut *inner;
        self.logs.take(inherited.logs);
        let sockets = assign_numbers(inherited.listeners, &mut inner.numbers);
        let surroundings = CompileEnvironment {
            prefix: &inherited.prefix,
            folder: &inherited.folder,
            tls_files: &inherited.tls_files,
            listeners: &inner.numbers,
            logs: &self.logs,
            retained: &mut inner.retained,
        };
        let (runtime, streams) = run_on_temporary_thread(|| compile::compile_all(model, surroundings))
            .map_err(StartError::Configuration)?;
        open_zones(&runtime, &self.disks, &inherited.keeper);
        // A failure after the workers have the new configuration could not be undone.
        let environment =
            AgentEnvironment { storage: &inherited.keeper, coordinator: inner.cluster.coordinator() };
        let prepared_agents = inner.agents.prepare(&runtime, &environment)?;
        let cluster_plan = inner.cluster.prepare(model, &inherited.folder, &runtime)?;
        let tunnels_end = *self.shutdown_timeout.lock();
        run_on_workers(&inner.workers, (&runtime, streams.as_ref()), &sockets, &mut inner.quic, tunnels_end)?;
        inner.cluster.apply(cluster_plan);
        inner.cluster.share_certificates(&runtime, &inherited.keeper);
        inner.agents.apply_plan(prepared_agents, &runtime, &environment);
        inner.retained.tls.drop_unused(runtime.staples.iter().map(|planned| &planned.staple));
        inner.cluster.share_ticket_keys(&inner.retained.tls);
        let issuers = runtime.acme.iter().flat_map(|plan| &plan.issuers);
        inner.retained.acme.retain_only(issuers.flat_map(|planned| &planned.slots));
        inner.retained.zones.retain(|name, _| runtime.zones.contains_key(name));
        inner.retained.traffic.prune();
        inner.retained.peers.prune();
        inner.retained.generations += 1;
        inner.retained.stream.settle(model);
        inner.retained.gate.apply_zones(model.http.as_ref().map_or(&[], myriad_access::limit_zones));
        inner.cluster.share_limits(model, &inner.retained);
        let next = model.main.worker_shutdown_timeout.map(Duration::from_millis);
        if let Some(after) = std::mem::replace(&mut *self.shutdown_timeout.lock(), next) {
            for worker in &inner.workers {
                // Fails if the worker has exited; it then has no connections.
                let _ = worker.commands.send(WorkerCommand::EndStragglers(after));
            }
        }
        *inner.observer.sight().sources.lock() = inherited.sources.into();
        inner.memory_watcher.apply_config(&runtime, model.main.memory_limit);
        inner.observer.apply_config(&runtime, history_path(model, &inherited.prefix));
        let previous = std::mem::replace(&mut inner.runtime, runtime);
        let streams = std::mem::replace(&mut inner.streams, streams);
        inner.replaced.add(previous, streams, drained);
        Ok(())
    }
}
