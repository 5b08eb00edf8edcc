//! Node of a cluster in a running site: start, reload and stop.

use std::path::Path;
use std::sync::Arc;

use myriad_admin::cluster::{ClusterOptions, ClusterSettings, PreparedCluster, RunningCluster};
use myriad_conf::Model;
use myriad_exchange::runtime::Runtime;
use myriad_exchange::state_storage::SharedStateStorage;
use myriad_store::page::PageZone;
use myriad_tls::TlsReloadState;
use myriad_tls::acme_client::OrderCoordinator;

use super::start_error::StartError;
use crate::acme::shared_certificates;
use crate::compile::RetainedState;

/// Running node of the `cluster` block of the configuration; empty without such a block.
#[derive(Default)]
pub(super) struct ClusterHandle(RunningCluster);

/// Prepared start, change or stop of the cluster node, to be completed by [`ClusterHandle::apply`].
pub(super) struct ClusterPlan(PreparedCluster);

impl ClusterHandle {
    /// Starts the node at the start of the process, as [`Self::prepare`] and [`Self::apply`]. The nodes share the ticket keys
    /// and limit zones of `retained`.
    ///
    /// # Errors
    /// Returns the errors of [`Self::prepare`].
    pub(super) fn start(
        model: &Model,
        folder: &Path,
        runtime: &Runtime,
        retained: &RetainedState,
    ) -> Result<Self, StartError> {
        let mut handle = Self::default();
        handle.share_ticket_keys(&retained.tls);
        let plan = handle.prepare(model, folder, runtime)?;
        handle.0.apply(plan.0, false);
        handle.share_limits(model, retained);
        Ok(handle)
    }

    /// Prepares the start, change or stop of the node according to a configuration whose zones are open. `folder` is
    /// that of the configuration file. Dropping the plan changes nothing. `runtime` refers to the node from now on.
    ///
    /// # Errors
    /// Returns an error if a file of the block cannot be read, or the node cannot be started.
    pub(super) fn prepare(
        &self,
        model: &Model,
        folder: &Path,
        runtime: &Runtime,
    ) -> Result<ClusterPlan, StartError> {
        let http = model.http.as_ref();
        let conf = http.and_then(|http| http.settings.feature::<ClusterSettings>().cluster.as_ref());
        let hostname = String::from_utf8_lossy(&runtime.hostname);
        let options = conf
            .map(|conf| ClusterOptions::load(conf, folder, &hostname))
            .transpose()
            .map_err(|error| StartError::Configuration(vec![error]))?;
        let zones: Vec<Arc<PageZone>> = http
            .into_iter()
            .flat_map(|http| &http.cache_zones)
            .filter(|zone| zone.cluster && conf.is_some())
            .filter_map(|zone| runtime.zones.get(&*zone.name).cloned())
            .collect();
        *runtime.cluster.lock() = conf.map(|_| self.0.publisher());
        Ok(ClusterPlan(self.0.prepare(options, zones, &runtime.zone_log)?))
    }

    /// Completes the change of a reload. A new node is ready when this returns: it has executed the purges that it
    /// missed, or the pages that may have missed a purge are stale.
    pub(super) fn apply(&mut self, plan: ClusterPlan) {
        self.0.apply(plan.0, true);
    }

    /// Replaces the ticket keys that the nodes share by those of `tls`.
    pub(super) fn share_ticket_keys(&self, tls: &TlsReloadState) {
        self.0.set_ticket_keys(tls.shared_ticket_keys());
    }

    /// Replaces the automatic certificates that the nodes share by those of a configuration.
    pub(super) fn share_certificates(&self, runtime: &Runtime, keeper: &SharedStateStorage) {
        let challenges = runtime.acme.as_ref().map(|plan| Arc::clone(&plan.challenges));
        self.0.set_certificates(challenges, shared_certificates(runtime, keeper));
    }

    /// Returns the coordinator of the orders of automatic certificates.
    #[expect(clippy::unnecessary_wraps, reason = "builds without the feature `cluster` have no coordinator")]
    pub(super) fn coordinator(&self) -> Option<Arc<dyn OrderCoordinator>> {
        Some(self.0.coordinator())
    }

    /// Shares the limit zones of the active configuration with the other nodes, except those with `cluster=off`. To be
    /// called after [`Self::start`] and [`Self::apply`].
    pub(super) fn share_limits(&self, model: &Model, retained: &RetainedState) {
        let http = model.http.as_ref();
        let mut zones = http.map(|http| retained.gate.shared_zones(http)).unwrap_or_default();
        zones.append(&mut retained.stream.shared_limit_zones(model));
        self.0.share_limits(zones);
    }

    /// Stops the node for good. `is_leaving` is true if the node leaves the cluster until its next start.
    pub(super) fn stop(&mut self, is_leaving: bool) {
        self.0.stop(is_leaving);
    }
}
