//! Log destinations other than a plain file.

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::net::UnixStream;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use myriad_tests::{Load, PATIENCE, Place, Request, Server, Signal, binary, wait_for, wait_for_progress};

fn syslog() -> (UdpSocket, u16) {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    socket.set_read_timeout(Some(Duration::from_secs(20))).expect("a time-out");
    let port = socket.local_addr().expect("an address").port();
    (socket, port)
}

/// Returns the next message that contains `text`.
fn message(socket: &UdpSocket, text: &str) -> String {
    let mut buffer = [0; 4096];
    loop {
        let length = socket.recv(&mut buffer).expect("a message");
        let message = String::from_utf8_lossy(&buffer[..length]).into_owned();
        if message.contains(text) {
            return message;
        }
    }
}

#[test]
fn syslog_gets_access_lines_and_errors_of_every_level_of_the_configuration() {
    let (socket, port) = syslog();
    let server = Server::start_with(
        Place::new(),
        &format!("error_log syslog:server=127.0.0.1:{port},facility=user,tag=main info;"),
        &format!(
            "log_format plain '$uri $status';
             server {{ listen 127.0.0.1:@PORT@; root @DIR@/html;
                 location /line {{ access_log syslog:server=127.0.0.1:{port},severity=alert,nohostname plain; return 204; }}
                 location /missing {{ error_log syslog:server=127.0.0.1:{port} error; }}
             }}"
        ),
    );
    assert!(message(&socket, "start worker process").starts_with("<13>"));
    server.get("/line");
    let line = message(&socket, "/line 204");
    assert!(line.starts_with("<185>") && line.ends_with(" nginx: /line 204"), "{line}");
    server.get("/missing");
    let error = message(&socket, "No such file");
    assert!(error.starts_with("<187>") && error.contains(" [error] "), "{error}");
}

#[test]
fn a_line_is_in_an_unbuffered_log_before_the_connection_closes() {
    let place = Place::new();
    let folder = place.path("opened_by_workers");
    fs::create_dir(&folder).expect("a folder");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).expect("a mode");
    let server = Server::start_with(
        place,
        "stream {
             log_format plain '$status';
             server { listen unix:@DIR@/stream.sock; return streamed; access_log @DIR@/stream.log plain; }
         }",
        "log_format plain '$request_uri';
         server { listen 127.0.0.1:@PORT@; root @DIR@;
             access_log @DIR@/plain.log plain;
             location / { return 200 page; }
             location /named { access_log @DIR@/opened_by_workers/$arg_name.log plain; return 200 page; }
             location /waits { proxy_pass http://127.0.0.1:@PORT@/; } }",
    );
    let ask = |mut stream: Box<dyn ReadWrite>, request: &str| {
        stream.write_all(request.as_bytes()).expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("the end of the connection");
        answer
    };
    let by_tcp = |line: &str| {
        let stream = TcpStream::connect(("127.0.0.1", server.port)).expect("a connection");
        ask(Box::new(stream), &format!("{line}\r\nHost: a\r\nConnection: close\r\n\r\n"))
    };
    for number in 1..=20 {
        for (target, log) in
            [("/", "plain.log"), ("/named?name=a", "opened_by_workers/a.log"), ("/waits", "plain.log")]
        {
            assert!(by_tcp(&format!("GET {target} HTTP/1.1")).ends_with("page"));
            let logged = server.read(log);
            assert_eq!(logged.lines().last(), Some(target), "request {number}: {logged}");
        }
        assert!(by_tcp("POST / HTTP/1.1\r\nContent-Length: 10").ends_with("page"), "the body is not read");
        let stream = UnixStream::connect(server.path("stream.sock")).expect("a connection");
        assert_eq!(ask(Box::new(stream), ""), "streamed");
        assert_eq!(server.read("stream.log").lines().count(), number);
    }
}

trait ReadWrite: Read + Write {}
impl<T: Read + Write> ReadWrite for T {}

