//! Cluster: purges reach every node through a real Redis or Valkey, also after failures.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt, chown};
use std::process::{Child, Command, Stdio};

use myriad_tests::{Cached, Call, Origin, Place, Request, Server, Signal, binary, wait_for};

/// Redis server without persistence; killed on drop.
struct Redis {
    place: Place,
    child: Child,
}

impl Redis {
    fn start() -> Self {
        let place = Place::new();
        let child = Self::spawn(&place);
        Self { place, child }
    }

    fn spawn(place: &Place) -> Child {
        let mut command = Command::new("redis-server");
        command.args(["--port", &place.port.to_string(), "--bind", "127.0.0.1", "--save", "", "--dir"]);
        command.arg(place.folder()).stdin(Stdio::null()).stdout(Stdio::null());
        let child = command.spawn().expect("redis-server, of the packages of scripts/packages");
        wait_for("Redis", || TcpStream::connect(("127.0.0.1", place.port)).is_ok());
        child
    }

    /// Kills the server; its data is lost.
    fn kill(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn start_again(&mut self) {
        self.child = Self::spawn(&self.place);
    }

    /// Sends a command, and returns the reply as it was received.
    fn send(&self, words: &[&str]) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.place.port)).expect("a connection");
        let parts: Vec<String> = words.iter().map(|word| format!("${}\r\n{word}\r\n", word.len())).collect();
        let command = format!("*{}\r\n{}", words.len(), parts.concat());
        stream.write_all(command.as_bytes()).expect("sent");
        let mut reply = vec![0; 4096];
        let length = stream.read(&mut reply).expect("a reply");
        String::from_utf8_lossy(&reply[..length]).into_owned()
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Sends a page with the number of the request and a tag; `/purging` requests a purge of `/a`.
fn page(call: &mut Call) {
    let text = format!("page {}", call.number);
    let fields = match call.uri() {
        "/purging" => "Content-Type: text/plain\nX-LiteSpeed-Purge: /a",
        _ => "Content-Type: text/plain\nCache-Tag: every",
    };
    call.answer(fields, text);
}

const SECRET: &str = "a secret of thirty-two characters";

/// Starts a node of the cluster `shop`. `more` is added to the block.
fn start_node(redis: &Redis, origin: &Origin, name: &str, more: &str) -> Server {
    start_with_secret(redis, origin, name, more, SECRET)
}

fn start_with_secret(redis: &Redis, origin: &Origin, name: &str, more: &str, secret: &str) -> Server {
    let mut place = Place::new();
    place.set("REDIS", &redis.place.port.to_string());
    place.write("secret", secret);
    let file = place.path("secret");
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).expect("permissions");
    // The workers run as this user if the tests run as root.
    let _ = chown(&file, Some(65534), None);
    let block = format!(
        "cluster shop {{ server redis://127.0.0.1:@REDIS@; secret_file @DIR@/secret; node {name}; {more} }}
         fastcgi_cache_path @DIR@/own keys_zone=own:1m cluster=off;"
    );
    let server = "fastcgi_cache_valid 1h; fastcgi_cache_purge PURGE from 127.0.0.1;
                  location /api/ { api write=on; allow all; }
                  location /own { fastcgi_cache own; fastcgi_pass @ORIGIN@; }";
    let node = Cached { http: &block, server, ..Cached::default() }.start_before(place, &origin.address);
    node.wait_for_recoveries(1);
    node
}

/// Starts `count` nodes named `web1`, `web2`, … and waits until each has seen all others.
fn start_nodes(redis: &Redis, origin: &Origin, count: usize, more: &str) -> Vec<Server> {
    let nodes: Vec<_> =
        (1..=count).map(|number| start_node(redis, origin, &format!("web{number}"), more)).collect();
    for node in &nodes {
        wait_for("all nodes", || status(node).contains(&format!("{count} of {count} nodes active")));
    }
    nodes
}

