//! A node of a cluster as part of a running server: start, reload and stop.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use myriad_log::ErrorLog;
use myriad_store::page::{PageZone, PurgePublisher};

use super::node_thread::{NodeThread, PreparedNode};
use super::options::ClusterOptions;
use super::publisher::ClusterPublisher;
use super::zones::{ClusterZones, expire};
use crate::admin::block_on;

/// Maximum time for the start of the node.
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// Node of a cluster, with the zones whose purges it exchanges. A reload replaces both in two steps,
/// [`Self::prepare`] and [`Self::apply`], so that a reload that fails between them changes nothing.
#[derive(Default)]
pub struct RunningCluster {
    publisher: Arc<ClusterPublisher>,
    zones: Arc<ClusterZones>,
    node: Option<NodeThread>,
}

/// Change that [`RunningCluster::apply`] completes. Dropping it undoes the change.
pub struct PreparedCluster {
    zones: Arc<ClusterZones>,
    /// Zones after the change.
    next: Vec<Arc<PageZone>>,
    /// New zones, which already take part.
    added: Vec<Arc<PageZone>>,
    node: PreparedChange,
    log: ErrorLog,
}

/// Change of the node.
enum PreparedChange {
    /// The node continues.
    Keep,
    /// A node starts, after the current one has stopped.
    Start(Box<PreparedNode>),
    /// The configuration has no cluster: the node stops.
    Stop,
}

impl RunningCluster {
    /// Prepares a node with these options for `zones`, whose purges it will exchange. Zones that are new take part from
    /// now on, and if they may have pages that missed purges, their pages are stale. Without options, prepares the end
    /// of the node.
    ///
    /// # Errors
    /// Returns an error if a name is invalid, or the thread of the node cannot be started.
    pub fn prepare(
        &self,
        options: Option<ClusterOptions>,
        zones: Vec<Arc<PageZone>>,
        log: &ErrorLog,
    ) -> io::Result<PreparedCluster> {
        let node = match options {
            None if self.node.is_none() => PreparedChange::Keep,
            None => PreparedChange::Stop,
            Some(options) if self.node.as_ref().is_some_and(|node| *node.options() == options) => {
                PreparedChange::Keep
            }
            Some(options) => PreparedChange::Start(Box::new(PreparedNode::new(options)?)),
        };
        let added = self.zones.add(&zones);
        // Without a node, no zone has taken part: the new node compares its zones with those of the position file.
        if self.node.is_some() {
            self.include(&added);
            for zone in &added {
                block_on(expire(zone, log));
            }
        }
        Ok(PreparedCluster { zones: Arc::clone(&self.zones), next: zones, added, node, log: log.clone() })
    }

    /// Completes a change. If a node starts, waits for at most ten seconds until it has executed the purges that it
    /// missed, or until the pages that may have missed a purge are stale. `is_reload` is true if the zones may have
    /// pages in memory.
    pub fn apply(&mut self, mut prepared: PreparedCluster, is_reload: bool) {
        prepared.added.clear();
        exclude(&self.zones.set(std::mem::take(&mut prepared.next)));
        match std::mem::replace(&mut prepared.node, PreparedChange::Keep) {
            PreparedChange::Keep => {}
            PreparedChange::Stop => {
                self.publisher.suspend();
                self.stop_node(true);
            }
            PreparedChange::Start(node) => {
                self.publisher.suspend();
                self.stop_node(false);
                let node = node.start(&self.zones, is_reload, &prepared.log);
                self.publisher.start(node.handle());
                self.include(&self.zones.all());
                node.wait_until_ready(START_TIMEOUT);
                self.node = Some(node);
            }
        }
    }

    /// Lets zones publish their purges.
    fn include(&self, zones: &[Arc<PageZone>]) {
        for zone in zones {
            *zone.publisher.lock() = Some(Arc::clone(&self.publisher) as Arc<dyn PurgePublisher>);
        }
    }

    /// Stops the node for good, and waits for at most three seconds. Later purges of its zones are refused. `is_leaving`
    /// is true if the node leaves the cluster until its next start, and false if a successor takes over its name.
    pub fn stop(&mut self, is_leaving: bool) {
        self.publisher.close();
        self.stop_node(is_leaving);
    }

    fn stop_node(&mut self, is_leaving: bool) {
        if let Some(node) = self.node.take() {
            node.stop(is_leaving);
        }
    }
}

impl Drop for RunningCluster {
    fn drop(&mut self) {
        self.stop(false);
    }
}

impl Drop for PreparedCluster {
    fn drop(&mut self) {
        self.zones.remove(&self.added);
        exclude(&self.added);
    }
}

/// Stops the publication of the purges of zones.
fn exclude(zones: &[Arc<PageZone>]) {
    for zone in zones {
        zone.publisher.lock().take();
    }
}
