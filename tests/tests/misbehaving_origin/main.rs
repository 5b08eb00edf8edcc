//! Origins that abort, stall, flood, or send unsolicited data: the client receives an error, no such response is
//! stored, the connection is not reused, and other clients are served in the meantime.
//!
//! covers: proxy_read_timeout

mod early_responses;
mod fastcgi;
mod http1;
mod http2;

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use myriad_tests::{Answer, HttpOrigin, Place, Request, Server, wait_for};

/// Response as received by a client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    /// Error page.
    Status(u16),
    /// Response whose framing shows that it is incomplete.
    Cut,
    /// Either of these, depending on whether the response had begun.
    Broken,
    /// Response with this status and body, without the surplus data.
    Whole(u16, &'static str),
}

/// Server in front of a misbehaving origin; `/good` belongs to a second origin.
struct Site {
    server: Server,
    good: HttpOrigin,
}

impl Site {
    /// Starts the server. Every cacheable response is stored; the read timeout of the origin is one second.
    fn start(family: &str, pass: &str) -> Self {
        let good = HttpOrigin::start(|call| call.answer("HTTP/1.1 200 OK", "good"));
        let mut place = Place::new();
        place.set("GOOD", &good.address);
        let http = format!(
            "{family}_cache_path @DIR@/cache keys_zone=pages:1m;
             server {{ listen 127.0.0.1:@PORT@; @PARAMS@ add_header X-Cache $upstream_cache_status always;
                 {family}_cache_key $uri; {family}_cache_valid any 1m; {family}_read_timeout 1s; client_max_body_size 0;
                 location / {{ {family}_cache pages; {pass} }}
                 location /post {{ {family}_request_buffering off; {pass} }}
                 location /good {{ proxy_pass http://@GOOD@; }} }}"
        );
        Self { server: Server::start(place, &http), good }
    }

    /// Requests a page whose first response is faulty, while another client requests a page of the second origin. Then
    /// requests the page again, with a correct response: the faulty response must not have been stored.
    fn visit(&self, name: &str, expected: Seen, origin: &Behaviour) {
        let (before, path) = (origin.asked(), format!("/{name}"));
        let mut visitor = self.server.connect();
        visitor.send(Request::get(&path).bytes());
        wait_for(&format!("the request of {name}"), || origin.asked() > before);
        let others = self.good.count();
        assert_eq!(self.server.get("/good").text(), "good", "{name}");
        assert_eq!(self.good.count(), others + 1);
        expected.check(name, &visitor.try_answer("GET"));
        let again = self.server.get(&path);
        if !matches!(expected, Seen::Whole(..)) {
            assert_eq!((again.text().as_str(), again.cache()), ("well", "MISS"), "{name} is not kept");
            assert_eq!(self.server.get(&path).cache(), "HIT", "{name}: a page that is well is kept");
        }
        assert_eq!(origin.reused(), [""; 0], "{name}: connections that carried more");
    }
}

impl Seen {
    fn check(self, name: &str, answer: &io::Result<Answer>) {
        let is_cut = answer.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::UnexpectedEof);
        let is_as_expected = match (self, answer) {
            (Self::Status(status), Ok(answer)) => answer.status == status && !answer.text().contains("evil"),
            (Self::Broken, Ok(answer)) => answer.status == 502,
            (Self::Cut, _) | (Self::Broken, Err(_)) => is_cut,
            (Self::Whole(status, text), Ok(answer)) => answer.status == status && answer.text() == text,
            (_, Err(_)) => false,
        };
        assert!(is_as_expected, "{name}: {self:?} is expected: {answer:?}");
    }
}

/// Actions of an origin, and errors of the server that it observed. Clones share the state.
#[derive(Clone, Default)]
struct Behaviour(Arc<Mutex<Known>>);

#[derive(Default)]
struct Known {
    asked: usize,
    spoiled: HashSet<String>,
    reused: Vec<String>,
}

impl Behaviour {
    fn with<T>(&self, act: impl FnOnce(&mut Known) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Records a request; returns whether its response must be faulty, which is the case for the first request of a
    /// page.
    fn spoils(&self, name: &str) -> bool {
        self.with(|known| {
            known.asked += 1;
            known.spoiled.insert(name.to_owned())
        })
    }

    /// Records that a request used a connection on which the origin had misbehaved.
    fn carried_more(&self, what: String) {
        self.with(|known| known.reused.push(what));
    }

    fn asked(&self) -> usize {
        self.with(|known| known.asked)
    }

    fn reused(&self) -> Vec<String> {
        self.with(|known| known.reused.clone())
    }
}
