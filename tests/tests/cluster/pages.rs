//! Pages that the nodes fetch for each other.

use super::*;
use myriad_tests::{Answer, Gate};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;

/// Lines of the block for nodes that fetch pages for each other.
pub(super) const PAGES: &str = "pages on; receipt_timeout 30s;";

/// Returns the names of the keys that match a pattern.
pub(super) fn keys(redis: &Redis, pattern: &str) -> Vec<String> {
    let reply = redis.send(&["KEYS", pattern]);
    reply.split("\r\n").filter(|line| line.starts_with("myriad:")).map(str::to_owned).collect()
}

/// Returns the keys of the pages in Redis.
fn pages(redis: &Redis) -> Vec<String> {
    keys(redis, "myriad:{shop}:page:*")
}

fn wait_for_stored(redis: &Redis, count: usize) {
    wait_for("pages in Redis", || pages(redis).len() == count);
}

/// Starts nodes that fetch pages for each other, and waits until each has used a page of the others.
fn start_sharing(redis: &Redis, origin: &Origin, count: usize) -> Vec<Server> {
    let nodes = start_nodes(redis, origin, count, PAGES);
    for reader in &nodes {
        let mut number = 0;
        wait_for("a page of another node", || {
            number += 1;
            let target = format!("/ready/{}/{number}", reader.pid());
            nodes.iter().filter(|node| node.pid() != reader.pid()).for_each(|node| drop(node.get(&target)));
            reader.get(&target);
            count_of(reader, "pages_used") > 0
        });
    }
    nodes
}

/// Sends a request for the page from each node, one after the other.
fn get_from_all(nodes: &[Server], target: &str) -> Vec<Answer> {
    nodes.iter().map(|node| node.get(target)).collect()
}

#[test]
fn page_that_all_nodes_need_at_once_is_fetched_once() {
    const COUNT: usize = 40;
    let (redis, origin) = (Redis::start(), Origin::start(page));
    let nodes = start_sharing(&redis, &origin, 3);
    let before = origin.count();
    let texts: Vec<Vec<String>> = thread::scope(|scope| {
        let node_texts = |node: &Server| {
            (0..COUNT).map(|number| node.get(&format!("/cold/{number}")).text()).collect::<Vec<_>>()
        };
        let threads: Vec<_> = nodes.iter().map(|node| scope.spawn(move || node_texts(node))).collect();
        threads.into_iter().map(|thread| thread.join().expect("answers")).collect()
    });
    assert_eq!(origin.count() - before, COUNT, "{:?}", origin.calls());
    assert!(texts.iter().all(|other| *other == texts[0]), "{texts:?}");
    assert!(texts[0].iter().all(|text| text.starts_with("page ")), "{texts:?}");
}

#[test]
fn page_of_another_node_is_a_hit_with_its_fields_and_age() {
    let redis = Redis::start();
    let origin = Origin::start(|call| {
        call.answer(
            "Content-Type: text/html\nCache-Control: max-age=600\nX-Shop: 7\nAge: 30",
            "<p>text</p>".repeat(300),
        );
    });
    let nodes = start_sharing(&redis, &origin, 2);
    let (before, stored) = (origin.count(), pages(&redis).len());
    let first = nodes[0].get("/a");
    wait_for_stored(&redis, stored + 1);
    let second = nodes[1].get("/a");
    assert_eq!((first.cache(), second.cache()), ("MISS", "HIT"));
    assert_eq!((second.text(), second.field("x-shop")), (first.text(), Some("7")));
    assert_eq!(second.field("etag"), first.field("etag"));
    let age: u64 = second.field("age").and_then(|age| age.parse().ok()).expect("Age");
    assert!((30..90).contains(&age), "{age}");
    assert_eq!(origin.count() - before, 1);
    // A local hit needs no connection.
    drop(redis);
    assert!(is_cached(&nodes[1], "/a"));
}

#[test]
fn purged_page_is_never_taken_from_another_node() {
    let (redis, origin) = (Redis::start(), Origin::start(page));
    let nodes = start_sharing(&redis, &origin, 3);
    let forms: [(&str, &[(&str, &str)]); 3] =
        [("/a", &[]), ("/*", &[]), ("/", &[("X-Purge-Method", "tags"), ("X-Cache-Tags-Pattern", "every")])];
    for (target, fields) in forms {
        for purging in 0..nodes.len() {
            let before = get_from_all(&nodes, "/a")[0].text();
            let request = Request::new("PURGE", target);
            let request = fields.iter().fold(request, |request, (name, value)| request.field(name, value));
            assert_eq!(nodes[purging].fetch(&request).status, 200);
            let after: Vec<String> = get_from_all(&nodes, "/a").iter().map(Answer::text).collect();
            assert!(after.iter().all(|text| *text != before), "{target} on {purging}: {before}, {after:?}");
        }
    }
}