fn cluster_command(node: &Server, arguments: &[&str]) -> String {
    let mut command = Command::new(binary());
    command.arg(arguments[0]).args(&arguments[1..]).args(["-c", "myriad.conf", "-p"]).arg(node.folder());
    let output = command.output().expect("myriad starts");
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

fn status(node: &Server) -> String {
    cluster_command(node, &["cluster", "status"])
}

fn is_cached(node: &Server, target: &str) -> bool {
    node.get(target).cache() == "HIT"
}

fn fill(nodes: &[Server], target: &str) {
    for node in nodes {
        node.get(target);
        assert!(is_cached(node, target), "{target}");
    }
}

/// Asserts that no node sends the page from its cache at the next request.
fn assert_purged(nodes: &[Server], target: &str, by: &str) {
    for (number, node) in nodes.iter().enumerate() {
        assert!(!is_cached(node, target), "web{} has {target} after {by}", number + 1);
    }
}

#[test]
fn purge_of_each_form_is_in_effect_on_all_nodes_when_it_is_answered() {
    let (redis, origin) = (Redis::start(), Origin::start(page));
    let nodes = start_nodes(&redis, &origin, 3, "receipt_timeout 30s;");
    let purge = |node: &Server, target: &str, fields: &[(&str, &str)]| {
        let request = Request::new("PURGE", target);
        let answer =
            node.fetch(&fields.iter().fold(request, |request, (name, value)| request.field(name, value)));
        assert_eq!(answer.status, 200, "{}", answer.text());
        let receipts = answer.field("cache-purge-cluster").expect("receipts").to_owned();
        assert!(receipts.starts_with("applied on 3 of 3 nodes in "), "{receipts}");
    };
    for (number, node) in nodes.iter().enumerate() {
        fill(&nodes, "/a");
        purge(node, "/a", &[]);
        assert_purged(&nodes, "/a", &format!("PURGE on web{}", number + 1));
    }
    let forms: [(&str, &[(&str, &str)]); 3] = [
        ("/*", &[]),
        ("/.*", &[("X-Purge-Method", "regex")]),
        ("/", &[("X-Purge-Method", "tags"), ("X-Cache-Tags-Pattern", "every")]),
    ];
    for (target, fields) in forms {
        fill(&nodes, "/a");
        purge(&nodes[1], target, fields);
        assert_purged(&nodes, "/a", target);
    }
    for words in [&["--tag", "every"][..], &["--all"], &["--wildcard", "*/a"], &["--all", "--soft"]] {
        fill(&nodes, "/a");
        let text = cluster_command(&nodes[2], &[&["purge"], words].concat());
        assert!(text.contains("applied on 3 of 3 nodes in "), "{words:?}: {text}");
        assert_purged(&nodes, "/a", &words.join(" "));
    }
}

#[test]
fn purges_of_applications_and_the_api_reach_all_nodes_and_zones_may_be_excluded() {
    let (redis, origin) = (Redis::start(), Origin::start(page));
    let nodes = start_nodes(&redis, &origin, 2, "receipt_timeout 30s;");
    fill(&nodes, "/a");
    fill(&nodes, "/own");
    nodes[0].get("/purging");
    assert!(!is_cached(&nodes[0], "/a"));
    // The response of an application does not wait for receipts.
    wait_for("the purge on the other node", || !is_cached(&nodes[1], "/a"));
    fill(&nodes, "/a");
    let text = cluster_command(&nodes[0], &["purge", "--all"]);
    assert!(text.contains("applied on 2 of 2 nodes"), "{text}");
    assert_purged(&nodes, "/a", "purge --all");
    assert!(!is_cached(&nodes[0], "/own"), "purged on the node of the command");
    assert!(is_cached(&nodes[1], "/own"), "cluster=off: no other node purges this zone");
    let api = nodes[1].get("/api/cluster").text();
    assert!(api.contains("\"cluster\":\"shop\"") && api.contains("\"node\":\"web1\""), "{api}");
}

#[test]
fn stopped_node_replays_purges_before_its_first_hit() {
    let (redis, origin) = (Redis::start(), Origin::start(page));
    let mut nodes = start_nodes(&redis, &origin, 2, "");
    fill(&nodes, "/a");
    fill(&nodes, "/b");
    let mut second = nodes.pop().expect("two nodes");
    second.restart_after(Signal::QUIT, || {
        nodes[0].fetch(&Request::new("PURGE", "/a"));
    });
    assert!(!is_cached(&second, "/a"), "a purge that the node missed");
    assert!(is_cached(&second, "/b"), "no other page is stale");
    fill(&nodes, "/a");
    second.get("/a");
    second.restart_after(Signal::KILL, || {
        nodes[0].fetch(&Request::new("PURGE", "/a"));
    });
    assert!(!is_cached(&second, "/a"), "a purge that the killed node missed");
}

#[test]
fn server_that_loses_its_data_makes_no_cache_stale_and_loses_no_purge() {
    let (mut redis, origin) = (Redis::start(), Origin::start(page));
    let nodes = start_nodes(&redis, &origin, 2, "");
    nodes[0].fetch(&Request::new("PURGE", "/x"));
    fill(&nodes, "/a");
    fill(&nodes, "/b");
    redis.kill();
    let answer = nodes[0].fetch(&Request::new("PURGE", "/a"));
    let receipts = answer.field("cache-purge-cluster").expect("receipts").to_owned();
    assert!(receipts.starts_with("applied on 1 of 2 nodes; no receipt from web2 within "), "{receipts}");
    assert!(is_cached(&nodes[1], "/b"), "pages are served while the server is away");
    redis.start_again();
    wait_for("the purge on the other node", || !is_cached(&nodes[1], "/a"));
    assert!(nodes.iter().all(|node| is_cached(node, "/b")), "no other page is stale");
    wait_for("the receipt", || cluster_command(&nodes[0], &["cluster", "purges"]).is_empty());
}

#[test]
fn strict_node_uses_no_stored_page_while_purges_may_be_missing() {
    let (mut redis, origin) = (Redis::start(), Origin::start(page));
    let node = start_node(&redis, &origin, "web1", "partition strict;");
    fill(std::slice::from_ref(&node), "/a");
    redis.kill();
    wait_for("the partition", || !is_cached(&node, "/a"));
    redis.start_again();
    wait_for("the end of the partition", || status(&node).contains("stored pages are served"));
    fill(std::slice::from_ref(&node), "/a");
}

#[test]
fn values_without_the_secret_are_ignored() {
    let (redis, origin) = (Redis::start(), Origin::start(page));
    let nodes = start_nodes(&redis, &origin, 2, "");
    let other = start_with_secret(&redis, &origin, "web9", "", "another secret of thirty-two bytes");
    fill(&nodes, "/a");
    other.get("/a");
    let answer = other.fetch(&Request::new("PURGE", "/a"));
    assert_eq!(answer.status, 200, "the node continues alone");
    let forged = redis.send(&["XADD", "myriad:{shop}:purges", "9-9", "r", "not a record"]);
    assert!(forged.contains("9-9"), "{forged}");
    nodes[0].log_has("of the purge log ignored: not authenticated by the cluster's secret");
    assert!(nodes.iter().all(|node| is_cached(node, "/a")), "pages remain");
    other.log_has("correct \"secret_file\"");
    let text = cluster_command(&nodes[1], &["cluster", "nodes"]);
    assert!(text.contains("web1") && !text.contains("web9"), "{text}");
    let text = cluster_command(&nodes[0], &["purge", "--all"]);
    assert!(text.contains("applied on 2 of 2 nodes"), "purges continue: {text}");
    assert_purged(&nodes, "/a", "a purge after the forged entry");
}
