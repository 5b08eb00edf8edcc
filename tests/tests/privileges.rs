//! Privileges that the worker process drops before it accepts a client.

use std::fs;
use std::net::TcpStream;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::process::Command;

use myriad_tests::{Client, Place, Request, Server, Signal, binary, children_of, signal, wait_for};

const SITE: &str = "server { listen 127.0.0.1:@PORT@; location / { return 200 up; } }";

/// Returns a line of the kernel's status of the worker process.
fn known(server: &Server, name: &str) -> String {
    let worker = server.workers()[0];
    let text = fs::read_to_string(format!("/proc/{worker}/status")).expect("the worker's status");
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("{name} in {text}")).trim().to_owned()
}

/// Capabilities over files that root retains: chown(0), dac_override(1), dac_read_search(2), fowner(3), fsetid(4).
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
fn core_dump_is_written_where_worker_rlimit_core_is_set() {
    for user in ["root", "nobody"] {
        let place = Place::new();
        fs::set_permissions(place.path("html"), fs::Permissions::from_mode(0o777)).expect("permissions");
        let main = format!("user {user}; working_directory @DIR@/html; worker_rlimit_core 1m;");
        let server = Server::start_with(place, &main, SITE);
        let worker = server.workers()[0];
        // The owner of its memory does not depend on the location of core dumps.
        let owner = fs::metadata(format!("/proc/{worker}/mem")).expect("the worker process").uid();
        assert_eq!(owner, if user == "root" { 0 } else { 65_534 }, "{user}");
        signal(worker, Signal::ABORT);
        let ended = format!("{worker} exited on signal 6");
        server.log_has(&ended);
        let log = fs::read_to_string(server.folder().join("error.log")).expect("the error log");
        let line = log.lines().find(|line| line.contains(&ended)).unwrap_or_default();
        // If a program processes core dumps, or their location is configured, it depends on that program or location.
        let pattern = fs::read_to_string("/proc/sys/kernel/core_pattern").expect("the pattern");
        assert!(line.contains("core dumped") || pattern.starts_with(['|', '/', '@']), "{line}");
    }
}

/// Returns the owner of a worker process's memory according to the kernel: root if no other process may read the
/// memory, and it is not dumped.
fn owner_of_worker(main: &str) -> u32 {
    const NOBODY: u32 = 65_534;
    let place = Place::new();
    // A copy that every user may execute.
    let own = place.install(binary(), "myriad");
    place.write(
        "own.conf",
        place.fill(&format!("{main} daemon off; events {{}} http {{ access_log off; {SITE} }}")),
    );
    for path in [place.folder(), &place.path("logs")] {
        chown(path, Some(NOBODY), Some(NOBODY)).expect("run as root, as make test is");
    }
    let mut command = Command::new(own);
    command.args(["-e", "stderr", "-c", "own.conf", "-p"]).arg(place.folder());
    let mut server = command.uid(NOBODY).gid(NOBODY).spawn().expect("the server");
    wait_for("the server", || TcpStream::connect(("127.0.0.1", place.port)).is_ok());
    assert_eq!(Client::connect(place.port).fetch(&Request::get("/")).text(), "up");
    let workers = children_of(server.id());
    let owner = fs::metadata(format!("/proc/{}/mem", workers[0])).expect("the worker process").uid();
    signal(server.id(), Signal::TERM);
    server.wait().expect("the server exits");
    owner
}

#[test]
fn memory_of_worker_started_as_its_user_is_inaccessible_unless_cores_are_enabled() {
    assert_eq!(owner_of_worker(""), 0);
    assert_ne!(owner_of_worker("worker_rlimit_core 1m;"), 0, "core dumps are enabled");
}

#[test]
fn supervisor_leaves_no_core_either() {
    let server = Server::start_with(Place::new(), "worker_rlimit_core 1m;", SITE);
    let limits = fs::read_to_string(format!("/proc/{}/limits", server.pid())).expect("limits");
    let cores = limits.lines().find(|line| line.starts_with("Max core file size")).expect("a line of cores");
    assert_eq!(cores.split_whitespace().nth(4), Some("1"), "{cores}");
}

#[test]
fn sandbox_can_be_switched_off() {
    let server = Server::start_with(Place::new(), "sandbox off; worker_rlimit_core 1m;", SITE);
    assert_eq!(server.get("/").text(), "up");
    assert_eq!((known(&server, "NoNewPrivs"), known(&server, "Seccomp")), ("0".into(), "0".into()));
}
