//! Variables of `stream`: a table of names and functions.

use std::net::{IpAddr, SocketAddr};

use myriad_base::calendar::{format_time_iso8601, format_time_local};
use myriad_exchange::exchange::variables::write::{address, network, show, text, thousandths};
use myriad_http::proxy_protocol::ProxyHeader;
use myriad_log::local_time;
use myriad_net::ClientAddress;
use myriad_script::{Builtin, Environment, EvalError, Frame};
use myriad_upstream::Attempt;

use crate::stream::names::StreamNames;
use crate::stream::preread::PrereadHello;
use crate::stream::session::StreamSession;
use crate::stream::tls::verification_result;

/// Function that appends the value of a variable. Returns false if the variable is not set.
type VariableWriter = fn(&StreamSession, &mut Vec<u8>) -> bool;

/// Value of `$nginx_version`: the emulated version of nginx, as in `http`.
const VERSION: &str = "1.31.4";

const ROWS: &[(&str, VariableWriter)] = &[
    ("binary_remote_addr", binary_address),
    ("bytes_received", |session, out| show(out, session.received.get())),
    ("bytes_sent", |session, out| show(out, session.sent.get())),
    ("connection", |session, out| show(out, session.connection.id)),
    ("hostname", |session, out| {
        out.extend_from_slice(&session.streams.runtime.hostname);
        true
    }),
    ("limit_conn_status", |session, out| {
        session.limited.get().is_some_and(|status| show(out, status.name()))
    }),
    ("msec", |_, out| thousandths(out, myriad_net::clock::wall_ms())),
    ("nginx_version", |_, out| show(out, VERSION)),
    ("pid", |_, out| show(out, std::process::id())),
    ("protocol", |session, out| show(out, if session.is_datagram { "UDP" } else { "TCP" })),
    ("proxy_protocol_addr", |session, out| proxied(session, out, |header| Some(header.source.ip()))),
    ("proxy_protocol_port", |session, out| proxied(session, out, |header| Some(header.source.port()))),
    ("proxy_protocol_server_addr", |session, out| {
        proxied(session, out, |header| Some(header.destination.ip()))
    }),
    ("proxy_protocol_server_port", |session, out| {
        proxied(session, out, |header| Some(header.destination.port()))
    }),
    ("realip_remote_addr", |session, out| address(out, session.connection.peer.ip())),
    ("realip_remote_port", |session, out| {
        let ClientAddress::Inet(peer) = session.connection.peer else { return true };
        show(out, peer.port())
    }),
    ("remote_addr", |session, out| address(out, session.client())),
    ("remote_network", |session, out| network(out, session.client())),
    ("remote_port", |session, out| {
        let port = session.client_socket().map(|client| client.port());
        port.filter(|port| *port > 0).is_none_or(|port| show(out, port))
    }),
    ("server_addr", server_addr),
    ("server_name", |session, out| {
        out.extend_from_slice(&session.server().name);
        true
    }),
    ("server_port", |session, out| local(session).is_none_or(|local| show(out, local.port()))),
    ("session_time", |session, out| {
        thousandths(out, myriad_net::clock::now_ms().saturating_sub(session.began_ms))
    }),
    ("ssl_alpn_protocol", |session, out| {
        session.tls().filter(|tls| !tls.alpn.is_empty()).is_some_and(|tls| {
            out.extend_from_slice(&tls.alpn);
            true
        })
    }),
    ("ssl_cipher", |session, out| session.tls().is_some_and(|tls| show(out, &tls.cipher))),
    ("ssl_client_verify", |session, out| {
        session.tls().is_some()
            && match verification_result(session) {
                None => show(out, "NONE"),
                Some(Ok(())) => show(out, "SUCCESS"),
                Some(Err((_, why))) => show(out, format_args!("FAILED:{why}")),
            }
    }),
    ("ssl_curve", |session, out| session.tls().is_some_and(|tls| show(out, &tls.curve))),
    ("ssl_preread_alpn_protocols", |session, out| write_hello_value(session, out, |hello| &hello.alpn)),
    ("ssl_preread_protocol", |session, out| {
        write_hello_value(session, out, |hello| hello.protocol.as_bytes())
    }),
    ("ssl_preread_server_name", |session, out| write_hello_value(session, out, |hello| &hello.server_name)),
    ("ssl_protocol", |session, out| session.tls().is_some_and(|tls| show(out, tls.protocol))),
    ("ssl_server_name", |session, out| {
        text(out, session.tls().and_then(|tls| tls.server_name.as_ref().map(ToString::to_string)))
    }),
    ("ssl_session_reused", |session, out| {
        session.tls().is_some_and(|tls| show(out, if tls.resumed { "r" } else { "." }))
    }),
    ("status", |session, out| show(out, format_args!("{:03}", session.status.get()))),
    ("time_iso8601", |_, out| write_timestamp(out, format_time_iso8601)),
    ("time_local", |_, out| write_timestamp(out, format_time_local)),
    ("upstream_addr", |session, out| {
        write_attempts(session, out, |attempt, out| show(out, &attempt.address))
    }),
    ("upstream_bytes_received", |session, out| {
        write_attempts(session, out, |attempt, out| show(out, attempt.bytes_received))
    }),
    ("upstream_bytes_sent", |session, out| {
        write_attempts(session, out, |attempt, out| show(out, attempt.bytes_sent))
    }),
    ("upstream_connect_time", |session, out| {
        write_attempts(session, out, |attempt, out| write_seconds(out, attempt.connect_ms))
    }),
    ("upstream_first_byte_time", |session, out| {
        write_attempts(session, out, |attempt, out| write_seconds(out, attempt.header_ms))
    }),
    ("upstream_session_time", |session, out| {
        write_attempts(session, out, |attempt, out| write_seconds(out, attempt.response_ms))
    }),
];

