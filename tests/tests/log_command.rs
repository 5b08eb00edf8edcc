//! `myriad log`: statistics of logs on the command line.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use myriad_tests::{Place, Request, Server, binary, wait_for};

fn command() -> Command {
    let mut command = Command::new(binary());
    command.arg("log").env("LANG", "C.UTF-8").env_remove("LC_ALL").env_remove("COLUMNS").stdin(Stdio::null());
    command
}

fn told(output: &Output) -> (String, String, Option<i32>) {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
    (text(&output.stdout), text(&output.stderr), output.status.code())
}

/// Returns lines of the combined format: ten requests of one flooding client, one request of another.
fn lines() -> String {
    let flood = (0..10).map(|number| {
        format!("192.0.2.9 - - [24/Nov/2026:17:07:{number:02} +0000] \"GET /wp-login.php HTTP/1.1\" 404 10 \"-\" \"bad bot\"\n")
    });
    let other = "2001:db8::1 - - [24/Nov/2026:19:00:00 +0000] \"GET /\\x1B[2J HTTP/2.0\" 200 2048 \"-\" \"Mozilla/5.0\"\n";
    flood.chain([other.to_owned()]).collect()
}

#[test]
fn a_running_servers_own_logs_are_found_and_read_by_its_formats() {
    let server = Server::start(
        Place::new(),
        "log_format own '$request_time|$upstream_cache_status|$status|$msec|$host|$request_uri|$remote_addr|$http_user_agent';
         proxy_cache_path @DIR@/cache keys_zone=pages:1m;
         server { listen 127.0.0.1:@PORT@; server_name a.test; root @DIR@/html; access_log @DIR@/own.log own;
             location /pages { proxy_pass http://127.0.0.1:@PORT@/origin; proxy_cache pages; proxy_cache_valid 1h; }
             location /origin { return 200 x; }
             access_log @DIR@/as-json.log json; }",
    );
    for target in ["/pages/a?x=1", "/pages/a?x=1", "/pages/a?x=2", "/missing"] {
        server.fetch(&Request::get(target).field("User-Agent", "tester"));
    }
    wait_for("the lines", || {
        server.read("own.log").lines().count() >= 6 && server.read("as-json.log").lines().count() >= 6
    });
    let configuration = server.path("myriad.conf");
    assert!(configuration.exists(), "{configuration:?}");
    let output = command().arg("-c").arg(&configuration).output().expect("the command runs");
    let (text, errors, status) = told(&output);
    assert_eq!((errors.as_str(), status), ("", Some(0)));
    for part in [
        "12 requests",
        "from the cache 33.3 %",
        "/pages/a?x=…",
        "/missing",
        "Slowest pages",
        "(2: No such file or directory)",
        "127.0.0.1",
        "tester",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    assert!(!text.contains('\u{1b}') && text.lines().all(|line| line.chars().count() <= 80), "{text}");
}

#[test]
fn files_compressed_or_not_and_standard_input_are_read() {
    let place = Place::new();
    place.write("access.log", lines());
    let packed = Command::new("gzip").arg("-c").arg(place.path("access.log")).output().expect("gzip").stdout;
    place.write("access.log.1.gz", &packed);
    let output = command()
        .args([place.path("access.log"), place.path("access.log.1.gz")])
        .output()
        .expect("the command runs");
    let (text, errors, status) = told(&output);
    assert_eq!((errors.as_str(), status), ("", Some(0)));
    assert!(text.contains("22 requests") && text.contains("bad bot") && text.contains("90.9 %"), "{text}");
    let rotated = command()
        .arg(place.path("access.log"))
        .args(["--rotated", "--floods"])
        .output()
        .expect("the command runs");
    assert!(told(&rotated).0.contains("20  90.9 %"), "{}", told(&rotated).0);
    let mut child = command()
        .arg("--json")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the command runs");
    child.stdin.take().expect("a pipe").write_all(&packed).expect("written");
    let (text, _, status) = told(&child.wait_with_output().expect("an end"));
    assert_eq!((text.lines().count(), status), (1, Some(0)));
    let report: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!((&report["requests"], &report["floods"][0]["peak_per_minute"]), (&11.into(), &10.into()));
    assert_eq!(report["hours"].as_array().map(Vec::len), Some(2));
}

#[test]
fn times_and_questions_narrow_the_answer_and_nothing_found_is_status_two() {
    let place = Place::new();
    place.write("access.log", lines());
    let run = |arguments: &[&str]| {
        told(
            &command()
                .env("TZ", "UTC")
                .args(arguments)
                .arg(place.path("access.log"))
                .output()
                .expect("the command runs"),
        )
    };
    let (text, _, status) = run(&["--pages", "--since", "2026-11-24 18:00", "--until", "2026-11-24 19:00"]);
    assert!(text.contains("100.0 %") && !text.contains("wp-login") && status == Some(0), "{text}");
    let (text, errors, status) = run(&["--since", "2026-11-25"]);
    assert_eq!((text.trim(), status), ("", Some(2)));
    assert!(errors.contains("no log line was found that matches the options"), "{errors}");
    let (_, errors, status) =
        told(&command().arg(place.path("none.log")).output().expect("the command runs"));
    assert!(errors.contains("none.log: 2: No such file or directory") && status == Some(1), "{errors}");
    place.write("odd.log", "what is this\nno log at all\n");
    let (_, errors, status) = told(&command().arg(place.path("odd.log")).output().expect("the command runs"));
    assert!(errors.contains("specify it with --format") && status == Some(1), "{errors}");
}

#[test]
fn error_logs_are_grouped_with_count_and_remedy() {
    let place = Place::new();
    let line = |number: u32| {
        format!(
            "2026/11/24 17:07:09 [error] 7#7: *{number} connect() failed (111: Connection refused) while connecting to upstream, client: 192.0.2.{number}, server: a, request: \"GET /{number} HTTP/1.1\", upstream: \"http://127.0.0.1:1/\", host: \"a\"\n"
        )
    };
    let repeated = "2026/11/24 17:07:10 [warn] 7#7: message repeated 1234 times: [upstream server temporarily disabled while connecting to upstream, client: ::1, server: a]\n";
    place.write("error.log", (0..200).map(line).collect::<String>() + repeated);
    let (text, errors, status) =
        told(&command().arg(place.path("error.log")).output().expect("the command runs"));
    assert_eq!((errors.as_str(), status), ("", Some(0)));
    assert!(text.contains("1,434 error log lines") && text.contains("1,234  [warn]"), "{text}");
    assert!(text.contains("200  [error] connect() failed (111: Connection refused)"), "{text}");
    assert!(text.contains("-> start the origin"), "{text}");
}

#[test]
fn help_names_every_option() {
    let (_, errors, status) = told(&command().arg("--help").output().expect("the command runs"));
    assert!(errors.contains("--since TIME") && status == Some(0), "{errors}");
}
