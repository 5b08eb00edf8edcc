//! Establishes TCP and unix socket connections to peers.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpSocket, TcpStream};

use crate::address::PeerAddress;
use crate::descriptor_retry::with_descriptor;
use crate::error::{ErrorKind, OriginError, Phase, describe};
use crate::stream::PeerStream;
use crate::unix::UnixSocket;

/// Initial and maximum delay before connecting again to a unix socket with a full backlog.
const FULL_BACKLOG_WAIT: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(50));

/// Connects within `timeout_ms`, from the local address `bind` if given (only for TCP). While the process is out of
/// descriptors, calls `make_descriptors`, which must make other users release some, and retries.
pub(crate) async fn connect(
    address: &PeerAddress,
    bind: Option<SocketAddr>,
    timeout_ms: u64,
    make_descriptors: &dyn Fn(),
) -> Result<PeerStream, OriginError> {
    let opened = with_descriptor(async || open(address, bind).await, make_descriptors);
    match tokio::time::timeout(Duration::from_millis(timeout_ms), opened).await {
        Err(_) => Err(OriginError::timeout(Phase::Connecting)),
        Ok(Err(error)) => Err(failure(address, &error)),
        Ok(Ok(stream)) => Ok(stream),
    }
}

async fn open(address: &PeerAddress, bind: Option<SocketAddr>) -> io::Result<PeerStream> {
    match address {
        PeerAddress::Tcp(address) => {
            let stream = match bind {
                None => TcpStream::connect(address).await?,
                Some(bind) => from(bind, *address).await?,
            };
            stream.set_nodelay(true)?;
            Ok(PeerStream::Tcp(stream))
        }
        PeerAddress::Unix(path) => {
            let (mut wait, longest) = FULL_BACKLOG_WAIT;
            loop {
                match UnixSocket::connect(path) {
                    // The backlog of the listener is full. TCP would queue the connection, but a unix socket returns
                    // EAGAIN immediately, which nginx turns into a 502. Retrying within the connect timeout survives
                    // short bursts.
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => tokio::time::sleep(wait).await,
                    result => return result.map(PeerStream::Unix),
                }
                wait = (wait * 2).min(longest);
            }
        }
    }
}

/// Connects to the TCP address `address` from the local address `bind`.
async fn from(bind: SocketAddr, address: SocketAddr) -> io::Result<TcpStream> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // With an explicit port, all connections share that local port.
    socket.set_reuseaddr(bind.port() != 0)?;
    socket.bind(bind)?;
    socket.connect(address).await
}

/// Creates the error of a failed connect. Only the text for unix sockets contains the address, as in nginx.
fn failure(address: &PeerAddress, error: &io::Error) -> OriginError {
    let what = match address {
        PeerAddress::Unix(_) => format!("connect() to {address} failed ({})", describe(error)),
        PeerAddress::Tcp(_) => format!("connect() failed ({})", describe(error)),
    };
    OriginError::new(ErrorKind::Connect, Phase::Connecting, what)
}
