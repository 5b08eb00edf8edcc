//! Tests of start, pid file, daemon, reload, crash, upgrade and exit, with the real binary and its worker.

mod support;

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::symlink;
use std::time::{Duration, Instant};

use support::{ServerSite, children_of, get, get_unix, is_alive, send, upgraded, wait_for};

#[test]
fn the_started_process_is_the_one_in_the_pid_file_and_everything_listens_by_then() {
    let mut site = ServerSite::plain().start();
    assert_eq!(site.pid(), site.child_pid());
    assert_eq!(site.get(), Some(200));
    assert!(site.path("error.log").exists() && site.path("access.log").exists());
    assert!(is_alive(site.worker().expect("a worker")));
    site.signal("TERM");
    assert!(site.wait_for_exit().success());
    assert!(!site.path("nginx.pid").exists());
    assert!(!site.read("error.log").contains("[alert]"), "{}", site.read("error.log"));
}

#[test]
fn the_worker_has_no_more_rights_than_it_needs() {
    let site = ServerSite::plain().start();
    let ids = |pid: u32, field: &str| {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("status");
        let line = status.lines().find(|line| line.starts_with(field)).expect(field);
        line.split_whitespace().skip(1).map(|id| id.parse().expect("id")).collect::<Vec<u32>>()
    };
    let (supervisor, worker) = (site.pid(), site.worker().expect("a worker"));
    if ids(supervisor, "Uid:") != [0; 4] {
        assert_eq!(ids(worker, "Uid:"), ids(supervisor, "Uid:"));
        return;
    }
    let users = fs::read_to_string("/etc/passwd").expect("users");
    let nobody_line = users.lines().find(|line| line.starts_with("nobody:")).expect("nobody");
    let numbers: Vec<u32> =
        nobody_line.split(':').skip(2).take(2).map(|id| id.parse().expect("id")).collect();
    assert_eq!(ids(worker, "Uid:"), [numbers[0]; 4]);
    assert_eq!(ids(worker, "Gid:"), [numbers[1]; 4]);
    assert_eq!(ids(worker, "Groups:"), [numbers[1]]);
    assert_eq!(ids(worker, "CapEff:").first().copied(), Some(0));
}

#[test]
fn quit_ends_the_worker_with_code_0_and_frees_the_port() {
    let mut site = ServerSite::plain().start();
    let worker = site.worker().expect("a worker");
    site.signal("QUIT");
    assert!(site.wait_for_exit().success());
    assert!(site.read("error.log").contains(&format!("worker process {worker} exited with code 0")));
    assert!(!is_alive(worker) && !site.path("nginx.pid").exists());
    TcpListener::bind(("127.0.0.1", site.port)).expect("the port is free");
}

#[test]
fn daemon_returns_0_once_it_serves_and_stops_on_request() {
    let site = ServerSite::new();
    site.write("nginx.conf", &site.configuration(""));
    let output = site.output(&[]);
    assert!(output.status.success(), "{}", support::stderr(&output));
    assert_eq!(site.get(), Some(200));
    let pid = site.pid();
    assert!(site.output(&["-s", "stop"]).status.success());
    wait_for("the daemon's end", || !is_alive(pid));
    assert!(!site.path("nginx.pid").exists());
}

#[test]
fn a_daemon_that_cannot_listen_returns_1_with_the_reason() {
    let site = ServerSite::new();
    site.write("nginx.conf", &site.configuration("daemon on;"));
    let _holder = TcpListener::bind(("127.0.0.1", site.port)).expect("bind");
    let output = site.output(&[]);
    assert_eq!(output.status.code(), Some(1));
    assert!(support::stderr(&output).contains("Address already in use"));
    assert!(!site.path("nginx.pid").exists());
}

#[test]
fn broken_configuration_is_logged_on_reload_and_old_one_remains_active() {
    let site = ServerSite::plain().start();
    let worker = site.worker();
    site.write("nginx.conf", "events { }\nhttp { lissen 80; }\nserverr { }\n");
    site.signal("HUP");
    site.log_has("the previous one remains in effect");
    let log = site.read("error.log");
    assert!(log.contains("[emerg]") && log.contains("lissen") && log.contains("serverr"), "{log}");
    assert_eq!(site.get(), Some(200));
    assert_eq!(site.worker(), worker);
}

