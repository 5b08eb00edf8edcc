//! Logs that leave by other ways than a plain file.

use std::io::Read;
use std::net::UdpSocket;
use std::process::{Command, Stdio};
use std::time::Duration;

use myriad_tests::{Place, Server};

fn syslog() -> (UdpSocket, u16) {
    let socket = UdpSocket::bind("127.0.0.1:0").expect("a port");
    socket.set_read_timeout(Some(Duration::from_secs(20))).expect("a time-out");
    let port = socket.local_addr().expect("an address").port();
    (socket, port)
}

/// The next message that holds `text`.
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
fn a_compressed_log_is_whole_once_the_server_has_ended() {
    let mut server = Server::start(
        Place::new(),
        "log_format plain '$uri';
         server { listen 127.0.0.1:@PORT@; access_log @DIR@/packed.log plain gzip=9 buffer=32; return 204; }",
    );
    for number in 0..20 {
        server.get(&format!("/page/{number}"));
    }
    server.signal(myriad_tests::Signal::QUIT);
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
