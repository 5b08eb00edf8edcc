//! Limit zones whose limits apply to all nodes of the cluster together, and what the nodes report about their use.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};

use myriad_access::{MAX_SHARED_KEY, PeerUsage, SharedLimitZone};
use myriad_cluster::limits::{LimitExchange, LimitReception};
use myriad_cluster::node::ClockMs;
use myriad_cluster::record::{LimitZoneId, MAX_LIMIT_KEY, RecordError, ZoneUsage};
use myriad_net::clock::now_ms;
use parking_lot::Mutex;
use tokio::sync::Notify;

use super::options::ClusterOptions;

const _: () = assert!(MAX_SHARED_KEY == MAX_LIMIT_KEY, "each reported key fits into a message");

/// Limit zones of the cluster. They outlive the node and its connections, which a reload may replace.
#[derive(Default)]
pub(super) struct SharedLimits {
    zones: Mutex<Vec<SharedLimitZone>>,
    /// Notified when the zones have changed.
    changed: Notify,
    exchange: Mutex<Option<RetainedExchange>>,
    pub has_logged_failure: AtomicBool,
    pub counters: LimitCounters,
}

/// Exchange of this process, with the options of the node for which it was created.
struct RetainedExchange {
    options: Arc<ClusterOptions>,
    exchange: Arc<Mutex<LimitExchange>>,
}

/// Counters of messages about limits.
#[derive(Default)]
pub(super) struct LimitCounters {
    /// Messages that this node has published.
    pub sent: AtomicU64,
    /// Messages of other nodes whose numbers were used.
    received: AtomicU64,
    /// Numbers of other nodes that were used.
    keys_received: AtomicU64,
    /// Messages that are repeated or not fresh.
    unused: AtomicU64,
    /// Messages that are not authentic or have an invalid format.
    refused: AtomicU64,
    /// Lost connections, failed attempts to connect, and failed commands.
    pub failed: AtomicU64,
}

impl SharedLimits {
    /// Returns the exchange for a node with these options: that of the node before, if a reload has replaced it and the
    /// names and the secret are the same. The other nodes then replace the numbers of its connections, and do not count them
    /// twice. `create` returns a new exchange.
    pub(super) fn exchange(
        &self,
        options: &Arc<ClusterOptions>,
        create: impl FnOnce() -> LimitExchange,
    ) -> Arc<Mutex<LimitExchange>> {
        let mut retained = self.exchange.lock();
        let has_same_names = |before: &ClusterOptions| {
            (&before.name, &before.node, &before.secret) == (&options.name, &options.node, &options.secret)
        };
        if let Some(RetainedExchange { options: before, exchange }) = &*retained
            && has_same_names(before)
        {
            return Arc::clone(exchange);
        }
        let exchange = Arc::new(Mutex::new(create()));
        *retained = Some(RetainedExchange { options: Arc::clone(options), exchange: Arc::clone(&exchange) });
        exchange
    }

    /// Replaces the zones, after a start or reload.
    pub(super) fn set_zones(&self, zones: Vec<SharedLimitZone>) {
        let mut current = self.zones.lock();
        for zone in current.iter().filter(|zone| !zones.iter().any(|other| other.has_table_of(zone))) {
            zone.set_shared(false);
        }
        for zone in &zones {
            zone.set_shared(true);
        }
        *current = zones;
        self.changed.notify_one();
    }

    /// Returns true if there is a zone.
    pub(super) fn has_zones(&self) -> bool {
        !self.zones.lock().is_empty()
    }

    /// Waits until there is a zone.
    pub(super) async fn wait_for_zones(&self) {
        while !self.has_zones() {
            self.changed.notified().await;
        }
    }

    /// Discards the requests that were counted without a connection to Valkey.
    pub(super) fn discard_usage(&self) {
        self.take_usage(false);
    }

    /// Returns the message of this node that is due; `None` if there is none.
    pub(super) fn message(&self, exchange: &Mutex<LimitExchange>, now: ClockMs) -> Option<Vec<u8>> {
        let mut exchange = exchange.lock();
        let usage = self.take_usage(exchange.is_heartbeat_due(now));
        exchange.message(usage, now)
    }

