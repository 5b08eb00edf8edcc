//! Limits that apply to all nodes together.

use super::*;
use myriad_tests::Gate;
use std::sync::Arc;

/// Number of requests of one visitor that a limit admits at once.
pub(super) const ADMITTED: usize = 3;

/// Returns the configuration of a node with limits per value of the field `Client`.
pub(super) fn limiting(name: &str) -> String {
    format!(
        "cluster shop {{ server @VALKEY@; username myriad; password_file password; secret_file secret; node {name}; }}
         fastcgi_cache_path @DIR@/cache keys_zone=pages:1m;
         limit_req_zone $http_client zone=login:1m rate=1r/m;
         limit_req_zone $http_client zone=own:1m rate=1r/m cluster=off;
         limit_conn_zone $http_client zone=busy:1m;
         server {{ listen 127.0.0.1:@PORT@; @PARAMS@
             location = /login {{ limit_req zone=login burst=2 nodelay; fastcgi_pass @ORIGIN@; }}
             location = /own {{ limit_req zone=own burst=2 nodelay; fastcgi_pass @ORIGIN@; }}
             location = /busy {{ limit_conn busy 1; fastcgi_pass @ORIGIN@; }}
             location = /held {{ limit_conn busy 1; fastcgi_pass @ORIGIN@; }}
             location = /lost {{ limit_conn busy 1; fastcgi_pass @ORIGIN@; }}
             location / {{ fastcgi_cache pages; fastcgi_cache_key $uri; fastcgi_pass @ORIGIN@; }} }}"
    )
}

/// Starts nodes that limit together, and waits until each uses the numbers of all others.
fn start_limiting(redis: &Redis, origin: &Origin, count: usize) -> Vec<Server> {
    let server = format!("redis://127.0.0.1:{}", redis.place.port);
    let start =
        |number| Server::start(node_place(&server, origin, SECRET), &limiting(&format!("web{number}")));
    let nodes: Vec<_> = (1..=count).map(start).collect();
    wait_until_shared(&nodes);
    nodes
}

/// Waits until each node uses the numbers of all others, and no numbers of these requests are outstanding.
fn wait_until_shared(nodes: &[Server]) {
    for sender in nodes {
        for receiver in nodes.iter().filter(|node| node.pid() != sender.pid()) {
            let mut number = 0;
            wait_for("the numbers of another node", || {
                number += 1;
                let before = keys_received(receiver);
                admits(sender, "/login", &format!("probe {} {} {number}", sender.pid(), receiver.pid()));
                let sent = count_of(sender, "limits_sent");
                wait_for("the next message", || count_of(sender, "limits_sent") > sent);
                keys_received(receiver) > before
            });
        }
    }
}

fn keys_received(node: &Server) -> u64 {
    count_of(node, "limit_keys_received")
}

fn request(target: &str, client: &str) -> Request {
    Request::get(target).field("Client", client)
}

/// Sends a request, and returns true if the limit admitted it.
pub(super) fn admits(node: &Server, target: &str, client: &str) -> bool {
    let status = node.fetch(&request(target, client)).status;
    assert!(matches!(status, 200 | 503), "{status}");
    status == 200
}

/// Asserts that a node admits a request, and waits until all others have counted it.
fn admit_and_report(nodes: &[Server], node: &Server, target: &str, client: &str) {
    let others: Vec<_> = nodes.iter().filter(|other| other.pid() != node.pid()).collect();
    let before: Vec<_> = others.iter().map(|other| keys_received(other)).collect();
    assert!(admits(node, target, client), "{target} of {client}");
    for (other, before) in others.iter().zip(before) {
        wait_for("the number on the other nodes", || keys_received(other) > before);
    }
}

#[test]
fn nodes_admit_requests_together_and_alone_while_the_server_is_away() {
    let (mut redis, origin) = (Redis::start(), Origin::start(page));
    let nodes = start_limiting(&redis, &origin, 3);
    for number in 0..ADMITTED {
        admit_and_report(&nodes, &nodes[number % nodes.len()], "/login", "visitor");
    }
    for node in &nodes {
        assert!(!admits(node, "/login", "visitor"), "the nodes have admitted {ADMITTED} requests");
        for _ in 0..ADMITTED {
            assert!(admits(node, "/own", "visitor"), "cluster=off");
        }
        assert!(!admits(node, "/own", "visitor"));
    }
    assert!(admits(&nodes[0], "/login", "another visitor"));

    let forged = redis.send(&["PUBLISH", "myriad:{shop}:limits:0", "not a message of a node"]);
    assert_eq!(forged, ":3\r\n", "each node has subscribed");
    nodes[0].log_has("a message about limits is refused (not authenticated by the cluster's secret)");

    redis.kill();
    for node in &nodes {
        for _ in 0..ADMITTED {
            assert!(admits(node, "/login", "visitor of one node"), "each node limits alone");
        }
        assert!(!admits(node, "/login", "visitor of one node"));
    }
    redis.start_again();
    wait_until_shared(&nodes);
    for number in 0..ADMITTED {
        admit_and_report(&nodes, &nodes[number % nodes.len()], "/login", "later visitor");
    }
    assert!(nodes.iter().all(|node| !admits(node, "/login", "later visitor")));
}

#[test]
fn requests_in_progress_on_another_node_count_until_they_complete_or_the_node_is_gone() {
    let gates = Arc::new([Gate::new(), Gate::new()]);
    let held = Arc::clone(&gates);
    let redis = Redis::start();
    let origin = Origin::start(move |call| {
        match call.uri() {
            "/held" => held[0].pass(),
            "/lost" => held[1].pass(),
            _ => {}
        }
        page(call);
    });
    let mut nodes = start_limiting(&redis, &origin, 2);
    for (target, gate) in ["/held", "/lost"].iter().zip(&*gates) {
        let before = keys_received(&nodes[1]);
        let mut client = nodes[0].connect();
        client.send(request(target, "visitor").bytes());
        wait_for("the request on the other node", || keys_received(&nodes[1]) > before);
        assert!(!admits(&nodes[1], "/busy", "visitor"));
        assert!(admits(&nodes[1], "/busy", "another visitor"));
        if *target == "/held" {
            gate.open();
        } else {
            nodes[0].restart(Signal::KILL);
        }
        wait_for("the end of the request", || admits(&nodes[1], "/busy", "visitor"));
        gate.open();
    }
    wait_until_shared(&nodes);
    for number in 0..ADMITTED {
        admit_and_report(&nodes, &nodes[number % nodes.len()], "/login", "visitor after the restart");
    }
    assert!(nodes.iter().all(|node| !admits(node, "/login", "visitor after the restart")));
}
