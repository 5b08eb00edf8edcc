//! What HTTP/3 has of its own: handshakes, addresses that change, early data, ends, restarts and upgrades, clients that break rules.

mod early;
mod ends;
mod fields;
mod handshakes;
mod requests;
mod rules;
mod upgrades;

use myriad_tests::{BareQuic, Place, QuicClient, QuicVisitor, Server, certificate};

/// A server for QUIC and TLS on one port: `http` stands before its `server`, `directives` in it.
fn start(main: &str, http: &str, directives: &str) -> Server {
    let place = Place::new();
    certificate(&place.path("own.crt"), &place.path("own.key"));
    place.write("html/a.txt", "a file");
    Server::start_with(place, main, &text(http, directives))
}

fn text(http: &str, directives: &str) -> String {
    format!(
        "log_format own '$http3 $server_protocol $request $status $ssl_early_data';
         ssl_certificate @DIR@/own.crt; ssl_certificate_key @DIR@/own.key; {http}
         server {{ listen 127.0.0.1:@PORT@ ssl; listen 127.0.0.1:@PORT@ quic; server_name localhost;
           root @DIR@/html; access_log @DIR@/own.log own; {directives} }}"
    )
}

fn connect(server: &Server) -> QuicClient {
    QuicVisitor::new().connect(server.port).expect("a connection")
}

/// `GET /a.txt`, but for what comes of the table of fields.
const GET: &[u8] = b"\xd1\xd7\x50\x09localhost";

const POST: &[u8] = b"\xd4\xd7\x50\x09localhost";

/// A request whose head is this section.
fn headers(section: &[&[u8]]) -> Vec<u8> {
    let section = section.concat();
    [&[1, section.len() as u8], &section[..]].concat()
}

fn has(answer: &[u8], text: &str) -> bool {
    answer.windows(text.len()).any(|part| part == text.as_bytes())
}

/// A connection with its control stream, and the number of its encoder's stream.
fn connect_bare(server: &Server) -> (BareQuic, usize) {
    let mut client = QuicVisitor::new().connect_bare(server.port).expect("a connection");
    client.open(true, b"\x00\x04\x00").expect("a control stream");
    let encoder = client.open(true, b"\x02").expect("an encoder's stream");
    (client, encoder)
}

/// Asks for something and is answered: then the server has seen what was sent on this connection before.
fn round_trip(client: &mut BareQuic) {
    let stream = client.open(false, &headers(&[b"\x00\x00", GET, b"\x51\x06/a.txt"])).expect("a request");
    client.end(stream);
    assert!(has(&client.answer(stream).expect("an answer"), "a file"));
}
