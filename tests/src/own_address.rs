//! Address of this machine other than loopback.

use std::net::{IpAddr, UdpSocket};

/// Returns the address from which this machine would connect to other machines; `None`, with a message, if it has no
/// route.
pub fn own_address() -> Option<IpAddr> {
    let found = UdpSocket::bind("0.0.0.0:0").and_then(|socket| {
        // Connecting a UDP socket sends nothing; it only selects the local address.
        socket.connect("192.0.2.1:9")?;
        socket.local_addr()
    });
    match found {
        Ok(address) => Some(address.ip()),
        Err(error) => {
            println!("skipped over an address other than loopback: this machine has none: {error}");
            None
        }
    }
}