#[test]
fn compressed_log_is_complete_after_server_exit() {
    let mut server = Server::start(
        Place::new(),
        "log_format plain '$uri';
         server { listen 127.0.0.1:@PORT@; access_log @DIR@/packed.log plain gzip=9 buffer=32; return 204; }",
    );
    for number in 0..20 {
        server.get(&format!("/page/{number}"));
    }
    server.signal(Signal::QUIT);
    assert!(server.ended());
    let file = std::fs::File::open(server.path("packed.log")).expect("the log");
    let mut gunzip =
        Command::new("gzip").arg("-dc").stdin(file).stdout(Stdio::piped()).spawn().expect("gzip");
    let mut text = String::new();
    gunzip.stdout.take().expect("a pipe").read_to_string(&mut text).expect("text");
    assert!(gunzip.wait().expect("an end").success());
    let mut lines: Vec<&str> = text.lines().collect();
    lines.sort_unstable();
    assert_eq!(lines.len(), 20, "{text}");
    assert!(lines.contains(&"/page/0") && lines.contains(&"/page/19"));
}

#[test]
fn no_line_is_lost_or_torn_while_logs_are_reopened_under_load() {
    let server = Server::start(
        Place::new(),
        "log_format numbered '[$arg_n] $status $http_filler;';
         server { listen 127.0.0.1:@PORT@; access_log @DIR@/numbered.log numbered; return 204; }",
    );
    let filler = "x".repeat(500);
    let requests: Vec<_> =
        (0..64).map(|number| Request::get(&format!("/?n={number}")).field("Filler", &filler)).collect();
    let load = Load::start(server.port, 8, requests, |_, answer| {
        if answer.status == 204 { Ok(()) } else { Err(format!("{answer:?}")) }
    });
    for turn in 0..20 {
        load.wait_for(200);
        std::fs::rename(server.path("numbered.log"), server.path(&format!("numbered.log.{turn}")))
            .expect("a rename");
        server.signal(Signal::USR1);
        wait_for("the new file", || server.path("numbered.log").exists());
    }
    let (answered, failures) = load.stop();
    assert!(failures.is_empty(), "{failures:?}");
    let text = || {
        let old = (0..20).map(|turn| server.read(&format!("numbered.log.{turn}")));
        old.chain([server.read("numbered.log")]).collect::<String>()
    };
    wait_for("every line", || text().lines().count() >= answered);
    let text = text();
    assert_eq!(text.lines().count(), answered);
    for line in text.lines() {
        let whole = line.starts_with('[') && line.ends_with(&format!("] 204 {filler};"));
        assert!(whole, "{line}");
    }
}

#[test]
fn unwritable_log_delays_no_visitor_and_lost_lines_are_reported() {
    let place = Place::new();
    let pipe = place.path("slow.log");
    let kind = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, kind, 0o600.into(), 0).expect("a pipe");
    // A reader that opens the pipe and reads nothing.
    let reader = std::fs::OpenOptions::new().read(true).write(true).open(&pipe).expect("a reader");
    let server = Server::start_with(
        place,
        "worker_processes 1;",
        "log_format long '$request_uri'; log_format plain '$uri';
         large_client_header_buffers 4 16k; keepalive_requests 10000;
         server { listen 127.0.0.1:@PORT@; access_log @DIR@/slow.log long; access_log @DIR@/quick.log plain;
             location / { return 204; }
             location /full { access_log /dev/full long; return 204; } }",
    );
    let long = format!("/?{}", "x".repeat(15_000));
    let mut client = server.connect();
    // More than the capacity of the pipe and of the sixteen megabytes of queue.
    let sent = 1400;
    for _ in 0..sent {
        assert_eq!(client.fetch(&Request::get(&long)).status, 204);
    }
    wait_for("the other log", || server.read("quick.log").lines().count() == sent);
    wait_for("the loss to be told", || server.read("error.log").contains("lost: its disk is too slow"));
    // Losses are reported at intervals, so that a second report may follow on a slow machine.
    let lost = || -> usize {
        let errors = server.read("error.log");
        let count_of = |line: &str| {
            line.split_once(" of the access log \"")?.0.rsplit(' ').nth(1)?.parse::<usize>().ok()
        };
        errors.lines().filter_map(count_of).sum()
    };
    let arrived = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&arrived);
    let expected = long.clone();
    // The pipe has no end, because its reader has it open for writing: the thread runs until the process exits.
    std::thread::spawn(move || {
        for line in BufReader::new(reader).lines() {
            assert_eq!(line.expect("a line"), expected, "a line is torn");
            count.fetch_add(1, Relaxed);
        }
    });
    wait_for_progress(
        "all lines that were not lost",
        PATIENCE,
        || (arrived.load(Relaxed), lost()),
        |(arrived, lost)| arrived + lost >= sent,
    );
    assert_eq!(arrived.load(Relaxed) + lost(), sent);
    server.get("/full");
    server.log_has("write() to \"/dev/full\" failed (28: No space left on device), 1 line lost; free space");
}

