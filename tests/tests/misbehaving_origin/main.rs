//! Origins that break off, stall, flood, and say what nobody asked for: the visitor learns of it, nothing of it is kept, no connection that
//! it went over is used again, and another visitor is served meanwhile.
//!
//! covers: proxy_read_timeout

mod fastcgi;
mod http1;
mod http2;
mod posts;

use std::collections::HashSet;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use myriad_tests::{Answer, HttpOrigin, Place, Request, Server, wait_for};

/// What a visitor gets of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    /// An error page.
    Status(u16),
    /// An answer whose framing shows that its end is missing.
    Cut,
    /// One of these: which, is a matter of whether the answer had begun.
    Broken,
    /// An answer with this status and body, whatever came beside it.
    Whole(u16, &'static str),
}

/// A server whose addresses are those of one origin, which misbehaves; `/good` is another's.
struct Site {
    server: Server,
    good: HttpOrigin,
}

impl Site {
    /// All is cached that may be; the origin may be silent for a second.
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

    /// Visits a page that the origin spoils the first time it is asked for, while another visitor has a page of the other origin; then
    /// visits it again, when the origin behaves: what it said first is not kept.
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

/// What an origin has done, and what of it was not right of the server. Clones share it.
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

    /// A page is asked for; whether it is to be spoiled: the first time.
    fn spoils(&self, name: &str) -> bool {
        self.with(|known| {
            known.asked += 1;
            known.spoiled.insert(name.to_owned())
        })
    }

    /// A request came over a connection on which the origin had misbehaved.
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