#[test]
fn reload_opens_new_addresses_closes_old_ones_and_retains_others() {
    let site = ServerSite::plain();
    let (going, coming) = (support::free_port(), support::free_port());
    let with = |port| {
        let listen = format!("listen 127.0.0.1:{};", site.port);
        site.configuration("daemon off;").replace(&listen, &format!("{listen} listen 127.0.0.1:{port};"))
    };
    site.write("nginx.conf", &with(going));
    let (before, after) = (with(going), with(coming));
    assert_ne!(before, after);
    let site = site.start();
    assert_eq!((site.get(), get(going)), (Some(200), Some(200)));
    site.write("nginx.conf", &after);
    site.signal("HUP");
    wait_for("the new address", || get(coming) == Some(200));
    wait_for("the old address to close", || TcpListener::bind(("127.0.0.1", going)).is_ok());
    assert_eq!(site.get(), Some(200));
    site.log_has("exited with code 0");
}

#[test]
fn address_in_use_on_reload_retains_old_configuration() {
    let site = ServerSite::plain().start();
    let holder = TcpListener::bind("127.0.0.1:0").expect("bind");
    let taken = holder.local_addr().expect("address");
    let listen = format!("listen 127.0.0.1:{};", site.port);
    let text = site.configuration("daemon off;").replace(&listen, &format!("{listen} listen {taken};"));
    site.write("nginx.conf", &text);
    site.signal("HUP");
    site.log_has("the previous one remains in effect");
    assert!(
        site.read("error.log").contains(&format!("bind() to {taken} failed (98: Address already in use)"))
    );
    assert_eq!(site.get(), Some(200));
}

#[test]
fn requests_are_answered_all_through_reloads() {
    let site = ServerSite::plain().start();
    let deadline = Instant::now() + Duration::from_secs(2);
    while Instant::now() < deadline {
        site.signal("HUP");
        for _ in 0..5 {
            assert_eq!(site.get(), Some(200));
        }
    }
    site.log_has("the new configuration is in effect");
}

#[test]
fn a_change_of_the_worker_process_itself_replaces_it() {
    let site = ServerSite::plain().start();
    let worker = site.worker().expect("a worker");
    site.write("nginx.conf", &site.configuration("daemon off;\nenv MARK=1;"));
    site.signal("HUP");
    wait_for("the old worker's end", || !is_alive(worker));
    let next = children_of(site.pid());
    let environment = fs::read(format!("/proc/{}/environ", next[0])).expect("environment");
    assert!(environment.windows(6).any(|window| window == b"MARK=1"));
    site.log_has(&format!("worker process {worker} exited with code 0"));
    assert_eq!(site.get(), Some(200));
}

#[test]
fn a_killed_worker_is_replaced_and_the_port_never_closes() {
    let site = ServerSite::plain().start();
    let worker = site.worker().expect("a worker");
    send("KILL", worker);
    // The listening socket stays open: this connection waits in its backlog until the next worker accepts it.
    wait_for("an answer", || site.get() == Some(200));
    wait_for("a new worker", || site.worker().is_some_and(|next| next != worker));
    site.log_has(&format!("worker process {worker} exited on signal 9"));
}

#[test]
fn a_worker_without_its_supervisor_ends() {
    let mut site = ServerSite::plain().start();
    let worker = site.worker().expect("a worker");
    send("KILL", site.pid());
    assert!(!site.wait_for_exit().success());
    wait_for("the worker's end", || !is_alive(worker));
}

#[test]
fn usr1_writes_to_new_files() {
    let site = ServerSite::plain().start();
    fs::rename(site.path("error.log"), site.path("error.log.1")).expect("rename");
    fs::rename(site.path("access.log"), site.path("access.log.1")).expect("rename");
    site.signal("USR1");
    wait_for("new logs", || site.path("error.log").exists() && site.path("access.log").exists());
    site.signal("HUP");
    site.log_has("reconfiguring");
    assert!(!site.read("error.log.1").contains("reconfiguring"));
}

