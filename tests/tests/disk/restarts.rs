//! Persistence: restarts, crashes at any time, upgrades.

use std::fs;

use myriad_tests::{Cached, Client, Request, Server, Signal, kill_rounds, noise, wait_for};

use super::{SITE, file_of, files, numbered, wait_for_files};

#[test]
fn a_restart_serves_its_pages_with_the_origin_down() {
    for end in [Signal::QUIT, Signal::TERM, Signal::KILL] {
        let (mut server, origin) = SITE.start(numbered);
        assert_eq!(server.get("/a").text(), "page 1");
        assert_eq!(server.get("/b").text(), "page 2");
        wait_for_files(&server, 2);
        drop(origin);
        server.restart(end);
        for (target, text) in [("/a", "page 1"), ("/b", "page 2"), ("/a", "page 1")] {
            let answer = server.get(target);
            assert_eq!((answer.cache(), answer.text().as_str()), ("HIT", text), "after {end:?}");
        }
        assert_eq!(server.get("/c").status, 502);
    }
}

#[test]
fn a_stop_leaves_a_catalogue_so_that_the_next_start_need_not_open_every_file() {
    for end in [Signal::QUIT, Signal::TERM] {
        let (mut server, _origin) = SITE.start(numbered);
        server.get("/a");
        wait_for_files(&server, 1);
        let catalogue = server.path("cache/.catalogue");
        assert!(!catalogue.exists());
        server.restart_after(end, || assert!(catalogue.exists(), "after {end:?}"));
    }
}

#[test]
fn what_was_removed_while_the_server_was_stopped_is_gone() {
    let (mut server, _origin) = SITE.start(numbered);
    server.get("/a");
    server.get("/b");
    wait_for_files(&server, 2);
    fs::remove_file(file_of(&server, "/a")).expect("the file of /a");
    server.restart(Signal::KILL);
    assert_eq!((server.get("/b").cache(), server.get("/a").cache()), ("HIT", "MISS"));
}

#[test]
fn killed_at_any_moment_it_serves_no_corrupt_or_mixed_page() {
    let site = Cached { server: "fastcgi_cache_valid 200 1h; fastcgi_cache_bypass $arg_new;", ..SITE };
    let site = Cached { key: "$scheme$request_method$host$uri", ..site };
    let (mut server, _origin) = site.start(|call| {
        // Every byte of a page follows from its number, with which it begins.
        let length = 100 + call.number * 7919 % 200_000;
        let mut page = (call.number as u64).to_le_bytes().to_vec();
        page.extend(noise(call.number as u64, length));
        call.answer("Content-Type: application/octet-stream", page);
    });
    let is_whole = |page: &[u8]| {
        let Some((number, rest)) = page.split_first_chunk::<8>() else { return false };
        let number = u64::from_le_bytes(*number);
        rest == noise(number, 100 + number as usize * 7919 % 200_000)
    };
    let mut hits = 0;
    for round in 0..kill_rounds() {
        let port = server.port;
        // Four clients fill and refresh pages until the server is killed.
        let visitors: Vec<_> = (0..4_u64)
            .map(|visitor| {
                std::thread::spawn(move || {
                    let mut rng = fastrand::Rng::with_seed(round as u64 * 4 + visitor);
                    loop {
                        let target = format!("/{}?new={}", rng.u8(..30), u8::from(rng.bool()));
                        let asked = std::panic::catch_unwind(|| {
                            myriad_tests::Client::connect(port).fetch(&Request::get(&target)).status
                        });
                        if asked.is_err() {
                            return;
                        }
                    }
                })
            })
            .collect();
        let until = fastrand::Rng::with_seed(round as u64).usize(1..60);
        wait_for("pages to be written", || files(&server.path("cache")).len() >= until.min(25));
        server.restart_after(Signal::KILL, || {
            for visitor in visitors {
                visitor.join().expect("a visitor");
            }
        });
        for number in 0..30 {
            let answer = server.get(&format!("/{number}"));
            assert_eq!(answer.status, 200);
            hits += usize::from(answer.cache() == "HIT");
            assert!(is_whole(&answer.content()), "round {round}, page {number}: {}", answer.cache());
        }
    }
    assert!(hits > kill_rounds() * 5, "only {hits} pages were served after the kills");
}

/// Upgrades the binary of a server; returns a client of the old process, a client of the new process, and the pid of
/// the new supervisor.
fn upgrade(server: &Server) -> (Client, Client, u32) {
    let supervisor = |file: &str| server.read(file).trim().parse::<u32>().ok();
    let pid = |client: &mut Client| client.fetch(&Request::get("/")).field("X-Pid").map(str::to_owned);
    let before = supervisor("myriad.pid");
    let mut old = server.connect();
    let old_pid = pid(&mut old);
    server.signal(Signal::USR2);
    let mut after = None;
    wait_for("both pid files", || {
        after = supervisor("myriad.pid").filter(|pid| Some(*pid) != before);
        after.is_some() && supervisor("myriad.pid.oldbin").is_some()
    });
    let mut new = server.connect();
    wait_for("the new process", || {
        new = server.connect();
        pid(&mut new) != old_pid
    });
    (old, new, after.expect("waited for"))
}

#[test]
fn during_an_upgrade_the_new_process_writes_and_where_it_ends_first_the_old_one_again() {
    let rules = "fastcgi_cache_valid 1h; add_header X-Pid $pid always;";
    let (server, _origin) = Cached { server: rules, ..SITE }.start(numbered);
    server.get("/");
    wait_for_files(&server, 1);
    let (mut old, mut new, pid) = upgrade(&server);
    wait_for("the folder to be known to the new one", || {
        server.read("error.log").matches(" bytes found in ").count() == 2
    });
    old.fetch(&Request::get("/of-the-old"));
    new.fetch(&Request::get("/of-the-new"));
    wait_for_files(&server, 2);
    assert!(file_of(&server, "/of-the-new").exists() && !file_of(&server, "/of-the-old").exists());
    // Rollback of the upgrade.
    drop(new);
    myriad_tests::signal(pid, Signal::TERM);
    wait_for("the old process alone", || !server.path("myriad.pid.oldbin").exists());
    let mut number = 0;
    wait_for("the old one to write again", || {
        number += 1;
        old.fetch(&Request::get(&format!("/again{number}")));
        (1..=number).any(|number| file_of(&server, &format!("/again{number}")).exists())
    });
    assert!(!file_of(&server, "/of-the-new").exists(), "the old process does not have this page");
    let kept = old.fetch(&Request::get("/of-the-old"));
    assert_eq!(kept.cache(), "HIT");
}
