//! Cluster: purges reach every node through a real Redis or Valkey, also after failures.

mod certificates;
mod databases;
mod limits;
mod pages;
mod passes;
mod secrets;
mod servers;
mod status;
mod wordpress;

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use myriad_tests::{
    Cached, Call, Origin, PATIENCE, Place, Request, Server, Signal, binary, signal, wait_for,
    wait_patiently_for,
};

/// Redis server without persistence; killed on drop.
struct Redis {
    place: Place,
    child: Child,
    mode: &'static str,
}

/// Returns the line of the documentation that creates the user of Myriad, as a line of Redis's configuration.
fn documented_user() -> String {
    let line =
        include_str!("../../../docs/cluster.md").lines().find(|line| line.contains("ACL SETUSER myriad "));
    let user = line.expect("the ACL of docs/cluster.md").replace("ACL SETUSER", "user");
    user.trim().replace(">PASSWORD", &format!(">{PASSWORD}"))
}

impl Redis {
    /// Starts a server with the user of docs/cluster.md.
    fn start() -> Self {
        Self::start_with(&documented_user())
    }

    /// Starts a server with further lines of its configuration.
    fn start_with(lines: &str) -> Self {
        Self::start_as("", lines)
    }

    /// Starts a Sentinel that monitors a primary as `shop`.
    fn start_sentinel(primary: &Redis) -> Self {
        let port = primary.place.port;
        let lines = format!(
            "sentinel monitor shop 127.0.0.1 {port} 1\nsentinel down-after-milliseconds shop 1000\n\
             sentinel failover-timeout shop 5000\nrequirepass {SENTINEL_PASSWORD}"
        );
        Self::start_as("--sentinel", &lines)
    }

    fn start_as(mode: &'static str, lines: &str) -> Self {
        let place = Place::new();
        let (port, folder) = (place.port, place.folder().display());
        let base = format!("port {port}\nbind 127.0.0.1\ndir {folder}\n{lines}\n");
        let more = if mode.is_empty() { "save \"\"\nrepl-diskless-sync-delay 0\n" } else { "" };
        place.write("redis.conf", format!("{base}{more}"));
        let child = Self::spawn(&place, mode);
        Self { place, child, mode }
    }

    fn spawn(place: &Place, mode: &str) -> Child {
        let mut command = Command::new("redis-server");
        command.arg(place.path("redis.conf")).args((!mode.is_empty()).then_some(mode));
        command.stdin(Stdio::null()).stdout(Stdio::null());
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
        self.child = Self::spawn(&self.place, self.mode);
    }

    /// Sends a command, and returns the reply as it was received.
    fn send(&self, words: &[&str]) -> String {
        self.send_all(&[words])
    }

    /// Sends commands on one connection, and returns the beginning of the last reply as it was received.
    fn send_all(&self, commands: &[&[&str]]) -> String {
        let mut stream = TcpStream::connect(("127.0.0.1", self.place.port)).expect("a connection");
        let mut reply = vec![0; 1 << 18];
        let mut length = 0;
        for words in commands {
            let parts: Vec<String> =
                words.iter().map(|word| format!("${}\r\n{word}\r\n", word.len())).collect();
            let command = format!("*{}\r\n{}", words.len(), parts.concat());
            stream.write_all(command.as_bytes()).expect("sent");
            length = stream.read(&mut reply).expect("a reply");
        }
        String::from_utf8_lossy(&reply[..length]).into_owned()
    }
}

