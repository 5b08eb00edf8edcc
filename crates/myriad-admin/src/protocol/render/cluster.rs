//! Output of `myriad cluster`.

use super::amount::{count, duration, size};
use crate::protocol::{ClusterReport, MemberReport, ServerReport};

/// Text for a node that does not know the other nodes.
const UNKNOWN_NODES: &str =
    "other nodes are not known, because this node has not read their list from Valkey";

/// Returns the status of the cluster as lines: number of active nodes, state of this node, counts of purges and pages,
/// Valkey server, warnings, shared state, and problems since the start if there were any.
pub fn cluster(report: &ClusterReport) -> Vec<String> {
    let active = report.members.iter().filter(|member| member.state == "active").count() + 1;
    let nodes = report.members.len() + 1;
    let behind = match report.behind_ms {
        None => "no purge of other nodes was received yet".to_owned(),
        Some(ms) => format!("up to date {} ago", duration(ms)),
    };
    let pages = if report.serves_stored_pages {
        "stored pages are served"
    } else {
        "stored pages that may have missed a purge are stale"
    };
    let activity = if report.nodes_known {
        format!("{active} of {nodes} nodes active")
    } else {
        UNKNOWN_NODES.to_owned()
    };
    let number = |name: &str| report.counters.get(name).copied().unwrap_or_default();
    let mut lines = vec![
        format!("cluster {}: {activity}", report.cluster),
        format!("this node {}: {}, {behind}; {pages}", report.node, report.state.replace('_', " ")),
        format!(
            "purges: {} sent, {} received, {} without all receipts",
            count(number("purges_sent")),
            count(number("purges_received")),
            count(report.unconfirmed_count)
        ),
    ];
    let exchanged = match &*report.pages {
        "active" => "exchanged",
        "off" => "not exchanged (pages off)",
        "suspended" => "not exchanged, because purges of other nodes may be missing",
        _ => "not exchanged, because Valkey is not reachable or refuses the commands; see the error log",
    };
    lines.extend(report.server.iter().map(server));
    let warning = report.server.as_ref().and_then(|server| server.warning.as_ref());
    lines.extend(warning.map(|warning| format!("warning: {warning}")));
    lines.extend(report.partition.iter().map(|partition| format!("partition: {partition}")));
    lines.push(format!(
        "pages: {exchanged}; {} of other nodes used, {} stored for them",
        count(number("pages_used")),
        count(number("pages_stored"))
    ));
    lines.extend(shared_state(report));
    let problems = [
        ("values_refused", "values that are not authentic"),
        ("ticket_keys_refused", "keys of session tickets that are not authentic"),
        ("certificates_refused", "certificates that are not authentic or not usable"),
        ("limits_refused", "messages about limits that are not authentic"),
        ("everything_expired", "all stored pages became stale"),
        ("log_restarts", "losses of the whole purge log"),
        ("connects_failed", "failed attempts to connect"),
        ("commands_failed", "commands that Valkey refused"),
        ("partitions", "partitions"),
    ];
    let seen = problems.iter().filter(|(name, _)| number(name) > 0);
    let seen: Vec<String> = seen.map(|(name, text)| format!("{text}: {}", count(number(name)))).collect();
    if !seen.is_empty() {
        lines.push(format!("since the start: {}", seen.join("; ")));
    }
    lines
}

/// Returns the lines about the exchange of ticket keys, certificates and limits; none for kinds that are not
/// configured.
fn shared_state(report: &ClusterReport) -> impl Iterator<Item = String> {
    let number = |name: &str| report.counters.get(name).copied().unwrap_or_default();
    let ticket_keys = match &*report.ticket_keys {
        "shared" => Some("shared with the other nodes"),
        "local" => Some("those of this node, because none were exchanged; sessions are resumed only here"),
        _ => None,
    };
    let ticket_keys = ticket_keys.map(|keys| format!("keys of TLS session tickets: {keys}"));
    let certificates = match &*report.certificates {
        "shared" => Some("shared with the other nodes"),
        "local" => Some(
            "not exchanged, because Valkey is not reachable; this node orders them for itself if necessary",
        ),
        _ => None,
    };
    let certificates = certificates.map(|state| {
        format!(
            "automatic certificates: {state}; {} of other nodes used, {} stored for them",
            count(number("certificates_taken")),
            count(number("certificates_stored"))
        )
    });
    let limits = match &*report.limits {
        "shared" => Some("apply to all nodes together"),
        "local" => {
            Some("apply to each node separately, because Valkey is not reachable or refuses the commands")
        }
        _ => None,
    };
    let limits = limits.map(|state| format!("limits: {state}"));
    ticket_keys.into_iter().chain(certificates).chain(limits)
}

fn server(server: &ServerReport) -> String {
    let limit = match server.maxmemory {
        None => "maxmemory not known (the ACL does not permit INFO)".to_owned(),
        Some(0) => "no maxmemory".to_owned(),
        Some(limit) => format!("maxmemory {}", size(limit)),
    };
    let policy = server.maxmemory_policy.iter().map(|policy| format!(", maxmemory-policy {policy}"));
    format!("Valkey {}: {limit}{}", server.url, policy.collect::<String>())
}