#[test]
fn root_opens_no_log_through_a_link_that_the_worker_could_have_made() {
    let site = ServerSite::plain();
    let theirs = site.path("theirs");
    fs::create_dir(&theirs).expect("a folder");
    if std::os::unix::fs::chown(&theirs, Some(54_321), None).is_err() {
        eprintln!("skipped: this test requires root");
        return;
    }
    let text = site.configuration("daemon off;").replace("access_log access.log", "access_log theirs/a.log");
    site.write("nginx.conf", &text);
    site.write("victim", "");
    symlink(site.path("victim"), site.path("theirs/a.log")).expect("a link");
    for arguments in [&["-t"][..], &[]] {
        let output = site.output(arguments);
        assert_eq!(output.status.code(), Some(1));
        let errors = support::stderr(&output);
        assert!(
            errors.contains(
                "theirs/a.log\" failed (the path contains a symbolic link that does not belong to root"
            ),
            "{errors}"
        );
    }
    fs::remove_file(site.path("theirs/a.log")).expect("remove");
    let site = site.start();
    assert_eq!(site.get(), Some(200));
    fs::rename(site.path("theirs/a.log"), site.path("theirs/b.log")).expect("rename");
    symlink(site.path("victim"), site.path("theirs/a.log")).expect("a link");
    site.signal("USR1");
    site.log_has("theirs/a.log\" failed (the path contains a symbolic link");
    assert_eq!(site.get(), Some(200));
    wait_for("two lines in the log that stays open", || site.read("theirs/b.log").lines().count() == 2);
    assert_eq!(site.read("victim"), "");
}

#[test]
fn logs_go_to_standard_output_and_standard_error_by_their_names() {
    let site = ServerSite::new();
    let text = site.configuration("daemon off;").replace("access_log access.log", "access_log /dev/stdout");
    site.write("nginx.conf", &text.replace("error_log error.log debug", "error_log /dev/stderr notice"));
    let output = |name: &str| fs::File::create(site.path(name)).expect(name);
    let mut server = site.command(&[]);
    let mut child = server.stdout(output("out")).stderr(output("err")).spawn().expect("start");
    wait_for("the pid file", || site.path("nginx.pid").exists());
    assert_eq!(site.get(), Some(200));
    wait_for("a line of the visitor's", || site.read("out").contains("GET / HTTP/1.1"));
    wait_for("a line of the server's", || site.read("err").contains("[notice]"));
    send("TERM", child.id());
    assert!(child.wait().expect("end").success(), "{}", site.read("err"));
}

#[test]
fn unix_sockets_are_served_and_removed() {
    let mut site = ServerSite::plain();
    let socket = site.path("site.sock");
    let tcp = format!("listen 127.0.0.1:{};", site.port);
    site.write(
        "nginx.conf",
        &site.configuration("daemon off;").replace(&tcp, &format!("listen unix:{};", socket.display())),
    );
    // A file left by a killed server does not prevent the start.
    drop(std::os::unix::net::UnixListener::bind(&socket).expect("stale socket"));
    site = site.start();
    assert_eq!(get_unix(&socket), Some(200));
    site.signal("QUIT");
    assert!(site.wait_for_exit().success());
    assert!(!socket.exists());
}

#[test]
fn a_new_binary_takes_the_sockets_over_while_the_old_one_ends() {
    let mut site = ServerSite::plain().start();
    let old = site.pid();
    let new = upgraded(&site, "nginx.pid", old);
    assert_eq!(site.get(), Some(200));
    send("QUIT", old);
    assert!(site.wait_for_exit().success());
    assert!(!site.path("nginx.pid.oldbin").exists());
    assert_eq!(site.get(), Some(200));
    site.signal("TERM");
    wait_for("the new one's end", || !is_alive(new));
}

#[test]
fn an_upgrade_that_is_taken_back_leaves_the_old_server_as_it_was() {
    let site = ServerSite::plain().start();
    let old = site.pid();
    let new = upgraded(&site, "nginx.pid", old);
    send("TERM", new);
    wait_for("the old pid file", || !site.path("nginx.pid.oldbin").exists());
    assert_eq!(site.pid(), old);
    assert_eq!(site.get(), Some(200));
}
