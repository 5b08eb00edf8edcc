use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use myriad_conf::model::{AcmeIdentifier, AcmeKeyKind};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use ureq::tls::{Certificate, RootCerts};

use super::*;
use crate::acme_client::{SigningKey, csr, roots};

/// Starts a server at `at` that calls `answer` with each client that has sent a request. Returns its address.
fn served(at: SocketAddr, answer: impl Fn(TcpStream) + Send + Sync + 'static) -> SocketAddr {
    let listener = TcpListener::bind(at).unwrap();
    let address = listener.local_addr().unwrap();
    let answer = Arc::new(answer);
    thread::spawn(move || {
        for client in listener.incoming() {
            let (Ok(mut client), answer) = (client, Arc::clone(&answer)) else { return };
            thread::spawn(move || {
                if client.read(&mut [0; 4096]).is_ok() {
                    answer(client);
                }
            });
        }
    });
    address
}

/// Starts a server at `at` that sends this response; with `None`, it never responds. Returns its address.
fn responder(at: SocketAddr, answer: Option<&'static [u8]>) -> SocketAddr {
    let waiting = std::sync::Mutex::new(Vec::new());
    served(at, move |mut client| match answer {
        Some(answer) => drop(client.write_all(answer)),
        None => waiting.lock().unwrap().push(client),
    })
}

/// Starts a server that calls `answer`, and sends a request to it with limits of one second and ten bytes. Returns the
/// result.
fn outcome(answer: impl Fn(TcpStream) + Send + Sync + 'static) -> Result<HttpsReply, String> {
    let at = served("127.0.0.1:0".parse().unwrap(), answer);
    let begun = Instant::now();
    let outcome = get_from_address(at.ip(), &format!("http://{at}/"), Duration::from_secs(1), 10);
    assert!(begun.elapsed() < Duration::from_secs(3));
    outcome
}

fn outcome_of(answer: &'static [u8]) -> Result<HttpsReply, String> {
    outcome(move |mut client| drop(client.write_all(answer)))
}

