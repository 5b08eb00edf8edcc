//! Tunnels: CONNECT reaches configured servers only.
//!
//! covers: tunnel_pass tunnel_connect_timeout tunnel_read_timeout tunnel_next_upstream

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::SeqCst};
use std::thread;
use std::time::Duration;

use myriad_tests::{Answer, Client, HttpOrigin, Place, Server, wait_for};

/// Target server: returns its input in upper case until the client closes.
struct Shouter {
    address: String,
    ended: Arc<AtomicUsize>,
}

impl Shouter {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address").to_string();
        let ended = Arc::<AtomicUsize>::default();
        let counted = Arc::clone(&ended);
        thread::spawn(move || {
            for stream in listener.incoming() {
                let Ok(stream) = stream else { return };
                let counted = Arc::clone(&counted);
                thread::spawn(move || {
                    shout(stream);
                    counted.fetch_add(1, SeqCst);
                });
            }
        });
        Self { address, ended }
    }
}

fn shout(mut stream: TcpStream) {
    let mut buffer = [0; 16 << 10];
    while let Ok(count) = stream.read(&mut buffer) {
        if count == 0 || stream.write_all(&buffer[..count].to_ascii_uppercase()).is_err() {
            return;
        }
    }
}

fn serve(http: &str) -> Server {
    Server::start(Place::new(), http)
}

/// Returns the response to a request.
fn told(server: &Server, request: &str) -> Answer {
    let mut client = server.connect();
    client.send(request);
    client.answer()
}

fn connect_to(target: &str) -> String {
    format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n")
}

/// Returns the head of the response; nothing follows it before the target sends data.
fn head_of_tunnel(client: &mut Client) -> String {
    let text = client.until(|text| text.windows(4).any(|part| part == b"\r\n\r\n"));
    let text = String::from_utf8(text).expect("a head");
    assert!(text.starts_with("HTTP/1.1 200 OK\r\n") && text.ends_with("\r\n\r\n"), "{text}");
    let names = text.to_ascii_lowercase();
    assert!(!names.contains("content-length") && !names.contains("transfer-encoding"), "{text}");
    text
}

#[test]
fn bytes_pass_both_ways_and_what_came_with_the_request_among_them() {
    let shouter = Shouter::start();
    let server = serve(&format!(
        "access_log @DIR@/access.log; upstream shouter {{ server {}; }} server {{ listen 127.0.0.1:@PORT@; tunnel_pass shouter; }}",
        shouter.address
    ));
    let mut client = server.connect();
    client.send(connect_to("anything.test:443") + "early ");
    let mut text = client.until(|text| text.ends_with(b"EARLY "));
    assert!(text.starts_with(b"HTTP/1.1 200 OK\r\n"), "{}", text.escape_ascii());
    text.clear();
    let sent = "some words that come back louder, and again and again. ".repeat(20_000);
    let loud = sent.to_ascii_uppercase().into_bytes();
    client.send(&sent);
    while text.len() < loud.len() {
        text.extend(client.some());
    }
    assert!(text == loud, "{} of {} bytes", text.len(), loud.len());
    drop(client);
    wait_for("the end of the connection behind the tunnel", || shouter.ended.load(SeqCst) == 1);
    wait_for("the log", || server.read("access.log").contains("CONNECT anything.test:443 HTTP/1.1\" 200"));
}

