//! The page cache: what is stored, under which key, for how long, and how it is served.

mod encodings;
mod fatal_errors;
mod maintenance;
mod storing;

use myriad_tests::{Answer, Cached, Call, Origin, Request, Server};

/// A page that says how many there were before it.
fn numbered(call: &mut Call) {
    let text = format!("page {}", call.number);
    call.answer("Content-Type: text/plain", text);
}

fn with(server: &str) -> Cached<'_> {
    Cached { server, ..Cached::default() }
}

/// Status of the cache and the page.
fn seen(answer: &Answer) -> (String, String) {
    (answer.cache().to_owned(), answer.text())
}

fn see(server: &Server, request: &Request) -> (String, String) {
    seen(&server.fetch(request))
}

/// Whether two requests in a row cost the origin one.
fn is_stored(server: &Server, origin: &Origin, request: &Request) -> bool {
    let before = origin.count();
    let (first, second) = (server.fetch(request), server.fetch(request));
    let hit = second.cache() == "HIT";
    assert_eq!(
        origin.count() - before,
        if hit { 1 } else { 2 },
        "{request:?}: {} {}",
        first.cache(),
        second.cache()
    );
    if hit {
        assert!(first.content() == second.content() && first.status == second.status);
    }
    hit
}
