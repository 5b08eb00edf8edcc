//! Proxying of TCP connections and UDP datagrams.
//!
//! covers: proxy_timeout proxy_half_close proxy_responses proxy_requests proxy_upload_rate proxy_download_rate

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream, UdpSocket};
use std::thread;
use std::time::Duration;

use myriad_tests::{Place, Server, Signal, wait_for};

/// Timeout of data that should arrive immediately.
const PATIENCE: Duration = Duration::from_secs(20);

/// Starts a peer that echoes its input. After the client has closed its sending direction, the peer sends `end`.
fn echo() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            thread::spawn(move || {
                let mut reader = stream.try_clone().expect("a copy");
                let _ = std::io::copy(&mut reader, &mut &stream);
                let _ = (&stream).write_all(b"end");
            });
        }
    });
    address
}

fn start(stream: &str) -> Server {
    Server::start_with(Place::new(), &format!("stream {{ {stream} }}"), "")
}

fn connect(server: &Server) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", server.port)).expect("a connection");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream
}

fn exchange(stream: &mut TcpStream, bytes: &[u8]) {
    let mut writer = stream.try_clone().expect("a copy");
    thread::scope(|scope| {
        scope.spawn(move || writer.write_all(bytes).expect("written"));
        let mut back = vec![0; bytes.len()];
        stream.read_exact(&mut back).expect("read");
        assert!(back == bytes, "the received bytes differ from the sent ones");
    });
}

#[test]
fn bytes_pass_both_ways_and_go_on_through_a_reload_until_the_end() {
    let peer = echo();
    let server = start(&format!("server {{ listen 127.0.0.1:@PORT@; proxy_pass {peer}; }}"));
    let mut stream = connect(&server);
    let many: Vec<u8> = (0..3_000_000_u32).map(|number| (number >> 3) as u8).collect();
    exchange(&mut stream, &many);
    server.reload("");
    wait_for("the new configuration", || TcpStream::connect(("127.0.0.1", server.port)).is_err());
    exchange(&mut stream, b"as before");
    server.signal(Signal::QUIT);
    exchange(&mut stream, b"still");
    stream.shutdown(Shutdown::Both).expect("an end");
    let mut server = server;
    wait_for("the end of the server", || server.ended());
}

#[test]
fn half_closed_side_still_receives_data_with_proxy_half_close() {
    let peer = echo();
    let server =
        start(&format!("server {{ listen 127.0.0.1:@PORT@; proxy_pass {peer}; proxy_half_close on; }}"));
    let mut stream = connect(&server);
    stream.write_all(b"last words ").expect("written");
    stream.shutdown(Shutdown::Write).expect("an end");
    let mut back = String::new();
    stream.read_to_string(&mut back).expect("read");
    assert_eq!(back, "last words end");
}

#[test]
fn silence_on_both_sides_ends_a_connection() {
    let peer = echo();
    let server =
        start(&format!("server {{ listen 127.0.0.1:@PORT@; proxy_pass {peer}; proxy_timeout 100ms; }}"));
    let mut stream = connect(&server);
    assert_eq!(stream.read(&mut [0]).expect("an end"), 0);
    server.log_has("connection timed out");
}

#[test]
fn rates_hold_back_what_is_more_than_they_allow() {
    let peer = echo();
    let server = start(&format!(
        "server {{ listen 127.0.0.1:@PORT@; proxy_pass {peer}; proxy_upload_rate 40k; proxy_download_rate 40k; }}"
    ));
    let began = std::time::Instant::now();
    exchange(&mut connect(&server), &vec![7; 100_000]);
    // The bytes of a second are available when it begins: 40k, 80k, 120k.
    assert!(began.elapsed() >= Duration::from_secs(2), "{:?}", began.elapsed());
}

#[test]
fn datagrams_of_a_client_are_a_session_until_its_answers_are_there() {
    let peer = UdpSocket::bind("127.0.0.1:0").expect("a port");
    let address = peer.local_addr().expect("an address");
    // Sends each client its port.
    thread::spawn(move || {
        let mut buffer = [0; 64];
        while let Ok((_, from)) = peer.recv_from(&mut buffer) {
            let _ = peer.send_to(from.port().to_string().as_bytes(), from);
        }
    });
    let server = start(&format!(
        "log_format session '$protocol $status $bytes_received'; access_log @DIR@/stream.log session;
         server {{ listen 127.0.0.1:@PORT@ udp; proxy_pass {address}; proxy_requests 2; proxy_responses 1; }}"
    ));
    let client = UdpSocket::bind("127.0.0.1:0").expect("a port");
    client.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    client.connect(("127.0.0.1", server.port)).expect("connected");
    let ask = || {
        client.send(b"port?").expect("sent");
        let mut buffer = [0; 64];
        let length = client.recv(&mut buffer).expect("an answer");
        String::from_utf8_lossy(&buffer[..length]).into_owned()
    };
    let (first, second, third) = (ask(), ask(), ask());
    assert_eq!(first, second, "two datagrams belong to one session");
    assert_ne!(second, third, "the third datagram starts another session");
    wait_for("the first session's line", || server.read("stream.log").contains("UDP 200 10\n"));
}

/// Returns a database in MaxMind's format (version 2.0) in which every IPv4 address belongs to one country.
fn database_of_one_country() -> Vec<u8> {
    let text = |text: &str| [&[0x40 | text.len() as u8][..], text.as_bytes()].concat();
    let small = |name: &str, value: u8| [text(name), vec![0xa1, value]].concat();
    // A tree of one node whose branches both refer to the first value; then 16 zero bytes.
    let tree = [&[0, 0, 17, 0, 0, 17][..], &[0; 16]].concat();
    let value = [vec![0xe1], text("country"), vec![0xe1], text("iso_code"), text("AT")].concat();
    let facts = [
        vec![0xe9],
        [text("node_count"), vec![0xc1, 1]].concat(),
        small("record_size", 24),
        small("ip_version", 4),
        small("binary_format_major_version", 2),
        small("binary_format_minor_version", 0),
        [text("build_epoch"), vec![0x01, 0x02, 1]].concat(),
        [text("database_type"), text("Test")].concat(),
        [text("languages"), vec![0x00, 0x04]].concat(),
        [text("description"), vec![0xe0]].concat(),
    ];
    [tree, value, b"\xab\xcd\xefMaxMind.com".to_vec(), facts.concat()].concat()
}

#[test]
fn country_of_a_client_is_known_to_streams() {
    let place = Place::new();
    place.write("country.mmdb", database_of_one_country());
    let stream = "geoip2 @DIR@/country.mmdb { $country default=none country iso_code; }
                  map $country $verdict { AT welcome; default away; }
                  server { listen 127.0.0.1:@PORT@; return \"$country $verdict\"; }";
    let server = Server::start_with(place, &format!("stream {{ {stream} }}"), "");
    let mut back = String::new();
    connect(&server).read_to_string(&mut back).expect("read");
    assert_eq!(back, "AT welcome");
}
