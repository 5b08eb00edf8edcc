//! First flight of a client, for clients that never continue.

use std::net::UdpSocket;
use std::time::Duration;

use super::{Failure, QuicVisitor};

impl QuicVisitor {
    /// Returns the datagrams that a client sends to open a connection, before it receives any; they are valid for any
    /// server.
    pub fn first_flight(&self) -> Result<Vec<Vec<u8>>, String> {
        let flight = || {
            let listener = UdpSocket::bind("127.0.0.1:0")?;
            // Longer than the pause between two datagrams of a client, shorter than its retransmission timeout.
            listener.set_read_timeout(Some(Duration::from_millis(200)))?;
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            let _entered = runtime.enter();
            let endpoint = quinn::Endpoint::client("127.0.0.1:0".parse()?)?;
            let connecting =
                endpoint.connect_with(self.config.clone(), listener.local_addr()?, "localhost")?;
            let driven = async { tokio::time::timeout(Duration::from_millis(100), connecting).await };
            let _ = runtime.block_on(driven);
            let (mut flight, mut buffer) = (Vec::new(), [0; 2048]);
            while let Ok(count) = listener.recv(&mut buffer) {
                flight.push(buffer[..count].to_vec());
            }
            Ok(flight)
        };
        flight().map_err(|error: Failure| error.to_string())
    }
}
