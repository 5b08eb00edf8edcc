//! Output of `myriad upstream`: a line for each server.

use super::amount::count;
use crate::protocol::PeerReport;

/// Returns the line with the column names of a list of upstream servers.
pub fn peer_head() -> String {
    line(&["STATE", "ACTIVE", "REQUESTS", "FAILED", "WEIGHT", "GROUP", "SERVER"])
}

/// Returns the line of an upstream server; `!` marks a state that an administrator has set, and `b` a backup server.
/// The columns have fixed widths; the names, which may be long, come last.
pub fn peer_line(peer: &PeerReport) -> String {
    let state = if peer.ordered { format!("{}!", peer.state) } else { peer.state.clone() };
    let weight = if peer.backup { format!("{} b", peer.weight) } else { peer.weight.to_string() };
    let is_one = peer.address == peer.server;
    let server = if is_one { peer.server.clone() } else { format!("{}  [{}]", peer.server, peer.address) };
    let server = match (peer.children, peer.children_idle, peer.listen_queue) {
        (Some(children), Some(idle), Some(waiting)) => {
            format!("{server}  {children} children, {idle} idle, {waiting} waiting")
        }
        _ => server,
    };
    let group = if peer.block == "stream" { format!("stream:{}", peer.group) } else { peer.group.clone() };
    let numbers = [u64::from(peer.active), peer.requests, peer.failures].map(count);
    line(&[&state, &numbers[0], &numbers[1], &numbers[2], &weight, &group, &server])
}

fn line(columns: &[&str; 7]) -> String {
    let [state, active, requests, failed, weight, group, server] = columns;
    format!("{state:<10} {active:>7} {requests:>11} {failed:>9} {weight:>6}  {group:<16}  {server}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_below_their_names() {
        let peer = PeerReport {
            block: "stream".into(),
            group: "g".into(),
            server: "a.test:80".into(),
            address: "127.0.0.1:80".into(),
            state: "draining".into(),
            ordered: true,
            weight: 5,
            backup: true,
            requests: 1_234_567,
            children: Some(4),
            children_idle: Some(1),
            listen_queue: Some(0),
            ..PeerReport::default()
        };
        let (head, shown) = (peer_head(), peer_line(&peer));
        for (name, value) in [("REQUESTS", "1,234,567"), ("WEIGHT", "5 b")] {
            let end = |line: &str, word: &str| line.find(word).map(|at| at + word.len());
            assert_eq!(end(&head, name), end(&shown, value), "{name}\n{head}\n{shown}");
        }
        for (name, value) in [
            ("STATE", "draining!"),
            ("GROUP", "stream:g"),
            ("SERVER", "a.test:80  [127.0.0.1:80]  4 children, 1 idle, 0 waiting"),
        ] {
            assert_eq!(head.find(name), shown.find(value), "{name}\n{head}\n{shown}");
        }
    }
}
