//! HTTP/3 specifics: handshakes, address changes, early data, connection shutdown, restarts and upgrades, protocol
//! violations.

mod early;
mod fields;
mod handshakes;
mod requests;
mod rules;
mod shutdown;
mod upgrades;

use myriad_tests::{BareQuic, Place, QuicClient, QuicVisitor, Server, certificate};

/// Starts a server for QUIC and TLS on one port: `http` precedes its `server` block, `directives` are placed in it.
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

/// Fields of `GET /a.txt`, without the path.
const GET: &[u8] = b"\xd1\xd7\x50\x09localhost";

const POST: &[u8] = b"\xd4\xd7\x50\x09localhost";

/// Returns a HEADERS frame with this field section.
fn headers(section: &[&[u8]]) -> Vec<u8> {
    let section = section.concat();
    [&[1, section.len() as u8], &section[..]].concat()
}

fn has(answer: &[u8], text: &str) -> bool {
    answer.windows(text.len()).any(|part| part == text.as_bytes())
}

/// Opens a connection with its control stream; returns the index of its encoder stream as well.
fn connect_bare(server: &Server) -> (BareQuic, usize) {
    let mut client = QuicVisitor::new().connect_bare(server.port).expect("a connection");
    client.open(true, b"\x00\x04\x00").expect("a control stream");
    let encoder = client.open(true, b"\x02").expect("an encoder's stream");
    (client, encoder)
}

/// Sends a request and reads the response, so that the server has processed all earlier bytes of this connection.
fn round_trip(client: &mut BareQuic) {
    let stream = client.open(false, &headers(&[b"\x00\x00", GET, b"\x51\x06/a.txt"])).expect("a request");
    client.end(stream);
    assert!(has(&client.answer(stream).expect("an answer"), "a file"));
}
