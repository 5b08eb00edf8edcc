//! Blocking connection to a collector with a time limit, plain or with TLS.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::{Duration, Instant};

use rustls::pki_types::ServerName;
use rustls::{ClientConnection, StreamOwned};

use super::target::CollectorTarget;
use super::trusted_authorities::HTTP2;

/// Maximum number of resolved addresses of the collector's host that are tried.
const MOST_ADDRESSES: usize = 4;

/// Byte stream to a collector, plain or TLS.
pub(super) enum CollectorStream {
    Plain(TcpStream),
    Secure(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl CollectorStream {
    /// Connects for HTTP/2, including the TLS handshake if the endpoint uses TLS. TCP connecting is limited by `end`;
    /// the name lookup has no time limit; each read or write of the handshake is limited to the time left until `end`
    /// when the handshake starts. Returns an error if the TLS server does not negotiate HTTP/2.
    pub(super) fn connect(target: &CollectorTarget, end: Instant) -> io::Result<Self> {
        let stream = connect_tcp(&target.endpoint.host, target.endpoint.port, end)?;
        stream.set_nodelay(true)?;
        let Some(trust) = &target.trust else { return Ok(Self::Plain(stream)) };
        let config = trust.tls_client_config().map_err(io::Error::other)?;
        let name = ServerName::try_from(target.endpoint.host.clone()).map_err(io::Error::other)?;
        let session = ClientConnection::new(config, name).map_err(io::Error::other)?;
        let mut link = Self::Secure(Box::new(StreamOwned::new(session, stream)));
        link.wait_until(end)?;
        if let Self::Secure(secure) = &mut link {
            while secure.conn.is_handshaking() {
                secure.conn.complete_io(&mut secure.sock)?;
            }
            if secure.conn.alpn_protocol() != Some(HTTP2) {
                return Err(io::Error::other("it does not support HTTP/2 over TLS"));
            }
        }
        Ok(link)
    }

    /// Sets the time limit of each following read or write to the time left until `end`. Returns `TimedOut` if it has
    /// passed.
    pub(super) fn wait_until(&self, end: Instant) -> io::Result<()> {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        let stream = match self {
            Self::Plain(stream) => stream,
            Self::Secure(secure) => &secure.sock,
        };
        stream.set_read_timeout(Some(left))?;
        stream.set_write_timeout(Some(left))
    }
}

/// Connects to the first address of `host` that accepts. Each attempt gets an equal share of the time left until `end`.
fn connect_tcp(host: &str, port: u16, end: Instant) -> io::Result<TcpStream> {
    let addresses: Vec<_> = (host, port).to_socket_addrs()?.take(MOST_ADDRESSES).collect();
    let mut outcome = Err(io::Error::other("the host has no address"));
    for (index, address) in addresses.iter().enumerate() {
        let left = end.saturating_duration_since(Instant::now());
        let share = (left / (addresses.len() - index) as u32).max(Duration::from_millis(1));
        outcome = TcpStream::connect_timeout(address, share);
        if outcome.is_ok() {
            break;
        }
    }
    outcome
}

impl Read for CollectorStream {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.read(buffer),
            Self::Secure(stream) => stream.read(buffer),
        }
    }
}

impl Write for CollectorStream {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(stream) => stream.write(bytes),
            Self::Secure(stream) => stream.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(stream) => stream.flush(),
            Self::Secure(stream) => stream.flush(),
        }
    }
}