#[test]
fn map_selects_only_listed_tunnel_targets() {
    let [one, other] = [Shouter::start(), Shouter::start()];
    let forbidden = TcpListener::bind("127.0.0.1:0").expect("a port");
    forbidden.set_nonblocking(true).expect("a socket");
    let address = forbidden.local_addr().expect("an address");
    let server = serve(&format!(
        "upstream one {{ server {}; }} upstream hidden {{ server {address}; }}
         map $host:$request_port $to {{ shop.test:443 one; other.test:8443 {}; }}
         server {{ listen 127.0.0.1:@PORT@; location / {{ set $unused $to; tunnel_pass $to; }} }}",
        one.address, other.address
    ));
    for target in ["shop.test:443", "OTHER.test:8443"] {
        let mut client = server.connect();
        client.send(connect_to(target));
        head_of_tunnel(&mut client);
        client.send("hello");
        assert_eq!(client.until(|text| text.len() == 5), b"HELLO");
    }
    for target in [&*address.to_string(), "shop.test:80", "one:443", "hidden:80", "unix:443"] {
        assert_eq!(told(&server, &connect_to(target)).status, 403, "{target}");
    }
    // The field differs from the request line, which takes precedence.
    let both = format!("CONNECT {address} HTTP/1.1\r\nHost: shop.test:443\r\n\r\n");
    assert_eq!(told(&server, &both).status, 403);
    let nobody = forbidden.accept().expect_err("the address in `Host` is not contacted");
    assert_eq!(nobody.kind(), ErrorKind::WouldBlock);
}