impl Drop for Redis {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Sends a page with the number of the request and a tag; `/purging` requests a purge of `/a`, and `/form` names it in
/// `Content-Location`.
fn page(call: &mut Call) {
    let text = format!("page {}", call.number);
    let fields = match call.uri() {
        "/purging" => "Content-Type: text/plain\nX-LiteSpeed-Purge: /a",
        "/form" => "Content-Type: text/plain\nContent-Location: /a",
        _ => "Content-Type: text/plain\nCache-Tag: every",
    };
    call.answer(fields, text);
}

const SECRET: &str = "a secret of thirty-two characters";
/// Password of the user `myriad`.
const PASSWORD: &str = "valkey-password";
/// Password of Sentinels.
const SENTINEL_PASSWORD: &str = "sentinel-password";

/// Starts a node of the cluster `shop`. `more` is added to the block.
fn start_node(redis: &Redis, origin: &Origin, name: &str, more: &str) -> Server {
    start_with_secret(redis, origin, name, more, SECRET)
}

fn start_with_secret(redis: &Redis, origin: &Origin, name: &str, more: &str, secret: &str) -> Server {
    let server = format!("redis://127.0.0.1:{}", redis.place.port);
    start_at(&server, origin, name, more, secret)
}

/// Starts a node whose line `server` has this address.
fn start_at(server: &str, origin: &Origin, name: &str, more: &str, secret: &str) -> Server {
    let place = node_place(server, origin, secret);
    let node = Server::start(place, &configuration(name, more, "cluster=off"));
    node.wait_for_recoveries(1);
    node
}

/// Returns the place of a node, with the files of its `cluster` block.
fn node_place(server: &str, origin: &Origin, secret: &str) -> Place {
    let mut place = Place::new();
    place.set("VALKEY", server);
    place.set("ORIGIN", &origin.address);
    for (file, text) in [("secret", secret), ("password", PASSWORD), ("sentinel", SENTINEL_PASSWORD)] {
        write_for_workers(&place, file, text);
    }
    place
}

/// Writes a file that only the workers may read.
fn write_for_workers(place: &Place, name: &str, text: &str) {
    place.write(name, text);
    let file = place.path(name);
    fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).expect("permissions");
    // The workers run as this user if the tests run as root.
    let _ = chown(&file, Some(65534), None);
}

/// Returns the configuration of a node. `more` is added to the cluster's block; `own` to the zone of `/own`. Without
/// `pages` in the block, the nodes do not fetch pages for each other.
fn configuration(name: &str, more: &str, own: &str) -> String {
    let pages = if more.contains("pages") { "" } else { "pages off;" };
    let block = format!(
        "cluster shop {{ server @VALKEY@; username myriad; password_file password; secret_file secret;
                         node {name}; {pages} {more} }}
         fastcgi_cache_path @DIR@/own keys_zone=own:1m {own};"
    );
    let server = format!(
        "fastcgi_cache_valid 1h; fastcgi_cache_lock on; fastcgi_cache_lock_timeout 300s; fastcgi_cache_purge PURGE from 127.0.0.1; fastcgi_cache_invalidate on;
         add_header X-Block '{more}';
         location /api/ {{ api write=on; allow all; }}
         location /guarded {{ leak_guard sample=100% delay=1ms budget=100%; fastcgi_pass @ORIGIN@; }}
         location /bypassed {{ fastcgi_cache_bypass $http_x_gone; fastcgi_pass @ORIGIN@; }}
         location /own {{ fastcgi_cache own; fastcgi_pass @ORIGIN@; }}"
    );
    Cached { http: &block, server: &server, ..Cached::default() }.http()
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
    run_command(node, &[arguments, &["-c", "myriad.conf"]].concat())
}

/// Runs a command with the prefix of a node; returns its output and its messages.
fn run_command(node: &Server, arguments: &[&str]) -> String {
    let mut command = Command::new(binary());
    command.args(arguments).arg("-p").arg(node.folder());
    let output = command.output().expect("myriad starts");
    String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned()
}

fn status(node: &Server) -> String {
    cluster_command(node, &["cluster", "status"])
}