#[test]
fn page_from_before_a_purge_is_not_used_although_it_is_in_redis_again() {
    let (redis, origin) = (Redis::start(), Origin::start(page));
    let nodes = start_sharing(&redis, &origin, 2);
    let before = pages(&redis);
    let old = nodes[0].get("/a").text();
    wait_for_stored(&redis, before.len() + 1);
    let key = pages(&redis).into_iter().find(|key| !before.contains(key)).expect("a new key");
    let put = |from: &str, to: &str| assert!(redis.send(&["COPY", from, to, "REPLACE"]).starts_with(":1"));
    put(&key, "copy");
    let answer = nodes[0].fetch(&Request::new("PURGE", "/a"));
    assert!(answer.field("cache-purge-cluster").is_some_and(|text| text.contains("2 of 2")));
    for node in &nodes {
        put("copy", &key);
        let outdated = count_of(node, "pages_outdated");
        assert_ne!(node.get("/a").text(), old);
        assert_eq!(count_of(node, "pages_outdated"), outdated + 1);
    }
}

#[test]
fn node_that_is_killed_during_its_fetch_delays_others_no_longer_than_its_lease() {
    let redis = Redis::start();
    let (gate, opened) = (Arc::new(Gate::new()), Arc::new(Gate::new()));
    let (held, first) = (Arc::clone(&gate), Arc::clone(&opened));
    let is_first = AtomicBool::new(true);
    let origin = Origin::start(move |call| {
        if call.uri() == "/a" && is_first.swap(false, Ordering::SeqCst) {
            first.open();
            held.pass();
        }
        call.answer("Content-Type: text/plain", "page");
    });
    let mut nodes = start_sharing(&redis, &origin, 2);
    let before = origin.count();
    let second = nodes.pop().expect("two nodes");
    let waits = || count_of(&second, "page_waits");
    let earlier = waits();
    let killed = nodes.pop().expect("two nodes");
    thread::scope(|scope| {
        let mut client = killed.connect();
        client.send("GET /a HTTP/1.1\r\nHost: localhost\r\n\r\n");
        opened.pass();
        let waiting = scope.spawn(|| second.get("/a"));
        wait_for("the wait for the lease", || waits() > earlier);
        assert_eq!(origin.count() - before, 1);
        drop(killed);
        assert_eq!(waiting.join().expect("an answer").text(), "page");
    });
    assert_eq!(origin.count() - before, 2);
    gate.open();
}

#[test]
fn suspended_server_delays_no_request() {
    let (redis, origin) = (Redis::start(), Origin::start(page));
    let nodes = start_sharing(&redis, &origin, 2);
    signal(redis.child.id(), Signal::STOP);
    for (number, node) in nodes.iter().enumerate() {
        assert_eq!(node.get(&format!("/{number}")).cache(), "MISS");
        assert!(is_cached(node, &format!("/{number}")));
    }
    nodes[0].log_has("pages cannot be exchanged");
    signal(redis.child.id(), Signal::CONT);
    let used = count_of(&nodes[1], "pages_used");
    let mut number = 0;
    wait_for("a page of the other node", || {
        number += 1;
        get_from_all(&nodes, &format!("/after/{number}"));
        count_of(&nodes[1], "pages_used") > used
    });
}

#[test]
fn value_that_was_changed_or_moved_is_refused() {
    let (redis, origin) = (Redis::start(), Origin::start(page));
    let nodes = start_sharing(&redis, &origin, 2);
    let key_of = |target: &str| {
        let before = pages(&redis);
        nodes[0].get(target);
        wait_for_stored(&redis, before.len() + 1);
        pages(&redis).into_iter().find(|key| !before.contains(key)).expect("a new key")
    };
    let (of_a, of_b, fetched) = (key_of("/a"), key_of("/b"), origin.count());
    assert!(redis.send(&["COPY", &of_a, &of_b, "REPLACE"]).starts_with(":1"));
    assert_eq!(nodes[1].get("/b").text(), format!("page {}", fetched + 1));
    nodes[1]
        .log_has("a page of zone \"pages\" in Valkey is refused (not authenticated by the cluster's secret)");
    assert!(redis.send(&["SETRANGE", &of_a, "100", "x"]).starts_with(':'));
    assert_eq!(nodes[1].get("/a").text(), format!("page {}", fetched + 2));
    assert_eq!(count_of(&nodes[1], "pages_refused"), 2);
}

#[test]
fn response_for_one_client_is_not_stored_and_releases_the_lease() {
    let redis = Redis::start();
    let origin = Origin::start(|call| match call.uri() {
        "/a" => call.answer("Content-Type: text/plain\nSet-Cookie: session=1", "for one client"),
        _ => call.answer("Content-Type: text/plain", "page"),
    });
    let nodes = start_sharing(&redis, &origin, 2);
    let (before, stored) = (origin.count(), pages(&redis));
    for node in &nodes {
        assert_eq!(node.get("/a").text(), "for one client");
    }
    assert_eq!(origin.count() - before, 2);
    wait_for("the end of the lease", || keys(&redis, "myriad:{shop}:lease:*").is_empty());
    assert_eq!(pages(&redis).len(), stored.len());
}

