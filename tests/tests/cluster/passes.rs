//! Passes of `origin_challenge`, which every node of a cluster accepts.

use super::*;
use myriad_tests::{challenge_of, solve_challenge};

/// Returns the configuration of a node.
fn challenging(name: &str) -> String {
    let block = format!("cluster shop {{ server @VALKEY@; secret_file secret; node {name}; }}");
    block + &challenges(name)
}

/// Returns a configuration with challenges, and in `/separate` with a secret of this node.
fn challenges(name: &str) -> String {
    format!(
        "server {{ listen 127.0.0.1:@PORT@; @PARAMS@ origin_challenge 1 bits=8;
             location / {{ fastcgi_pass @ORIGIN@; }}
             location /separate {{ origin_challenge 1 bits=8 secret=a_secret_of_the_node_{name}; fastcgi_pass @ORIGIN@; }} }}"
    )
}

/// Returns the pass for a challenge of a node.
fn pass(node: &Server, target: &str) -> String {
    solve_challenge(&challenge_of(&node.get(target)).expect("a challenge"))
}

fn accepts(node: &Server, target: &str, pass: &str) -> bool {
    node.fetch(&Request::get(target).field("Cookie", &format!("myriad_pass={pass}"))).status == 200
}

#[test]
fn pass_of_a_node_is_valid_on_all_nodes_and_after_a_restart_without_a_reachable_server() {
    let origin = Origin::start(page);
    let node = |secret: &str, name: &str| {
        Server::start(node_place("redis://127.0.0.1:1", &origin, secret), &challenging(name))
    };
    let (mut first, second) = (node(SECRET, "web1"), node(SECRET, "web2"));
    let other_cluster = node("another secret of thirty-two characters", "web1");
    let shared = pass(&first, "/");
    for (node, is_valid) in [(&first, true), (&second, true), (&other_cluster, false)] {
        assert_eq!(accepts(node, "/", &shared), is_valid);
    }
    let separate = pass(&first, "/separate");
    assert!(accepts(&first, "/separate", &separate) && !accepts(&second, "/separate", &separate));
    first.restart(Signal::TERM);
    assert!(accepts(&first, "/", &shared), "the secret is that of the cluster");
    first.reload(&challenges("web1"));
    wait_for("a random secret without the cluster", || !accepts(&first, "/", &shared));
}
