//! `myriad top --once`: a snapshot of a server's activity, and of a control socket with client-controlled text; the
//! terminal handling of `myriad top`.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixListener;
use std::process::{Command, Stdio};
use std::thread;

use myriad_tests::{HttpOrigin, Place, Server, binary, wait_for};

const TICK: &str = r#"{"tick":{"at_ms":1764003600000,"interval_ms":1000,"started_ms":1764000000000,"reloads":1,"total":{"requests":1500,"hit":90,"miss":10},
"delta":{"requests":1200,"hit":1100,"miss":100,"fetches":101},"first_byte":{"all":{"count":1200,"p50":0.08,"p90":0.4,"p99":2.5,"max":41.0}},
"connections":{"active":7,"reading":0,"writing":1,"waiting":6},"origins":[{"group":"php","server":"unix:/php.sock","state":"up","children":8,"children_idle":5}],
"zones":[{"zone":"pages","memory":{"pages":12,"bytes":1048576,"limit_bytes":2097152}}],"workers":[{"worker":0}]}}"#;
const TOPS: &str = "{\"tops\":{\"pages\":[{\"url\":\"http://a.test/\\u001b[2Jx\",\"count\":57,\"cache\":\"BYPASS\",\"reason\":\"personal cookie\",\"status\":200}]}}";

/// Answers at a control socket like a server.
fn answer_at(place: &Place) {
    let listener = UnixListener::bind(place.path("control.sock")).expect("a socket");
    thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut asked = String::new();
            // A command that is killed disconnects before the response.
            let _ = BufReader::new(&stream).read_line(&mut asked);
            let answer = if asked.contains("live") { TICK.replace('\n', "") } else { TOPS.to_owned() };
            let _ = stream.write_all(format!("{answer}\n{{\"end\":{{\"next\":null}}}}\n").as_bytes());
        }
    });
}

/// Waits for the only child of a process, and returns its pid.
fn child_of(parent: u32) -> u32 {
    let path = format!("/proc/{parent}/task/{parent}/children");
    let child = || std::fs::read_to_string(&path).ok()?.split_whitespace().next()?.parse().ok();
    wait_for("the command in the terminal", || child().is_some());
    child().expect("a child")
}

#[test]
fn the_terminal_is_given_back_by_a_signal_and_left_where_it_is_gone() {
    let place = Place::new();
    answer_at(&place);
    let typed = place.path("typescript");
    let command =
        format!("exec {} top --socket {}", binary().display(), place.path("control.sock").display());
    let start = || {
        let mut script = Command::new("script");
        script.args(["-q", "-f", "-e", "-c", &command]).arg(&typed).env("TERM", "xterm");
        let child = script.stdin(Stdio::piped()).stdout(Stdio::null()).spawn().expect("script runs");
        wait_for("the screen", || {
            std::fs::read(&typed).is_ok_and(|bytes| bytes.windows(8).any(|part| part == b"\x1b[?1049h"))
        });
        let top = child_of(child.id());
        (child, rustix::process::Pid::from_raw(top.cast_signed()).expect("a number"))
    };
    let (mut script, top) = start();
    rustix::process::kill_process(top, rustix::process::Signal::TERM).expect("a signal");
    assert!(script.wait().expect("an end").success());
    let text = String::from_utf8_lossy(&std::fs::read(&typed).expect("what was shown")).into_owned();
    let end = text.rfind("\u{1b}[?25h\u{1b}[?1049l").expect("the screen of the shell");
    assert!(!text[end + 1..].contains("\u{1b}[?1049h"), "{text}");
    std::fs::remove_file(&typed).expect("the file is removed");
    let (mut script, top) = start();
    // The terminal closes with `script`.
    script.kill().expect("an end");
    script.wait().expect("an end");
    // A zombie has no arguments.
    let arguments = format!("/proc/{}/cmdline", top.as_raw_nonzero());
    wait_for("the end of the command", || std::fs::read(&arguments).map_or(true, |bytes| bytes.is_empty()));
}

#[test]
fn a_snapshot_is_plain_text_that_no_visitor_steers() {
    let place = Place::new();
    answer_at(&place);
    let run = |socket: &str| {
        let mut command = Command::new(binary());
        command.args(["top", "--once", "--socket"]).arg(place.path(socket)).env("LANG", "C.UTF-8");
        command.env("COLUMNS", "100").stdin(Stdio::null()).output().expect("the command runs")
    };
    let output = run("control.sock");
    let text = String::from_utf8(output.stdout).expect("text");
    assert!(output.status.success(), "{text}");
    for part in [
        "hit          1,100/s",
        "from the cache 91.7 % now, 90.0 % since",
        "php unix:/php.sock",
        "personal cookie     http://a.test/\\x1B[2Jx",
        "0.08ms",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    assert!(!text.contains('\u{1b}') && text.lines().all(|line| line.chars().count() <= 100), "{text}");
    let output = run("none.sock");
    let errors = String::from_utf8(output.stderr).expect("text");
    assert!(output.status.code() == Some(1) && errors.contains("no Myriad server is running"), "{errors}");
}

#[test]
fn a_snapshot_shows_what_a_server_has_done() {
    let origin = HttpOrigin::start(|call| call.answer("HTTP/1.1 200 OK\nContent-Type: text/plain", "a page"));
    let mut place = Place::new();
    place.set("ORIGIN", &origin.address);
    let server = Server::start(
        place,
        "proxy_cache_path @DIR@/cache keys_zone=pages:4m; access_log off;
         server { listen 127.0.0.1:@PORT@; server_name localhost;
            location / { proxy_pass http://@ORIGIN@; proxy_cache pages; proxy_cache_valid 200 1h; } }",
    );
    for target in ["/a", "/a", "/a", "/b"] {
        assert_eq!(server.get(target).text(), "a page");
    }
    let mut text = String::new();
    // Pages are written to disk after their responses.
    wait_for("both pages in the files of the zone", || {
        let mut command = Command::new(binary());
        command.args(["top", "--once", "-c", "myriad.conf", "-p"]).arg(server.folder());
        let output = command.env("COLUMNS", "100").env("LANG", "C.UTF-8").output().expect("the command runs");
        text = String::from_utf8(output.stdout).expect("text");
        let zone = text.lines().find(|line| line.starts_with("pages ")).unwrap_or_default();
        // Name, pages, bytes in memory, a bar, files.
        let mut words = zone.split_whitespace().filter(|word| word.chars().any(char::is_alphanumeric));
        (words.nth(1), words.nth(1)) == (Some("2"), Some("2"))
    });
    assert!(text.contains("4 requests") && text.contains("50.0 % since the start"), "{text}");
    for line in [
        "        3    200  http://localhost/a",
        "        1 MISS     not stored          http://localhost/a",
        "        1 MISS     not stored          http://localhost/b",
    ] {
        assert!(text.lines().any(|shown| shown == line), "{line} is not in\n{text}");
    }
}
