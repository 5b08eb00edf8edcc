//! Changes of the system clock while pages are stored (with libfaketime): ages and lifetimes do not change, dates do.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use myriad_tests::{Answer, Cached, Origin, Place, Server, Signal, wait_for};

use super::{SITE, numbered, wait_for_files};

const DAY_S: i64 = 86_400;

/// Environment of the workers. The file `clock` contains the difference between their system clock and that of this machine.
const MAIN: &str =
    "env LD_PRELOAD=@LIBRARY@; env FAKETIME_TIMESTAMP_FILE=@DIR@/clock; env FAKETIME_NO_CACHE=1;
                    env FAKETIME_DONT_FAKE_MONOTONIC=1;";

fn library() -> PathBuf {
    let folders = fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    let mut libraries = folders.map(|folder| folder.path().join("faketime/libfaketimeMT.so.1"));
    libraries.find(|path| path.is_file()).expect("libfaketime is missing: run scripts/install-packages test")
}

/// Sets the system clock of the workers.
fn set(place: &Place, days: i64) {
    place.write("clock.new", format!("{days:+}d\n"));
    fs::rename(place.path("clock.new"), place.path("clock")).expect("renamed");
}

/// Returns the days by which the date of a response differs from the date of this machine.
fn days_ahead(answer: &Answer) -> i64 {
    let date = answer.field("Date").expect("a date");
    let said = Command::new("date").args(["-u", "+%s", "-d", date]).output().expect("date");
    let date: i64 = String::from_utf8_lossy(&said.stdout).trim().parse().expect("seconds");
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("a clock").as_secs().cast_signed();
    (date - now + DAY_S / 2).div_euclid(DAY_S)
}

/// Sets the system clock and waits until the server uses it.
fn jump(server: &Server, days: i64) {
    set(server, days);
    wait_for("the new date", || days_ahead(&server.get("/date")) == days);
}

/// Asserts that pages come from the cache, younger than any jump of the clock.
fn are_fresh(server: &Server, targets: &[&str], when: &str) {
    for target in targets {
        let answer = server.get(target);
        let age_s: i64 = answer.field("Age").map_or(0, |age| age.parse().expect("seconds"));
        assert_eq!(answer.cache(), "HIT", "{target} {when}");
        assert!(age_s < 1800, "{target} {when}: Age: {age_s}");
    }
}

#[test]
fn pages_keep_their_age_and_lifetime_when_the_system_clock_is_set() {
    let origin = Origin::start(numbered);
    let mut place = Place::new();
    place.set("LIBRARY", &library().display().to_string());
    set(&place, 0);
    let site = Cached { main: MAIN, zone: "levels=1:2 inactive=2h", ..SITE };
    let mut server = site.start_before(place, &origin.address);
    assert_eq!(server.get("/a").cache(), "MISS");
    jump(&server, 2);
    are_fresh(&server, &["/a"], "two days later");
    assert_eq!(server.get("/b").cache(), "MISS");
    jump(&server, -1);
    are_fresh(&server, &["/a", "/b"], "a day before");
    assert_eq!(server.get("/c").cache(), "MISS");
    // `/date` is the fourth.
    wait_for_files(&server, 4);
    for days in [-1, 3, 0] {
        server.restart_after(Signal::TERM, || ());
        are_fresh(&server, &["/a", "/b", "/c"], "after a restart");
        jump(&server, days);
        are_fresh(&server, &["/a", "/b", "/c"], "after a restart and a jump");
    }
}
