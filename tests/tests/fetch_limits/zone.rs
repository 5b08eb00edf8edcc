//! Fetches that fill a zone: their limit, and stale pages beyond it.

use std::sync::Arc;
use std::thread;
use std::time::Duration;

use myriad_tests::{Cached, Gate, Origin, Request, Server, wait_for};

use super::{UNCACHED, ask_all, hold, holding, statuses};

fn bounded(zone: &str, rules: &str) -> (Server, Origin, Arc<Gate>) {
    let gate = Arc::new(Gate::new());
    let (server, origin) = Cached { zone, server: rules, ..Cached::default() }.start(holding(&gate));
    (server, origin, gate)
}

#[test]
fn fetches_that_fill_a_zone_are_bounded_and_queue() {
    let (server, origin, gate) = bounded("max_fetches=1 fetch_queue=1", "fastcgi_cache_valid 1h;");
    let mut held = hold(&server, &origin, "/held");
    let answers = ask_all(&server, &["/a", "/b"]);
    assert_eq!(answers.recv().expect("the first answer").status, 503, "only one request may wait");
    server.log_has("too many fetches in flight for zone \"pages\": waiting requests get a stale page or 503; raise max_fetches");
    assert_eq!(origin.count(), 1);
    gate.open();
    assert_eq!(held.answer().status, 200);
    assert_eq!(statuses(&answers), [200]);
    assert_eq!(origin.count(), 2);
}

#[test]
fn stale_page_stands_in_where_too_many_fetches_fill_the_zone() {
    let rules = "fastcgi_cache_valid 1s; fastcgi_cache_use_stale error;";
    let (server, origin, gate) = bounded("max_fetches=1 fetch_queue=0", rules);
    assert_eq!(server.get("/page").cache(), "MISS");
    thread::sleep(Duration::from_millis(2100)); // validity has a resolution of seconds
    let mut held = server.connect();
    held.send(Request::get("/held").bytes());
    origin.wait_for(2);
    let stale = server.get("/page");
    assert_eq!((stale.status, stale.cache(), stale.text().as_str()), (200, "STALE", "/page"));
    assert_eq!(server.get("/other").status, 503, "there is no stale page");
    gate.open();
    assert_eq!(held.answer().status, 200);
    wait_for("room for the next fetch", || server.get("/page").cache() == "EXPIRED");
}

#[test]
fn background_refresh_of_stale_page_does_not_start_at_fetch_bound() {
    let rules = "fastcgi_cache_use_stale updating; fastcgi_cache_background_update on;
                 fastcgi_cache_valid 1s;";
    let one_fetch = ("max_fetches=1", "", "");
    let one_peer = ("", "upstream php { server @ORIGIN@ max_conns=1; queue 9; }", UNCACHED);
    for (zone, http, locations) in [one_fetch, one_peer] {
        let gate = Arc::new(Gate::new());
        let server = format!("{rules} {locations}");
        let site = Cached { zone, http, server: &server, ..Cached::default() };
        let (server, origin) = site.start(holding(&gate));
        assert_eq!(server.get("/page").cache(), "MISS");
        thread::sleep(Duration::from_millis(2100)); // validity has a resolution of seconds
        let mut held = server.connect();
        held.send(Request::get("/held").bytes());
        origin.wait_for(2);
        for _ in 0..3 {
            let stale = server.get("/page");
            assert_eq!((stale.status, stale.text().as_str()), (200, "/page"));
            // With a busy peer, a refresh began and failed immediately.
            assert!(
                zone.is_empty() || stale.cache() == "STALE",
                "the page is being updated: {}",
                stale.cache()
            );
        }
        gate.open();
        assert_eq!(held.answer().status, 200);
        assert_eq!(origin.calls(), ["GET /page", "GET /held"]);
        wait_for("the refresh that a later visitor begins", || {
            server.get("/page");
            origin.count() > 2
        });
    }
}
