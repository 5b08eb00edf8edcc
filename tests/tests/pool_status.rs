//! Queue that is bounded by the status of php-fpm: `origin_queue ... status=`, with a real php-fpm and with a fake.
//!
//! covers: origin_queue

use std::process::Command;

use myriad_tests::{Client, Origin, Php, Place, Request, Server, binary, wait_for};

/// Script that prints its start and runs until the test creates a file.
const SLOW: &str = "<?php while (ob_get_level()) { ob_end_flush(); } echo 'begun '; flush(); \
                    while (!file_exists(__DIR__ . '/end')) { clearstatcache(); usleep(5000); } echo 'ended';";

const QUEUE: &str = "origin_queue zone=php concurrency=16 queue=0 status=/fpm-status interval=100ms;";

/// Starts a site with the pages `/slow.php` and `/fast.php`; `/others/slow.php` bypasses the queue.
fn site(mut place: Place, queue: &str) -> Server {
    place.set("QUEUE", queue);
    place.write("html/slow.php", SLOW);
    place.write("html/fast.php", "<?php echo 'fast';");
    let http = "upstream pool { server @PHP@; }
        server { listen 127.0.0.1:@PORT@; root @DIR@/html; @PARAMS@ fastcgi_buffering off;
            location / { @QUEUE@ fastcgi_pass pool; }
            location /others/ { rewrite ^/others(/.*) $1 break; fastcgi_pass pool; } }";
    Server::start(place, http)
}

/// Returns the state of the pool from `myriad upstream ls`.
fn shown(server: &Server) -> String {
    let mut command = Command::new(binary());
    command.args(["upstream", "ls", "pool", "-p"]).arg(server.folder()).args(["-c", "myriad.conf"]);
    String::from_utf8_lossy(&command.output().expect("myriad starts").stdout).into_owned()
}

fn wait_until_shown(server: &Server, text: &str) {
    wait_for(text, || shown(server).contains(text));
}

/// Returns clients of a slow page that PHP processes, each with one child.
fn working(server: &Server, target: &str, count: usize) -> Vec<Client> {
    let begin = |_| {
        let mut client = server.connect();
        client.send(Request::get(target).bytes());
        let text = client.until(|text| text.windows(5).any(|part| part == b"begun"));
        assert!(text.starts_with(b"HTTP/1.1 200"), "{}", text.escape_ascii());
        client
    };
    (0..count).map(begin).collect()
}

#[test]
fn no_more_is_sent_than_a_small_pool_has_children_for() {
    let mut place = Place::new();
    let php = "pm = static\npm.max_children = 2\npm.status_path = /fpm-status\n";
    let _php = Php::start_pool(&mut place, php);
    let server = site(place, QUEUE);
    wait_until_shown(&server, "2 children, 1 idle, 0 waiting");
    let two = working(&server, "/slow.php", 2);
    // `concurrency` permits sixteen requests: without the status this request would wait in the pool without a
    // response.
    assert_eq!(server.get("/fast.php").status, 503);
    server.log_has("origin_queue \"php\" is full");
    server.write("html/end", "");
    for mut client in two {
        client.until(|text| text.windows(5).any(|part| part == b"ended"));
    }
    wait_for("an answer", || server.get("/fast.php").text() == "fast");
}

#[test]
fn preset_queries_pool_status_at_configured_path() {
    let mut place = Place::new();
    let php = "pm = static\npm.max_children = 3\npm.status_path = /fpm-status\n";
    let _php = Php::start_pool(&mut place, php);
    place.write("html/index.php", "<?php echo 'home';");
    let mut command = Command::new(binary());
    command.args(["php", "--set", "status=/fpm-status", "--listen", &format!("127.0.0.1:{}", place.port)]);
    command.arg("--root").arg(place.path("html")).arg("--php").arg(place.path("php.sock"));
    command.arg("--prefix").arg(place.folder());
    let server = Server::run(place, command);
    assert_eq!(server.get("/").text(), "home");
    let shown = || {
        let mut command = Command::new(binary());
        command.args(["upstream", "ls", "-p"]).arg(server.folder());
        String::from_utf8_lossy(&command.output().expect("myriad starts").stdout).into_owned()
    };
    wait_for("3 children", || shown().contains("3 children"));
    // The message contains the stop command with the program name.
    wait_for("the greeting", || server.read("stderr").contains("or: myriad php stop --prefix"));
}

