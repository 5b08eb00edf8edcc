//! Automatic certificates that the nodes share: ordered once, from a real Pebble, and used by all.

use std::fs;
use std::net::Ipv4Addr;
use std::process::{Command, Stdio};
use std::time::Duration;

use myriad_tests::{
    Origin, Pebble, PebbleOptions, Place, Server, Signal, signal, wait_for, wait_patiently_for,
};

use super::{PASSWORD, Redis, SECRET, configuration, page, status, write_for_workers};

/// Number of nodes that start at once.
fn node_count() -> usize {
    std::env::var("MYRIAD_CLUSTER_ACME_NODES").map_or(3, |count| count.parse().expect("a number"))
}

/// Authority, Valkey and origin of a cluster. All nodes have the same ports, and an address each.
struct Surroundings {
    pebble: Pebble,
    redis: Redis,
    origin: Origin,
    /// Folder of the authority.
    place: Place,
    http_port: u16,
    tls_port: u16,
}

fn address(number: usize) -> Ipv4Addr {
    Ipv4Addr::new(127, 0, 3, number as u8)
}

impl Surroundings {
    fn new(short_s: Option<u32>) -> Self {
        let (place, tls) = (Place::new(), Place::new());
        let (http_port, tls_port) = (place.port, tls.port);
        let options = PebbleOptions {
            http_port,
            tls_port,
            short_s,
            external_accounts: false,
            refused_nonces: 0,
            slow_s: None,
        };
        let pebble = Pebble::start(&place, &options);
        pebble.save_root(&place);
        Self { pebble, redis: Redis::start(), origin: Origin::start(page), place, http_port, tls_port }
    }

    /// Starts a node. `issuer` is added to the issuer, `servers` are pairs of server names and further directives.
    fn start(&self, number: usize, issuer: &str, servers: &[(&str, &str)]) -> Server {
        let mut place = Place::new();
        place.set("VALKEY", &format!("redis://127.0.0.1:{}", self.redis.place.port));
        place.set("ORIGIN", &self.origin.address);
        place.set("DIRECTORY", &self.pebble.directory());
        place.set("HTTP", &format!("{}:{}", address(number), self.http_port));
        place.set("TLS", &format!("{}:{}", address(number), self.tls_port));
        for (file, text) in [("secret", SECRET), ("password", PASSWORD)] {
            write_for_workers(&place, file, text);
        }
        for file in ["pebble-ca.crt", "issued-by.crt"] {
            place.write(file, self.place.read(file));
        }
        let server = |(names, more): &(&str, &str)| {
            format!(
                "server {{ listen @HTTP@; listen @TLS@ ssl; server_name {names}; acme_certificate pebble {more};
                           ssl_certificate $acme_certificate; ssl_certificate_key $acme_certificate_key; return 200 served; }} "
            )
        };
        let servers: String = servers.iter().map(server).collect();
        let base = configuration(&format!("web{number}"), "", "cluster=off");
        let http = format!(
            "{base} error_log @DIR@/error.log info; acme_issuer pebble {{ uri @DIRECTORY@; ssl_trusted_certificate pebble-ca.crt;
               state_path state; accept_terms_of_service; {issuer} }} {servers}"
        );
        Server::start(place, &http)
    }

    /// Starts nodes at once.
    fn start_all(&self, count: usize, issuer: &str, servers: &[(&str, &str)]) -> Vec<Server> {
        std::thread::scope(|scope| {
            let starting: Vec<_> =
                (1..=count).map(|number| scope.spawn(move || self.start(number, issuer, servers))).collect();
            starting.into_iter().map(|start| start.join().expect("a node")).collect()
        })
    }

    /// Returns the number of certificates that the authority has issued.
    fn issued(&self) -> usize {
        self.pebble.said("Issued certificate")
    }
}

/// Returns the certificate for a host in PEM; `None` if the handshake fails.
fn certificate(node: &Server, host: &str) -> Option<String> {
    let shown = Command::new("openssl")
        .args(["s_client", "-connect", &node.fill("@TLS@"), "-servername", host])
        .stdin(Stdio::null())
        .output()
        .expect("openssl runs");
    let text = String::from_utf8_lossy(&shown.stdout).into_owned();
    let (start, end) = (text.find("-----BEGIN CERTIFICATE-----")?, text.find("-----END CERTIFICATE-----")?);
    Some(text[start..end].to_owned())
}

