//! Published attacks, tried as an attacker tries them: bytes on a socket, before an origin that tells how it read what came.
//!
//! docs/security.md says of each from where it is known. A test here fails where its defence is taken away.

mod bombs;
mod chunks;
mod deception;
mod framing;
mod http2;
mod splitting;

use myriad_tests::{Answer, Client, HttpOrigin, Place, Request, Server};

/// An origin of HTTP/1 that says how it read a request, and a server that keeps connections to it.
pub(crate) struct Site {
    pub(crate) server: Server,
    pub(crate) origin: HttpOrigin,
}

impl Site {
    /// `rules` stand in the `server` block; what they do not place goes to the origin.
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

    /// Another visitor is answered what they asked, and nothing that was hidden in a body has been taken for a request.
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

/// Sends bytes on a connection of their own; the first answer, and whether the server closed behind it.
pub(crate) fn exchange(server: &Server, bytes: &[u8]) -> (Option<Answer>, bool) {
    let mut client = server.connect();
    client.send(bytes);
    let answer = client.try_answer("GET").ok();
    (answer, is_over(&mut client))
}

/// Whether nothing that is asked on a connection now is answered.
fn is_over(client: &mut Client) -> bool {
    client.try_send(Request::get("/alive").bytes()).is_err() || client.try_answer("GET").is_err()
}

/// A request that stands in the body of another.
pub(crate) const HIDDEN: &str = "GET /hidden HTTP/1.1\r\nHost: localhost\r\nX-Hidden: ";