    /// Handles a message, and adds its numbers to the zones. Numbers of other zones are ignored.
    ///
    /// # Errors
    /// As [`LimitExchange::receive`].
    pub(super) fn receive(
        &self,
        exchange: &Mutex<LimitExchange>,
        message: &[u8],
        now: ClockMs,
    ) -> Result<(), RecordError> {
        let (reception, peers) = {
            let mut exchange = exchange.lock();
            (exchange.receive(message, now), exchange.peer_count())
        };
        let counter = match reception {
            Ok(LimitReception::Own) => return Ok(()),
            Ok(LimitReception::Usage(peer, zones)) => {
                self.add_usage(peer.0, peers, &zones);
                &self.counters.received
            }
            Ok(LimitReception::Repeated | LimitReception::NotFresh) => &self.counters.unused,
            Err(error) => {
                self.counters.refused.fetch_add(1, Relaxed);
                return Err(error);
            }
        };
        counter.fetch_add(1, Relaxed);
        Ok(())
    }

    /// Returns the names and values of the counters.
    pub(super) fn counters(&self) -> [(&'static str, u64); 6] {
        let counters = &self.counters;
        [
            ("limits_sent", &counters.sent),
            ("limits_received", &counters.received),
            ("limit_keys_received", &counters.keys_received),
            ("limits_unused", &counters.unused),
            ("limits_refused", &counters.refused),
            ("limit_failures", &counters.failed),
        ]
        .map(|(name, counter)| (name, counter.load(Relaxed)))
    }

    fn take_usage(&self, repeats: bool) -> Vec<ZoneUsage> {
        let zones = self.zones.lock();
        let usage = zones
            .iter()
            .map(|zone| ZoneUsage { zone: LimitZoneId(zone.id()), keys: zone.take_usage(repeats) });
        usage.filter(|usage| !usage.keys.is_empty()).collect()
    }

    fn add_usage(&self, peer: u64, peers: usize, usage: &[ZoneUsage]) {
        let zones = self.zones.lock();
        let now = now_ms();
        for ZoneUsage { zone: id, keys } in usage {
            let Some(zone) = zones.iter().find(|zone| zone.id() == id.0) else { continue };
            for (key, number) in keys {
                zone.add_usage(PeerUsage { peer, peers, key, number: *number }, now);
            }
            self.counters.keys_received.fetch_add(keys.len() as u64, Relaxed);
        }
    }
}

/// Shared zones, with the exchange of this process lifetime.
#[derive(Clone)]
pub(super) struct LimitSharing {
    pub limits: Arc<SharedLimits>,
    /// Exchange of the process lifetime. A new connection, or a node after a reload, continues its sequence numbers.
    pub exchange: Arc<Mutex<LimitExchange>>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use myriad_access::limit_conn::ConnectionTable;
    use myriad_access::{LimitBlock, LimitKind, LimitZone, LimitZoneConf, ZoneTables};
    use myriad_cluster::record::{ClusterSecret, NodeName, StartId};
    use myriad_conf::{Span, Text};
    use myriad_script::Template;
    use std::time::Duration;

    use crate::cluster::settings::PartitionPolicy;

    /// Node with one zone of `limit_conn`.
    struct LimitingNode {
        limits: SharedLimits,
        exchange: Mutex<LimitExchange>,
        zone: Arc<LimitZone<ConnectionTable>>,
        shared: Vec<SharedLimitZone>,
    }

    fn node(number: u8, key: &str) -> LimitingNode {
        let conf = LimitZoneConf {
            name: "busy".to_owned(),
            key: Text::new(key, Span::default()),
            size: 1 << 20,
            kind: LimitKind::Connections,
            cluster: true,
            span: Span::default(),
        };
        let mut tables = ZoneTables::<ConnectionTable>::default();
        let zone = tables.zone(&conf, Template::constant(b""));
        let excluded = LimitZoneConf { cluster: false, ..conf.clone() };
        assert!(tables.shared(&[excluded], LimitBlock::Http, |_| 0).is_empty());
        let shared = tables.shared(&[conf], LimitBlock::Http, |_| 0);
        let name = NodeName::new(&format!("web{number}")).expect("a name");
        let secret = ClusterSecret::new(&NodeName::new("shop").expect("a name"), &[7; 32]).expect("a secret");
        let exchange = Mutex::new(LimitExchange::new(secret, name, StartId([number; 16])));
        let node = LimitingNode { limits: SharedLimits::default(), exchange, zone, shared };
        node.limits.set_zones(node.shared.clone());
        node
    }

    fn unnamed() -> ClusterOptions {
        ClusterOptions {
            name: "shop".to_owned(),
            node: String::new(),
            hostname: String::new(),
            servers: Vec::new(),
            credentials: None,
            sentinel_password: None,
            trusted_certificates: None,
            secret: vec![7; 32].into(),
            partition: PartitionPolicy::Strict,
            receipt_timeout: Duration::ZERO,
            shares_pages: false,
        }
    }

