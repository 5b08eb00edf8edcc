//! Session resumption, early data, and handshakes that never complete.

use std::fmt::Write as _;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use myriad_tests::{Place, Server, Signal, certificate, signal, wait_for};

fn place() -> Place {
    let place = Place::new();
    certificate(&place.path("one.crt"), &place.path("one.key"));
    place
}

fn start(http: &str, server: &str) -> Server {
    Server::start(
        place(),
        &format!(
            "{http} lingering_close off; server {{ listen 127.0.0.1:@PORT@ ssl; server_name one.test; \
             ssl_certificate one.crt; ssl_certificate_key one.key; {server} }}"
        ),
    )
}

/// Returns the output of `openssl s_client`, which sends a request after the handshake.
fn openssl(server: &Server, options: &[&str], request: &str) -> String {
    let mut client = Command::new("openssl")
        .args(["s_client", "-connect", &format!("127.0.0.1:{}", server.port), "-ign_eof"])
        .args(if options.contains(&"-servername") { &[][..] } else { &["-servername", "one.test"] })
        .args(options)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("openssl runs");
    let mut input = client.stdin.take().expect("piped");
    input.write_all(request.as_bytes()).expect("openssl reads");
    drop(input);
    let output = client.wait_with_output().expect("openssl ends");
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

const CLOSING: &str = "GET /later HTTP/1.1\r\nHost: one.test\r\nConnection: close\r\n\r\n";

#[test]
fn early_data_are_taken_once_and_only_where_that_is_safe() {
    let server = start(
        "",
        "ssl_early_data on; location / { return 200 '<$request_method $uri early:$ssl_early_data>\\n'; }",
    );
    let early = server.path("early");
    let request = |method: &str| {
        server.write(
            "early",
            format!("{method} /first HTTP/1.1\r\nHost: one.test\r\nContent-Length: 0\r\n\r\n"),
        );
    };
    let saved = server.path("session.pem");
    let (early, saved) = (early.to_str().expect("text"), saved.to_str().expect("text"));
    let new_session = || openssl(&server, &["-tls1_3", "-sess_out", saved], CLOSING);
    assert!(new_session().contains("<GET /later early:>"));

    request("GET");
    let taken = openssl(&server, &["-tls1_3", "-sess_in", saved, "-early_data", early], CLOSING);
    assert!(taken.contains("Early data was accepted"), "{taken}");
    assert!(taken.contains("<GET /first early:1>"), "{taken}");
    assert!(taken.contains("<GET /later early:>"), "{taken}");

    let replayed = openssl(&server, &["-tls1_3", "-sess_in", saved, "-early_data", early], CLOSING);
    assert!(replayed.contains("Early data was rejected"), "{replayed}");
    assert!(!replayed.contains("early:1"), "{replayed}");

    new_session();
    request("POST");
    let unsafe_one = openssl(&server, &["-tls1_3", "-sess_in", saved, "-early_data", early], "");
    assert!(unsafe_one.contains("Early data was accepted") && unsafe_one.contains(" 425 "), "{unsafe_one}");
    assert!(!unsafe_one.contains("<POST"), "{unsafe_one}");
}

#[test]
fn early_data_are_judged_whichever_server_the_request_names() {
    let server = start(
        "server { listen 127.0.0.1:@PORT@ ssl; server_name two.test; ssl_certificate one.crt; \
         ssl_certificate_key one.key; return 200 '<$request_method two>'; }",
        "ssl_early_data on; return 200 one;",
    );
    server.write("early", "POST / HTTP/1.1\r\nHost: two.test\r\nContent-Length: 0\r\n\r\n");
    let (early, saved) = (server.path("early"), server.path("session.pem"));
    let (early, saved) = (early.to_str().expect("text"), saved.to_str().expect("text"));
    openssl(&server, &["-tls1_3", "-sess_out", saved], CLOSING);
    let said = openssl(&server, &["-tls1_3", "-sess_in", saved, "-early_data", early], "");
    assert!(said.contains("Early data was accepted") && said.contains(" 425 "), "{said}");
    assert!(!said.contains("<POST"), "{said}");
}

#[test]
fn stalled_handshakes_do_not_block_other_clients_of_same_address() {
    let server = start("client_header_timeout 5m;", "return 200 served;");
    let connect = || TcpStream::connect(("127.0.0.1", server.port)).expect("a connection");
    let _silent: Vec<TcpStream> = (0..300).map(|_| connect()).collect();
    let mut slow: Vec<TcpStream> = (0..600).map(|_| connect()).collect();
    for client in &mut slow {
        client.write_all(&[22, 3, 1, 2, 0, 1, 0]).expect("room");
    }
    server.log_has("too many handshakes in progress from this client network");
    assert!(openssl(&server, &[], CLOSING).contains("served"));
}

/// Sessions stored by clients: tickets or session ids, for both versions.
struct Kept {
    options: Vec<[String; 2]>,
}

/// Servers on one port, one for each kind of session storage, by name.
const WAYS: [(&str, &str); 2] = [
    ("tickets.test", ""),
    ("numbers.test", "ssl_session_tickets off; ssl_session_cache shared:sessions:1m;"),
];

fn start_with_workers() -> Server {
    let server = |(name, lines): &(&str, &str)| {
        format!(
            "server {{ listen 127.0.0.1:@PORT@ ssl; server_name {name}; ssl_certificate one.crt; \
             ssl_certificate_key one.key; {lines} return 200 '<$ssl_session_reused>'; }} "
        )
    };
    let servers: String = WAYS.iter().map(server).collect();
    let servers = servers.replacen(" ssl;", " ssl reuseport;", 1);
    Server::start_with(place(), "worker_processes 4;", &format!("lingering_close off; {servers}"))
}

impl Kept {
    /// Creates new sessions of each kind.
    fn new(server: &Server, ways: &[(&str, &str)]) -> Self {
        let mut options = Vec::new();
        for (name, _) in ways {
            for version in ["-tls1_2", "-tls1_3"] {
                let file = server.path(&format!("{name}{version}.pem")).display().to_string();
                let said = openssl(server, &[version, "-servername", name, "-sess_out", &file], CLOSING);
                assert!(said.contains("<.>"), "{name} {version}: {said}");
                options.push([format!("{version} -servername {name}"), file]);
            }
        }
        Self { options }
    }

    /// Resumes each session several times, and stores the new sessions of the server.
    fn come_back(&self, server: &Server, when: &str) {
        for [how, file] in &self.options {
            for _ in 0..6 {
                let mut options: Vec<&str> = how.split(' ').collect();
                options.extend(["-sess_in", file, "-sess_out", file]);
                let said = openssl(server, &options, CLOSING);
                assert!(said.contains("<r>"), "{when}, {how}: {said}");
            }
        }
    }
}

#[test]
fn sessions_are_resumed_by_any_worker_and_after_a_reload() {
    let server = start_with_workers();
    let kept = Kept::new(&server, &WAYS);
    kept.come_back(&server, "at once");
    server.signal(Signal::HUP);
    server.log_has("the new configuration is in effect");
    kept.come_back(&server, "after a reload");
}

#[test]
fn tickets_are_opened_by_the_process_that_takes_the_place_of_one_that_crashed() {
    let server = start_with_workers();
    let kept = Kept::new(&server, &WAYS[..1]);
    for time in ["once", "again"] {
        let [worker] = server.workers()[..] else { panic!("one worker process") };
        signal(worker, Signal::KILL);
        wait_for("another worker process", || {
            server.workers().iter().any(|other| *other != worker)
                && TcpStream::connect(("127.0.0.1", server.port)).is_ok()
        });
        kept.come_back(&server, time);
    }
}

#[test]
fn tickets_that_were_switched_off_are_opened_by_no_process_after_that() {
    let config = |lines: &str, says: &str| {
        format!(
            "server {{ listen 127.0.0.1:@PORT@ ssl; server_name tickets.test; ssl_certificate one.crt; \
             ssl_certificate_key one.key; {lines} return 200 '<$ssl_session_reused>{says}'; }}"
        )
    };
    let server = Server::start(place(), &config("", "first"));
    let kept = Kept::new(&server, &WAYS[..1]);
    let serves = |says: &str| {
        wait_for(says, || {
            TcpStream::connect(("127.0.0.1", server.port)).is_ok()
                && openssl(&server, &[], CLOSING).contains(&format!(">{says}"))
        });
    };
    server.reload(&config("ssl_session_tickets off;", "off"));
    serves("off");
    let [worker] = server.workers()[..] else { panic!("one worker process") };
    signal(worker, Signal::KILL);
    wait_for("another worker process", || server.workers().iter().any(|other| *other != worker));
    serves("off");
    server.reload(&config("", "again"));
    serves("again");
    for [how, file] in &kept.options {
        let mut options: Vec<&str> = how.split(' ').collect();
        options.extend(["-sess_in", file]);
        let said = openssl(&server, &options, CLOSING);
        assert!(said.contains("<.>again"), "{how}: {said}");
    }
}

#[test]
fn tickets_are_opened_by_a_new_binary() {
    let mut server = start_with_workers();
    let kept = Kept::new(&server, &WAYS[..1]);
    let pid = |file: &str| server.read(file).trim().parse::<u32>().ok();
    let old = pid("myriad.pid").expect("a pid");
    signal(old, Signal::USR2);
    let mut new = None;
    wait_for("both pid files", || {
        new = pid("myriad.pid").filter(|new| *new != old && pid("myriad.pid.oldbin").is_some());
        new.is_some()
    });
    signal(old, Signal::QUIT);
    assert!(server.ended(), "the old process exits successfully");
    kept.come_back(&server, "after an upgrade");
    signal(new.expect("waited for"), Signal::TERM);
}

#[test]
fn tickets_of_a_shared_key_are_opened_by_another_server_and_others_are_not() {
    let key: Vec<u8> = (0..80).collect();
    let first = place();
    let pair = ["one.crt", "one.key"].map(|file| (file, first.read(file)));
    let with_key = |place: Place, key: &[u8]| {
        for (file, text) in &pair {
            place.write(file, text);
        }
        place.write("ticket.key", key);
        Server::start(
            place,
            "server { listen 127.0.0.1:@PORT@ ssl; server_name one.test; ssl_certificate one.crt; \
             ssl_certificate_key one.key; ssl_session_ticket_key ticket.key; return 200 '<$ssl_session_reused>'; }",
        )
    };
    let (first, second) = (with_key(first, &key), with_key(Place::new(), &key));
    let stranger = with_key(Place::new(), &key[..48]);
    let saved = first.path("session.pem");
    let saved = saved.to_str().expect("text");
    for version in ["-tls1_2", "-tls1_3"] {
        assert!(openssl(&first, &[version, "-sess_out", saved], CLOSING).contains("<.>"));
        assert!(openssl(&second, &[version, "-sess_in", saved], CLOSING).contains("<r>"), "{version}");
        assert!(openssl(&stranger, &[version, "-sess_in", saved], CLOSING).contains("<.>"), "{version}");
    }
}

/// Starts servers with the same name on different addresses with these directives; they respond with the result of the
/// client verification.
fn start_on_addresses(place: Place, http: &str, servers: &[&str]) -> Server {
    let told = "'<$ssl_session_reused>$ssl_client_verify;'";
    let server = |(index, lines): (usize, &&str)| {
        format!(
            "server {{ listen 127.0.0.{}:@PORT@ ssl; server_name one.test; {lines} \
             error_page 495 496 = /told; location / {{ return 200 {told}; }} \
             location = /told {{ return 200 {told}; }} }} ",
            index + 1
        )
    };
    let servers: String = servers.iter().enumerate().map(server).collect();
    Server::start(place, &format!("lingering_close off; {http} {servers}"))
}

/// Connects to the server with this index, with further options; returns its response.
fn told(server: &Server, index: usize, options: &[&str]) -> String {
    let address = format!("127.0.0.{}:{}", index + 1, server.port);
    let said = openssl(server, &[&["-connect", &address], options].concat(), CLOSING);
    let body = said.split("\r\n\r\n").last().and_then(|text| text.split_once(';'));
    body.unwrap_or_else(|| panic!("{said}")).0.to_owned()
}

#[test]
fn a_session_is_resumed_by_servers_with_the_same_certificate_and_by_no_other() {
    let place = place();
    certificate(&place.path("two.crt"), &place.path("two.key"));
    let [one, two] =
        ["one", "two"].map(|name| format!("ssl_certificate {name}.crt; ssl_certificate_key {name}.key;"));
    for kept in ["", "ssl_session_tickets off; ssl_session_cache shared:sessions:1m;"] {
        let place = {
            let own = Place::new();
            for file in ["one.crt", "one.key", "two.crt", "two.key"] {
                own.write(file, place.read(file));
            }
            own
        };
        let server = start_on_addresses(place, kept, &[&one, &two, &one]);
        let saved = server.path("session.pem").display().to_string();
        for version in ["-tls1_2", "-tls1_3"] {
            for (other, resumed) in [(0, "<r>"), (1, "<.>"), (2, "<r>")] {
                let first = told(&server, 0, &[version, "-sess_out", &saved]);
                assert!(first.starts_with("<.>"), "{first}");
                let then = told(&server, other, &[version, "-sess_in", &saved]);
                assert!(then.starts_with(resumed), "{kept:?} {version} server {other}: {then}");
            }
        }
    }
}

/// Creates a chain of authorities in `authorities.crt`, and a client certificate of the second.
fn client_of_authorities(place: &Place) {
    certificate(&place.path("root.crt"), &place.path("root.key"));
    let signed = |name: &str, by: &str, is_authority: &str| {
        place.write("extensions", format!("basicConstraints=critical,CA:{is_authority}\n"));
        let file = |name: &str, end: &str| place.path(&format!("{name}.{end}")).display().to_string();
        let run = |arguments: &[&str]| {
            let ran = Command::new("openssl").args(arguments).output().expect("openssl runs");
            assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        };
        let (key, asked) = (file(name, "key"), file(name, "csr"));
        let subject = format!("/CN={name}");
        run(&[
            "req",
            "-new",
            "-nodes",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:P-256",
            "-subj",
            &subject,
        ]
        .into_iter()
        .chain(["-keyout", &key, "-out", &asked])
        .collect::<Vec<_>>());
        let (ca, ca_key, out) = (file(by, "crt"), file(by, "key"), file(name, "crt"));
        let extensions = place.path("extensions").display().to_string();
        run(&["x509", "-req", "-in", &asked, "-CA", &ca, "-CAkey", &ca_key, "-CAcreateserial", "-days", "2"]
            .into_iter()
            .chain(["-extfile", &extensions, "-out", &out])
            .collect::<Vec<_>>());
    };
    signed("middle", "root", "TRUE");
    signed("client", "middle", "FALSE");
    place.write("authorities.crt", place.read("root.crt") + &place.read("middle.crt"));
}

#[test]
fn resumed_client_is_verified_again_by_other_server_sharing_sessions() {
    let place = place();
    client_of_authorities(&place);
    certificate(&place.path("stranger.crt"), &place.path("stranger.key"));
    let servers = [
        "ssl_verify_client on; ssl_client_certificate authorities.crt; ssl_verify_depth 3;",
        "ssl_verify_client on; ssl_client_certificate stranger.crt;",
        "ssl_verify_client optional; ssl_client_certificate stranger.crt;",
        "",
        // Resumes sessions of the first server, because client certificates are requested with the same settings.
        "ssl_verify_client on; ssl_client_certificate authorities.crt; ssl_verify_depth 0;",
    ];
    let http = "ssl_certificate one.crt; ssl_certificate_key one.key; ssl_session_cache shared:sessions:1m;";
    let server = start_on_addresses(place, http, &servers);
    let file = |name: &str| server.path(name).display().to_string();
    let (cert, key, saved) = (file("client.crt"), file("client.key"), file("session.pem"));
    for version in ["-tls1_2", "-tls1_3"] {
        let begin = || {
            let proves = [version, "-cert", &cert, "-key", &key, "-sess_out", &saved];
            assert_eq!(told(&server, 0, &proves), "<.>SUCCESS", "{version}");
        };
        begin();
        assert_eq!(told(&server, 0, &[version, "-sess_in", &saved]), "<r>SUCCESS", "{version}");
        for other in 1..=3 {
            begin();
            assert_eq!(told(&server, other, &[version, "-sess_in", &saved]), "<.>NONE", "{version} {other}");
        }
        begin();
        let deep = told(&server, 4, &[version, "-sess_in", &saved]);
        assert!(deep.starts_with("<r>FAILED:"), "{version}: {deep}");
    }
}

#[test]
fn numbers_of_sessions_stay_when_they_are_resumed() {
    let server = start("", "return 200 '<$ssl_session_reused $ssl_session_id>';");
    let saved = server.path("session.pem");
    let saved = saved.to_str().expect("text");
    let number = |options: &[&str]| {
        let said = openssl(&server, options, CLOSING);
        let from = said.find('<').expect("an answer");
        said[from..].split('>').next().expect("the end of the number").to_owned()
    };
    let first = number(&["-tls1_3", "-sess_out", saved]);
    let again = number(&["-tls1_3", "-sess_in", saved]);
    assert!(first.starts_with("<. ") && again.starts_with("<r "), "{first} {again}");
    assert_eq!(first[3..], again[3..]);
    assert_eq!(first[3..].len(), 64);
}

#[test]
fn incomplete_handshakes_are_closed_after_timeout() {
    let server = start("client_header_timeout 2s;", "return 200 served;");
    let connect = || TcpStream::connect(("127.0.0.1", server.port)).expect("a connection");
    // Only the beginning of a hello.
    let mut slow: Vec<TcpStream> = (0..700).map(|_| connect()).collect();
    for client in &mut slow {
        let _ = client.write_all(&[22, 3, 1, 2, 0, 1, 0]);
    }
    for client in &mut slow {
        client.set_read_timeout(Some(Duration::from_secs(20))).expect("a time-out");
        // The server closes each: surplus connections immediately, the others after the timeout.
        let ended = client.read(&mut [0; 64]);
        assert!(
            matches!(ended, Ok(0)) || ended.is_err_and(|error| error.kind() == ErrorKind::ConnectionReset)
        );
    }
    wait_for("room for others", || openssl(&server, &[], CLOSING).contains("served"));
}

#[test]
fn pages_come_whole_however_records_are_sized() {
    let mut large = String::new();
    for number in 0..40_000 {
        let _ = writeln!(large, "{number:09}");
    }
    for sizes in ["", "ssl_buffer_size 1k;", "ssl_buffer_size 16k;"] {
        let server = start(
            "",
            &format!("{sizes} root @DIR@/html; location /text {{ return 200 {}; }}", "x".repeat(3000)),
        );
        server.write("html/large.txt", &large);
        for path in ["large.txt", "text"] {
            let request = format!("GET /{path} HTTP/1.1\r\nHost: one.test\r\nConnection: close\r\n\r\n");
            let said = openssl(&server, &["-quiet"], &request);
            let whole = if path == "text" { said.contains(&"x".repeat(3000)) } else { said.contains(&large) };
            assert!(whole, "{sizes} {path}: {} bytes", said.len());
        }
    }
}
