//! What the worker process has given up before it meets a client.

use std::fs;

use myriad_tests::{Place, Server};

const SITE: &str = "server { listen 127.0.0.1:@PORT@; location / { return 200 up; } }";

/// A line of what the kernel knows of the worker process.
fn known(server: &Server, name: &str) -> String {
    let worker = server.workers()[0];
    let text = fs::read_to_string(format!("/proc/{worker}/status")).expect("the worker's status");
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("{name} in {text}")).trim().to_owned()
}

/// Capabilities over files, which root keeps: chown(0), dac_override(1), dac_read_search(2), fowner(3), fsetid(4).
const OVER_FILES: u64 = 0b1_1111;

#[test]
fn worker_has_given_up_what_it_has_no_use_for() {
    for main in ["", "user root;"] {
        let server = Server::start_with(Place::new(), main, SITE);
        assert_eq!(server.get("/").text(), "up");
        assert_eq!(
            (known(&server, "NoNewPrivs"), known(&server, "Seccomp")),
            ("1".into(), "2".into()),
            "{main}"
        );
        for set in ["CapEff", "CapPrm", "CapInh", "CapAmb"] {
            let held = u64::from_str_radix(&known(&server, set), 16).expect("a set");
            assert_eq!(held & !OVER_FILES, 0, "{main} {set}");
        }
        let limits = fs::read_to_string(format!("/proc/{}/limits", server.workers()[0])).expect("limits");
        let cores =
            limits.lines().find(|line| line.starts_with("Max core file size")).expect("a line of cores");
        assert_eq!(cores.split_whitespace().nth(4), Some("0"), "{cores}");
    }
}

#[test]
fn who_wants_to_keeps_it() {
    let server = Server::start_with(Place::new(), "sandbox off; worker_rlimit_core 1m;", SITE);
    assert_eq!(server.get("/").text(), "up");
    assert_eq!((known(&server, "NoNewPrivs"), known(&server, "Seccomp")), ("0".into(), "0".into()));
}