#[test]
fn log_sample_includes_every_error_and_json_log_is_valid() {
    let server = Server::start(
        Place::new(),
        "server { listen 127.0.0.1:@PORT@; root @DIR@/html;
             location / { access_log @DIR@/json.log json; return 200 x; }
             location /sample { access_log @DIR@/sample.log combined sample=1/1000000; return 200 x; }
             location /sample/gone { access_log @DIR@/sample.log combined sample=1/1000000; return 404; } }",
    );
    for number in 0..50 {
        server.get(&format!("/sample/{number}"));
        server.get("/sample/gone");
    }
    wait_for("the errors", || server.read("sample.log").lines().count() >= 50);
    server.fetch(&Request::get("/a?b=\"c\"").field("User-Agent", "x\"y\\z").field("Referer", "http://a/"));
    wait_for("a line", || server.read("json.log").ends_with('\n'));
    let line: serde_json::Value = serde_json::from_str(&server.read("json.log")).expect("JSON");
    assert_eq!(
        (&line["uri"], &line["status"], &line["method"]),
        (&"/a?b=\"c\"".into(), &200.into(), &"GET".into())
    );
    assert_eq!((&line["user_agent"], &line["referer"]), (&"x\"y\\z".into(), &"http://a/".into()));
    assert!(server.read("sample.log").lines().all(|line| line.contains("\" 404 ")));
}

#[test]
fn every_line_of_a_json_log_is_json_in_utf8_whatever_clients_send() {
    let server = Server::start(
        Place::new(),
        "server { listen 127.0.0.1:@PORT@; access_log @DIR@/json.log json; error_log @DIR@/errors.log info format=json;
             location / { return 200 x; } location /missing { root @DIR@/nowhere; } }",
    );
    let mut random = fastrand::Rng::with_seed(1_764_000_000);
    let mut noise = |length: usize| -> Vec<u8> {
        let letters = ["\u{9b}31m", "\u{202e}", "\u{2028}", "é", "日", "\"", "\\"]
            .map(|letter| letter.as_bytes().to_vec());
        let pieces = (0..length).map(|_| match random.u8(..3) {
            0 => vec![random.u8(0x80..)],
            1 => letters[random.usize(..letters.len())].clone(),
            _ => vec![random.u8(b'!'..=b'~')],
        });
        pieces.flatten().collect()
    };
    for number in 0..60 {
        let uri = if number % 3 == 0 { format!("/missing/{number}?") } else { format!("/{number}?") };
        let head = [
            b"GET ".as_slice(),
            uri.as_bytes(),
            &noise(12),
            b" HTTP/1.1\r\nHost: a.test\r\nConnection: close\r\nReferer: ",
            &noise(20),
            b"\r\nUser-Agent: ",
            &noise(20),
            b"\r\n\r\n",
        ];
        let mut client = server.connect();
        client.send(head.concat());
        client.answer();
    }
    // Requests with a malformed head, and connections without a request.
    for bytes in [
        &b"\x16\x03\x01\x02\0\x01\0\x01"[..],
        b"GET\r\n\r\n",
        b"GET / HTTP/9.9\r\n\r\n",
        b"G\xff / HTTP/1.1\r\n\r\n",
        b"GET /\r\n",
    ] {
        let mut client = server.connect();
        client.send(bytes);
        client.finish_sending();
        client.rest();
    }
    let mut last = server.connect();
    last.fetch(&Request::get("/the-last"));
    let read = |name: &str| fs::read(server.folder().join(name)).expect("a log");
    wait_for("the last line", || read("json.log").windows(10).any(|text| text == b"/the-last\""));
    let mut lines = 0;
    for name in ["json.log", "errors.log"] {
        for line in read(name).split_inclusive(|byte| *byte == b'\n') {
            let line = std::str::from_utf8(line).unwrap_or_else(|_| panic!("UTF-8: {}", line.escape_ascii()));
            let object: serde_json::Value =
                serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"));
            assert!(object.is_object());
            let steers = |letter: char| {
                letter.is_control() && letter != '\n' || ('\u{2028}'..='\u{202e}').contains(&letter)
            };
            assert!(!line.contains(steers), "{line:?}");
            lines += 1;
        }
    }
    assert!(lines > 80, "{lines}");
}

