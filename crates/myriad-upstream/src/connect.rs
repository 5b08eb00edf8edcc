//! Making a connection.

use std::io;
use std::time::Duration;

use tokio::net::{TcpStream, UnixStream};

use crate::address::Address;
use crate::error::{ErrorKind, OriginError, Phase, describe};
use crate::stream::Stream;

/// How long to wait before a full unix socket is tried again, at first and at most.
const FULL_BACKLOG_WAIT: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(50));

/// Connects within `timeout_ms`.
pub(crate) async fn connect(address: &Address, timeout_ms: u64) -> Result<Stream, OriginError> {
    match tokio::time::timeout(Duration::from_millis(timeout_ms), open(address)).await {
        Err(_) => Err(OriginError::timeout(Phase::Connecting)),
        Ok(Err(error)) => Err(failure(address, &error)),
        Ok(Ok(stream)) => Ok(stream),
    }
}

async fn open(address: &Address) -> io::Result<Stream> {
    match address {
        Address::Tcp(address) => {
            let stream = TcpStream::connect(address).await?;
            stream.set_nodelay(true)?;
            Ok(Stream::Tcp(stream))
        }
        Address::Unix(path) => {
            let (mut wait, longest) = FULL_BACKLOG_WAIT;
            loop {
                match UnixStream::connect(path).await {
                    // The listener's backlog is full. TCP would queue; a unix socket says EAGAIN at once, which nginx
                    // makes a 502 of: waiting up to the connect time-out rides out the burst instead.
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => tokio::time::sleep(wait).await,
                    result => return result.map(Stream::Unix),
                }
                wait = (wait * 2).min(longest);
            }
        }
    }
}

/// nginx names the socket where `connect()` fails at once, as it does for a unix socket.
fn failure(address: &Address, error: &io::Error) -> OriginError {
    let what = match address {
        Address::Unix(_) => format!("connect() to {address} failed ({})", describe(error)),
        Address::Tcp(_) => format!("connect() failed ({})", describe(error)),
    };
    OriginError::new(ErrorKind::Connect, Phase::Connecting, what)
}