/// Returns a counter of a node.
fn count_of(node: &Server, counter: &str) -> u64 {
    let status = cluster_command(node, &["cluster", "status", "--json"]);
    let (_, rest) = status.split_once(&format!("\"{counter}\":")).expect("the counter");
    let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().expect("a number")
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
    cluster_command(&second, &["purge", "--wildcard", "*/none*"]);
    second.log_has("/none* in zone ");
    let log = fs::read_to_string(second.path("error.log")).expect("a log");
    assert!(!log.contains("purge of all"), "nobody purged all pages: {log}");
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
fn answer_of_a_node_that_has_never_reached_the_server_names_no_number_of_nodes() {
    let (mut redis, origin) = (Redis::start(), Origin::start(page));
    redis.kill();
    let node = start_node(&redis, &origin, "web1", "");
    let answer = node.fetch(&Request::new("PURGE", "/a"));
    let receipts = answer.field("cache-purge-cluster").expect("receipts").to_owned();
    assert!(receipts.starts_with("applied on 1 node in "), "{receipts}");
    assert!(receipts.contains("; the other nodes are not known"), "{receipts}");
    assert!(receipts.ends_with("is sent to the other nodes later"), "{receipts}");
    assert!(status(&node).contains("other nodes are not known"), "{}", status(&node));
    let unsent = cluster_command(&node, &["cluster", "purges"]);
    assert!(unsent.contains("/a  not sent yet"), "{unsent}");
    let api = node.get("/api/cluster").text();
    assert!(api.contains("\"kind\":\"url\"") && api.contains("/a\",\"soft\":false"), "{api}");
    redis.start_again();
    wait_for("the list of nodes", || status(&node).contains("1 of 1 nodes active"));
    wait_for("the log", || cluster_command(&node, &["cluster", "purges"]).is_empty());
    let text = cluster_command(&node, &["purge", "--all"]);
    assert!(text.contains("applied on 1 of 1 node in "), "{text}");
}

#[test]
fn strict_node_uses_no_stored_page_while_purges_may_be_missing() {
    let (mut redis, origin) = (Redis::start(), Origin::start(page));
    let node = start_node(&redis, &origin, "web1", "partition strict;");
    fill(std::slice::from_ref(&node), "/a");
    redis.kill();
    wait_for("the partition", || !is_cached(&node, "/a"));
    let server = format!("no connection to redis://127.0.0.1:{}", redis.place.port);
    node.log_has(&format!(
        "{server}; until this ends, pages are not exchanged, and stored pages are fetched again"
    ));
    assert!(status(&node).contains(&server), "{}", status(&node));
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
    for node in [&nodes[0], &other] {
        assert!(status(node).contains("values that are not authentic: "), "{}", status(node));
    }
    let text = cluster_command(&nodes[1], &["cluster", "nodes"]);
    assert!(text.contains("web1") && !text.contains("web9"), "{text}");
    let text = cluster_command(&nodes[0], &["purge", "--all"]);
    assert!(text.contains("applied on 2 of 2 nodes"), "purges continue: {text}");
    assert_purged(&nodes, "/a", "a purge after the forged entry");
}

#[test]
fn purge_of_a_client_that_disconnects_at_once_reaches_the_other_node() {
    let (redis, origin) = (Redis::start(), Origin::start(page));
    let nodes = start_nodes(&redis, &origin, 2, "receipt_timeout 30s;");
    for round in 0..20 {
        let target = format!("/page{round}");
        fill(&nodes, &target);
        let mut client = nodes[0].connect();
        client.send(Request::new("PURGE", &target).bytes());
        drop(client);
        wait_for("the purge on the other node", || !is_cached(&nodes[1], &target));
    }
}

#[test]
fn reload_changes_the_cluster_and_adds_a_zone_and_other_pages_stay() {
    let (redis, origin) = (Redis::start(), Origin::start(page));
    let nodes = start_nodes(&redis, &origin, 2, "receipt_timeout 30s;");
    for target in ["/a", "/b", "/own"] {
        fill(&nodes, target);
    }
    nodes[0].fetch(&Request::new("PURGE", "/x"));
    assert!(status(&nodes[0]).contains("purges: 1 sent, 0 received"), "{}", status(&nodes[0]));
    for (number, node) in nodes.iter().enumerate() {
        node.reload(&configuration(&format!("web{}", number + 1), "receipt_timeout 29s;", ""));
        wait_for("the reload", || node.get("/b").field("x-block") == Some("receipt_timeout 29s;"));
        // The zone may have missed purges before it belonged to the cluster.
        assert!(!is_cached(node, "/own"));
    }
    assert!(nodes.iter().all(|node| is_cached(node, "/a") && is_cached(node, "/b")), "other pages stay");
    for node in &nodes {
        wait_for("all nodes", || status(node).contains("2 of 2 nodes active"));
    }
    assert!(status(&nodes[0]).contains("purges: 1 sent, 0 received"), "{}", status(&nodes[0]));
    assert!(status(&nodes[1]).contains("purges: 0 sent, 1 received"), "{}", status(&nodes[1]));
    for target in ["/own", "/a"] {
        fill(&nodes, target);
        let answer = nodes[0].fetch(&Request::new("PURGE", target));
        let receipts = answer.field("cache-purge-cluster").expect("receipts").to_owned();
        assert!(receipts.starts_with("applied on 2 of 2 nodes"), "{target}: {receipts}");
        assert_purged(&nodes, target, "a purge after the reload");
    }
    assert!(nodes.iter().all(|node| is_cached(node, "/b")), "other pages stay");
}

#[test]
fn reload_that_fails_leaves_the_node_running() {
    let (redis, origin) = (Redis::start(), Origin::start(page));
    let nodes = start_nodes(&redis, &origin, 2, "receipt_timeout 30s;");
    fill(&nodes, "/a");
    let invalid = configuration("web1", "receipt_timeout 29s;", "").replace("password_file password;", "");
    nodes[0].reload(&invalid);
    nodes[0].log_has("\"username\" requires \"password_file\"");
    let text = cluster_command(&nodes[0], &["purge", "--all"]);
    assert!(text.contains("applied on 2 of 2 nodes"), "{text}");
    assert_purged(&nodes, "/a", "a purge after the failed reload");
}

/// Returns the number of stored pages in a folder of the node.
fn files(folder: &Path) -> usize {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let visible = entries.filter(|entry| !entry.file_name().as_encoded_bytes().starts_with(b"."));
    visible.map(|entry| if entry.path().is_dir() { files(&entry.path()) } else { 1 }).sum()
}

#[test]
fn killed_node_keeps_pages_that_the_last_purge_does_not_cover() {
    let (redis, origin) = (Redis::start(), Origin::start(page));
    let mut nodes = start_nodes(&redis, &origin, 2, "receipt_timeout 30s;");
    fill(&nodes, "/a");
    fill(&nodes, "/b");
    let mut second = nodes.pop().expect("two nodes");
    let cache = second.path("cache");
    wait_for("the files", || files(&cache) >= 2 && cache.join(".cluster-shop").exists());
    let answer = nodes[0].fetch(&Request::new("PURGE", "/a"));
    assert_eq!(answer.status, 200);
    second.restart(Signal::KILL);
    assert!(!is_cached(&second, "/a"), "a purge that the node has confirmed");
    assert!(is_cached(&second, "/b"), "no other page is stale");
}

#[test]
fn invalidation_after_an_unsafe_method_reaches_the_other_node() {
    let (redis, origin) = (Redis::start(), Origin::start(page));
    let nodes = start_nodes(&redis, &origin, 2, "");
    // The key has the host, and the nodes have different ports.
    let get =
        |node: &Server, target: &str| node.fetch(&Request::get(target).host("shop.test")).cache().to_owned();
    for node in &nodes {
        for target in ["/a", "/b"] {
            get(node, target);
            assert_eq!(get(node, target), "HIT");
        }
    }
    nodes[0].fetch(&Request::post("/a", "text").host("shop.test"));
    assert_ne!(get(&nodes[0], "/a"), "HIT", "the page on the node of the request");
    wait_for("the invalidation on the other node", || get(&nodes[1], "/a") != "HIT");
    assert!(nodes.iter().all(|node| get(node, "/b") == "HIT"), "no other page is invalidated");
}

#[test]
fn all_pages_of_an_unsafe_request_are_removed_with_one_purge() {
    let (redis, origin) = (Redis::start(), Origin::start(page));
    let nodes = start_nodes(&redis, &origin, 1, "");
    fill(&nodes, "/a");
    fill(&nodes, "/form");
    assert_eq!(nodes[0].fetch(&Request::post("/form", "text")).status, 200);
    assert!(status(&nodes[0]).contains("purges: 1 sent, "), "{}", status(&nodes[0]));
    assert_purged(&nodes, "/a", "POST");
    assert_purged(&nodes, "/form", "POST");
}

#[test]
fn forgotten_node_needs_no_receipt_and_an_unknown_name_is_refused() {
    let (redis, origin) = (Redis::start(), Origin::start(page));
    let mut nodes = start_nodes(&redis, &origin, 3, "receipt_timeout 1s;");
    drop(nodes.pop());
    let text = cluster_command(&nodes[0], &["purge", "--all"]);
    assert!(text.contains("applied on 2 of 3 nodes; no receipt from web3 within "), "{text}");
    wait_for("the partition", || {
        let text = status(&nodes[0]);
        text.contains("partition: ")
            && text.contains(": node web3 (")
            && text.contains(") has not reported for ")
    });
    let text = status(&nodes[0]);
    assert!(text.contains("if one will not return: myriad cluster forget NODE"), "{text}");
    assert!(!text.contains("node web2 ("), "a node that reports is named: {text}");
    nodes[0].log_has(") has not reported for ");
    let text = cluster_command(&nodes[0], &["cluster", "forget", "web4"]);
    assert!(text.contains("no other node \"web4\"; its other nodes: web2, web3"), "{text}");
    let text = cluster_command(&nodes[0], &["cluster", "forget", "web3"]);
    assert!(text.contains("web2") && !text.contains("web3"), "{text}");
    let text = cluster_command(&nodes[0], &["purge", "--all"]);
    assert!(text.contains("applied on 2 of 2 nodes"), "{text}");
}

/// Asserts that a purge of `/a` on the first node reaches the second, and that `/b` stays on both.
fn assert_purge_arrives(nodes: &[Server], after: &str) {
    wait_patiently_for(after, 2 * PATIENCE, || !is_cached(&nodes[1], "/a"));
    assert!(nodes.iter().all(|node| is_cached(node, "/b")), "no other page is stale after {after}");
}

#[test]
fn suspended_server_delays_purges_and_makes_no_cache_stale() {
    let (redis, origin) = (Redis::start(), Origin::start(page));
    let nodes = start_nodes(&redis, &origin, 2, "");
    fill(&nodes, "/a");
    fill(&nodes, "/b");
    signal(redis.child.id(), Signal::STOP);
    let answer = nodes[0].fetch(&Request::new("PURGE", "/a"));
    let receipts = answer.field("cache-purge-cluster").expect("receipts").to_owned();
    assert!(receipts.starts_with("applied on 1 of 2 nodes; no receipt from web2 within "), "{receipts}");
    assert!(is_cached(&nodes[1], "/a"), "the purge has not arrived");
    signal(redis.child.id(), Signal::CONT);
    assert_purge_arrives(&nodes, "the suspension");
}

#[test]
fn purges_continue_after_all_data_is_deleted() {
    let (redis, origin) = (Redis::start(), Origin::start(page));
    let nodes = start_nodes(&redis, &origin, 2, "");
    nodes[1].fetch(&Request::new("PURGE", "/x"));
    fill(&nodes, "/a");
    fill(&nodes, "/b");
    assert!(redis.send(&["FLUSHALL"]).starts_with("+OK"));
    nodes[0].fetch(&Request::new("PURGE", "/a"));
    assert_purge_arrives(&nodes, "FLUSHALL");
}

#[test]
fn nodes_follow_a_failover_of_sentinel() {
    let origin = Origin::start(page);
    let mut primary = Redis::start();
    let port = primary.place.port;
    let replica = Redis::start_with(&format!("{}\nreplicaof 127.0.0.1 {port}", documented_user()));
    let sentinel = Redis::start_sentinel(&primary);
    let ask = |words: &[&str]| sentinel.send_all(&[&["AUTH", SENTINEL_PASSWORD], words]);
    let replica_port = replica.place.port.to_string();
    wait_for("the replica", || replica.send(&["INFO", "replication"]).contains("master_link_status:up"));
    wait_patiently_for("the Sentinel", 2 * PATIENCE, || {
        ask(&["SENTINEL", "REPLICAS", "shop"]).contains(&replica_port)
    });
    let server = format!("sentinel://127.0.0.1:{}/shop", sentinel.place.port);
    let more = "sentinel_password_file sentinel;";
    let nodes = ["web1", "web2"].map(|name| start_at(&server, &origin, name, more, SECRET));
    for node in &nodes {
        wait_for("all nodes", || status(node).contains("2 of 2 nodes active"));
    }
    fill(&nodes, "/a");
    fill(&nodes, "/b");
    primary.kill();
    nodes[0].fetch(&Request::new("PURGE", "/a"));
    assert_purge_arrives(&nodes, "the failover");
    let text = ask(&["SENTINEL", "GET-MASTER-ADDR-BY-NAME", "shop"]);
    assert!(text.contains(&replica_port), "{text}");
}