/// Returns the names of all variables except `$proxy_protocol_tlv_*`.
pub(crate) fn names() -> StreamNames {
    StreamNames::new(ROWS.iter().map(|(name, _)| *name).collect())
}

impl Environment for StreamSession {
    fn variable(&self, id: Builtin, _: &mut Frame, out: &mut Vec<u8>) -> Result<bool, EvalError> {
        if let Some((_, value)) = ROWS.get(id.0 as usize) {
            return Ok(value(self, out));
        }
        let tlv = self.streams.runtime.names.proxy_protocol_value(id);
        Ok(tlv.zip(self.proxied()).is_some_and(|(tlv, header)| header.tlv(tlv, out)))
    }

    fn uri(&self) -> &[u8] {
        b""
    }

    fn args(&self) -> &[u8] {
        b""
    }

    fn uri_was_escaped(&self) -> bool {
        false
    }

    fn rewrite(&mut self, _: &[u8], _: &[u8]) {}
}

fn binary_address(session: &StreamSession, out: &mut Vec<u8>) -> bool {
    match session.client() {
        Some(IpAddr::V4(ip)) => out.extend_from_slice(&ip.octets()),
        Some(IpAddr::V6(ip)) => out.extend_from_slice(&ip.octets()),
        None => out.extend_from_slice(b"unix:"),
    }
    true
}

fn local(session: &StreamSession) -> Option<SocketAddr> {
    session.connection.local()
}

fn server_addr(session: &StreamSession, out: &mut Vec<u8>) -> bool {
    let local = local(session);
    address(out, local.map(|local| local.ip()));
    if local.is_none() {
        out.extend_from_slice(&session.connection.local_path().unwrap_or_default());
    }
    true
}

fn proxied<T: std::fmt::Display>(
    session: &StreamSession,
    out: &mut Vec<u8>,
    value_of: fn(&ProxyHeader) -> Option<T>,
) -> bool {
    session.proxied().and_then(value_of).is_some_and(|value| show(out, value))
}

fn write_hello_value(session: &StreamSession, out: &mut Vec<u8>, part: fn(&PrereadHello) -> &[u8]) -> bool {
    session.hello.get().is_some_and(|hello| {
        out.extend_from_slice(part(hello));
        true
    })
}

fn write_timestamp<const N: usize>(out: &mut Vec<u8>, format: fn(u64, i32) -> [u8; N]) -> bool {
    let now_s = myriad_net::clock::wall_ms() / 1000;
    out.extend_from_slice(&format(now_s, local_time::offset_minutes(now_s)));
    true
}

/// Appends a value for each connection attempt, separated by commas. Returns false if there were none.
fn write_attempts(
    session: &StreamSession,
    out: &mut Vec<u8>,
    value: fn(&Attempt, &mut Vec<u8>) -> bool,
) -> bool {
    let attempts = session.attempts.get();
    for (index, attempt) in attempts.iter().enumerate() {
        if index > 0 {
            out.extend_from_slice(b", ");
        }
        value(attempt, out);
    }
    !attempts.is_empty()
}

fn write_seconds(out: &mut Vec<u8>, ms: Option<u64>) -> bool {
    match ms {
        Some(ms) => thousandths(out, ms),
        None => show(out, "-"),
    }
}