#[test]
fn only_connect_is_tunnelled_and_it_reaches_nothing_else() {
    let shouter = Shouter::start();
    let origin = HttpOrigin::start(|call| call.answer("HTTP/1.1 200 OK", "from the origin"));
    let place = Place::new();
    let without = Place::new().port;
    let server = Server::start(
        place,
        &format!(
            "server {{ listen 127.0.0.1:@PORT@; server_name tunnel; tunnel_pass {}; error_page 405 /405.html; location = /405.html {{ internal; return 405 no; }} }}
             server {{ listen 127.0.0.1:@PORT@; server_name mixed;
                 if ($http_x_return) {{ return 200 text; }}
                 location / {{ proxy_pass http://{}; if ($http_x_tunnel) {{ tunnel_pass {}; }} }} }}
             server {{ listen 127.0.0.1:{without}; location / {{ proxy_pass http://{}; }} }}",
            shouter.address, origin.address, shouter.address, origin.address
        ),
    );
    assert_eq!(told(&server, "GET / HTTP/1.1\r\nHost: tunnel\r\n\r\n").status, 405);
    let connect =
        |more: &str| told(&server, &format!("CONNECT mixed:443 HTTP/1.1\r\nHost: mixed:443\r\n{more}\r\n"));
    // Neither the origin of other requests nor a page answers it.
    assert_eq!(connect("").status, 405);
    assert_eq!(connect("X-Return: 1\r\n").status, 405);
    assert_eq!(connect("Content-Length: 3\r\n").status, 400);
    assert_eq!(connect("X-Tunnel: 1\r\nTransfer-Encoding: chunked\r\n").status, 400);
    assert_eq!(
        told(&server, "CONNECT mixed:443 HTTP/1.0\r\nHost: mixed:443\r\nX-Tunnel: 1\r\n\r\n").status,
        405
    );
    assert_eq!(told(&server, "CONNECT mixed HTTP/1.1\r\nHost: mixed\r\nX-Tunnel: 1\r\n\r\n").status, 400);
    let mut client = Client::connect(without);
    client.send(connect_to("mixed:443"));
    assert_eq!(client.answer().status, 405);
    assert_eq!(told(&server, "GET /x HTTP/1.1\r\nHost: mixed\r\n\r\n").text(), "from the origin");
    assert_eq!(origin.heads().len(), 1, "{:?}", origin.heads());
    let mut client = server.connect();
    client.send("CONNECT mixed:443 HTTP/1.1\r\nHost: mixed:443\r\nX-Tunnel: 1\r\n\r\n");
    head_of_tunnel(&mut client);
}

#[test]
fn connect_over_http2_is_refused() {
    let shouter = Shouter::start();
    let server = serve(&format!(
        "server {{ listen 127.0.0.1:@PORT@; http2 on; location / {{ tunnel_pass {}; }} }}",
        shouter.address
    ));
    let said = std::process::Command::new("curl")
        .args(["-sSi", "--noproxy", "*", "--http2-prior-knowledge", "-X", "CONNECT", "--max-time", "20"])
        .arg(format!("http://127.0.0.1:{}/", server.port))
        .output()
        .expect("curl runs");
    let said = String::from_utf8_lossy(&said.stdout).into_owned() + &String::from_utf8_lossy(&said.stderr);
    assert!(!said.contains("HTTP/2 200"), "{said}");
    // Other requests on the connection are served.
    assert_eq!(server.get("/").status, 405);
}

#[test]
fn server_that_is_not_there_is_an_error_page_and_the_next_is_asked() {
    let shouter = Shouter::start();
    let gone = Place::new().port;
    let server = serve(&format!(
        "upstream pair {{ server 127.0.0.1:{gone}; server {0} backup; }}
         upstream other {{ server 127.0.0.1:{gone}; server {0} backup; }}
         server {{ listen 127.0.0.1:@PORT@; server_name pair; tunnel_pass pair; }}
         server {{ listen 127.0.0.1:@PORT@; server_name once; tunnel_pass other; tunnel_next_upstream off; }}
         server {{ listen 127.0.0.1:@PORT@; server_name gone; tunnel_pass 127.0.0.1:{gone};
             error_page 502 /502.html; location = /502.html {{ internal; return 502 nobody; }} }}",
        shouter.address
    ));
    let answer = told(&server, &connect_to("gone:443"));
    assert_eq!((answer.status, answer.text().as_str()), (502, "nobody"));
    let mut client = server.connect();
    client.send(connect_to("pair:443"));
    head_of_tunnel(&mut client);
    assert_eq!(told(&server, &connect_to("once:443")).status, 502);
}

#[test]
fn password_is_asked_for_as_by_a_proxy() {
    let shouter = Shouter::start();
    let place = Place::new();
    place.write("passwords", "plain:{PLAIN}password\n");
    let server = Server::start(
        place,
        &format!(
            "server {{ listen 127.0.0.1:@PORT@; auth_basic closed; auth_basic_user_file @DIR@/passwords; tunnel_pass {}; }}",
            shouter.address
        ),
    );
    let ask = |field: &str| format!("CONNECT a.test:443 HTTP/1.1\r\nHost: a.test:443\r\n{field}\r\n");
    let answer = told(&server, &ask("Authorization: Basic cGxhaW46cGFzc3dvcmQ=\r\n"));
    assert_eq!(answer.status, 407);
    assert_eq!(answer.field("Proxy-Authenticate"), Some("Basic realm=\"closed\""));
    assert_eq!(answer.field("WWW-Authenticate"), None);
    let mut client = server.connect();
    client.send(ask("Proxy-Authorization: Basic cGxhaW46cGFzc3dvcmQ=\r\n"));
    head_of_tunnel(&mut client);
    assert_eq!(server.get("/").status, 401, "other requests need credentials");
}

#[test]
fn client_that_does_not_read_holds_the_other_side_back() {
    const ALL: usize = 64 << 20;
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let written = Arc::<AtomicUsize>::default();
    let counted = Arc::clone(&written);
    thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a client");
        // Not before it has received a byte: otherwise its bytes would arrive together with the response head.
        stream.read_exact(&mut [0]).expect("a byte of the client");
        let piece = [b'x'; 16 << 10];
        while counted.load(SeqCst) < ALL && stream.write_all(&piece).is_ok() {
            counted.fetch_add(piece.len(), SeqCst);
        }
    });
    let server = serve(&format!(
        "server {{ listen 127.0.0.1:@PORT@; tunnel_read_timeout 60s; send_timeout 60s; tunnel_pass {address}; }}"
    ));
    let mut client = server.connect();
    client.send(connect_to("a.test:443"));
    head_of_tunnel(&mut client);
    client.send("!");
    let mut before = usize::MAX;
    wait_for("the other side to be held back", || {
        thread::sleep(Duration::from_millis(50));
        let now = written.load(SeqCst);
        std::mem::replace(&mut before, now) == now && now > 0
    });
    assert!(before < ALL / 2, "{before} bytes are on their way");
    let mut count = 0;
    while count < ALL {
        count += client.some().len();
    }
}
