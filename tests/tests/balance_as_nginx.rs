//! Keys and clients are mapped to the same servers as by the installed nginx: a migrated group of caches remains warm.
//!
//! covers: hash ip_hash

use std::path::{Path, PathBuf};
use std::process::Command;

use myriad_tests::{Client, Place, Request, Server};

/// Number of keys per method.
const KEYS: usize = 300;

/// Groups with a server of weight 2 that is `down`, and a server of weight 1 without a listener, so that the keys of
/// both are rehashed.
const GROUPS: &str = "
upstream ring { hash $arg_key consistent; @SERVERS@ }
upstream plain { hash $arg_key; @SERVERS@ }
upstream clients { ip_hash; @SERVERS@ }
set_real_ip_from 127.0.0.1;
real_ip_header X-Real-IP;
access_log off;
server {
    listen 127.0.0.1:@PORT@;
    location /ring { proxy_pass http://ring; }
    location /plain { proxy_pass http://plain; }
    location /clients { proxy_pass http://clients; }
}
";

fn nginx() -> PathBuf {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = std::env::split_paths(&path).chain(["/usr/sbin".into()]);
    let mut programs = folders.map(|folder| folder.join("nginx"));
    programs.find(|program| program.is_file()).expect("nginx: scripts/install-packages test")
}

/// Returns the servers of the group as nginx configuration; each responds with its port.
fn origins(ports: &[u16]) -> String {
    let server = |port: &u16| format!("server {{ listen 127.0.0.1:{port}; return 200 {port}; }}\n");
    ports.iter().map(server).collect()
}

fn start_nginx(place: Place, http: &str) -> Server {
    let text = "daemon off; master_process off; pid @DIR@/myriad.pid; error_log @DIR@/error.log; events {}\n";
    place.write("nginx.conf", place.fill(&format!("{text}http {{ {http} }}")));
    let mut command = Command::new(nginx());
    command.arg("-p").arg(place.folder()).arg("-c").arg(place.path("nginx.conf"));
    command.arg("-e").arg(place.path("error.log"));
    Server::run(place, command)
}

/// Returns the server of each request.
fn chosen(client: &mut Client, folder: &str) -> Vec<String> {
    let ask = |number: usize| {
        // Keys of different lengths and networks with different octets.
        let key = format!("{number}-{}", "x".repeat(number % 7));
        let client_address = format!("{}.{}.{}.9", number % 200 + 1, number * 7 % 256, number * 31 % 256);
        let request = Request::get(&format!("/{folder}?key={key}")).field("X-Real-IP", &client_address);
        client.fetch(&request).text()
    };
    (0..KEYS).map(ask).collect()
}

#[test]
fn keys_and_clients_come_to_the_servers_that_nginx_chooses() {
    let ports: Vec<u16> = (0..6).map(|_| Place::new().port).collect();
    let rules = ["weight=3", "", "weight=5", "weight=2 down", "max_fails=0", "weight=7"];
    let servers = ports.iter().zip(rules).map(|(port, rule)| format!("server 127.0.0.1:{port} {rule}; "));
    let groups = GROUPS.replace("@SERVERS@", &servers.collect::<String>());
    let listening = [ports[0], ports[1], ports[2], ports[5]];
    let nginx = start_nginx(Place::new(), &format!("{groups}{}", origins(&listening)));
    let myriad = Server::start(Place::new(), &groups);
    for folder in ["ring", "plain", "clients"] {
        let expected = chosen(&mut nginx.connect(), folder);
        for port in listening {
            assert!(expected.contains(&port.to_string()), "{folder}: nginx chose port {port} for no request");
        }
        assert_eq!(chosen(&mut myriad.connect(), folder), expected, "{folder}");
    }
}

#[test]
fn consistent_hashing_of_names_and_sockets_matches_nginx() {
    let port = Place::new().port;
    let place = Place::new();
    let socket = place.path("one.sock");
    let groups = GROUPS.replace("@SERVERS@", &names(port, &socket));
    let socket_server = format!("server {{ listen unix:{}; return 200 socket; }}", socket.display());
    let nginx = start_nginx(place, &format!("{groups}{}{socket_server}", origins(&[port])));
    let myriad = Server::start(Place::new(), &groups);
    let expected = chosen(&mut nginx.connect(), "ring");
    assert!(expected.contains(&"socket".to_owned()) && expected.contains(&port.to_string()));
    assert_eq!(chosen(&mut myriad.connect(), "ring"), expected);
}

/// Returns a host name, an address and a socket with different weights.
fn names(port: u16, socket: &Path) -> String {
    let socket = socket.display();
    format!("server localhost:{port} weight=2; server unix:{socket} weight=3; server 127.0.0.1:{port};")
}
