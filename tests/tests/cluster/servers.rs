//! Servers that lose, refuse or do not support what the cluster needs: each is reported in the error log and by a
//! counter, and the node continues alone.

use myriad_tests::{Origin, Request, Server, wait_for};

use super::{
    PASSWORD, Redis, assert_purge_arrives, cluster_command, documented_user, fill, is_cached, page,
    start_node, start_nodes, status,
};

/// Returns a counter of the cluster's status.
fn counter(node: &Server, name: &str) -> u64 {
    let report = cluster_command(node, &["cluster", "status", "--json"]);
    let rest = report.split_once(&format!("\"{name}\":")).map(|(_, rest)| rest).unwrap_or_default();
    let end = rest.find(|byte: char| !byte.is_ascii_digit()).unwrap_or(rest.len());
    rest[..end].parse().unwrap_or_else(|_| panic!("no counter {name}: {report}"))
}

/// Asserts that a node without contact to the cluster stores pages, purges them, and reports failed connections.
fn assert_continues_alone(node: &Server, message: &str) {
    node.log_has(message);
    fill(std::slice::from_ref(node), "/a");
    let answer = node.fetch(&Request::new("PURGE", "/a"));
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(!is_cached(node, "/a"), "a purge on this node");
    wait_for("failed connections", || counter(node, "connects_failed") > 1);
    assert!(status(node).contains("failed attempts to connect: "), "{}", status(node));
}

#[test]
fn policy_that_may_evict_purges_or_stops_pages_is_reported() {
    for (policy, warning) in [
        ("allkeys-lru", Some("may evict the log of purges")),
        ("noeviction", Some("evicts no pages")),
        ("volatile-lru", None),
    ] {
        let lines = format!("{}\nmaxmemory 100mb\nmaxmemory-policy {policy}", documented_user());
        let (redis, origin) = (Redis::start_with(&lines), Origin::start(page));
        let node = start_node(&redis, &origin, "web1", "");
        wait_for("the connection", || status(&node).contains("1 of 1 nodes active"));
        let text = status(&node);
        let shown = format!(
            "Valkey redis://127.0.0.1:{}: maxmemory 100.0M, maxmemory-policy {policy}",
            redis.place.port
        );
        assert!(text.contains(&shown), "{text}");
        match warning {
            Some(warning) => {
                assert!(
                    text.contains(&format!("warning: Valkey with \"maxmemory-policy {policy}\"")),
                    "{text}"
                );
                node.log_has(warning);
            }
            None => assert!(!text.contains("warning: "), "{text}"),
        }
        let api = node.get("/api/cluster").text();
        assert!(api.contains(&format!("\"maxmemory_policy\":\"{policy}\"")), "{api}");
    }
}

#[test]
fn server_that_does_not_permit_to_read_its_memory_limit_is_used() {
    let user = documented_user().replace("+info ", "").replace(" +info", "");
    let (redis, origin) = (Redis::start_with(&user), Origin::start(page));
    let node = start_node(&redis, &origin, "web1", "");
    wait_for("the connection", || status(&node).contains("1 of 1 nodes active"));
    assert!(status(&node).contains("maxmemory not known"), "{}", status(&node));
}

#[test]
fn log_that_the_server_evicts_is_started_again_and_no_page_becomes_stale() {
    let lines = format!("{}\nmaxmemory-policy allkeys-random", documented_user());
    let (redis, origin) = (Redis::start_with(&lines), Origin::start(page));
    let nodes = start_nodes(&redis, &origin, 2, "");
    nodes[0].fetch(&Request::new("PURGE", "/x"));
    wait_for("the receipt", || cluster_command(&nodes[0], &["cluster", "purges"]).is_empty());
    fill(&nodes, "/a");
    fill(&nodes, "/b");
    // A write evicts keys until the memory is below the limit, which it never is.
    redis.send(&["CONFIG", "SET", "maxmemory", "1"]);
    wait_for("the eviction", || {
        redis.send(&["SET", "another-program", "data"]);
        redis.send(&["EXISTS", "myriad:{shop}:purges"]).starts_with(":0")
    });
    redis.send(&["CONFIG", "SET", "maxmemory", "0"]);
    wait_for("the new log", || nodes.iter().any(|node| counter(node, "log_restarts") > 0));
    assert!(nodes.iter().any(|node| status(node).contains("losses of the whole purge log: ")));
    wait_for("the connection", || nodes.iter().all(|node| status(node).contains("2 of 2 nodes active")));
    nodes[0].fetch(&Request::new("PURGE", "/a"));
    assert_purge_arrives(&nodes, "the eviction of the log");
}

#[test]
fn node_with_a_wrong_password_continues_alone() {
    let user = documented_user().replace(PASSWORD, "another-password");
    let (redis, origin) = (Redis::start_with(&user), Origin::start(page));
    let node = start_node(&redis, &origin, "web1", "");
    assert_continues_alone(&node, "check the password and the ACL");
    redis.send(&["ACL", "SETUSER", "myriad", &format!(">{PASSWORD}")]);
    wait_for("the connection", || status(&node).contains("1 of 1 nodes active"));
}

#[test]
fn node_with_a_server_without_streams_continues_alone() {
    let commands = ["XADD", "XLEN", "XREAD", "XREVRANGE", "XINFO", "XTRIM"];
    let renamed = commands.map(|name| format!("\nrename-command {name} \"\"")).concat();
    let user = "user myriad on >valkey-password ~* &* +@all";
    let (redis, origin) = (Redis::start_with(&format!("{user}{renamed}")), Origin::start(page));
    let node = start_node(&redis, &origin, "web1", "");
    assert_continues_alone(&node, "Redis 6.2 or Valkey 7.2 is required");
}

#[test]
fn node_whose_keys_another_program_uses_continues_alone() {
    let (redis, origin) = (Redis::start(), Origin::start(page));
    redis.send(&["SET", "myriad:{shop}:purges", "the list of another program"]);
    let node = start_node(&redis, &origin, "web1", "");
    assert_continues_alone(&node, "use another database, or another name for the cluster");
    redis.send(&["DEL", "myriad:{shop}:purges"]);
    wait_for("the connection", || status(&node).contains("1 of 1 nodes active"));
}

#[test]
fn purges_wait_while_the_memory_of_the_server_is_full() {
    let (redis, origin) = (Redis::start(), Origin::start(page));
    let nodes = start_nodes(&redis, &origin, 2, "");
    fill(&nodes, "/a");
    fill(&nodes, "/b");
    redis.send(&["CONFIG", "SET", "maxmemory", "1"]);
    let answer = nodes[0].fetch(&Request::new("PURGE", "/a"));
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert!(!is_cached(&nodes[0], "/a"), "a purge on this node");
    nodes[0].log_has("the server's memory limit is reached; raise \"maxmemory\"");
    assert!(counter(&nodes[0], "commands_failed") > 0);
    assert!(is_cached(&nodes[1], "/a"), "the purge waits");
    redis.send(&["CONFIG", "SET", "maxmemory", "0"]);
    assert_purge_arrives(&nodes, "full memory");
}