#[test]
fn children_that_work_for_somebody_else_are_not_counted_upon() {
    let mut place = Place::new();
    let php = "pm = static\npm.max_children = 4\npm.status_path = /fpm-status\n";
    let _php = Php::start_pool(&mut place, php);
    let server = site(place, &QUEUE.replace("concurrency=16", "concurrency=auto max=16"));
    wait_until_shown(&server, "4 children, 3 idle");
    let _others = working(&server, "/others/slow.php", 2);
    // The child that reports the status is active as well.
    wait_until_shown(&server, "4 children, 1 idle");
    let _own = working(&server, "/slow.php", 2);
    assert_eq!(server.get("/fast.php").status, 503);
    server.write("html/end", "");
    wait_for("an answer", || server.get("/fast.php").text() == "fast");
}

#[test]
fn pools_that_spawn_children_on_demand_are_not_limited_to_current_children() {
    for (php, children) in [
        ("pm = ondemand\npm.max_children = 6\npm.process_idle_timeout = 60s\n", "1 children"),
        (
            "pm = dynamic\npm.max_children = 6\npm.start_servers = 1\npm.min_spare_servers = 1\npm.max_spare_servers = 2\n",
            "1 children",
        ),
    ] {
        let mut place = Place::new();
        let _php = Php::start_pool(&mut place, &format!("{php}pm.status_path = /fpm-status\n"));
        let server = site(place, &QUEUE.replace("queue=0", "queue=16"));
        wait_until_shown(&server, children);
        // Each request begins, the later requests after the pool has grown.
        let _all = working(&server, "/slow.php", 5);
        server.write("html/end", "");
    }
}

#[test]
fn missing_pool_status_is_reported_once_and_concurrency_alone_bounds_queue() {
    let mut place = Place::new();
    let without = "pm = static\npm.max_children = 2\n";
    let mut php = Php::start_pool(&mut place, without);
    let server = site(place, &QUEUE.replace("concurrency=16", "concurrency=1"));
    let line =
        "origin_queue \"php\": the status of php-fpm is unavailable, only \"concurrency=\" limits the queue";
    server.log_has(line);
    server.log_has("it responded with status 404");
    let held = working(&server, "/slow.php", 1);
    assert_eq!(server.get("/fast.php").status, 503);
    drop(held);
    php.restart_pool(&format!("{without}pm.status_path = /fpm-status\n"));
    server.log_has("origin_queue \"php\": the status of php-fpm is available again");
    wait_until_shown(&server, "2 children");
    let log = server.read("error.log");
    assert_eq!(log.matches(line).count(), 1, "{log}");
}

/// Asserts the log message for an origin that sends this response instead of its status.
fn liar(status: &'static str, part: &str) {
    let origin = Origin::start(move |call| {
        if call.param("SCRIPT_NAME") == "/fpm-status" {
            assert_eq!(call.param("QUERY_STRING"), "json");
            match status {
                "huge" => {
                    let spaces = " ".repeat(200 << 10);
                    call.answer("Content-Type: application/json", &spaces);
                }
                "head" => call.answer(&format!("X-Long: {}", "x".repeat(20_000)), ""),
                "silent" => drop(call.wait_for_hang_up()),
                text => call.answer("Content-Type: application/json", text),
            }
        } else {
            call.answer("Content-Type: text/plain", "here");
        }
    });
    let mut place = Place::new();
    place.set("PHP", &origin.address);
    let server = site(place, QUEUE);
    server.log_has("the status of php-fpm is unavailable");
    server.log_has(part);
    assert_eq!(server.get("/").text(), "here", "{status}");
    assert!(!shown(&server).contains("children"), "{status}");
}

#[test]
fn status_that_is_wrong_huge_or_late_bounds_nothing() {
    liar("{}", "missing field");
    liar("<html>", "not a php-fpm status in JSON");
    liar(
        r#"{"process manager":"static","listen queue":0,"idle processes":0,"active processes":4294967295,"total processes":4294967295,"max children reached":0}"#,
        "4294967295 children in total",
    );
    liar("huge", "longer than 8192 bytes");
    liar("head", "too big header");
    liar("silent", "the status request timed out");
}
