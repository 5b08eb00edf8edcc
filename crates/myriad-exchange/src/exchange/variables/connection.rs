//! Variables of the client's connection: addresses, PROXY protocol, kernel statistics.

use std::net::IpAddr;

use myriad_conf::registry::DirectiveStatus;
use myriad_http::proxy_protocol::{ProxyHeader, Tlv};
use myriad_net::ClientAddress;
use myriad_net::tcp_info::TcpInfo;

use super::write::{RequestVariable, address, network, never_ready, number, show};
use crate::exchange::Request;
use crate::runtime::Reads::Connection;
use crate::runtime::RowValue::{Made, Named};
use crate::runtime::{NameSuffix, NamedValue};

pub(super) const ROWS: &[RequestVariable] = &[
    RequestVariable::new("core", "binary_remote_addr", &[Connection], Made(binary_address)),
    RequestVariable::new(
        "core",
        "connection",
        &[Connection],
        Made(|request, out| number(out, request.received.connection.id)),
    ),
    RequestVariable::new(
        "core",
        "connection_requests",
        &[Connection],
        Made(|request, out| show(out, request.received.number)),
    ),
    RequestVariable::new(
        "core",
        "remote_addr",
        &[Connection],
        Made(|request, out| address(out, request.client())),
    )
    .plain(),
    RequestVariable::new(
        "core",
        "remote_network",
        &[Connection],
        Made(|request, out| network(out, request.client())),
    )
    .with_status(DirectiveStatus::Own),
    RequestVariable::new("core", "remote_port", &[Connection], Made(remote_port)).plain(),
    RequestVariable::new("core", "server_addr", &[Connection], Made(server_addr)),
    RequestVariable::new("core", "server_port", &[Connection], Made(server_port)),
    RequestVariable::new(
        "core",
        "proxy_protocol_addr",
        &[Connection],
        Made(|request, out| proxied(request).is_some_and(|header| show(out, header.source.ip()))),
    ),
    RequestVariable::new(
        "core",
        "proxy_protocol_port",
        &[Connection],
        Made(|request, out| proxied(request).is_some_and(|header| show(out, header.source.port()))),
    ),
    RequestVariable::new(
        "core",
        "proxy_protocol_server_addr",
        &[Connection],
        Made(|request, out| proxied(request).is_some_and(|header| show(out, header.destination.ip()))),
    ),
    RequestVariable::new(
        "core",
        "proxy_protocol_server_port",
        &[Connection],
        Made(|request, out| proxied(request).is_some_and(|header| show(out, header.destination.port()))),
    ),
    RequestVariable::new(
        "core",
        "proxy_protocol_tlv_",
        &[Connection],
        Named(NamedValue {
            rest: |rest| NameSuffix::Tlv(Tlv::named(rest)),
            ready: never_ready,
            made: proxied_fact,
        }),
    ),
    // Round-trip time, in microseconds.
    RequestVariable::new(
        "core",
        "tcpinfo_rtt",
        &[Connection],
        Made(|request, out| kernel(request, out, |info| info.rtt)),
    ),
    // Round-trip time variation, in microseconds.
    RequestVariable::new(
        "core",
        "tcpinfo_rttvar",
        &[Connection],
        Made(|request, out| kernel(request, out, |info| info.rttvar)),
    ),
    // Congestion window, in segments.
    RequestVariable::new(
        "core",
        "tcpinfo_snd_cwnd",
        &[Connection],
        Made(|request, out| kernel(request, out, |info| info.snd_cwnd)),
    ),
    // Receive buffer space as estimated by the kernel, in bytes.
    RequestVariable::new(
        "core",
        "tcpinfo_rcv_space",
        &[Connection],
        Made(|request, out| kernel(request, out, |info| info.rcv_space)),
    ),
];

fn binary_address(request: &Request, out: &mut Vec<u8>) -> bool {
    match request.client() {
        Some(IpAddr::V4(ip)) => out.extend_from_slice(&ip.octets()),
        Some(IpAddr::V6(ip)) => out.extend_from_slice(&ip.octets()),
        None => out.extend_from_slice(b"unix:"),
    }
    true
}

fn remote_port(request: &Request, out: &mut Vec<u8>) -> bool {
    match request.received.real {
        // The proxy reported an address without a port.
        Some(real) if real.port() == 0 => true,
        Some(real) => number(out, real.port().into()),
        None => {
            peer_port(request, out);
            true
        }
    }
}

fn peer_port(request: &Request, out: &mut Vec<u8>) {
    if let ClientAddress::Inet(peer) = request.received.connection.peer {
        number(out, peer.port().into());
    }
}

fn server_addr(request: &Request, out: &mut Vec<u8>) -> bool {
    let local = request.received.connection.local();
    address(out, local.map(|local| local.ip()));
    if local.is_none() {
        out.extend_from_slice(&request.received.connection.local_path().unwrap_or_default());
    }
    true
}

/// Appends 443 if a trusted proxy reports that the client used https, otherwise the port of the listener (nothing for a
/// Unix socket). Always returns true, as variables require.
fn server_port(request: &Request, out: &mut Vec<u8>) -> bool {
    if request.is_forwarded_https() {
        number(out, 443);
    } else if let Some(local) = request.received.connection.local() {
        number(out, local.port().into());
    }
    true
}

fn proxied(request: &Request) -> Option<&ProxyHeader> {
    request.received.connection.proxied.get().map(|header| &**header)
}

fn proxied_fact(request: &Request, rest: &NameSuffix, out: &mut Vec<u8>) -> bool {
    match (proxied(request), rest) {
        (Some(header), NameSuffix::Tlv(Some(fact))) => header.tlv(*fact, out),
        _ => false,
    }
}

/// Appends a value of the kernel's TCP statistics of the connection. Returns false if they are unavailable.
fn kernel(request: &Request, out: &mut Vec<u8>, figure: fn(&TcpInfo) -> u32) -> bool {
    request.received.connection.tcp_info().is_some_and(|info| show(out, figure(&info)))
}
