//! Page cache: stored responses, keys, lifetimes and their use.

mod adaptive;
mod encodings;
mod fatal_errors;
mod leak_guard;
mod leak_samples;
mod maintenance;
mod refresh_ahead;
mod storing;

use myriad_tests::{Answer, Cached, Call, Origin, Request, Server};

/// Sends a page with the number of the request.
fn numbered(call: &mut Call) {
    let text = format!("page {}", call.number);
    call.answer("Content-Type: text/plain", text);
}

fn with(server: &str) -> Cached<'_> {
    Cached { server, ..Cached::default() }
}

/// Returns the cache status and the page.
fn seen(answer: &Answer) -> (String, String) {
    (answer.cache().to_owned(), answer.text())
}

fn see(server: &Server, request: &Request) -> (String, String) {
    seen(&server.fetch(request))
}

/// Returns whether two consecutive requests cause one origin request.
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
