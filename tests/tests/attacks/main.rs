//! Published attacks, executed with raw bytes on a socket, in front of an origin that reports how it parsed its input.
//!
//! docs/security.md documents the source of each attack. Each test fails if its defence is removed.

mod bombs;
mod chunks;
mod deception;
mod framing;
mod http2;
mod splitting;

use myriad_tests::{Answer, Client, HttpOrigin, Place, Request, Server};

/// HTTP/1 origin that reports how it parsed a request, and a server with persistent connections to it.
pub(crate) struct Site {
    pub(crate) server: Server,
    pub(crate) origin: HttpOrigin,
}

impl Site {
    /// Starts the site. `rules` are placed in the `server` block; all other requests are sent to the origin.
    pub(crate) fn start(rules: &str) -> Self {
        let origin = HttpOrigin::start(|call| {
            let text = format!("{} {} [{}]", call.method, call.target, call.body.len());
            call.answer("HTTP/1.1 200 OK\nContent-Type: text/plain", text);
        });
        let mut place = Place::new();
        place.set("ORIGIN", &origin.address);
        place.write("html/files/page.txt", "a file\n");
        let http = format!(
            "proxy_cache_path @DIR@/cache keys_zone=pages:1m;
             upstream origin {{ server @ORIGIN@; keepalive 8; }}
             log_format asked '$request_uri $request_method $status'; access_log @DIR@/asked.log asked;
             server {{ listen 127.0.0.1:@PORT@; root @DIR@/html; proxy_http_version 1.1; proxy_set_header Connection '';
                 {rules}
                 location / {{ proxy_pass http://origin; }} }}"
        );
        Self { server: Server::start(place, &http), origin }
    }

    /// Asserts that another client receives the correct response, and that no request hidden in a body was executed.
    pub(crate) fn is_unharmed(&self, attack: &str) {
        for number in 0..2 {
            let target = format!("/visitor/{number}");
            let answer = self.server.get(&target);
            assert_eq!(
                (answer.status, answer.text()),
                (200, format!("GET {target} [0]")),
                "after {attack:?}"
            );
        }
        let heads = self.origin.heads();
        let line = |head: &String| head.lines().next().is_some_and(|line| line.contains(" /hidden"));
        assert!(!heads.iter().any(line), "{attack:?}: {heads:?}");
        let log = self.server.read("asked.log");
        assert!(!log.lines().any(|line| line.starts_with("/hidden")), "{attack:?}: {log}");
    }
}

/// Sends bytes on a new connection; returns the first response, and whether the server then closed the connection.
pub(crate) fn exchange(server: &Server, bytes: &[u8]) -> (Option<Answer>, bool) {
    let mut client = server.connect();
    client.send(bytes);
    let answer = client.try_answer("GET").ok();
    (answer, is_over(&mut client))
}

/// Returns whether the server no longer answers requests on a connection.
fn is_over(client: &mut Client) -> bool {
    client.try_send(Request::get("/alive").bytes()).is_err() || client.try_answer("GET").is_err()
}

/// Request inside the body of another request.
pub(crate) const HIDDEN: &str = "GET /hidden HTTP/1.1\r\nHost: localhost\r\nX-Hidden: ";
