//! Variables of the TLS handshake.

use std::fmt::Write;

use myriad_conf::registry::Status;
use myriad_net::TlsFacts;
use myriad_net::tls::{Offer as Offered, names};
use myriad_tls::judge;

use myriad_exchange::exchange::Request;
use myriad_exchange::exchange::variables::Row;
use myriad_exchange::exchange::variables::write::text;
use myriad_exchange::runtime::Reads::{Connection, Offer};
use myriad_exchange::runtime::Value::{Made, Ready};

/// Compatibility with nginx built with a library without encrypted hellos.
const NO_ENCRYPTED_HELLOS: Status =
    Status::Differs("empty, as in nginx with a library without encrypted hellos");
const SESSION: Status = Status::Differs(
    "a session number that does not change when the session is resumed, also in TLS 1.3; over HTTP/3 a connection number",
);

pub(crate) const ROWS: &[Row] = &[
    Row::new(
        "ssl",
        "ssl_protocol",
        &[Connection],
        Ready(|request| fact(request, |facts| facts.protocol.as_bytes())),
    ),
    Row::new(
        "ssl",
        "ssl_cipher",
        &[Connection],
        Ready(|request| fact(request, |facts| facts.cipher.as_bytes())),
    ),
    Row::new(
        "ssl",
        "ssl_curve",
        &[Connection],
        Ready(|request| fact(request, |facts| facts.curve.as_bytes())),
    ),
    Row::new(
        "ssl",
        "ssl_session_reused",
        &[Connection],
        Ready(|request| fact(request, |facts| if facts.resumed { b"r" } else { b"." })),
    ),
    Row::new(
        "ssl",
        "ssl_server_name",
        &[Connection],
        Ready(|request| fact(request, |facts| facts.server_name.as_deref().unwrap_or_default().as_bytes())),
    ),
    Row::new("ssl", "ssl_alpn_protocol", &[Connection], Ready(|request| fact(request, |facts| &facts.alpn))),
    Row::new(
        "ssl",
        "ssl_ciphers",
        &[Offer],
        Made(|request, out| {
            offered(request, out, |_, offer| Some(list(&offer.ciphers, |suite| names::cipher(*suite))))
        }),
    ),
    Row::new(
        "ssl",
        "ssl_curves",
        &[Offer],
        Made(|request, out| {
            offered(request, out, |_, offer| Some(list(&offer.groups, |group| names::group(*group))))
        }),
    ),
    Row::new(
        "ssl",
        "ssl_sigalg",
        &[Offer],
        Made(|request, out| {
            // A client that resumes a session has not signed.
            offered(request, out, |facts, offer| {
                Some(names::scheme(offer.signed.filter(|_| !facts.resumed)?).into())
            })
        }),
    ),
    Row::new(
        "ssl",
        "ssl_sigalgs",
        &[Offer],
        Made(|request, out| {
            offered(request, out, |_, offer| Some(list(&offer.schemes, |scheme| names::scheme(*scheme))))
        }),
    ),
    Row::new(
        "ssl",
        "ssl_client_sigalg",
        &[Offer],
        Made(|request, out| {
            offered(request, out, |_, offer| Some(names::scheme(offer.client_signed?).into()))
        }),
    ),
    Row::new(
        "ssl",
        "ssl_session_id",
        &[Offer],
        Made(|request, out| offered(request, out, |_, offer| Some(hexadecimal(&offer.session)))),
    )
    .fares(SESSION),
    Row::new(
        "ssl",
        "ssl_early_data",
        &[Connection],
        Ready(|request| fact(request, |_| if request.received.connection.is_early() { b"1" } else { b"" })),
    ),
    Row::new("ssl", "ssl_client_verify", &[Connection], Made(verified)),
    Row::new("ssl", "ssl_ech_status", &[Connection], Ready(|_| None)).fares(NO_ENCRYPTED_HELLOS),
    Row::new("ssl", "ssl_ech_outer_server_name", &[Connection], Ready(|_| None)).fares(NO_ENCRYPTED_HELLOS),
];

/// Returns a property of the handshake; `None` without TLS or if it is empty.
fn fact<'a>(request: &'a Request, of: impl FnOnce(&'a TlsFacts) -> &'a [u8]) -> Option<&'a [u8]> {
    request.received.connection.tls().map(of).filter(|value| !value.is_empty())
}

/// Appends a property of the client hello, which is stored only if variables read it.
fn offered(request: &Request, out: &mut Vec<u8>, value: fn(&TlsFacts, &Offered) -> Option<String>) -> bool {
    let facts = request.received.connection.tls();
    let value = facts.and_then(|facts| value(facts, facts.offer.as_deref()?));
    text(out, value)
}

fn list<T>(offered: &[T], name: fn(&T) -> Box<str>) -> String {
    offered.iter().map(name).collect::<Vec<_>>().join(":")
}

fn hexadecimal(bytes: &[u8]) -> String {
    let mut number = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        // Writing to a string cannot fail.
        let _ = write!(number, "{byte:02x}");
    }
    number
}

fn verified(request: &Request, out: &mut Vec<u8>) -> bool {
    let Some(facts) = request.received.connection.tls() else { return false };
    let now_s = (myriad_net::clock::wall_ms() / 1000) as i64;
    let judged = judge(facts, request.server().clients.as_deref(), now_s);
    text(
        out,
        Some(match judged {
            None => "NONE".to_owned(),
            Some(Ok(())) => "SUCCESS".to_owned(),
            Some(Err((_, why))) => format!("FAILED:{why}"),
        }),
    )
}
