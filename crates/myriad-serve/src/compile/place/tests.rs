//! Tests that places share equal parts in memory.

use std::path::Path;
use std::sync::Arc;

use crate::testing::compiled;
use myriad_exchange::runtime::{Place, Runtime};

fn runtime(http: &str) -> Runtime {
    compiled(Path::new("/nowhere"), &format!("http {{ access_log off; {http} }}"))
}

fn place<'r>(runtime: &'r Runtime, server: usize, name: &str) -> &'r Place {
    let from = runtime.servers[server].place as usize;
    let labels = runtime.positions.places.iter().enumerate().skip(from);
    let (at, _) = labels.into_iter().find(|(_, label)| *label.name == *name).expect("a location");
    &runtime.places[at]
}

/// Returns the names of the parts that two places share in memory.
fn shared(one: &Place, other: &Place) -> Vec<&'static str> {
    let parts = [
        ("upload", Arc::ptr_eq(&one.upload, &other.upload)),
        ("connection", Arc::ptr_eq(&one.connection, &other.connection)),
        ("files", Arc::ptr_eq(&one.files, &other.files)),
        ("errors", Arc::ptr_eq(&one.errors, &other.errors)),
        ("headers", Arc::ptr_eq(&one.headers, &other.headers)),
        ("offer", Arc::ptr_eq(&one.offer, &other.offer)),
        ("logs", Arc::ptr_eq(&one.logs, &other.logs)),
    ];
    parts.into_iter().filter(|(_, is_shared)| *is_shared).map(|(name, _)| name).collect()
}

const ALL: [&str; 7] = ["upload", "connection", "files", "errors", "headers", "offer", "logs"];

#[test]
fn unconfigured_locations_share_all_with_server_and_servers_share_equal_parts() {
    let runtime = runtime(
        "server { listen 80; root /one; location /a { } location /b { } }
         server { listen 81; root /two; location /a { } }",
    );
    let [a, b, other] = [(0, "location /a"), (0, "location /b"), (1, "location /a")]
        .map(|(server, name)| place(&runtime, server, name));
    assert_eq!(shared(a, b), ALL);
    assert_eq!(shared(a, &runtime.places[runtime.servers[0].place as usize]), ALL);
    // The second server has a different root.
    assert_eq!(shared(a, other), ["upload", "connection", "errors", "headers", "offer", "logs"]);
}

#[test]
fn location_owns_only_parts_it_configures() {
    for (says, own) in [
        ("client_max_body_size 2m;", "upload"),
        ("send_timeout 1s;", "connection"),
        ("limit_rate $arg_rate;", "connection"),
        ("index other.html;", "files"),
        ("error_page 404 /missing;", "errors"),
        ("expires 1h;", "headers"),
        ("add_header X-Name $host;", "headers"),
        ("gzip on;", "offer"),
        ("log_not_found off;", "logs"),
        ("error_log /dev/null crit;", "logs"),
        ("access_log /dev/null;", "logs"),
        ("status_zone mine;", "logs"),
    ] {
        let runtime = runtime(&format!("server {{ listen 80; location /a {{ {says} }} location /b {{ }} }}"));
        let [a, b] = ["location /a", "location /b"].map(|name| place(&runtime, 0, name));
        let expected: Vec<_> = ALL.into_iter().filter(|name| *name != own).collect();
        assert_eq!(shared(a, b), expected, "{says}");
    }
}

#[test]
fn texts_that_differ_in_a_variable_alone_are_not_shared() {
    let lines = |value: &str| format!("add_header X-Name {value};");
    let runtime = runtime(&format!(
        "map $uri $one {{ default 1; }} map $uri $two {{ default 2; }}
         server {{ listen 80; location /a {{ {} }} location /b {{ {} }} location /c {{ {} }} }}",
        lines("$one"),
        lines("$two"),
        lines("$one")
    ));
    let [a, b, c] = ["location /a", "location /b", "location /c"].map(|name| place(&runtime, 0, name));
    assert!(!Arc::ptr_eq(&a.headers, &b.headers));
    assert!(Arc::ptr_eq(&a.headers, &c.headers));
}
