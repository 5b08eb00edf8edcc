//! Limits of concurrent QUIC handshakes, per client network and in total.

use std::collections::HashMap;
use std::net::IpAddr;

use myriad_http::client_network;

/// Number of concurrent QUIC handshakes of a client network, on one listener of a worker, from which its clients must
/// validate their addresses (Retry).
const EASY: u32 = 64;
/// Number of concurrent QUIC handshakes of all networks, on one listener of a worker, from which all clients must
/// validate their addresses (Retry).
const EASY_IN_ALL: u32 = 1024;
/// Number of concurrent QUIC handshakes of a client network from which further handshakes with validated addresses are
/// refused; clients with unvalidated addresses still get a Retry.
const MOST: u32 = 1024;

/// Decision about a client that opens a QUIC connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HandshakeDecision {
    /// The connection is accepted.
    Accept,
    /// The client must validate its address first (RFC 9000 section 8.1.2).
    Retry,
    /// The connection is refused.
    Refuse,
}

/// Numbers of QUIC handshakes in progress on one listener of a worker, in total and per client network.
#[derive(Debug, Default)]
pub(super) struct HandshakeCounters {
    by_network: HashMap<IpAddr, u32>,
    /// Number of all handshakes in progress.
    all: u32,
}

impl HandshakeCounters {
    /// Decides about a new connection from `address`; `shown` is true if the address is validated.
    pub(super) fn decide(&self, address: IpAddr, shown: bool) -> HandshakeDecision {
        let own = self.by_network.get(&client_network(address)).copied().unwrap_or(0);
        match (own >= EASY || self.all >= EASY_IN_ALL, shown) {
            (true, false) => HandshakeDecision::Retry,
            (_, true) if own >= MOST => HandshakeDecision::Refuse,
            _ => HandshakeDecision::Accept,
        }
    }

    /// Counts a new handshake of a client at `address`.
    pub(super) fn begin(&mut self, address: IpAddr) {
        *self.by_network.entry(client_network(address)).or_default() += 1;
        self.all += 1;
    }

    /// Removes a finished handshake from the counters. Must match a call of [`Self::begin`].
    pub(super) fn end(&mut self, address: IpAddr) {
        let network = client_network(address);
        if let Some(count) = self.by_network.get_mut(&network) {
            *count -= 1;
            if *count == 0 {
                self.by_network.remove(&network);
            }
            self.all -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::net::Ipv6Addr;

    use super::*;

    #[test]
    fn many_handshakes_of_one_network_ask_for_more_and_more() {
        let mut handshakes = HandshakeCounters::default();
        let own = |last: u16| IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 0, last));
        let other = IpAddr::from([192, 0, 2, 1]);
        for last in 0..EASY {
            assert_eq!(handshakes.decide(own(last as u16), false), HandshakeDecision::Accept);
            handshakes.begin(own(last as u16));
        }
        assert_eq!(handshakes.decide(own(9), false), HandshakeDecision::Retry);
        assert_eq!(handshakes.decide(own(9), true), HandshakeDecision::Accept);
        assert_eq!(handshakes.decide(other, false), HandshakeDecision::Accept);
        for _ in EASY..MOST {
            handshakes.begin(own(1));
        }
        assert_eq!(handshakes.decide(own(9), true), HandshakeDecision::Refuse);
        assert_eq!(handshakes.decide(other, false), HandshakeDecision::Retry);
        assert_eq!(handshakes.decide(other, true), HandshakeDecision::Accept);
        for _ in 0..MOST {
            handshakes.end(own(3));
        }
        assert_eq!(handshakes.decide(own(9), false), HandshakeDecision::Accept);
        assert!(handshakes.by_network.is_empty());
    }
}
