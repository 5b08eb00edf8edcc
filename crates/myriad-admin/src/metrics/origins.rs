//! Metrics of upstream servers, of queues and of PHP pools.

use std::collections::BTreeMap;

use super::text::MetricsPage;
use myriad_exchange::traffic::{QUEUE_ENDS, TrafficSnapshot};
use myriad_upstream::{PeerSnapshot, PeerStatus};

/// Servers of an upstream group with equal name and address, whose counts are added.
struct PeerMetrics<'a> {
    labels: [(&'static str, String); 3],
    of: Vec<&'a PeerSnapshot>,
}

impl PeerMetrics<'_> {
    fn labels(&self) -> [(&'static str, &str); 3] {
        self.labels.each_ref().map(|(name, value)| (*name, value.as_str()))
    }
}

/// Appends the metrics of upstream servers, of their PHP-FPM pools, and of origin queues.
pub(super) fn write(now: &TrafficSnapshot, page: &mut MetricsPage) {
    let peers = peers(now);
    let mut family =
        page.gauge("upstream_up", "Availability of a server of a group: 1 if it is up, otherwise 0");
    for peer in &peers {
        let up = peer.of.iter().any(|peer| matches!(peer.status, PeerStatus::Up));
        family.line(&peer.labels(), u8::from(up));
    }
    let mut family = page.gauge("upstream_active", "Requests in flight to a server of a group");
    for peer in &peers {
        family.line(&peer.labels(), peer.of.iter().map(|peer| u64::from(peer.active)).sum::<u64>());
    }
    let mut family = page.counter("upstream_requests_total", "Requests sent to a server of a group");
    for peer in &peers {
        family.line(&peer.labels(), peer.of.iter().map(|peer| peer.requests).sum::<u64>());
    }
    let mut family = page.counter("upstream_failures_total", "Failed requests to a server of a group");
    for peer in &peers {
        family.line(&peer.labels(), peer.of.iter().map(|peer| peer.failures).sum::<u64>());
    }
    pools(&peers, page);
    queues(now, page);
}

/// Appends the metrics of queues (`origin_queue`).
fn queues(now: &TrafficSnapshot, page: &mut MetricsPage) {
    let mut family = page.gauge("origin_queue_waiting", "Requests waiting in the queue of an origin");
    for queue in &now.queues {
        family.line(&[("queue", &queue.name)], queue.waiting);
    }
    let mut family =
        page.counter("origin_queue_requests_total", "Requests to an origin with a queue, by outcome");
    for queue in &now.queues {
        for (end, count) in QUEUE_ENDS.iter().zip(queue.ends) {
            family.line(&[("queue", &queue.name), ("result", end)], count);
        }
    }
    let mut family = page
        .counter("origin_queue_wait_seconds_total", "Time that requests waited in the queue of an origin");
    for queue in &now.queues {
        family.seconds(&[("queue", &queue.name)], queue.waited_us);
    }
}

/// Appends the metrics of PHP-FPM pools, from the status that they report.
fn pools(peers: &[PeerMetrics<'_>], page: &mut MetricsPage) {
    let pools: Vec<_> = peers.iter().filter_map(|peer| Some((peer, peer.of.first()?.pool?))).collect();
    let mut family = page.gauge("php_children", "Processes of a PHP-FPM pool, by state");
    for (peer, pool) in &pools {
        let [upstream, server, address] = peer.labels();
        let idle = pool.idle.min(pool.total);
        family.line(&[upstream, server, address, ("state", "idle")], idle);
        family.line(&[upstream, server, address, ("state", "active")], pool.total - idle);
    }
    let mut family =
        page.gauge("php_listen_queue", "Connections that no process of a PHP-FPM pool has accepted");
    for (peer, pool) in &pools {
        family.line(&peer.labels(), pool.listen_queue);
    }
}

fn peers(now: &TrafficSnapshot) -> Vec<PeerMetrics<'_>> {
    let mut peers: BTreeMap<_, Vec<&PeerSnapshot>> = BTreeMap::new();
    for group in &now.upstreams {
        for peer in &group.peers {
            let labels = [
                ("upstream", group.name.clone()),
                ("server", peer.name.clone()),
                ("address", peer.address.to_string()),
            ];
            peers.entry(labels).or_default().push(peer);
        }
    }
    peers.into_iter().map(|(labels, of)| PeerMetrics { labels, of }).collect()
}
