//! Queue of a busy upstream group: admission, timeouts, and the responses in the meantime.
//!
//! covers: queue

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use myriad_tests::{Cached, Client, Gate, Request, wait_for};

use super::{UNCACHED, ask_all, before_one_child, hold, holding, one_child, said, statuses};

#[test]
fn a_queue_holds_what_the_peer_cannot_take_and_refuses_the_rest() {
    let (server, origin, gate) = before_one_child("queue 2;", "");
    let mut held = hold(&server, &origin, "/held");
    let answers = ask_all(&server, &["/u1", "/u2", "/u3"]);
    assert_eq!(answers.recv().expect("the first answer").status, 502, "only two requests may wait");
    assert_eq!(said(&server, "the queue of the upstream is full"), 1);
    assert_eq!(origin.count(), 1, "the peer takes one at a time");
    gate.open();
    assert_eq!(held.answer().status, 200);
    assert_eq!(statuses(&answers), [200, 200]);
    assert_eq!(origin.count(), 3);
}

#[test]
fn a_wait_in_the_queue_ends_with_its_time() {
    let (server, origin, gate) = before_one_child("queue 2 timeout=50ms;", "");
    let mut held = hold(&server, &origin, "/held");
    assert_eq!(server.get("/u").status, 502);
    server.log_has("no server of the upstream became free in time");
    gate.open();
    assert_eq!((held.answer().status, origin.count()), (200, 1));
}

#[test]
fn request_of_client_that_left_queue_is_not_sent_to_origin() {
    const IGNORED: &str = "fastcgi_ignore_client_abort on;";
    const SHARED: &str = "no client is waiting";
    const ALONE: &str = "the connection was closed while the request was waiting";
    for (rules, path, line) in [("", "/page", SHARED), (IGNORED, "/page", SHARED), (IGNORED, "/u", ALONE)] {
        let (server, origin, gate) = before_one_child("queue 300;", rules);
        let mut held = hold(&server, &origin, "/held");
        let mut gone: Vec<Client> = Vec::new();
        for number in 0..200 {
            let mut client = server.connect();
            client.send(Request::get(&format!("{path}/{number}")).bytes());
            gone.push(client);
        }
        drop(gone);
        wait_for("the fetches to end", || said(&server, line) == 200);
        gate.open();
        assert_eq!(held.answer().status, 200);
        assert_eq!(server.get("/page/next").text(), "/page/next");
        assert_eq!(origin.calls(), ["GET /held", "GET /page/next"], "{rules} {path}");
    }
}

#[test]
fn stale_page_stands_in_where_the_group_is_busy() {
    let gate = Arc::new(Gate::new());
    let rules = format!("fastcgi_cache_valid 1s; fastcgi_cache_use_stale error; {UNCACHED}");
    let site = Cached { http: &one_child(""), server: &rules, ..Cached::default() };
    let (server, origin) = site.start(holding(&gate));
    assert_eq!(server.get("/page").cache(), "MISS");
    thread::sleep(Duration::from_millis(2100)); // validity has a resolution of seconds
    let mut held = server.connect();
    held.send(Request::get("/held").bytes());
    origin.wait_for(2);
    let stale = server.get("/page");
    assert_eq!((stale.status, stale.cache(), stale.text().as_str()), (200, "STALE", "/page"));
    assert_eq!(server.get("/page/other").status, 502, "there is no stale page");
    gate.open();
    assert_eq!(held.answer().status, 200);
    assert_eq!(server.get("/page").cache(), "EXPIRED");
}
