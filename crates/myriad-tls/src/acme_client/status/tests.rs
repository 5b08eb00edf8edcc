use std::sync::mpsc;

use super::*;

const LEAF: &[u8] = include_bytes!("../../x509/ocsp/fixtures/leaf.pem");
const ROOT: &[u8] = include_bytes!("../../x509/ocsp/fixtures/root.pem");

fn der(text: &[u8]) -> Vec<u8> {
    crate::x509::pem::certificates(text).next().expect("a certificate").expect("sound").clone()
}

fn question(url: &str, resolve: Resolve) -> StatusRequest {
    StatusRequest { certificate: der(LEAF), issuer: der(ROOT), url: url.to_owned(), resolve }
}

/// Submits a query and returns the receiver of its result.
fn asked(url: &str, resolve: &Resolve) -> mpsc::Receiver<StatusResult> {
    let (sender, receiver) = mpsc::channel();
    let send_result = move |said| drop(sender.send(said));
    request_status(question(url, resolve.clone()), Box::new(send_result));
    receiver
}

fn why(receiver: &mpsc::Receiver<StatusResult>) -> String {
    receiver.recv_timeout(Duration::from_secs(30)).expect("told").expect_err("an error")
}

#[test]
fn equal_queries_share_response_and_queries_per_responder_are_limited() {
    let (begun, asked_for) = mpsc::channel();
    let (gates, gate) = mpsc::channel::<()>();
    let gate = Mutex::new(gate);
    let resolve: Resolve = std::sync::Arc::new(move |name| {
        let _ = begun.send(name.to_owned());
        if name.ends_with("slow.test") {
            // Waits until the test has submitted all queries.
            let _ = gate.lock().recv();
        }
        Err(format!("no {name}"))
    });
    // The path makes each a different query of the same responder.
    let slow: Vec<_> = (0..6).map(|path| asked(&format!("http://slow.test/{path}"), &resolve)).collect();
    let twice = asked("http://slow.test/0", &resolve);
    for _ in 0..MOST_OF_ONE {
        let name = asked_for.recv_timeout(Duration::from_secs(30)).expect("a question");
        assert_eq!(name, "slow.test");
    }
    let other = asked("http://well.test/", &resolve);
    assert_eq!(asked_for.recv_timeout(Duration::from_secs(30)).as_deref(), Ok("well.test"));
    assert!(why(&other).contains("no well.test"));
    assert!(asked_for.try_recv().is_err(), "the fifth question to one responder waits");
    drop(gates);
    for receiver in slow.iter().chain([&twice]) {
        assert!(why(receiver).contains("no slow.test"));
    }
    assert_eq!(asked_for.iter().take(2).count(), 2, "six questions, not seven");
}

#[test]
fn invalid_status_query_fails_immediately_with_reason() {
    let resolve: Resolve = std::sync::Arc::new(|_| Err("nobody".to_owned()));
    for url in ["https://a.test/", "ldap://a.test/", "http://", "file:///etc/passwd", "http://u@a.test/"] {
        assert!(why(&asked(url, &resolve)).contains("does not begin with http://"), "{url}");
    }
    let mut broken = question("http://a.test/", resolve);
    broken.issuer = b"nothing".to_vec();
    let (sender, receiver) = mpsc::channel();
    request_status(broken, Box::new(move |said| drop(sender.send(said))));
    assert!(why(&receiver).contains("cannot be parsed"));
}
