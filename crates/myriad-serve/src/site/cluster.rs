//! Node of a cluster in a running site: start, reload and stop.

use std::path::Path;
use std::sync::Arc;

use myriad_admin::cluster::{ClusterOptions, ClusterSettings, RunningCluster};
use myriad_conf::Model;
use myriad_exchange::runtime::Runtime;
use myriad_store::page::PageZone;

use super::start_error::StartError;

/// Node of the `cluster` block; none without the block.
#[derive(Default)]
pub(super) struct ClusterHandle(Option<RunningCluster>);

impl ClusterHandle {
    /// Starts, changes or stops the node according to a configuration whose zones are open. A new node is ready when
    /// this returns: it has executed the purges that it missed, or the pages that may have missed a purge are stale.
    ///
    /// # Errors
    /// Returns an error if a file of the block cannot be read, or the node cannot be started.
    pub(super) fn apply_config(
        &mut self,
        model: &Model,
        prefix: &Path,
        runtime: &Runtime,
    ) -> Result<(), StartError> {
        let http = model.http.as_ref();
        let conf = http.and_then(|http| http.settings.feature::<ClusterSettings>().cluster.as_ref());
        let Some(conf) = conf else {
            self.stop(true);
            return Ok(());
        };
        let hostname = String::from_utf8_lossy(&runtime.hostname);
        let options = ClusterOptions::load(conf, prefix, &hostname)
            .map_err(|error| StartError::Configuration(vec![error]))?;
        let zones: Vec<Arc<PageZone>> = http
            .into_iter()
            .flat_map(|http| &http.cache_zones)
            .filter(|zone| zone.cluster)
            .filter_map(|zone| runtime.zones.get(&*zone.name).cloned())
            .collect();
        if let Some(running) = self.0.as_ref().filter(|running| *running.options() == options) {
            running.set_zones(zones);
            return Ok(());
        }
        self.stop(false);
        let running = RunningCluster::start(options, zones, &runtime.zone_log)?;
        running.wait_until_ready();
        self.0 = Some(running);
        Ok(())
    }

    /// Stops the node. `is_leaving` is true if the node leaves the cluster until its next start.
    pub(super) fn stop(&mut self, is_leaving: bool) {
        if let Some(running) = self.0.take() {
            running.stop(is_leaving);
        }
    }
}
