//! How many handshakes a client may have under way at once.
//!
//! A connection that says nothing costs the worker a socket; one that has begun a handshake, some kilobytes and perhaps a
//! signature. The time-out bounds how long; this bounds how many there are of one address.

use std::cell::RefCell;
use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};

use crate::connection::Connection;

/// Most handshakes that one address may have under way with one worker. Whole offices are behind one address, and a
/// handshake takes one round trip.
const MOST: u32 = 256;

/// Bits of an IPv6 address that one client may choose from as it likes.
const FREE_BITS: u32 = 64;

thread_local! {
    static UNDER_WAY: RefCell<HashMap<IpAddr, u32>> = RefCell::default();
}

/// A handshake under way, until dropped.
pub(super) struct HalfOpen(Option<IpAddr>);

impl HalfOpen {
    /// Counts a client's handshake; none where it has too many.
    pub(super) fn enter(connection: &Connection) -> Option<Self> {
        let announced = connection.proxied.get().map(|header| header.source.ip());
        let Some(client) = announced.or_else(|| connection.peer.ip()).map(network) else {
            return Some(Self(None));
        };
        UNDER_WAY.with_borrow_mut(|under_way| {
            let count = under_way.entry(client).or_default();
            if *count >= MOST {
                return None;
            }
            *count += 1;
            Some(Self(Some(client)))
        })
    }
}

impl Drop for HalfOpen {
    fn drop(&mut self) {
        let Some(client) = self.0 else { return };
        UNDER_WAY.with_borrow_mut(|under_way| {
            if let Some(count) = under_way.get_mut(&client) {
                *count -= 1;
                if *count == 0 {
                    under_way.remove(&client);
                }
            }
        });
    }
}

/// Who is taken for one client.
fn network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() >> FREE_BITS << FREE_BITS)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::Peer;

    fn connection(address: &str) -> std::rc::Rc<Connection> {
        let peer = Peer::Inet(address.parse().unwrap());
        Connection::without_socket(1, 0, (peer, "127.0.0.1:1".parse().unwrap()), None)
    }

    #[test]
    fn an_address_may_have_so_many_and_others_do_not_suffer() {
        let client = connection("[2001:db8::1]:5");
        let neighbour = connection("[2001:db8::2]:5");
        let mut held: Vec<_> = (0..MOST).map(|_| HalfOpen::enter(&client).unwrap()).collect();
        assert!(HalfOpen::enter(&neighbour).is_none(), "one network is one client");
        assert!(HalfOpen::enter(&connection("[2001:db8:1::1]:5")).is_some());
        held.pop();
        assert!(HalfOpen::enter(&client).is_some());
        held.clear();
        UNDER_WAY.with_borrow(|under_way| assert!(under_way.is_empty()));
    }
}