/// Returns a line with the column names, then a line for each node of the cluster, this one first, and a last line if
/// the other nodes are not known.
pub fn cluster_nodes(report: &ClusterReport) -> Vec<String> {
    let own = MemberReport {
        node: report.node.clone(),
        address: "this node".to_owned(),
        state: report.state.clone(),
        position: report.position.clone(),
        ..MemberReport::default()
    };
    let mut lines =
        vec![format!("{:<20} {:<13} {:>16} {:>9}  {}", "node", "state", "position", "seen", "host")];
    for member in std::iter::once(&own).chain(&report.members) {
        lines.push(format!(
            "{:<20} {:<13} {:>16} {:>9}  {}",
            member.node,
            member.state.replace('_', " "),
            member.position.as_deref().unwrap_or("-"),
            duration(member.seen_ms_ago),
            member.address
        ));
    }
    if !report.nodes_known {
        lines.push(UNKNOWN_NODES.to_owned());
    }
    lines
}

/// Returns a line for each purge of this node that some nodes have not confirmed, oldest first; at most 100.
pub fn cluster_purges(report: &ClusterReport) -> Vec<String> {
    let line = |purge: &crate::protocol::UnconfirmedPurgeReport| {
        let zone = if purge.zone.is_empty() { "all zones" } else { &purge.zone };
        let record = purge.record.as_deref().unwrap_or("-");
        let state = match (&purge.record, purge.missing.as_slice()) {
            (None, _) => "not sent yet".to_owned(),
            (Some(_), []) => "not saved yet on this node".to_owned(),
            (Some(_), missing) => format!("no receipt from {}", missing.join(", ")),
        };
        let soft = if purge.soft { "soft " } else { "" };
        let what = if purge.kind == "unknown" { "purge of another version of Myriad" } else { &purge.what };
        format!("{:>9} ago  {record:<16}  {zone:<12}  {soft}{what}  {state}", duration(purge.age_ms))
    };
    report.unconfirmed.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::UnconfirmedPurgeReport;

    fn report() -> ClusterReport {
        let member = |node: &str, state: &str| MemberReport {
            node: node.into(),
            state: state.into(),
            position: Some("0-7".into()),
            seen_ms_ago: 900,
            address: "host".into(),
            ..MemberReport::default()
        };
        ClusterReport {
            cluster: "shop".into(),
            node: "web1".into(),
            state: "connected".into(),
            serves_stored_pages: true,
            behind_ms: Some(200),
            server: Some(ServerReport {
                url: "redis://a:6379".into(),
                maxmemory: Some(1 << 20),
                maxmemory_policy: Some("noeviction".into()),
                warning: Some("full".into()),
            }),
            partition: Some("no connection to redis://a".into()),
            position: Some("0-9".into()),
            nodes_known: true,
            members: vec![member("web2", "active"), member("web3", "silent")],
            unconfirmed: vec![UnconfirmedPurgeReport {
                zone: "pages".into(),
                kind: "url".into(),
                what: "a.test/x".into(),
                soft: true,
                age_ms: 4000,
                record: Some("0-8".into()),
                missing: vec!["web3".into()],
            }],
            unconfirmed_count: 1,
            pages: "suspended".into(),
            ticket_keys: "local".into(),
            certificates: "shared".into(),
            limits: "local".into(),
            counters: [("purges_sent", 9), ("partitions", 1), ("certificates_taken", 2)]
                .map(|(name, number)| (name.to_owned(), number))
                .into(),
        }
    }

    #[test]
    fn status_names_nodes_purges_and_problems() {
        let mut lines = cluster(&report());
        assert_eq!(lines[0], "cluster shop: 2 of 3 nodes active");
        assert!(lines[1].starts_with("this node web1: connected, up to date "), "{}", lines[1]);
        assert_eq!(lines[2], "purges: 9 sent, 0 received, 1 without all receipts");
        assert_eq!(lines[3], "Valkey redis://a:6379: maxmemory 1.0M, maxmemory-policy noeviction");
        assert_eq!(lines[4], "warning: full");
        assert_eq!(lines.remove(5), "partition: no connection to redis://a");
        let pages = "not exchanged, because purges of other nodes may be missing";
        assert_eq!(lines[5], format!("pages: {pages}; 0 of other nodes used, 0 stored for them"));
        assert!(lines[6].starts_with("keys of TLS session tickets: those of this node"), "{}", lines[6]);
        let certificates = "automatic certificates: shared with the other nodes";
        assert_eq!(lines[7], format!("{certificates}; 2 of other nodes used, 0 stored for them"));
        assert!(lines[8].starts_with("limits: apply to each node separately"), "{}", lines[8]);
        assert_eq!(lines[9], "since the start: partitions: 1");
    }

    #[test]
    fn status_omits_what_is_not_configured() {
        let off = || "off".to_owned();
        let report = ClusterReport { ticket_keys: off(), certificates: off(), limits: off(), ..report() };
        let text = cluster(&report).join("\n");
        assert!(!["TLS", "certificates", "limits"].iter().any(|part| text.contains(part)), "{text}");
    }

    #[test]
    fn status_counts_no_nodes_before_their_list_was_read() {
        let lines = cluster(&ClusterReport { nodes_known: false, members: Vec::new(), ..report() });
        assert!(lines[0].starts_with("cluster shop: other nodes are not known"), "{}", lines[0]);
    }

    #[test]
    fn each_node_and_each_unconfirmed_purge_is_a_line() {
        let lines = cluster_nodes(&report());
        assert_eq!(lines.len(), 4);
        assert!(lines[1].starts_with("web1 ") && lines[3].contains("silent"), "{lines:?}");
        let lines = cluster_purges(&report());
        assert!(lines[0].ends_with("pages         soft a.test/x  no receipt from web3"), "{lines:?}");
    }
}