#[test]
fn server_that_forbids_the_commands_is_reported_and_each_node_fetches_its_pages() {
    for (forbidden, state) in [("+get ", "pages: "), ("&myriad:* ", "pages: not exchanged, because Valkey")] {
        let user = documented_user().replace(forbidden, "");
        let (redis, origin) = (Redis::start_with(&user), Origin::start(page));
        let nodes = start_nodes(&redis, &origin, 2, PAGES);
        wait_for("a message", || {
            let statuses: Vec<_> =
                get_from_all(&nodes, "/a").iter().map(|answer| answer.cache().to_owned()).collect();
            assert_eq!(statuses, ["MISS", "MISS"], "{forbidden}");
            let text = cluster_command(&nodes[0], &["purge", "--all"]);
            assert!(text.contains("applied on 2 of 2 nodes"), "{text}");
            fs::read_to_string(nodes[0].path("error.log"))
                .is_ok_and(|log| log.contains("pages cannot be exchanged"))
        });
        assert!(status(&nodes[0]).contains(state), "{}", status(&nodes[0]));
    }
}

#[test]
fn nodes_that_wait_for_a_response_that_is_not_stored_fetch_their_own_at_once() {
    const NODES: usize = 3;
    let redis = Redis::start();
    let (gate, arrived) = (Arc::new(Gate::new()), Arc::new(AtomicUsize::new(0)));
    let (held, count) = (Arc::clone(&gate), Arc::clone(&arrived));
    let origin = Origin::start(move |call| {
        if call.uri() != "/a" {
            return call.answer("Content-Type: text/plain", "page");
        }
        if count.fetch_add(1, Ordering::SeqCst) == 0 {
            held.pass();
        } else {
            // Each further request is answered once all of them have arrived.
            wait_for("the requests of the other nodes", || count.load(Ordering::SeqCst) == NODES);
        }
        call.answer("Content-Type: text/plain\nSet-Cookie: session=1", "for one client");
    });
    let nodes = start_sharing(&redis, &origin, NODES);
    let waits = || nodes.iter().map(|node| count_of(node, "page_waits")).sum::<u64>();
    let before = waits();
    thread::scope(|scope| {
        let clients: Vec<_> = nodes.iter().map(|node| scope.spawn(|| node.get("/a"))).collect();
        wait_for("the waits of the other nodes", || waits() - before >= NODES as u64 - 1);
        gate.open();
        for client in clients {
            assert_eq!(client.join().expect("an answer").text(), "for one client");
        }
    });
    assert_eq!(arrived.load(Ordering::SeqCst), NODES);
}

#[test]
fn page_of_a_request_with_credentials_is_not_exchanged() {
    let (redis, origin) = (Redis::start(), Origin::start(page));
    let nodes = start_sharing(&redis, &origin, 2);
    let (before, stored) = (origin.count(), pages(&redis).len());
    let texts: Vec<String> = nodes
        .iter()
        .map(|node| node.fetch(&Request::new("GET", "/a").field("Authorization", "Basic eDp5")).text())
        .collect();
    assert_ne!(texts[0], texts[1]);
    assert_eq!((origin.count() - before, pages(&redis).len()), (2, stored));
}

#[test]
fn page_that_the_leak_guard_removes_does_not_come_back_from_another_node() {
    const TEXT: &str = "This shop sells tea and coffee from all over the world.";
    let redis = Redis::start();
    let origin = Origin::start(|call| {
        let name = if call.param("HTTP_COOKIE").contains("who=1") { "Margarete" } else { "guest" };
        call.answer("Content-Type: text/html", format!("<body>{TEXT} Hello, {name}! {TEXT}"));
    });
    let nodes = start_sharing(&redis, &origin, 2);
    let stored = pages(&redis).len();
    let visitor = Request::new("GET", "/guarded/a").field("Cookie", "who=1");
    assert!(nodes[0].fetch(&visitor).text().contains("Margarete"));
    wait_for_stored(&redis, stored + 1);
    // The verification compares the page after its second hit.
    nodes[0].get("/guarded/a");
    nodes[0].get("/guarded/a");
    nodes[0].log_has("leak guard");
    wait_for("the page without the name", || !nodes[0].get("/guarded/a").text().contains("Margarete"));
    assert!(!nodes[1].get("/guarded/a").text().contains("Margarete"));
}

#[test]
fn page_that_the_origin_no_longer_has_does_not_come_back_from_another_node() {
    let redis = Redis::start();
    let count = AtomicUsize::new(0);
    let origin = Origin::start(move |call| {
        if call.param("HTTP_X_GONE").is_empty() {
            let number = count.fetch_add(1, Ordering::SeqCst);
            call.answer("Content-Type: text/plain", format!("page {number}"));
        } else {
            call.answer("Status: 404 Not Found\nContent-Type: text/plain\nCache-Control: no-store", "gone");
        }
    });
    let nodes = start_sharing(&redis, &origin, 2);
    let first = nodes[0].get("/bypassed/a").text();
    assert_eq!(nodes[1].get("/bypassed/a").text(), first);
    let gone = Request::new("GET", "/bypassed/a").field("X-Gone", "1");
    assert_eq!(nodes[0].fetch(&gone).status, 404);
    assert_eq!(nodes[0].get("/bypassed/a").cache(), "MISS");
    wait_for("the removal on the other node", || nodes[1].get("/bypassed/a").text() != first);
}
