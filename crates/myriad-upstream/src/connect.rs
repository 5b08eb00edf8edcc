//! Making a connection.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::net::{TcpSocket, TcpStream};

use crate::address::Address;
use crate::error::{ErrorKind, OriginError, Phase, describe};
use crate::shortage::with_descriptor;
use crate::stream::Stream;
use crate::unix::UnixSocket;

/// How long to wait before a full unix socket is tried again, at first and at most.
const FULL_BACKLOG_WAIT: (Duration, Duration) = (Duration::from_millis(1), Duration::from_millis(50));

/// Connects within `timeout_ms`. `make_descriptors` has others give way where the process has no descriptor left.
pub(crate) async fn connect(
    address: &Address,
    bind: Option<SocketAddr>,
    timeout_ms: u64,
    make_descriptors: &dyn Fn(),
) -> Result<Stream, OriginError> {
    let opened = with_descriptor(async || open(address, bind).await, make_descriptors);
    match tokio::time::timeout(Duration::from_millis(timeout_ms), opened).await {
        Err(_) => Err(OriginError::timeout(Phase::Connecting)),
        Ok(Err(error)) => Err(failure(address, &error)),
        Ok(Ok(stream)) => Ok(stream),
    }
}

async fn open(address: &Address, bind: Option<SocketAddr>) -> io::Result<Stream> {
    match address {
        Address::Tcp(address) => {
            let stream = match bind {
                None => TcpStream::connect(address).await?,
                Some(bind) => from(bind, *address).await?,
            };
            stream.set_nodelay(true)?;
            Ok(Stream::Tcp(stream))
        }
        Address::Unix(path) => {
            let (mut wait, longest) = FULL_BACKLOG_WAIT;
            loop {
                match UnixSocket::connect(path) {
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

/// Connects from an address of this machine.
async fn from(bind: SocketAddr, address: SocketAddr) -> io::Result<TcpStream> {
    let socket = if address.is_ipv4() { TcpSocket::new_v4()? } else { TcpSocket::new_v6()? };
    // A port that is named is used again and again.
    socket.set_reuseaddr(bind.port() != 0)?;
    socket.bind(bind)?;
    socket.connect(address).await
}

/// nginx names the socket where `connect()` fails at once, as it does for a unix socket.
fn failure(address: &Address, error: &io::Error) -> OriginError {
    let what = match address {
        Address::Unix(_) => format!("connect() to {address} failed ({})", describe(error)),
        Address::Tcp(_) => format!("connect() failed ({})", describe(error)),
    };
    OriginError::new(ErrorKind::Connect, Phase::Connecting, what)
}
