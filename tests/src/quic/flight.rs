//! What a client says first, for those who say it and never answer.

use std::net::UdpSocket;
use std::time::Duration;

use super::{Failure, QuicVisitor};

impl QuicVisitor {
    /// The datagrams with which a connection begins, as they would go to any server.
    pub fn first_flight(&self) -> Result<Vec<Vec<u8>>, String> {
        let flight = || {
            let listener = UdpSocket::bind("127.0.0.1:0")?;
            // Longer than a client pauses between two of them, shorter than it waits before it says the same again.
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
