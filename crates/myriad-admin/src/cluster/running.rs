//! A node of a cluster as part of a running server: start, reload and stop.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use myriad_access::SharedLimitZone;
use myriad_access::origin_protection::origin_challenge::share_pass_secret;
use myriad_cluster::node::NodeCounters;
use myriad_log::ErrorLog;
use myriad_store::page::{PageZone, PurgePublisher};
use myriad_tls::SharedTicketKeys;
use myriad_tls::acme_client::{OrderCoordinator, PendingChallenges, SharedCertificate};

use super::certificate_lease::CertificateCoordinator;
use super::exchanged_state::ExchangedState;
use super::node_thread::{NodeThread, PreparedNode};
use super::options::ClusterOptions;
use super::publisher::ClusterPublisher;
use super::zones::ClusterZones;
use crate::admin::block_on;

/// Maximum time for the start of the node.
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// Node of a cluster, with the zones whose purges it exchanges. A reload replaces both in two steps,
/// [`Self::prepare`] and [`Self::apply`], so that a reload that fails between them changes nothing.
pub struct RunningCluster {
    publisher: Arc<ClusterPublisher>,
    zones: Arc<ClusterZones>,
    exchanged: ExchangedState,
    node: Option<NodeThread>,
    /// Counters of the nodes that have stopped.
    counters: NodeCounters,
}

/// Change that [`RunningCluster::apply`] completes. Dropping it undoes the change.
pub struct PreparedCluster {
    zones: Arc<ClusterZones>,
    /// Zones after the change.
    next: Vec<Arc<PageZone>>,
    /// New zones, which already take part.
    added: Vec<Arc<PageZone>>,
    /// Publisher that stores the purges of the zones for the first node; `None` if a node was running.
    first: Option<Arc<ClusterPublisher>>,
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

impl Default for RunningCluster {
    fn default() -> Self {
        let exchanged = ExchangedState::default();
        let zones = Arc::new(ClusterZones::new(Arc::clone(&exchanged.pages)));
        let publisher = Arc::new(ClusterPublisher::new(exchanged.clone()));
        Self { publisher, zones, exchanged, node: None, counters: NodeCounters::default() }
    }
}

impl RunningCluster {
    /// Prepares a node with these options for `zones`, whose purges it will exchange. Zones that are new take part from
    /// now on, and if they may have pages that missed purges, their pages are stale. If no node is running, the new one
    /// sends the purges of its zones from now on, once it is started. Without options, prepares to stop the node.
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
        let added = self.zones.add(&zones, self.node.is_some());
        let mut first = None;
        if let Some(node) = &self.node {
            self.include(&added);
            let announced = self.zones.announce_gap(&added);
            for zone in &added {
                block_on(self.zones.expire_missed(zone, log));
            }
            // Last, so that the next record is after all purges of the zones.
            node.note_gap(announced);
        } else if let PreparedChange::Start(node) = &node {
            // No zone has taken part: the new node compares its zones with those of the position file.
            self.publisher.prepare(node.handle());
            self.include(&added);
            first = Some(Arc::clone(&self.publisher));
        }
        let (zones, next) = (Arc::clone(&self.zones), zones);
        Ok(PreparedCluster { zones, next, added, first, node, log: log.clone() })
    }

    /// Completes a change. If a node starts, waits for at most ten seconds until it has executed the purges that it
    /// missed, or until the pages that may have missed a purge are stale. `is_reload` is true if the zones may have
    /// pages in memory.
    pub fn apply(&mut self, mut prepared: PreparedCluster, is_reload: bool) {
        prepared.added.clear();
        prepared.first = None;
        exclude(&self.zones.set(std::mem::take(&mut prepared.next)));
        match std::mem::replace(&mut prepared.node, PreparedChange::Keep) {
            PreparedChange::Keep => {}
            PreparedChange::Stop => {
                self.publisher.close();
                self.stop_node(true);
                share_pass_secret(None);
                self.exchanged.ticket_keys.forget();
                self.exchanged.certificates.set_enabled(false);
            }
            PreparedChange::Start(node) => {
                self.publisher.suspend();
                let is_same = self.node.as_ref().is_some_and(|before| node.has_same_secret(before));
                self.stop_node(false);
                if !is_same {
                    self.exchanged.ticket_keys.forget();
                }
                self.exchanged.certificates.set_enabled(true);
                share_pass_secret(Some(node.secret().pass_secret()));
                let node = node.start(&self.zones, &self.exchanged, is_reload, self.counters, &prepared.log);
                self.publisher.start(node.handle());
                self.include(&self.zones.all());
                node.wait_until_ready(START_TIMEOUT);
                self.node = Some(node);
            }
        }
    }

    /// Returns the publisher of this server, whose node may be replaced.
    pub fn publisher(&self) -> Arc<dyn PurgePublisher> {
        Arc::clone(&self.publisher) as _
    }