#[test]
fn an_address_that_hangs_does_not_stand_for_the_others() {
    let [silent, broken, good] = [2, 3, 4].map(|last| IpAddr::from([127, 0, 0, last]));
    let port = responder(SocketAddr::new(silent, 0), None).port();
    responder(SocketAddr::new(broken, port), Some(b"HTTP/1.1 500 No\r\nContent-Length: 0\r\n\r\n"));
    responder(SocketAddr::new(good, port), Some(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"));
    let url = format!("http://ocsp.test:{port}/");
    let ask = |all: &[IpAddr], worked: &mut Option<IpAddr>| {
        let all = all.to_vec();
        let resolve: Resolve = Arc::new(move |_| Ok(all.clone()));
        get_plain(&url, "x", 100, &resolve, worked)
    };
    let mut worked = None;
    assert_eq!(ask(&[silent, broken, good], &mut worked).unwrap().body, b"hi");
    assert_eq!(worked, Some(good));
    // This address is tried first from now on; otherwise the last of a hundred addresses would not be reached.
    let mut crowd = vec![silent; 100];
    crowd.push(good);
    assert_eq!(ask(&crowd, &mut worked).unwrap().body, b"hi");
    assert_eq!(ask(&[broken], &mut worked).unwrap().status, 500);
    assert_eq!(worked, Some(good));
    assert!(ask(&[], &mut worked).unwrap_err().contains("does not resolve to an address"));
}

#[test]
fn url_is_split_into_host_port_and_target() {
    let parts = |url| {
        let uri = parse(url, &Scheme::HTTPS)?;
        Some((host(&uri).to_owned(), port(&uri), uri.path_and_query()?.to_string()))
    };
    let known = |host: &str, port, target: &str| Some((host.to_owned(), port, target.to_owned()));
    assert_eq!(parts("https://ca.test/dir?x#y"), known("ca.test", 443, "/dir?x"));
    assert_eq!(parts("HTTPS://ca.test:14000"), known("ca.test", 14000, "/"));
    assert_eq!(parts("https://[::1]:8443/a"), known("::1", 8443, "/a"));
    assert_eq!(parts("https://[::1]/a"), known("::1", 443, "/a"));
    for url in [
        "http://ca.test/",
        "https://",
        "https:///a",
        "https://:443/",
        "https://a:0/",
        "https://a:/",
        "https://a:b/",
        "https://a:70000/",
        "https://u@a/",
        "https://a/ b",
        "ca",
        "",
    ] {
        assert_eq!(parts(url), None, "{url}");
    }
    assert_eq!(plain_host("http://OCSP.test/x"), Some(("ocsp.test".to_owned(), 80)));
    assert!(is_plain_url("http://[::1]") && !is_plain_url("https://a.test/"));
}

#[test]
fn answers_are_framed_in_every_way_that_there_is() {
    for answer in [
        &b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"[..],
        b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhi--------",
        b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nhi",
        b"HTTP/1.1 200 OK\r\n\r\nhi",
        b"HTTP/1.0 200 OK\r\n\r\nhi",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1;a=b\r\nh\r\n1\r\ni\r\n0\r\nA: b\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nA: b\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
    ] {
        let reply = outcome_of(answer).unwrap();
        assert!(reply.status == 200 && reply.body.starts_with(b"hi"), "{reply:?}");
    }
    let reply = outcome_of(b"HTTP/1.1 304 No\r\nContent-Length: 9\r\nAge: 1\r\n\r\n").unwrap();
    assert_eq!((reply.status, reply.body.len(), reply.field("age")), (304, 0, Some(&b"1"[..])));
}

#[test]
fn truncated_and_malformed_responses_are_reported() {
    for (answer, why) in [
        (&b""[..], "is incomplete"),
        (b"HTTP/1.1 200 OK\r\n", "is incomplete"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi", "is incomplete"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n", "is incomplete"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\nhi", "according to its Content-Length"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nhi!", "content-length"),
        (b"SSH-2.0-OpenSSH\r\n", "protocol"),
    ] {
        let error = outcome_of(answer).unwrap_err();
        assert!(error.starts_with("127.0.0.1: ") && error.contains(why), "{error}");
    }
}

#[test]
fn endless_answers_are_cut_off() {
    for (begin, more) in [
        (&b"HTTP/1.1 200 OK\r\n\r\n"[..], &[b'x'; 1000][..]),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", b"5\r\nhello\r\n"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5;", &[b'x'; 1000]),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n", b"a: b\r\n"),
        (b"HTTP/1.1 200 OK\r\n", b"a: b\r\n"),
        (b"HTTP/1.1 200 OK\r\na: ", &[b'x'; 1000]),
        (b"", b"HTTP/1.1 102 Processing\r\n\r\n"),
    ] {
        let outcome_text = outcome(move |mut client| {
            let mut written = client.write_all(begin);
            while written.is_ok() {
                written = client.write_all(more);
            }
        });
        assert!(outcome_text.is_err(), "{outcome_text:?}");
    }
}

#[test]
fn the_deadline_is_over_all_of_an_exchange_however_it_drips() {
    for answer in [
        &b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"[..],
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1",
    ] {
        let outcome_text = outcome(move |mut client| {
            // A complete response is sent slowly, byte by byte. After the other responses, further bytes are sent
            // slowly.
            let dripping = if answer.ends_with(b"hi") {
                answer
            } else {
                drop(client.write_all(answer));
                &[b';'; 40]
            };
            for byte in dripping {
                thread::sleep(Duration::from_millis(200));
                if client.write_all(&[*byte]).is_err() {
                    return;
                }
            }
        });
        assert!(outcome_text.unwrap_err().contains("timed out"), "{answer:?}");
    }
}

#[test]
fn a_redirect_of_plain_http_is_an_answer() {
    let reply = outcome_of(b"HTTP/1.1 302 No\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n");
    assert_eq!(reply.unwrap().status, 302);
}

/// TLS server for `ca.test`, with its certificate.
struct Authority {
    at: SocketAddr,
    certificate: Vec<u8>,
}

type Tls = StreamOwned<ServerConnection, TcpStream>;

impl Authority {
    /// Starts a server that calls `answer` with the head of the request on each connection.
    fn new(answer: impl Fn(&str, &mut Tls) + Send + Sync + 'static) -> Self {
        let key = SigningKey::generate(AcmeKeyKind::P256).unwrap();
        let now_s = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
        let names = [AcmeIdentifier::Dns("ca.test".to_owned())];
        let certificate = csr::self_signed(&key, &names, now_s, 1).unwrap();
        let (chain, key) =
            (vec![CertificateDer::from(certificate.clone())], PrivatePkcs8KeyDer::from(key.pkcs8().to_vec()));
        let config = ServerConfig::builder_with_provider(Arc::new(roots::provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key.into())
            .unwrap();
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let at = listener.local_addr().unwrap();
        thread::spawn(move || {
            for client in listener.incoming() {
                let session = ServerConnection::new(Arc::clone(&config)).unwrap();
                let mut stream = Tls::new(session, client.unwrap());
                let mut head = [0; 4096];
                let Ok(count) = stream.read(&mut head) else { continue };
                let head = String::from_utf8_lossy(&head[..count]).into_owned();
                answer(&head, &mut stream);
            }
        });
        Self { at, certificate }
    }

    fn url(&self, path: &str) -> String {
        format!("https://ca.test:{}{path}", self.at.port())
    }

    /// Returns a client that trusts this certificate and has a timeout of one second.
    fn client(&self, believed: &[u8]) -> Https {
        let certificate = Certificate::from_der(believed).to_owned();
        let tls = ureq::tls::TlsConfig::builder()
            .unversioned_rustls_crypto_provider(Arc::new(roots::provider()))
            .root_certs(RootCerts::new_with_certs(&[certificate]));
        let address = self.at.ip();
        Https::with_timeout(Duration::from_secs(1), tls.build(), Arc::new(move |_| Ok(vec![address])))
    }
}

#[test]
fn tls_response_is_trusted_only_with_certificate_from_roots() {
    let authority = Authority::new(|head, stream| {
        let answer = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{head}", head.len());
        let _ = stream.write_all(answer.as_bytes());
    });
    let client = authority.client(&authority.certificate);
    let asked = |reply: Result<HttpsReply, AcmeError>| String::from_utf8(reply.unwrap().body).unwrap();
    let got = asked(client.get(&authority.url("/dir")));
    assert!(got.starts_with("GET /dir HTTP/1.1\r\n"), "{got}");
    assert!(
        got.to_ascii_lowercase().contains(&format!("\r\nhost: ca.test:{}\r\n", authority.at.port())),
        "{got}"
    );
    assert!(got.contains(AGENT) && !got.to_ascii_lowercase().contains("accept"), "{got}");
    let posted = asked(client.post(&authority.url("/order"), "{}", "application/pem")).to_ascii_lowercase();
    for field in ["content-type: application/jose+json", "content-length: 2", "accept: application/pem"] {
        assert!(posted.contains(field), "{posted}");
    }
    assert_eq!(client.head(&authority.url("/")).unwrap().body, b"");
    let other = Authority::new(|_, _| {});
    let refused = authority.client(&other.certificate).get(&authority.url("/")).unwrap_err();
    assert!(refused.to_string().contains("certificate"), "{refused}");
}

#[test]
fn only_a_get_is_led_on_a_few_times_and_to_https_alone() {
    let authority = Authority::new(|head, stream| {
        let path = head.split(' ').nth(1).unwrap();
        let step: u32 = path[1..].parse().unwrap();
        let location =
            if step == 100 { "http://ca.test/".to_owned() } else { format!("/{}", step.saturating_sub(1)) };
        let answer = match step {
            0 => "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi".to_owned(),
            _ => format!("HTTP/1.1 302 No\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"),
        };
        let _ = stream.write_all(answer.as_bytes());
    });
    let client = authority.client(&authority.certificate);
    assert_eq!(client.get(&authority.url("/5")).unwrap().body, b"hi");
    assert!(client.get(&authority.url("/6")).unwrap_err().to_string().contains("too many redirects"));
    assert!(client.get(&authority.url("/100")).unwrap_err().to_string().contains("without https"));
    assert_eq!(client.head(&authority.url("/1")).unwrap().status, 302);
    assert_eq!(client.post(&authority.url("/1"), "{}", "").unwrap().status, 302);
}

#[test]
fn response_without_close_notify_is_accepted_and_silent_authority_is_reported() {
    let authority = Authority::new(|head, stream| {
        let answer: &[u8] = match head.split(' ').nth(1) {
            Some("/length") => b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi",
            Some("/close") => b"HTTP/1.1 200 OK\r\n\r\nhi",
            _ => return thread::sleep(Duration::from_secs(2)),
        };
        let _ = stream.write_all(answer);
        let _ = stream.sock.shutdown(std::net::Shutdown::Both);
    });
    let client = authority.client(&authority.certificate);
    assert_eq!(client.get(&authority.url("/length")).unwrap().body, b"hi");
    // Truncation is detected by HTTP framing only, because many servers close without a TLS notification.
    assert_eq!(client.get(&authority.url("/close")).unwrap().body, b"hi");
    assert!(client.get(&authority.url("/nothing")).unwrap_err().to_string().contains("timed out"));
    // The timeout covers the TLS handshake as well.
    let silent = responder("127.0.0.1:0".parse().unwrap(), None);
    let begun = Instant::now();
    let error = client.get(&format!("https://ca.test:{}/", silent.port())).unwrap_err().to_string();
    assert!(error.contains("timed out") && begun.elapsed() < Duration::from_secs(3), "{error}");
    assert!(client.get("http://ca.test/").unwrap_err().to_string().contains("does not begin with https://"));
}
