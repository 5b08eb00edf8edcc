//! `$realip_*`: address of the connection's peer, not the one that a proxy reported.

use myriad_exchange::exchange::variables::RequestVariable;
use myriad_exchange::exchange::variables::write::{address, show};
use myriad_exchange::runtime::Reads::Connection;
use myriad_exchange::runtime::RowValue::Made;
use myriad_net::ClientAddress;

/// Variables `$realip_remote_*`: address and port of the connection's peer, before it is replaced by a reported
/// address.
pub(crate) const VARIABLES: &[RequestVariable] = &[
    RequestVariable::new(
        "realip",
        "realip_remote_addr",
        &[Connection],
        Made(|request, out| address(out, request.received.connection.peer.ip())),
    ),
    RequestVariable::new(
        "realip",
        "realip_remote_port",
        &[Connection],
        Made(|request, out| match request.received.connection.peer {
            ClientAddress::Inet(peer) => show(out, peer.port()),
            ClientAddress::Unix => true,
        }),
    ),
];

#[cfg(test)]
mod tests {
    use crate::testing::variables::{VariableCase, assert_variables};

    #[test]
    fn realip_variables_retain_connection_address() {
        let mut exchange = VariableCase::default().begin();
        assert_variables(&mut exchange, &[("realip_remote_addr", "127.0.0.1"), ("realip_remote_port", "0")]);
        exchange.request.received.real = Some("10.0.0.1:0".parse().unwrap());
        assert_variables(&mut exchange, &[("remote_addr", "10.0.0.1"), ("realip_remote_addr", "127.0.0.1")]);
    }
}