    /// Replaces the ticket keys that the nodes of the cluster share, one set for each lifetime of tickets.
    pub fn set_ticket_keys(&self, sets: Vec<Arc<SharedTicketKeys>>) {
        self.exchanged.ticket_keys.set(sets);
    }

    /// Replaces the automatic certificates that the nodes share, and the challenges that all nodes answer.
    pub fn set_certificates(
        &self,
        challenges: Option<Arc<PendingChallenges>>,
        certificates: Vec<SharedCertificate>,
    ) {
        self.exchanged.certificates.set(challenges, certificates);
    }

    /// Returns the coordinator of the orders of automatic certificates.
    pub fn coordinator(&self) -> Arc<dyn OrderCoordinator> {
        Arc::new(CertificateCoordinator(Arc::clone(&self.exchanged.certificates)))
    }

    /// Replaces the limit zones whose limits apply to all nodes together; none if no node is running. To be called after a
    /// start or reload.
    pub fn share_limits(&self, mut zones: Vec<SharedLimitZone>) {
        if self.node.is_none() {
            zones.clear();
        }
        self.exchanged.limits.set_zones(zones);
    }

    /// Lets zones publish their purges.
    fn include(&self, zones: &[Arc<PageZone>]) {
        for zone in zones {
            *zone.publisher.lock() = Some(self.publisher());
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
            self.counters = node.stop(is_leaving).unwrap_or(self.counters);
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
        if let Some(publisher) = &self.first {
            publisher.close();
        }
    }
}

/// Stops the publication of the purges of zones.
fn exclude(zones: &[Arc<PageZone>]) {
    for zone in zones {
        zone.publisher.lock().take();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::settings::PartitionPolicy;
    use crate::purge::{PurgeFailure, begin_invalidation};
    use myriad_policy::PurgeTarget;
    use myriad_store::page::{PageFolder, PurgeSource};
    use myriad_store::{Zone, ZoneLimits};

    /// Returns options of a node that cannot connect.
    fn options(node: &str) -> ClusterOptions {
        ClusterOptions {
            name: "shop".to_owned(),
            node: node.to_owned(),
            hostname: String::new(),
            servers: Vec::new(),
            credentials: None,
            sentinel_password: None,
            trusted_certificates: None,
            secret: vec![1; 32].into(),
            partition: PartitionPolicy::Strict,
            receipt_timeout: Duration::ZERO,
            shares_pages: false,
        }
    }

    /// Returns a zone whose folder does not exist.
    fn zone(name: &str) -> Arc<PageZone> {
        let folder = PageFolder { path: "/nowhere".into(), levels: Vec::new() };
        Arc::new(PageZone::new(Zone::new(name, ZoneLimits::default()), folder))
    }

    fn purge(zone: &PageZone) -> Result<(), PurgeFailure> {
        begin_invalidation(zone, &PurgeTarget::All, PurgeSource::Administrator).map(drop)
    }

    fn node_of(zone: &PageZone) -> Option<String> {
        let publisher = zone.publisher.lock().clone();
        publisher.and_then(|publisher| publisher.status()).map(|status| status.node)
    }

    #[test]
    fn purge_between_the_preparation_and_the_start_of_the_first_node_is_sent_by_it() {
        let log = ErrorLog::new(Vec::new());
        let (mut cluster, zone) = (RunningCluster::default(), zone("pages"));
        let prepared = cluster.prepare(Some(options("web1")), vec![Arc::clone(&zone)], &log);
        purge(&zone).expect("a purge that waits for the node");
        cluster.apply(prepared.expect("prepared"), true);
        let status = zone.publisher.lock().clone().and_then(|publisher| publisher.status());
        assert_eq!(status.map(|status| status.unconfirmed_count), Some(1));

        let publisher = zone.publisher.lock().clone();
        let prepared = cluster.prepare(None, Vec::new(), &log).expect("prepared");
        cluster.apply(prepared, true);
        assert!(zone.publisher.lock().is_none());
        *zone.publisher.lock() = publisher; // a request that began before the reload
        assert!(matches!(purge(&zone), Err(PurgeFailure::Unpublished)), "no node will send it");
    }

    #[test]
    fn dropped_preparation_changes_nothing() {
        let log = ErrorLog::new(Vec::new());
        let (mut cluster, pages, other) = (RunningCluster::default(), zone("pages"), zone("other"));
        drop(cluster.prepare(Some(options("web1")), vec![Arc::clone(&pages)], &log).expect("prepared"));
        assert!(pages.publisher.lock().is_none() && cluster.zones.all().is_empty());

        let prepared = cluster.prepare(Some(options("web1")), vec![Arc::clone(&pages)], &log);
        cluster.apply(prepared.expect("prepared"), false);
        let zones = vec![Arc::clone(&pages), Arc::clone(&other)];
        drop(cluster.prepare(Some(options("web2")), zones, &log).expect("prepared"));
        assert!(other.publisher.lock().is_none() && cluster.zones.all().len() == 1);
        assert_eq!(node_of(&pages).as_deref(), Some("web1"));
        purge(&pages).expect("the node continues");
    }
}