    fn send(from: &LimitingNode, to: &LimitingNode, now: ClockMs) {
        let message = from.limits.message(&from.exchange, now).expect("a message");
        to.limits.receive(&to.exchange, &message, now).expect("an authentic message");
    }

    fn introduce(a: &LimitingNode, b: &LimitingNode) {
        send(a, b, 0);
        send(b, a, 0);
        send(a, b, 0);
    }

    #[test]
    fn connections_on_two_nodes_count_together_while_their_zones_are_shared() {
        let (a, b) = (node(1, "$a"), node(2, "$a"));
        introduce(&a, &b);
        let held = a.zone.table.try_count(b"visitor", 1).expect("the first");
        send(&a, &b, 80);
        assert!(b.zone.table.try_count(b"visitor", 1).is_none());
        b.limits.set_zones(b.shared.clone());
        assert!(b.zone.table.try_count(b"visitor", 1).is_none(), "a reload keeps the numbers");
        b.limits.set_zones(Vec::new());
        assert!(b.zone.table.try_count(b"visitor", 1).is_some(), "the zone is no longer shared");
        b.limits.set_zones(b.shared.clone());
        send(&a, &b, 2000);
        assert!(b.zone.table.try_count(b"visitor", 1).is_none(), "numbers of connections are repeated");
        drop(held);
        send(&a, &b, 2080);
        assert!(b.zone.table.try_count(b"visitor", 1).is_some());
        assert!(b.limits.counters().contains(&("limit_keys_received", 3)), "{:?}", b.limits.counters());
    }

    #[test]
    fn connections_of_a_node_that_a_reload_replaces_are_counted_once() {
        let b = node(2, "$a");
        let LimitingNode { limits, zone, shared, .. } = node(1, "$a");
        let started = |limits: &SharedLimits, number: u8, options: ClusterOptions| {
            let secret =
                ClusterSecret::new(&NodeName::new("shop").expect("a name"), &[7; 32]).expect("a secret");
            let name = NodeName::new(&options.node).expect("a name");
            limits.exchange(&Arc::new(options), || LimitExchange::new(secret, name, StartId([number; 16])))
        };
        let options = ClusterOptions { node: "web1".to_owned(), ..unnamed() };
        let first = started(&limits, 1, options.clone());
        let _held = zone.table.try_count(b"visitor", 2).expect("the first");
        let send = |exchange: &Mutex<LimitExchange>, now: ClockMs| {
            let message = limits.message(exchange, now).expect("a message");
            b.limits.receive(&b.exchange, &message, now).expect("an authentic message");
        };
        let reply = |exchange: &Mutex<LimitExchange>, now: ClockMs| {
            let message = b.limits.message(&b.exchange, now).expect("a message");
            limits.receive(exchange, &message, now).expect("an authentic message");
        };
        send(&first, 0);
        reply(&first, 0);
        send(&first, 80);
        limits.set_zones(shared);
        // The reload changes an option, and the next node has another process lifetime.
        let changed = ClusterOptions { receipt_timeout: Duration::from_secs(9), ..options.clone() };
        let second = started(&limits, 3, changed);
        send(&second, 1080);
        reply(&second, 1080);
        send(&second, 2160);
        assert!(
            b.zone.table.try_count(b"visitor", 2).is_some(),
            "one connection is counted on the other node"
        );
        assert!(Arc::ptr_eq(&first, &second));
        let renamed = ClusterOptions { node: "web3".to_owned(), ..options };
        assert!(!Arc::ptr_eq(&first, &started(&limits, 4, renamed)), "another node");
    }

    #[test]
    fn zones_with_other_keys_do_not_count_together() {
        let (a, b) = (node(1, "$a"), node(2, "$b"));
        introduce(&a, &b);
        let _held = a.zone.table.try_count(b"visitor", 1).expect("the first");
        send(&a, &b, 80);
        assert!(b.zone.table.try_count(b"visitor", 1).is_some());
    }

    #[test]
    fn messages_that_are_not_authentic_are_refused() {
        let (a, b) = (node(1, "$a"), node(2, "$a"));
        let mut message = a.limits.message(&a.exchange, 0).expect("a message");
        message[30] ^= 1;
        assert_eq!(b.limits.receive(&b.exchange, &message, 0), Err(RecordError::NotAuthentic));
        assert!(b.limits.counters().contains(&("limits_refused", 1)));
    }
}
