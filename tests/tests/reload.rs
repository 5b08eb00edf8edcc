//! Reload and quit: no request is lost, and a broken configuration changes nothing.

use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::Arc;

use myriad_tests::{Cached, Client, Gate, Load, Origin, Place, Request, Server, Signal, wait_for};

fn version(text: &str) -> String {
    format!("server {{ listen 127.0.0.1:@PORT@; location / {{ return 200 'version {text}'; }} }}")
}

#[test]
fn a_reload_under_load_drops_no_request() {
    let server = Server::start(Place::new(), &version("0"));
    let load = Load::start(server.port, 6, vec![Request::get("/")], |_, answer| {
        let right = answer.status == 200 && answer.text().starts_with("version ");
        if right { Ok(()) } else { Err(format!("{answer:?}")) }
    });
    for number in 1..=5 {
        load.wait_for(100);
        server.reload(&version(&number.to_string()));
        wait_for("the new configuration", || server.get("/").text() == format!("version {number}"));
    }
    load.wait_for(100);
    let (_, failures) = load.stop();
    assert!(failures.is_empty(), "{failures:?}");
}

#[test]
fn idle_connection_uses_new_configuration_after_reload() {
    let server = Server::start(Place::new(), &version("old"));
    let mut client = server.connect();
    assert_eq!(client.fetch(&Request::get("/")).text(), "version old");
    server.reload(&version("new"));
    wait_for("the new configuration", || server.get("/").text() == "version new");
    // An idle connection may be closed instead.
    if let Ok(answer) = client.try_fetch(&Request::get("/")) {
        assert_eq!(answer.text(), "version new", "a connection takes the current one at each request");
    }
}

#[test]
fn broken_configuration_leaves_old_one_running() {
    let server = Server::start(Place::new(), &version("old"));
    for broken in [
        "server { listen 127.0.0.1:@PORT@; locatoin / { } }",
        "server { listen 127.0.0.1:@PORT@; return 200 x",
        "include @DIR@/none.conf;",
    ] {
        server.write("error.log", "");
        server.reload(broken);
        server.log_has("[emerg]");
        assert_eq!(server.get("/").text(), "version old");
        let tested = server.test_configuration();
        assert!(!tested.status.success());
    }
    let tested = server.test_configuration();
    let said = String::from_utf8_lossy(&tested.stderr).into_owned();
    assert!(said.contains("none.conf"), "{said}");
    server.reload(&version("mended"));
    wait_for("the mended one", || server.get("/").text() == "version mended");
}

#[test]
fn an_error_names_its_place_and_the_nearest_word() {
    let server = Server::start(Place::new(), &version("old"));
    let text = "http {\n    server {\n        listen 127.0.0.1:1;\n        locatoin / { }\n        retrun 200;\n    }\n}\nevents { }\n";
    server.write("myriad.conf", text);
    let tested = server.test_configuration();
    let said = String::from_utf8_lossy(&tested.stderr).into_owned();
    assert!(!tested.status.success());
    assert!(
        said.contains("myriad.conf:4") && said.contains("locatoin / { }") && said.contains('^'),
        "{said}"
    );
    assert!(said.contains("\"location\"") || said.contains("`location`"), "{said}");
    assert!(said.contains("retrun"), "not all errors of the file are reported\n{said}");
}

/// Starts a site with a cached page `/` whose response waits for the gate.
fn slow_page(gate: &Arc<Gate>) -> (Server, Origin) {
    let held = Arc::clone(gate);
    Cached::default().start(move |call| {
        if call.uri() == "/slow" {
            call.answer("Content-Type: text/plain", "begun ");
            held.pass();
            call.send("and finished");
        } else {
            let text = format!("page {}", call.number);
            call.answer("Content-Type: text/plain", text);
        }
    })
}

#[test]
fn exchange_in_progress_survives_reload() {
    let gate = Arc::new(Gate::new());
    let (server, origin) = slow_page(&gate);
    let mut client = server.connect();
    client.send(Request::get("/slow").bytes());
    origin.wait_for(1);
    server.reload(&version("new"));
    wait_for("the new configuration", || server.get("/").text() == "version new");
    gate.open();
    assert_eq!(client.answer().text(), "begun and finished");
}

#[test]
fn the_cache_survives_a_reload() {
    let gate = Arc::new(Gate::new());
    let (server, origin) = slow_page(&gate);
    assert_eq!(server.get("/kept").cache(), "MISS");
    assert_eq!(server.get("/kept").cache(), "HIT");
    let http = Cached::default().http()
        + "server { listen 127.0.0.1:@PORT@; server_name marker; return 200 reloaded; }";
    server.reload(&http);
    wait_for("the reload", || server.fetch(&Request::get("/").host("marker")).text() == "reloaded");
    assert_eq!(server.get("/kept").cache(), "HIT");
    assert_eq!(origin.calls().iter().filter(|call| *call == "GET /kept").count(), 1);
}

#[test]
fn quit_finishes_what_was_begun_and_takes_nothing_new() {
    let gate = Arc::new(Gate::new());
    let (mut server, origin) = slow_page(&gate);
    let mut idle = server.connect();
    assert_eq!(idle.fetch(&Request::get("/")).text(), "page 1");
    let mut busy = server.connect();
    busy.send(Request::get("/slow").bytes());
    origin.wait_for(2);
    server.signal(Signal::QUIT);
    assert!(idle.is_closed(), "an idle connection is closed at once");
    wait_for("the closed port", || Client::try_connect(server.port).is_err());
    gate.open();
    assert_eq!(busy.answer().text(), "begun and finished");
    assert!(server.ended());
    assert!(!server.path("myriad.pid").exists());
}

