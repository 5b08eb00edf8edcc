//! Purges over HTTP: requests of plugins, permissions, and the invalidated pages.

mod permissions;
mod rules;
mod scope;
mod timing;

use myriad_tests::{Answer, Cached, Call, Origin, Request, Server};

/// Sends a page with the number of the request, with tags by its path.
fn tagged(call: &mut Call) {
    let text = format!("page {}", call.number);
    let tags = match call.uri() {
        "/a" => "Surrogate-Key: site a\nCache-Tag: both",
        "/b" => "xkey: site,b\nX-Cache-Tags: both",
        _ => "X-LiteSpeed-Tag: site",
    };
    call.answer(&format!("Content-Type: text/plain\n{tags}"), text);
}

fn start() -> (Server, Origin) {
    let server = "fastcgi_cache_valid 1h; fastcgi_cache_purge on;";
    let (server, origin) = Cached { server, ..Cached::default() }.start(tagged);
    server.wait_for_recoveries(1);
    (server, origin)
}

fn purge(server: &Server, target: &str, fields: &[(&str, &str)]) -> Answer {
    let request = fields
        .iter()
        .fold(Request::new("PURGE", target), |request, (name, value)| request.field(name, value));
    server.fetch(&request)
}

fn cached(server: &Server, target: &str) -> bool {
    server.get(target).cache() == "HIT"
}

fn fill(server: &Server, targets: &[&str]) {
    for target in targets {
        server.get(target);
        assert!(cached(server, target), "{target}");
    }
}