/// Returns the response to a request by https, whose certificate must be of the authority and valid for the host.
fn verified_response(node: &Server, host: &str) -> String {
    let (address, port) =
        node.fill("@TLS@").split_once(':').map(|(a, p)| (a.to_owned(), p.to_owned())).expect("a port");
    let output = Command::new("curl")
        .args(["-s", "--max-time", "20", "--noproxy", "*", "--resolve", &format!("{host}:{port}:{address}")])
        .arg("--cacert")
        .arg(node.path("issued-by.crt"))
        .arg(format!("https://{host}:{port}/"))
        .output()
        .expect("curl runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// Waits until all nodes have a certificate for the host, and returns it. All nodes must have the same one.
fn common_certificate(nodes: &[Server], host: &str) -> String {
    for node in nodes {
        wait_patiently_for("a certificate", Duration::from_mins(5), || certificate(node, host).is_some());
    }
    let all: Vec<_> = nodes.iter().map(|node| certificate(node, host).expect("a certificate")).collect();
    assert!(all.iter().all(|one| *one == all[0]), "{host}");
    all[0].clone()
}

/// Starts nodes at once without certificates, each name leading to another node.
fn assert_ordered_once(challenge: &str) {
    let count = node_count();
    let surroundings = Surroundings::new(None);
    let names: Vec<String> = (1..=count).map(|number| format!("name{number}.test")).collect();
    for (number, name) in names.iter().enumerate() {
        surroundings.pebble.names.put(name, address(number + 1));
    }
    surroundings.pebble.names.put("solo.test", address(count));
    let all_names = names.join(" ");
    let issuer = format!("challenge {challenge};");
    let mut nodes = surroundings.start_all(count, &issuer, &[(&all_names, ""), ("solo.test", "")]);
    let common = common_certificate(&nodes, &names[0]);
    let solo = common_certificate(&nodes, "solo.test");
    assert_eq!(surroundings.issued(), 2, "one order per certificate");
    let (orders, accounts) = ("There are now 3 orders in the db", "There are now 2 accounts");
    assert_eq!((surroundings.pebble.said(orders), surroundings.pebble.said(accounts)), (0, 0));
    for node in &nodes {
        assert_eq!(verified_response(node, &names[0]), "served");
        assert_eq!(verified_response(node, "solo.test"), "served");
        wait_for("both certificates on the disk", || {
            let files = fs::read_dir(node.path("state")).into_iter().flatten().flatten();
            files.filter(|file| file.path().extension().is_some_and(|end| end == "pem")).count() == 2
        });
    }
    // Valkey has neither the keys nor the names.
    let keys = surroundings.redis.send(&["KEYS", "*"]);
    assert_eq!(keys.matches("acme-certificate:").count(), 2, "{keys}");
    assert!(!keys.contains("solo"), "{keys}");
    let Surroundings { pebble, mut redis, .. } = surroundings;
    redis.kill();
    drop(pebble);
    nodes[0].restart(Signal::KILL);
    assert_eq!(certificate(&nodes[0], &names[0]).as_ref(), Some(&common), "restarted without Valkey");
    assert_eq!(certificate(&nodes[0], "solo.test").as_ref(), Some(&solo));
}

#[test]
fn one_order_by_http_serves_all_nodes_that_start_at_once() {
    assert_ordered_once("http-01");
}

#[test]
fn one_order_by_tls_serves_all_nodes_that_start_at_once() {
    assert_ordered_once("tls-alpn-01");
}

#[test]
fn renewed_certificate_of_one_node_is_used_by_the_other() {
    let surroundings = Surroundings::new(Some(40));
    if !surroundings.pebble.is_new() {
        eprintln!("NOT TESTED: this Pebble is too old to know profiles; renewal is left out");
        return;
    }
    surroundings.pebble.names.put("one.test", address(1));
    let nodes = surroundings.start_all(2, "profile short require;", &[("one.test", "")]);
    let first = common_certificate(&nodes, "one.test");
    let mut renewed = None;
    wait_patiently_for("the renewal on both nodes", Duration::from_mins(2), || {
        let both = [0, 1].map(|node| certificate(&nodes[node], "one.test").expect("a certificate"));
        renewed = (both[0] != first && both[0] == both[1]).then(|| both[0].clone());
        renewed.is_some()
    });
    // Each certificate was ordered by one node, and taken by the other.
    let count =
        |text: &str| nodes.iter().map(|node| node.read("error.log").matches(text).count()).sum::<usize>();
    wait_for("the messages", || count("took the certificate for one.test") >= 2);
    assert_eq!(count("obtained the certificate for one.test"), surroundings.issued());
}

#[test]
fn altered_certificate_is_refused_and_excluded_certificate_is_not_stored() {
    let surroundings = Surroundings::new(None);
    surroundings.pebble.names.put("one.test", address(1));
    surroundings.pebble.names.put("own.test", address(1));
    let first = surroundings.start(1, "", &[("one.test", ""), ("own.test", "cluster=off")]);
    first.log_has("obtained the certificate for own.test");
    let nodes = std::slice::from_ref(&first);
    let before = common_certificate(nodes, "one.test");
    let redis = &surroundings.redis;
    let mut key = String::new();
    wait_for("the certificate in Valkey", || {
        let keys = redis.send(&["KEYS", "myriad:{shop}:acme-certificate:*"]);
        key = keys.lines().find(|line| line.contains("acme-certificate")).unwrap_or_default().to_owned();
        !key.is_empty()
    });
    let certificates = redis.send(&["KEYS", "myriad:{shop}:acme-certificate:*"]);
    assert_eq!(certificates.matches("acme-certificate").count(), 1, "own.test is not shared: {certificates}");
    // The second node refuses the value, and orders the certificate again, which the first node then uses.
    redis.send(&["SET", &key, "not a certificate"]);
    surroundings.pebble.names.put("one.test", address(2));
    let second = surroundings.start(2, "", &[("one.test", "")]);
    second.log_has("in Valkey is refused (not authenticated by the cluster's secret)");
    second.log_has("obtained the certificate for one.test");
    let renewed = certificate(&second, "one.test").expect("a certificate");
    assert_ne!(renewed, before);
    wait_for("the newer certificate", || certificate(&first, "one.test").as_ref() == Some(&renewed));
    assert!(certificate(&first, "own.test").is_some());
}

#[test]
fn node_without_certificate_and_valkey_orders_for_itself_and_shares_it_later() {
    let mut surroundings = Surroundings::new(None);
    surroundings.pebble.names.put("one.test", address(1));
    surroundings.redis.kill();
    let first = surroundings.start(1, "", &[("one.test", "")]);
    first.log_has(
        "waiting for the certificate for one.test: the other nodes of the cluster cannot be reached",
    );
    let nodes = std::slice::from_ref(&first);
    let own = common_certificate(nodes, "one.test");
    assert!(first.read("error.log").contains("this node orders the certificate for one.test for itself"));
    surroundings.redis.start_again();
    wait_for("the connection", || status(&first).contains(": connected"));
    let second = surroundings.start(2, "", &[("one.test", "")]);
    wait_for("the certificate", || certificate(&second, "one.test").as_ref() == Some(&own));
    // Pebble writes its log through a pipe.
    wait_for("the message of the authority", || surroundings.issued() == 1);
}

/// Message of a node that waits for the order of another one.
const WAITS: &str = "waiting for the certificate for one.test: another node of the cluster orders it";

#[test]
fn certificate_is_ordered_by_another_node_if_the_ordering_node_is_killed() {
    let surroundings = Surroundings::new(None);
    surroundings.pebble.names.put("one.test", address(2));
    // The order of the first node waits for the authority.
    surroundings.pebble.pause();
    let mut first = surroundings.start(1, "", &[("one.test", "")]);
    first.log_has("ordering the certificate for one.test");
    let second = surroundings.start(2, "", &[("one.test", "")]);
    second.log_has(WAITS);
    first.restart_after(Signal::KILL, || {
        surroundings.pebble.resume();
        let patience = Duration::from_mins(2);
        wait_patiently_for("the certificate", patience, || certificate(&second, "one.test").is_some());
        second.log_has("obtained the certificate for one.test");
    });
    let ordered = certificate(&second, "one.test");
    wait_for("the certificate on the first node", || certificate(&first, "one.test") == ordered);
    assert!(!first.read("error.log").contains("obtained the certificate"));
    wait_for("the message of the authority", || surroundings.issued() == 1);
}

#[test]
fn suspended_node_gives_up_the_order_that_another_node_has_taken_over() {
    let surroundings = Surroundings::new(None);
    surroundings.pebble.names.put("one.test", address(2));
    surroundings.pebble.pause();
    let first = surroundings.start(1, "", &[("one.test", "")]);
    first.log_has("ordering the certificate for one.test");
    let second = surroundings.start(2, "", &[("one.test", "")]);
    second.log_has(WAITS);
    let send_to_first = |sent: Signal| first.workers().into_iter().for_each(|worker| signal(worker, sent));
    send_to_first(Signal::STOP);
    surroundings.pebble.resume();
    let patience = Duration::from_mins(2);
    wait_patiently_for("the certificate", patience, || certificate(&second, "one.test").is_some());
    let ordered = certificate(&second, "one.test");
    send_to_first(Signal::CONT);
    wait_patiently_for("the certificate on the first node", patience, || {
        certificate(&first, "one.test") == ordered
    });
    first.log_has("gave up the order of the certificate for one.test");
    let log = first.read("error.log");
    assert!(!log.contains("could not obtain") && !log.contains("obtained the certificate"), "{log}");
    wait_for("the message of the authority", || surroundings.issued() == 1);
}

#[test]
fn failed_order_delays_the_orders_of_all_nodes() {
    let surroundings = Surroundings::new(None);
    // No server has this address.
    surroundings.pebble.names.put("one.test", address(99));
    surroundings.pebble.pause();
    let nodes = surroundings.start_all(2, "", &[("one.test", "")]);
    let has = |node: &Server, text: &str| node.read("error.log").contains(text);
    wait_for("the order and the wait", || nodes.iter().any(|node| has(node, WAITS)));
    surroundings.pebble.resume();
    let patience = Duration::from_mins(3);
    let failed = "could not obtain the certificate for one.test";
    let paused =
        "waiting for the certificate for one.test: the last order of a node of the cluster has failed";
    wait_patiently_for("the failure and the pause", patience, || {
        nodes.iter().any(|node| has(node, failed)) && nodes.iter().any(|node| has(node, paused))
    });
    // The pause of the second failure is longer, also if the other node has made the second attempt.
    wait_patiently_for("the second failure", patience, || {
        nodes.iter().any(|node| has(node, "next attempt in 5 min"))
    });
    let count: usize = nodes.iter().map(|node| node.read("error.log").matches(failed).count()).sum();
    assert_eq!(count, 2, "one attempt of all nodes at a time");
    // A restarted node makes an attempt at once, because its configuration may have been corrected.
    let [mut first, second] = <[Server; 2]>::try_from(nodes).expect("two nodes");
    surroundings.pebble.names.put("one.test", address(1));
    first.restart(Signal::TERM);
    let ordered = common_certificate(std::slice::from_ref(&first), "one.test");
    wait_for("the certificate", || certificate(&second, "one.test").as_ref() == Some(&ordered));
}

#[test]
fn lease_of_a_client_without_the_secret_does_not_delay_an_order() {
    let surroundings = Surroundings::new(None);
    surroundings.pebble.names.put("one.test", address(1));
    surroundings.pebble.pause();
    let first = surroundings.start(1, "", &[("one.test", "")]);
    first.log_has("ordering the certificate for one.test");
    let redis = &surroundings.redis;
    let keys = redis.send(&["KEYS", "myriad:{shop}:acme-lease:*"]);
    let lease = keys.lines().find(|line| line.contains("acme-lease")).expect("a lease").to_owned();
    // A client replaces the lease of an order in progress: the node restores it, and completes the order.
    redis.send(&["SET", &lease, "not a lease"]);
    wait_for("the renewal of the lease", || !redis.send(&["GET", &lease]).contains("not a lease"));
    surroundings.pebble.resume();
    let certificate_key = lease.replace("acme-lease", "acme-certificate");
    first.log_has("obtained the certificate for one.test");
    wait_for("the certificate in Valkey", || redis.send(&["EXISTS", &certificate_key]).starts_with(":1"));
    assert!(!first.read("error.log").contains("could not obtain"));
    drop(first);
    // A client holds the lease for a week, and a node has no certificate.
    redis.send(&["DEL", &certificate_key]);
    redis.send(&["SET", &lease, "not a lease", "PX", "604800000"]);
    surroundings.pebble.names.put("one.test", address(2));
    let second = surroundings.start(2, "", &[("one.test", "")]);
    second.log_has("in Valkey is refused (not authenticated by the cluster's secret)");
    second.log_has("obtained the certificate for one.test");
    // The same with values of another type, also of the certificate.
    redis.send(&["DEL", &certificate_key, &lease]);
    redis.send(&["LPUSH", &lease, "not a lease"]);
    redis.send(&["LPUSH", &certificate_key, "not a certificate"]);
    surroundings.pebble.names.put("one.test", address(3));
    drop(second);
    let third = surroundings.start(3, "", &[("one.test", "")]);
    third.log_has("obtained the certificate for one.test");
    assert!(!third.read("error.log").contains("for itself"), "it has ordered with the lease");
    wait_for("the certificate in Valkey", || redis.send(&["TYPE", &certificate_key]).contains("string"));
}

#[test]
fn orders_with_a_common_name_do_not_replace_each_others_handshake_challenges() {
    let surroundings = Surroundings::new(None);
    let hosts = ["one.test", "both.test", "two.test"];
    for host in hosts {
        surroundings.pebble.names.put(host, address(1));
    }
    let servers = [("one.test both.test", ""), ("two.test both.test", "")];
    // Each node begins with another certificate.
    let issuer = "challenge tls-alpn-01;";
    let turned = [servers[1], servers[0]];
    surroundings.pebble.pause();
    let first = surroundings.start(1, issuer, &servers);
    first.log_has("ordering the certificate for one.test, both.test");
    let second = surroundings.start(2, issuer, &turned);
    second.log_has(
        "waiting for the certificate for two.test, both.test: another order validates one of its names",
    );
    surroundings.pebble.resume();
    let nodes = [first, second];
    for host in ["one.test", "two.test"] {
        common_certificate(&nodes, host);
    }
    assert!(nodes.iter().all(|node| !node.read("error.log").contains("could not obtain")));
    wait_for("the messages of the authority", || surroundings.issued() == 2);
}