#[test]
fn json_error_log_contains_client_and_request() {
    let server = Server::start(
        Place::new(),
        "server { listen 127.0.0.1:@PORT@; server_name a.test; root @DIR@/html;
             error_log @DIR@/json.log format=json; error_log @DIR@/plain.log; }",
    );
    for _ in 0..25 {
        server.get("/missing");
    }
    wait_for("the lines", || server.read("plain.log").lines().count() >= 10);
    let text = server.read("json.log");
    let line: serde_json::Value = serde_json::from_str(text.lines().next().expect("a line")).expect("JSON");
    assert_eq!(
        (&line["level"], &line["client"], &line["server"]),
        (&"error".into(), &"127.0.0.1".into(), &"a.test".into())
    );
    assert_eq!(line["request"], "GET /missing HTTP/1.1");
    let message = line["message"].as_str().expect("a text");
    assert!(message.ends_with("html/missing\" failed (2: No such file or directory)"), "{message}");
    assert_eq!((text.lines().count(), server.read("plain.log").lines().count()), (10, 10));
    // Further messages were suppressed, and are reported when the server stops.
    let mut server = server;
    server.signal(Signal::TERM);
    assert!(server.ended());
    let told = server.read("plain.log");
    let last = told.lines().last().expect("a line");
    assert!(last.contains(" [error] ") && last.contains("message repeated 15 times: [open() \""), "{last}");
    let text = server.read("json.log");
    let last: serde_json::Value = serde_json::from_str(text.lines().last().expect("a line")).expect("JSON");
    assert_eq!((&last["repeated"], &last["client"]), (&15.into(), &"127.0.0.1".into()));
}

/// Creates a root in a user namespace, like rootless containers, and checks a configuration whose error log is a link
/// to standard error: in the namespace the root folder of procfs has no valid owner.
const ROOTLESS: &str = r#"
    root=$1 binary=$2
    mount -t tmpfs none "$root"
    for folder in usr lib lib64 bin; do
        [ ! -e "/$folder" ] || { mkdir "$root/$folder"; mount --rbind "/$folder" "$root/$folder"; }
    done
    mkdir "$root/proc" "$root/dev" "$root/etc" "$root/logs"
    mount -t proc proc "$root/proc"
    touch "$root/myriad"; mount --bind "$binary" "$root/myriad"
    ln -s /proc/self/fd/2 "$root/dev/stderr"
    ln -s /dev/stderr "$root/logs/error.log"
    echo root:x:0:0::/:/bin/sh >"$root/etc/passwd"; echo root:x:0: >"$root/etc/group"
    echo 'user root; pid /logs/pid; error_log /logs/error.log; events {} http { access_log off; }' >"$root/logs/conf"
    code=0; chroot "$root" /myriad -t -p /logs -c conf 2>"$root/told" || code=$?
    stat --format=%u "$root/proc"
    cat "$root/told"
    exit $code"#;

#[test]
fn error_log_of_a_rootless_container_leads_to_standard_error() {
    let place = Place::new();
    let program = place.install(binary(), "myriad");
    let root = place.path("root");
    fs::create_dir(&root).expect("a folder");
    let is_root = rustix::process::geteuid().is_root();
    let as_its_root = || {
        let mut command = Command::new(if is_root { "setpriv" } else { "unshare" });
        if is_root {
            command.args(["--reuid", "65533", "--regid", "65533", "--clear-groups", "unshare"]);
        }
        command.args(["--user", "--map-root-user", "--mount", "--pid", "--fork"]);
        command
    };
    if !as_its_root()
        .args(["mount", "-t", "proc", "proc", "/proc"])
        .status()
        .is_ok_and(|status| status.success())
    {
        eprintln!("no user namespace may be made here: the rootless container was not tried");
        return;
    }
    if is_root {
        chown(&root, Some(65_533), Some(65_533)).expect("root may change the owner");
    }
    let output = as_its_root()
        .args(["sh", "-ec", ROOTLESS, "sh"])
        .args([&root, &program])
        .output()
        .expect("unshare starts");
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
    assert!(told.starts_with("65534\n") && told.ends_with("test is successful\n"), "{told}");
}
