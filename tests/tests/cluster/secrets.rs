//! Secrets that the nodes share: keys of TLS session tickets.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{SystemTime, UNIX_EPOCH};

use myriad_tests::{Origin, Place, Server, Signal, certificate, wait_for};

use super::{PASSWORD, Redis, SECRET, configuration, page, run_command, status, write_for_workers};

/// Text of the status of a node that shares its ticket keys.
const SHARED: &str = "keys of TLS session tickets: shared with the other nodes";

/// Starts nodes of a cluster with the same certificate on `@TLS@`; `more` is added to the servers.
fn start_tls_nodes(redis: &Redis, origin: &Origin, count: usize, more: &str) -> Vec<Server> {
    let one = Place::new();
    certificate(&one.path("one.crt"), &one.path("one.key"));
    let start = |number| {
        let (mut place, tls) = (Place::new(), Place::new());
        place.set("VALKEY", &format!("redis://127.0.0.1:{}", redis.place.port));
        place.set("ORIGIN", &origin.address);
        place.set("TLS", &tls.port.to_string());
        for (file, text) in [("secret", SECRET), ("password", PASSWORD)] {
            write_for_workers(&place, file, text);
        }
        for file in ["one.crt", "one.key"] {
            place.write(file, one.read(file));
        }
        place.write("keys", [7; 80]);
        let server = format!(
            "server {{ listen 127.0.0.1:@TLS@ ssl; ssl_certificate one.crt; ssl_certificate_key one.key; {more} \
                       return 200 '<$ssl_session_reused>'; }}"
        );
        let base = configuration(&format!("web{number}"), "", "cluster=off");
        Server::start(place, &format!("{base} lingering_close off; {server}"))
    };
    (1..=count).map(start).collect()
}

/// Requests a page with `openssl s_client`. Returns true if an earlier session was resumed.
fn is_resumed(node: &Server, options: &[&str]) -> bool {
    let mut client = Command::new("openssl")
        .args(["s_client", "-connect", &format!("127.0.0.1:{}", node.fill("@TLS@")), "-ign_eof"])
        .args(options)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("openssl runs");
    let request = b"GET / HTTP/1.1\r\nHost: one.test\r\nConnection: close\r\n\r\n";
    client.stdin.take().expect("piped").write_all(request).expect("openssl reads");
    let output = client.wait_with_output().expect("openssl ends");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(text.contains("<r>") || text.contains("<.>"), "{text}");
    text.contains("<r>")
}

/// Stores a new session of a node. Returns the name of its file.
fn new_session(node: &Server, version: &str) -> String {
    let file = node.path(&format!("session{version}.pem")).display().to_string();
    assert!(!is_resumed(node, &[version, "-sess_out", &file]));
    file
}

fn resumes(node: &Server, version: &str, session: &str) -> bool {
    is_resumed(node, &[version, "-sess_in", session])
}

fn counter(node: &Server, name: &str) -> u64 {
    let text = run_command(node, &["cluster", "status", "--json", "-c", "myriad.conf"]);
    let (_, rest) = text.split_once(&format!("\"{name}\":")).expect("a counter");
    let digits: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
    digits.parse().expect("a number")
}

#[test]
fn tls_session_of_one_node_is_resumed_by_another_also_without_valkey() {
    let (mut redis, origin) = (Redis::start(), Origin::start(page));
    let mut nodes = start_tls_nodes(&redis, &origin, 2, "");
    for node in &nodes {
        wait_for("shared ticket keys", || status(node).contains(SHARED));
    }
    let versions = ["-tls1_2", "-tls1_3"];
    let sessions = versions.map(|version| new_session(&nodes[0], version));
    for (version, session) in versions.iter().zip(&sessions) {
        assert!(resumes(&nodes[1], version, session), "{version}");
    }
    // A restarted process reads the keys again, and resumes sessions of the earlier one.
    nodes[0].restart_after(Signal::KILL, || {});
    wait_for("shared ticket keys", || status(&nodes[0]).contains(SHARED));
    assert!(sessions.iter().zip(versions).all(|(session, version)| resumes(&nodes[0], version, session)));
    redis.kill();
    for node in &nodes {
        wait_for("the loss of the connection", || status(node).contains("disconnected"));
    }
    let session = new_session(&nodes[1], "-tls1_3");
    assert!(resumes(&nodes[0], "-tls1_3", &session), "known keys stay in use");
    // The nodes store the keys that they know in a server without data: a new node gets the same ones.
    redis.start_again();
    for node in &nodes {
        wait_for("the keys in Valkey", || {
            status(node).contains(": connected")
                && redis.send(&["KEYS", "myriad:{shop}:ticket-key:*"]).matches("ticket-key:300:").count() == 2
        });
    }
    assert!(resumes(&nodes[0], "-tls1_3", &session) && resumes(&nodes[1], "-tls1_3", &session));
}

#[test]
fn altered_ticket_key_is_refused_and_the_node_uses_its_own() {
    let (redis, origin) = (Redis::start(), Origin::start(page));
    let now_s = SystemTime::now().duration_since(UNIX_EPOCH).expect("a time after 1970").as_secs();
    // The nodes refuse a value that was not encrypted with the secret.
    for period in now_s / 300..now_s / 300 + 4 {
        redis.send(&["SET", &format!("myriad:{{shop}}:ticket-key:300:{period}"), "not a key"]);
    }
    let nodes = start_tls_nodes(&redis, &origin, 2, "");
    for node in &nodes {
        node.log_has("in Valkey is refused (not authenticated by the cluster's secret)");
        assert!(counter(node, "ticket_keys_refused") >= 1);
        assert!(status(node).contains("keys of TLS session tickets: those of this node"), "{}", status(node));
    }
    let session = new_session(&nodes[0], "-tls1_3");
    assert!(resumes(&nodes[0], "-tls1_3", &session));
    assert!(!resumes(&nodes[1], "-tls1_3", &session), "each node has its own keys");
}

#[test]
fn keys_of_files_are_not_exchanged_and_servers_without_tickets_have_none() {
    let (redis, origin) = (Redis::start(), Origin::start(page));
    for (more, is_resumed) in [("ssl_session_ticket_key keys;", true), ("ssl_session_tickets off;", false)] {
        let nodes = start_tls_nodes(&redis, &origin, 2, more);
        for node in &nodes {
            wait_for("the connection", || status(node).contains(": connected"));
            assert!(!status(node).contains("keys of TLS session tickets"), "{}", status(node));
        }
        let session = new_session(&nodes[0], "-tls1_2");
        assert_eq!(
            std::path::Path::new(&session).exists() && resumes(&nodes[1], "-tls1_2", &session),
            is_resumed
        );
        assert!(!redis.send(&["KEYS", "*"]).contains("ticket-key"), "{more}");
    }
}
