//! Clusters with the same name and secret that use two databases of one server.

use std::sync::Arc;
use std::thread;

use myriad_tests::{Gate, Origin, Server, wait_for};

use super::limits::{ADMITTED, admits, limiting};
use super::pages::{PAGES, keys};
use super::{Redis, SECRET, count_of, node_place, page, start_at, status};

/// Starts a server whose user may select a database.
fn start_server() -> Redis {
    let redis = Redis::start();
    assert_eq!(redis.send(&["ACL", "SETUSER", "myriad", "+select"]), "+OK\r\n");
    redis
}

fn address(redis: &Redis, database: u32) -> String {
    format!("redis://127.0.0.1:{}/{database}", redis.place.port)
}

/// Publishes a message, and asserts that this number of nodes receives it.
fn publish(redis: &Redis, channel: &str, message: &str, receivers: usize) {
    assert_eq!(redis.send(&["PUBLISH", channel, message]), format!(":{receivers}\r\n"), "{channel}");
}

#[test]
fn limits_of_clusters_in_two_databases_are_separate() {
    let (redis, origin) = (start_server(), Origin::start(page));
    let nodes = [0, 1].map(|database| {
        let place = node_place(&address(&redis, database), &origin, SECRET);
        Server::start(place, &limiting("web1"))
    });
    for node in &nodes {
        wait_for("the connection for limits", || count_of(node, "limits_sent") > 0);
    }
    for node in &nodes {
        for _ in 0..ADMITTED {
            assert!(admits(node, "/login", "visitor"), "each cluster has a separate limit");
        }
        let sent = count_of(node, "limits_sent");
        wait_for("the message with the requests", || count_of(node, "limits_sent") > sent);
        assert!(!admits(node, "/login", "visitor"));
    }
    for (database, node) in nodes.iter().enumerate() {
        // A node handles messages in order: all that were sent before this one.
        publish(&redis, &format!("myriad:{{shop}}:limits:{database}"), "not a message of a node", 1);
        wait_for("the message", || count_of(node, "limits_refused") == 1);
        assert_eq!((count_of(node, "limits_received"), count_of(node, "limits_unused")), (0, 0));
    }
}

#[test]
fn page_leases_of_clusters_in_two_databases_are_separate() {
    let gate = Arc::new(Gate::new());
    let held = Arc::clone(&gate);
    let redis = start_server();
    let origin = Origin::start(move |call| {
        if call.uri() == "/held" {
            held.pass();
        }
        page(call);
    });
    let other = start_at(&address(&redis, 0), &origin, "web1", PAGES, SECRET);
    let nodes = ["web1", "web2"].map(|name| start_at(&address(&redis, 1), &origin, name, PAGES, SECRET));
    for (node, count) in [(&other, 1), (&nodes[0], 2), (&nodes[1], 2)] {
        wait_for("all nodes", || status(node).contains(&format!("{count} of {count} nodes active")));
    }
    let mut number = 0;
    wait_for("a page of another node", || {
        number += 1;
        for node in &nodes {
            node.get(&format!("/ready/{number}"));
        }
        count_of(&nodes[1], "pages_used") > 0
    });
    let before = origin.count();
    thread::scope(|scope| {
        let first = scope.spawn(|| nodes[0].get("/held").text());
        wait_for("the fetch", || origin.count() == before + 1);
        let waits = || count_of(&nodes[1], "page_waits");
        let earlier = waits();
        let second = scope.spawn(|| nodes[1].get("/held").text());
        wait_for("the waiting request", || waits() > earlier);
        let mut leases = Vec::new();
        wait_for("the lease of the page as the only one", || {
            let reply = redis.send_all(&[&["SELECT", "1"], &["KEYS", "myriad:{shop}:lease:*"]]);
            leases = reply.split("myriad:{shop}:lease:").skip(1).map(str::to_owned).collect();
            leases.len() == 1
        });
        let name = leases[0].lines().next().expect("a name");
        publish(&redis, "myriad:{shop}:fetched:0", &format!("{name}-"), 1);
        // The waiting node handles messages in order, and searches again after this one.
        let earlier = waits();
        publish(&redis, "myriad:{shop}:fetched:1", &format!("{name}+"), 2);
        wait_for("the next search", || waits() > earlier);
        gate.open();
        let texts = [first, second].map(|thread| thread.join().expect("a page"));
        assert_eq!(texts[0], texts[1]);
    });
    assert_eq!(origin.count(), before + 1, "{:?}", origin.calls());
    assert!(keys(&redis, "myriad:{shop}:page:*").is_empty(), "no page is in database 0");
}
