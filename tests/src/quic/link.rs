//! QUIC connection with its runtime.

use std::net::SocketAddr;
use std::time::Duration;

use super::{Failure, PATIENCE, QuicVisitor};

/// Connection, closed on drop.
pub(super) struct Link {
    pub(super) runtime: tokio::runtime::Runtime,
    endpoint: quinn::Endpoint,
    pub(super) connection: quinn::Connection,
}

impl Link {
    /// Connects to a port of the loopback address with a server name. With `early` it does not wait for the handshake,
    /// fails without a session of the server, and also returns a future that resolves to whether the server accepted
    /// the 0-RTT data.
    pub(super) fn new(
        visitor: &QuicVisitor,
        port: u16,
        name: &str,
        early: bool,
    ) -> Result<(Self, Option<quinn::ZeroRttAccepted>), Failure> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (endpoint, connection, accepted) = runtime.block_on(async {
            let mut endpoint = quinn::Endpoint::client(SocketAddr::from(([127, 0, 0, 1], 0)))?;
            endpoint.set_default_client_config(visitor.config.clone());
            let connecting = endpoint.connect(SocketAddr::from(([127, 0, 0, 1], port)), name)?;
            let (connection, accepted) = if early {
                let (connection, accepted) = connecting.into_0rtt().map_err(|_| "no session to resume")?;
                (connection, Some(accepted))
            } else {
                (tokio::time::timeout(PATIENCE, connecting).await??, None)
            };
            Ok::<_, Failure>((endpoint, connection, accepted))
        })?;
        Ok((Self { runtime, endpoint, connection }, accepted))
    }

    /// Runs a future with a timeout.
    pub(super) fn within<T>(&self, work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
        self.runtime.block_on(async { tokio::time::timeout(PATIENCE, work).await.map_err(|_| "too late")? })
    }

    /// Waits until the connection has closed, and returns the reason.
    pub(super) fn ended(&self) -> quinn::ConnectionError {
        self.within(async { Ok(self.connection.closed().await) }).expect("the connection ends")
    }

    /// Waits, so that datagrams in transit arrive.
    pub(super) fn wait(&self, time: Duration) {
        self.runtime.block_on(async { tokio::time::sleep(time).await });
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.endpoint.close(0u32.into(), b"");
        let idle =
            async { tokio::time::timeout(Duration::from_millis(200), self.endpoint.wait_idle()).await };
        let _ = self.runtime.block_on(idle);
    }
}