#[test]
fn term_ends_at_once() {
    let gate = Arc::new(Gate::new());
    let (mut server, origin) = slow_page(&gate);
    let mut busy = server.connect();
    busy.send(Request::get("/slow").bytes());
    origin.wait_for(1);
    server.signal(Signal::TERM);
    assert!(server.ended());
    gate.open();
}

#[test]
fn after_a_reload_what_is_older_ends_in_the_time_that_is_written() {
    let place = Place::new();
    let server = Server::start_with(place, "worker_shutdown_timeout 100ms;", &version("0"));
    let mut silent = server.connect();
    let mut idle = server.connect();
    assert_eq!(idle.fetch(&Request::get("/")).text(), "version 0");
    server.signal(Signal::HUP);
    assert!(silent.is_closed());
    assert!(idle.is_closed());
    assert_eq!(server.get("/").text(), "version 0");
}

#[test]
fn a_worker_that_is_killed_is_replaced() {
    let server = Server::start(Place::new(), &version("0"));
    let worker = server.workers()[0];
    myriad_tests::signal(worker, Signal::KILL);
    wait_for("the next worker", || server.workers().first().is_some_and(|&next| next != worker));
    wait_for("its answer", || {
        Client::try_connect(server.port).is_ok() && server.get("/").text() == "version 0"
    });
}

#[test]
fn logs_are_reopened_on_usr1() {
    let http =
        "access_log @DIR@/access.log; server { listen 127.0.0.1:@PORT@; location / { return 200 x; } }";
    let server = Server::start(Place::new(), http);
    server.get("/before");
    wait_for("a line", || server.read("access.log").contains("/before"));
    std::fs::rename(server.path("access.log"), server.path("access.log.1")).expect("rename");
    server.signal(Signal::USR1);
    wait_for("the new file", || server.path("access.log").exists());
    wait_for("a line in it", || {
        server.get("/after");
        server.read("access.log").contains("/after")
    });
}

#[test]
fn a_port_that_is_added_listens_and_one_that_is_dropped_does_not() {
    let mut place = Place::new();
    let other = Place::new().port;
    place.set("OTHER", &other.to_string());
    let server = Server::start(place, &version("0"));
    server.reload(&(version("1") + "server { listen 127.0.0.1:@OTHER@; return 200 other; }"));
    wait_for("the new port", || Client::try_connect(other).is_ok());
    assert_eq!(Client::connect(other).fetch(&Request::get("/")).text(), "other");
    server.reload(&version("2"));
    wait_for("the port's end", || Client::try_connect(other).is_err());
    assert_eq!(server.get("/").text(), "version 2");
}

/// Returns the anonymous resident memory of a process, in bytes.
fn anonymous(pid: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("a process");
    let line = status.lines().find_map(|line| line.strip_prefix("RssAnon:")).expect("a line");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") << 10
}

#[test]
fn what_was_read_of_thousands_of_locations_goes_back_to_the_system() {
    const MB: u64 = 1 << 20;
    let locations: Vec<_> =
        (0..30).map(|number| format!("location /part{number}/ {{ expires {number}h; }}\n")).collect();
    let locations = locations.concat();
    let servers = (1..200).map(|number| {
        format!("server {{ listen 127.0.0.1:@PORT@; server_name host{number}.test; {locations} }}\n")
    });
    let servers = servers.collect::<Vec<_>>().concat();
    // The same server without the locations.
    let small = Server::start(Place::new(), &version("0"));
    let (supervisor, small) = (anonymous(small.pid()), anonymous(small.workers()[0]));
    let site = |text: &str| version(text) + &servers;
    let server = Server::start(Place::new(), &site("0"));
    for number in 1..=2 {
        server.reload(&site(&number.to_string()));
        wait_for("the new configuration", || server.get("/").text() == format!("version {number}"));
    }
    let worker = server.workers()[0];
    // The syntax tree and the model of the configuration occupy 40 MB in each of the two processes until they are
    // freed.
    wait_for("a small supervisor", || anonymous(server.pid()) < supervisor + 10 * MB);
    wait_for("a worker with little more than what it needs", || anonymous(worker) < small + 22 * MB);
}

/// Sets the maximum number of processes and threads of the user of the worker, `nobody`, which applies to new threads of
/// the worker.
fn limit_threads(server: &Server, most: u32) {
    const NOBODY: u32 = 65_534;
    let mut command = Command::new("prlimit");
    command.args(["--pid", &server.workers()[0].to_string(), &format!("--nproc={most}:")]);
    // Root needs a capability that it may lack in a container; the user of a process needs none.
    assert!(command.uid(NOBODY).gid(NOBODY).status().expect("prlimit runs").success());
}

#[test]
fn reload_that_cannot_start_threads_leaves_old_configuration_running() {
    let mut place = Place::new();
    place.set("TLS", &Place::new().port.to_string());
    let server = Server::start_with(place, "user nobody;", &version("old"));
    let new = "acme_issuer unreachable { uri https://127.0.0.1:1/directory; accept_terms_of_service; }
        server {
            listen 127.0.0.1:@PORT@;
            listen 127.0.0.1:@TLS@ ssl;
            server_name a.test;
            acme_certificate unreachable;
            ssl_certificate $acme_certificate;
            ssl_certificate_key $acme_certificate_key;
            location / { return 200 'version new'; }
        }";
    limit_threads(&server, 1);
    server.reload(new);
    server.log_has("Resource temporarily unavailable");
    assert_eq!(server.get("/").text(), "version old");
    limit_threads(&server, 4096);
    server.reload(new);
    wait_for("the new configuration", || server.get("/").text() == "version new");
}
