//! HTTP/1 origins.

use std::sync::Arc;
use std::time::Duration;

use myriad_tests::{Gate, Wire, WireCall};
use rustix::net::sockopt::set_socket_linger;

use super::{Behaviour, Seen, Site};

/// Action of an origin after its response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    Closes,
    Resets,
    /// Sends nothing more, and continues to read.
    Stays,
}

use Seen::{Broken, Cut, Status, Whole};
use Then::{Closes, Resets, Stays};

type Case = (&'static str, Vec<u8>, Then, Seen);

/// Returns an origin that executes a case on the first request for its page.
fn origin(cases: Vec<Case>) -> (Wire, Behaviour) {
    let behaviour = Behaviour::default();
    let told = behaviour.clone();
    let wire = Wire::start(move |call| {
        let mut spoiled_by = None;
        while let Some(head) = call.head() {
            let name = head.split(' ').nth(1).unwrap_or_default().trim_start_matches('/');
            if let Some(by) = spoiled_by {
                told.carried_more(format!("{by}, then {name}"));
            }
            let case = cases.iter().find(|(known, ..)| *known == name);
            let Some((known, said, then, _)) = case.filter(|_| told.spoils(name)) else {
                // A case on a reused connection would be different: after an early close the server would retry the
                // request.
                call.say("HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nwell");
                return;
            };
            misbehave(call, said, *then);
            if *then != Stays {
                return;
            }
            spoiled_by = Some(*known);
        }
    });
    (wire, behaviour)
}

fn misbehave(call: &mut WireCall, said: &[u8], then: Then) {
    call.say(said);
    if then == Resets {
        set_socket_linger(&call.stream, Some(Duration::ZERO)).expect("a reset");
    }
}

fn each(cases: Vec<Case>) {
    let expected: Vec<_> = cases.iter().map(|(name, _, _, seen)| (*name, *seen)).collect();
    let (wire, behaviour) = origin(cases);
    let site = Site::start("proxy", &format!("proxy_pass http://{};", wire.address));
    for (name, seen) in expected {
        site.visit(name, seen, &behaviour);
    }
}

const OK: &str = "HTTP/1.1 200 OK\r\n";

fn said(rest: &str) -> Vec<u8> {
    format!("{OK}{rest}").into()
}

const MEGABYTE: usize = 1 << 20;

#[test]
fn truncated_response_is_reported() {
    each(vec![
        ("nothing", Vec::new(), Closes, Status(502)),
        ("nothing-reset", Vec::new(), Resets, Status(502)),
        ("half-head", said("Content-Le"), Closes, Status(502)),
        ("half-head-reset", said("Content-Length: 4\r\n"), Resets, Status(502)),
        ("head-alone", said("Content-Length: 4\r\n\r\n"), Closes, Broken),
        ("short", said("Content-Length: 100\r\n\r\nthe beginning"), Closes, Broken),
        ("short-reset", said("Content-Length: 100\r\n\r\nthe beginning"), Resets, Broken),
        ("half-chunk", said("Transfer-Encoding: chunked\r\n\r\n64\r\nthe beginning"), Closes, Broken),
        ("no-last-chunk", said("Transfer-Encoding: chunked\r\n\r\n3\r\nthe\r\n"), Closes, Broken),
        ("half-trailers", said("Transfer-Encoding: chunked\r\n\r\n3\r\nthe\r\n0\r\nX-A: "), Closes, Broken),
    ]);
}

#[test]
fn stalled_response_is_reported_in_time() {
    each(vec![
        ("stalled", Vec::new(), Stays, Status(504)),
        ("half-head-stalled", said("Content-Le"), Stays, Status(504)),
        ("short-stalled", said("Content-Length: 100\r\n\r\nthe beginning"), Stays, Cut),
        ("chunk-stalled", said("Transfer-Encoding: chunked\r\n\r\n64\r\nthe beginning"), Stays, Cut),
        ("interim-stalled", b"HTTP/1.1 100 Continue\r\n\r\n".into(), Stays, Status(504)),
    ]);
}

#[test]
fn a_head_that_is_none_is_a_502() {
    let long = |before: &str, after: &str| format!("{before}{}{after}", "x".repeat(MEGABYTE)).into_bytes();
    let fields = "X-A: x\r\n".repeat(20_000);
    let body = "Content-Length: 4\r\n\r\nevil";
    each(vec![
        ("words", "evil words\r\n\r\n".into(), Closes, Status(502)),
        ("binary", vec![0; 4000], Stays, Status(502)),
        ("http2", b"\0\0\0\x04\0\0\0\0\0".into(), Closes, Status(502)),
        ("status-of-two", format!("HTTP/1.1 20 OK\r\n{body}").into(), Stays, Status(502)),
        ("status-of-four", format!("HTTP/1.1 2000 OK\r\n{body}").into(), Stays, Status(502)),
        ("status-of-words", format!("HTTP/1.1 OK\r\n{body}").into(), Stays, Status(502)),
        ("megabyte-line", long("HTTP/1.1 200 ", &format!("\r\n{body}")), Stays, Status(502)),
        ("megabyte-field", long(&format!("{OK}X-Long: "), &format!("\r\n{body}")), Stays, Status(502)),
        ("megabyte-name", long(OK, &format!(": x\r\n{body}")), Stays, Status(502)),
        ("many-fields", said(&format!("{fields}{body}")), Stays, Status(502)),
        ("nul", said(&format!("X-A: a\0b\r\n{body}")), Stays, Status(502)),
        ("bare-cr", said(&format!("X-A: a\rX-B: b\r\n{body}")), Stays, Status(502)),
        ("space-before-colon", said(&format!("Content-Length : 4\r\n{body}")), Stays, Status(502)),
        ("two-lengths", said(&format!("Content-Length: 2\r\n{body}")), Stays, Status(502)),
        ("two-framings", said(&format!("Transfer-Encoding: chunked\r\n{body}")), Stays, Status(502)),
        ("length-of-words", said("Content-Length: four\r\n\r\nevil"), Stays, Status(502)),
        ("length-below-zero", said("Content-Length: -4\r\n\r\nevil"), Stays, Status(502)),
        ("length-beyond-all", said("Content-Length: 99999999999999999999\r\n\r\nevil"), Stays, Status(502)),
        (
            "switched",
            format!("HTTP/1.1 101 Switching\r\nUpgrade: echo\r\n\r\n{OK}{body}").into(),
            Stays,
            Status(502),
        ),
    ]);
}

#[test]
fn chunks_that_are_none_cut_the_answer() {
    let chunked = |rest: &str| said(&format!("Transfer-Encoding: chunked\r\n\r\n{rest}"));
    let long = "x".repeat(MEGABYTE);
    each(vec![
        ("no-size", chunked("zz\r\nevil\r\n0\r\n\r\n"), Stays, Broken),
        ("size-below-zero", chunked("-4\r\nevil\r\n0\r\n\r\n"), Stays, Broken),
        ("size-in-c", chunked("0x4\r\nevil\r\n0\r\n\r\n"), Stays, Broken),
        ("size-beyond-all", chunked("fffffffffffffffff4\r\nevil\r\n0\r\n\r\n"), Stays, Broken),
        ("no-end", chunked("2\r\nokevil\r\n0\r\n\r\n"), Stays, Broken),
        ("megabyte-extension", chunked(&format!("2;{long}\r\nok\r\n0\r\n\r\n")), Stays, Broken),
        ("megabyte-size", chunked(&format!("{}2\r\nok\r\n0\r\n\r\n", "0".repeat(MEGABYTE))), Stays, Broken),
        ("megabyte-trailer", chunked(&format!("2\r\nok\r\n0\r\nX-A: {long}\r\n\r\n")), Stays, Broken),
    ]);
}

#[test]
fn interim_answers_without_end_are_a_502() {
    let storm = |status: &str| format!("HTTP/1.1 {status}\r\nX-A: b\r\n\r\n").repeat(1000).into_bytes();
    each(vec![
        ("hints", storm("103 Early Hints"), Stays, Status(502)),
        ("processing", storm("102 Processing"), Stays, Status(502)),
        ("continue", storm("100 Continue"), Stays, Status(502)),
    ]);
}

#[test]
fn data_after_response_reaches_no_client() {
    let evil = format!("{OK}Content-Length: 4\r\n\r\nevil");
    let behind = |head: &str| format!("{head}{evil}").into_bytes();
    each(vec![
        ("longer", said("Content-Length: 4\r\n\r\ngoodevil"), Stays, Whole(200, "good")),
        ("second", behind(&format!("{OK}Content-Length: 4\r\n\r\ngood")), Stays, Whole(200, "good")),
        (
            "behind-chunks",
            behind(&format!("{OK}Transfer-Encoding: chunked\r\n\r\n4\r\ngood\r\n0\r\n\r\n")),
            Stays,
            Whole(200, "good"),
        ),
        ("no-content", behind("HTTP/1.1 204 No Content\r\n\r\n"), Stays, Whole(204, "")),
        ("empty", behind(&format!("{OK}Content-Length: 0\r\n\r\n")), Stays, Whole(200, "")),
    ]);
}

#[test]
fn response_arriving_on_idle_connection_reaches_no_client() {
    let (gate, said) = (Arc::new(Gate::new()), Arc::new(Gate::new()));
    let (held, told) = (Arc::clone(&gate), Arc::clone(&said));
    let wire = Wire::start(move |call| {
        while call.head().is_some() {
            let page = if call.number == 0 { "good" } else { "well" };
            call.say(format!("{OK}Content-Length: 4\r\n\r\n{page}"));
            if call.number == 0 {
                held.pass();
                call.say(format!("{OK}Content-Length: 4\r\n\r\nevil"));
                told.open();
            }
        }
    });
    let site = Site::start("proxy", &format!("proxy_pass http://{};", wire.address));
    assert_eq!(site.server.get("/a").text(), "good");
    gate.open();
    said.pass();
    for page in ["/b", "/c"] {
        assert_eq!(site.server.get(page).text(), "well");
    }
    assert_eq!(wire.connections(), 2);
}
