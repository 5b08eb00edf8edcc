//! Metrics of the cluster.

use myriad_exchange::runtime::Runtime;

use super::text::MetricsPage;

/// States of nodes, as in the status of the cluster.
const STATES: [&str; 3] = ["active", "silent", "left"];

/// Appends the metrics of the cluster to which the server belongs; nothing without a cluster, or before the status of
/// its node is known.
pub(super) fn write(runtime: &Runtime, page: &mut MetricsPage) {
    let publisher = runtime.cluster.lock().clone();
    let Some(status) = publisher.and_then(|publisher| publisher.last_status()) else { return };
    page.gauge("cluster_connected", "1 if this node reads the log of purges of the cluster, 0 otherwise")
        .line(&[("cluster", &status.cluster)], u8::from(status.state == "connected"));
    if status.are_nodes_known {
        let mut family = page.gauge("cluster_nodes", "Other nodes of the cluster, by state");
        for state in STATES {
            let count = status.members.iter().filter(|member| member.state == state).count();
            family.line(&[("state", state)], count);
        }
    }
    if let Some(behind_ms) = status.behind_ms {
        page.gauge("cluster_behind_seconds", "Time for which this node may have missed purges")
            .seconds(&[], behind_ms * 1000);
    }
    page.gauge("cluster_purges_unconfirmed", "Purges of this node that some nodes have not confirmed")
        .line(&[], status.unconfirmed_count);
    let exchanged = [
        ("pages", status.pages),
        ("ticket_keys", status.ticket_keys),
        ("certificates", status.certificates),
        ("limits", status.limits),
    ];
    let mut family = page.gauge(
        "cluster_exchange",
        "1 if this node exchanges this kind of state with the other nodes, 0 if that is not possible at present",
    );
    for (kind, state) in exchanged.into_iter().filter(|(_, state)| *state != "off") {
        family.line(&[("kind", kind)], u8::from(matches!(state, "active" | "shared")));
    }
    let mut family = page.counter("cluster_events_total", "Events of the cluster since the start, by kind");
    for (kind, count) in status.counters {
        family.line(&[("kind", kind)], count);
    }
}
