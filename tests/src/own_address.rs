//! An address of this machine beside loopback.

use std::net::{IpAddr, UdpSocket};

/// The address from which this machine would speak to others; `None`, and told, where it has no way out.
pub fn own_address() -> Option<IpAddr> {
    let found = UdpSocket::bind("0.0.0.0:0").and_then(|socket| {
        // Nothing is sent: it only asks which address would be.
        socket.connect("192.0.2.1:9")?;
        socket.local_addr()
    });
    match found {
        Ok(address) => Some(address.ip()),
        Err(error) => {
            println!("not tried over an address beside loopback, since this machine has none: {error}");
            None
        }
    }
}
