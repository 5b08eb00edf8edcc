//! Effect of a purge over time: on fetches in progress, after a crash, in both processes of an upgrade.

use std::sync::Arc;

use myriad_tests::{Cached, Client, Gate, Origin, Request, Server, Signal, wait_for};

use super::{cached, fill, purge, start, tagged};

/// Returns an origin whose responses wait while the gate is closed.
fn held() -> (Server, Origin, Arc<Gate>) {
    let gate = Arc::new(Gate::new());
    let held = Arc::clone(&gate);
    let server = "fastcgi_cache_valid 1h; fastcgi_cache_purge on;";
    let (server, origin) = Cached { server, ..Cached::default() }.start(move |call| {
        held.pass();
        call.answer("Content-Type: text/plain\nSurrogate-Key: one", format!("page {}", call.number));
    });
    (server, origin, gate)
}

#[test]
fn page_that_is_being_fetched_when_it_is_purged_is_not_stored() {
    let ways: [(&str, &[(&str, &str)]); 5] = [
        ("/a", &[]),
        ("/", &[("Surrogate-Key", "one")]),
        ("/a*", &[]),
        ("/.*", &[("X-Purge-Method", "regex")]),
        ("/purgeall", &[]),
    ];
    for (target, fields) in ways {
        let (server, origin, gate) = held();
        let mut visitor = server.connect();
        visitor.send(Request::get("/a").bytes());
        origin.wait_for(1);
        let status = purge(&server, target, fields).status;
        assert!(status == 200 || status == 412, "{target} {status}");
        gate.open();
        assert_eq!(visitor.answer().text(), "page 1");
        let next = server.get("/a");
        assert_eq!((next.cache(), next.text()), ("MISS", "page 2".to_owned()), "{target}");
    }
}

#[test]
fn purges_in_response_fields_take_effect_before_response_is_visible() {
    let server = "fastcgi_cache_valid 1h; fastcgi_cache_purge on;";
    let (server, _origin) =
        Cached { server, ..Cached::default() }.start(|call| match call.param("REQUEST_METHOD") {
            "POST" => call.answer("X-LiteSpeed-Purge: public, tag=a, /b; private, *", "saved"),
            _ => tagged(call),
        });
    fill(&server, &["/a", "/b", "/c"]);
    let answer = server.fetch(&Request::post("/wp-admin/post.php", "x=1"));
    assert_eq!((answer.text(), answer.field("X-LiteSpeed-Purge")), ("saved".to_owned(), None));
    assert!(cached(&server, "/c"));
    assert!(!cached(&server, "/a") && !cached(&server, "/b"));
}

#[test]
fn purge_that_was_answered_holds_after_a_crash() {
    for (target, fields) in
        [("/a", &[][..]), ("/", &[("Surrogate-Key", "a")]), ("/a*", &[]), ("/purgeall", &[])]
    {
        let (mut server, _origin) = start();
        fill(&server, &["/a"]);
        server.restart(Signal::QUIT);
        assert_eq!(purge(&server, target, fields).status, 200, "{target}");
        server.restart(Signal::KILL);
        assert!(!cached(&server, "/a"), "{target}");
        assert!(cached(&server, "/a"), "{target}");
    }
}

/// Both processes serve from one folder, with separate memory.
#[test]
fn purges_of_either_process_hold_in_both_during_an_upgrade() {
    let server = "fastcgi_cache_valid 1h; fastcgi_cache_purge on; add_header X-Pid $pid always;";
    let (mut server, _origin) = Cached { server, ..Cached::default() }.start(tagged);
    let targets = ["/a", "/b", "/c1", "/c2", "/d"];
    fill(&server, &targets);
    let supervisor = |file: &str| server.read(file).trim().parse::<u32>().ok();
    let before = supervisor("myriad.pid").expect("a pid");
    let mut old = server.connect();
    let pid = |client: &mut Client| client.fetch(&Request::get("/d")).field("X-Pid").map(str::to_owned);
    let old_pid = pid(&mut old);
    server.signal(Signal::USR2);
    let mut after = None;
    wait_for("both pid files", || {
        after = supervisor("myriad.pid").filter(|pid| *pid != before);
        after.is_some() && supervisor("myriad.pid.oldbin").is_some()
    });
    let mut new = server.connect();
    wait_for("the new process", || {
        new = server.connect();
        pid(&mut new) != old_pid
    });
    let first: Vec<String> = targets.iter().map(|target| new.fetch(&Request::get(target)).text()).collect();
    let purge = |client: &mut Client, target: &str| {
        assert_eq!(client.fetch(&Request::new("PURGE", target)).status, 200, "{target}");
    };
    purge(&mut old, "/a");
    purge(&mut new, "/b");
    purge(&mut old, "/c*");
    for (index, target) in targets[..4].iter().enumerate() {
        for client in [&mut old, &mut new] {
            wait_for(&format!("{target} to be gone"), || {
                client.fetch(&Request::get(target)).text() != first[index]
            });
        }
    }
    drop(old);
    server.signal(Signal::QUIT);
    assert!(server.ended(), "the old process exits successfully");
    for (target, first) in targets.iter().zip(&first) {
        let text = server.get(target).text();
        assert_eq!(text == *first, *target == "/d", "{target}: {text}");
    }
    myriad_tests::signal(after.expect("waited for"), Signal::TERM);
}
