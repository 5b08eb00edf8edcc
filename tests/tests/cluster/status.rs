//! Status of nodes: of the exchange of each kind of state, and of a node without a cache zone.

use super::*;

/// Returns the configuration of a node whose locations have limits and no cache.
fn without_cache(name: &str) -> String {
    format!(
        "cluster shop {{ server @VALKEY@; username myriad; password_file password; secret_file secret; node {name}; }}
         limit_req_zone $http_client zone=login:1m rate=1r/m;
         server {{ listen 127.0.0.1:@PORT@;
             location = /metrics {{ metrics; }}
             location / {{ limit_req zone=login burst=2 nodelay; return 204; }} }}"
    )
}

#[test]
fn node_without_a_cache_zone_shows_its_status_also_after_a_reload() {
    let (redis, origin) = (Redis::start(), Origin::start(page));
    let server = format!("redis://127.0.0.1:{}", redis.place.port);
    let start = |name| Server::start(node_place(&server, &origin, SECRET), &without_cache(name));
    let nodes = ["web1", "web2"].map(start);
    for node in &nodes {
        wait_for("all nodes", || status(node).contains("cluster shop: 2 of 2 nodes active"));
        wait_for("the limits", || status(node).contains("limits: apply to all nodes together"));
        let metrics = node.fetch(&Request::get("/metrics")).text();
        assert!(metrics.contains("myriad_cluster_connected{cluster=\"shop\"} 1"), "{metrics}");
        assert!(metrics.contains("myriad_cluster_exchange{kind=\"limits\"} 1"), "{metrics}");
        assert!(!metrics.contains("myriad_cluster_exchange{kind=\"certificates\"}"), "{metrics}");
    }
    nodes[0].reload(&without_cache("web3"));
    wait_for("the new name", || status(&nodes[0]).contains("this node web3: connected"));
    let text = cluster_command(&nodes[0], &["cluster", "nodes"]);
    assert!(text.contains("web2"), "{text}");
}

#[test]
fn status_of_limits_is_local_while_valkey_is_stopped() {
    let (mut redis, origin) = (Redis::start(), Origin::start(page));
    let server = format!("redis://127.0.0.1:{}", redis.place.port);
    let node = Server::start(node_place(&server, &origin, SECRET), &without_cache("web1"));
    wait_for("the limits", || status(&node).contains("limits: apply to all nodes together"));
    redis.kill();
    wait_for("the loss", || status(&node).contains("limits: apply to each node separately"));
}
