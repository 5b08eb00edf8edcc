//! Sessions that are resumed, early data, and handshakes that never end.

use std::fmt::Write as _;
use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::Duration;

use myriad_tests::{Place, Server, wait_for};

fn place() -> Place {
    let place = Place::new();
    let made = Command::new("openssl")
        .args(["req", "-x509", "-nodes", "-days", "2", "-subj", "/CN=one.test", "-newkey", "ec"])
        .args(["-pkeyopt", "ec_paramgen_curve:P-256", "-keyout"])
        .arg(place.path("one.key"))
        .arg("-out")
        .arg(place.path("one.crt"))
        .output()
        .expect("openssl runs");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
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

/// What `openssl s_client` says, given a request to send once the handshake is over.
fn openssl(server: &Server, options: &[&str], request: &str) -> String {
    let mut client = Command::new("openssl")
        .args([
            "s_client",
            "-connect",
            &format!("127.0.0.1:{}", server.port),
            "-servername",
            "one.test",
            "-ign_eof",
        ])
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
fn handshakes_that_do_not_go_on_lock_nobody_out_who_shares_their_address() {
    let server = start("client_header_timeout 5m;", "return 200 served;");
    let connect = || TcpStream::connect(("127.0.0.1", server.port)).expect("a connection");
    let _silent: Vec<TcpStream> = (0..300).map(|_| connect()).collect();
    let mut slow: Vec<TcpStream> = (0..600).map(|_| connect()).collect();
    for client in &mut slow {
        client.write_all(&[22, 3, 1, 2, 0, 1, 0]).expect("room");
    }
    server.log_has("too many handshakes of this address are under way");
    assert!(openssl(&server, &[], CLOSING).contains("served"));
}

#[test]
fn tickets_of_a_shared_key_are_opened_by_another_server_and_others_are_not() {
    let key: Vec<u8> = (0..80).collect();
    let with_key = |key: &[u8]| {
        let place = place();
        place.write("ticket.key", key);
        Server::start(
            place,
            "server { listen 127.0.0.1:@PORT@ ssl; server_name one.test; ssl_certificate one.crt; \
             ssl_certificate_key one.key; ssl_session_ticket_key ticket.key; return 200 '<$ssl_session_reused>'; }",
        )
    };
    let (first, second, stranger) = (with_key(&key), with_key(&key), with_key(&key[..48]));
    let saved = first.path("session.pem");
    let saved = saved.to_str().expect("text");
    for version in ["-tls1_2", "-tls1_3"] {
        assert!(openssl(&first, &[version, "-sess_out", saved], CLOSING).contains("<.>"));
        assert!(openssl(&second, &[version, "-sess_in", saved], CLOSING).contains("<r>"), "{version}");
        assert!(openssl(&stranger, &[version, "-sess_in", saved], CLOSING).contains("<.>"), "{version}");
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
        said[from..].split('>').next().expect("its end").to_owned()
    };
    let first = number(&["-tls1_3", "-sess_out", saved]);
    let again = number(&["-tls1_3", "-sess_in", saved]);
    assert!(first.starts_with("<. ") && again.starts_with("<r "), "{first} {again}");
    assert_eq!(first[3..], again[3..]);
    assert_eq!(first[3..].len(), 64);
}

#[test]
fn handshakes_that_never_end_are_ended_and_one_address_has_only_so_many() {
    let server = start("client_header_timeout 2s;", "return 200 served;");
    let connect = || TcpStream::connect(("127.0.0.1", server.port)).expect("a connection");
    // The start of a hello, and no more.
    let mut slow: Vec<TcpStream> = (0..700).map(|_| connect()).collect();
    for client in &mut slow {
        let _ = client.write_all(&[22, 3, 1, 2, 0, 1, 0]);
    }
    server.log_has("too many handshakes of this address are under way");
    for client in &mut slow {
        client.set_read_timeout(Some(Duration::from_secs(20))).expect("a time-out");
        // The server ends each: those that were too many at once, the others when their time is over.
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
