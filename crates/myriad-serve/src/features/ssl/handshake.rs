//! Variables of the TLS handshake.

use std::fmt::Write;

use myriad_conf::registry::DirectiveStatus;
use myriad_net::TlsFacts;
use myriad_net::tls::{ClientOffer as Offered, names};
use myriad_tls::verify_client;

use myriad_exchange::exchange::Request;
use myriad_exchange::exchange::variables::RequestVariable;
use myriad_exchange::exchange::variables::write::text;
use myriad_exchange::runtime::Reads::{Connection, Offer};
use myriad_exchange::runtime::RowValue::{Made, Ready};

/// Compatibility note of the variables about encrypted client hellos (ECH).
const NO_ENCRYPTED_HELLOS: DirectiveStatus =
    DirectiveStatus::Differs("empty, as in nginx with a library without encrypted hellos");
const SESSION: DirectiveStatus = DirectiveStatus::Differs(
    "a session number that does not change when the session is resumed, also in TLS 1.3; over HTTP/3 a connection number",
);

pub(crate) const ROWS: &[RequestVariable] = &[
    RequestVariable::new(
        "ssl",
        "ssl_protocol",
        &[Connection],
        Ready(|request| handshake_property(request, |facts| facts.protocol.as_bytes())),
    ),
    RequestVariable::new(
        "ssl",
        "ssl_cipher",
        &[Connection],
        Ready(|request| handshake_property(request, |facts| facts.cipher.as_bytes())),
    ),
    RequestVariable::new(
        "ssl",
        "ssl_curve",
        &[Connection],
        Ready(|request| handshake_property(request, |facts| facts.curve.as_bytes())),
    ),
    RequestVariable::new(
        "ssl",
        "ssl_session_reused",
        &[Connection],
        Ready(|request| handshake_property(request, |facts| if facts.resumed { b"r" } else { b"." })),
    ),
    RequestVariable::new(
        "ssl",
        "ssl_server_name",
        &[Connection],
        Ready(|request| {
            handshake_property(request, |facts| facts.server_name.as_deref().unwrap_or_default().as_bytes())
        }),
    ),
    RequestVariable::new(
        "ssl",
        "ssl_alpn_protocol",
        &[Connection],
        Ready(|request| handshake_property(request, |facts| &facts.alpn)),
    ),
    RequestVariable::new(
        "ssl",
        "ssl_ciphers",
        &[Offer],
        Made(|request, out| {
            append_offered(request, out, |_, offer| {
                Some(joined_names(&offer.ciphers, |suite| names::cipher(*suite)))
            })
        }),
    ),
    RequestVariable::new(
        "ssl",
        "ssl_curves",
        &[Offer],
        Made(|request, out| {
            append_offered(request, out, |_, offer| {
                Some(joined_names(&offer.groups, |group| names::group(*group)))
            })
        }),
    ),
    RequestVariable::new(
        "ssl",
        "ssl_sigalg",
        &[Offer],
        Made(|request, out| {
            // In a resumed session the server has not signed anything.
            append_offered(request, out, |facts, offer| {
                Some(names::scheme(offer.signed.filter(|_| !facts.resumed)?).into())
            })
        }),
    ),
    RequestVariable::new(
        "ssl",
        "ssl_sigalgs",
        &[Offer],
        Made(|request, out| {
            append_offered(request, out, |_, offer| {
                Some(joined_names(&offer.schemes, |scheme| names::scheme(*scheme)))
            })
        }),
    ),
    RequestVariable::new(
        "ssl",
        "ssl_client_sigalg",
        &[Offer],
        Made(|request, out| {
            append_offered(request, out, |_, offer| Some(names::scheme(offer.client_signed?).into()))
        }),
    ),
    RequestVariable::new(
        "ssl",
        "ssl_session_id",
        &[Offer],
        Made(|request, out| append_offered(request, out, |_, offer| Some(hexadecimal(&offer.session)))),
    )
    .with_status(SESSION),
    RequestVariable::new(
        "ssl",
        "ssl_early_data",
        &[Connection],
        Ready(|request| {
            handshake_property(request, |_| if request.received.connection.is_early() { b"1" } else { b"" })
        }),
    ),
    RequestVariable::new("ssl", "ssl_client_verify", &[Connection], Made(append_verify_result)),
    RequestVariable::new("ssl", "ssl_ech_status", &[Connection], Ready(|_| None))
        .with_status(NO_ENCRYPTED_HELLOS),
    RequestVariable::new("ssl", "ssl_ech_outer_server_name", &[Connection], Ready(|_| None))
        .with_status(NO_ENCRYPTED_HELLOS),
];

/// Returns a property of the handshake; `None` without TLS or if the property is empty.
fn handshake_property<'a>(
    request: &'a Request,
    of: impl FnOnce(&'a TlsFacts) -> &'a [u8],
) -> Option<&'a [u8]> {
    request.received.connection.tls().map(of).filter(|value| !value.is_empty())
}

/// Appends a property of the handshake, such as the offered ciphers, that is stored only if the configuration uses such
/// variables. Returns false if the property is unknown.
fn append_offered(
    request: &Request,
    out: &mut Vec<u8>,
    value: fn(&TlsFacts, &Offered) -> Option<String>,
) -> bool {
    let facts = request.received.connection.tls();
    let value = facts.and_then(|facts| value(facts, facts.offer.as_deref()?));
    text(out, value)
}

fn joined_names<T>(offered: &[T], name: fn(&T) -> Box<str>) -> String {
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

fn append_verify_result(request: &Request, out: &mut Vec<u8>) -> bool {
    let Some(facts) = request.received.connection.tls() else { return false };
    let now_s = (myriad_net::clock::wall_ms() / 1000) as i64;
    let judged = verify_client(facts, request.server().clients.as_deref(), now_s);
    text(
        out,
        Some(match judged {
            None => "NONE".to_owned(),
            Some(Ok(())) => "SUCCESS".to_owned(),
            Some(Err((_, why))) => format!("FAILED:{why}"),
        }),
    )
}
