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
    Plain(DeadlineSocket),
    Secure(Box<StreamOwned<ClientConnection, DeadlineSocket>>),
}

/// TCP socket on which all reads and writes together are limited by a deadline. A time limit of the socket itself would
/// apply to each of them, so that a collector that sends single bytes could delay the exporter forever.
pub(super) struct DeadlineSocket {
    socket: TcpStream,
    end: Instant,
}

impl DeadlineSocket {
    /// Returns the time left until the deadline, never `None`; the error `TimedOut` if it has passed.
    fn left(&self) -> io::Result<Option<Duration>> {
        let left = self.end.saturating_duration_since(Instant::now());
        if left.is_zero() { Err(io::ErrorKind::TimedOut.into()) } else { Ok(Some(left)) }
    }
}

impl Read for DeadlineSocket {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.socket.set_read_timeout(self.left()?)?;
        self.socket.read(buffer)
    }
}

impl Write for DeadlineSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.socket.set_write_timeout(self.left()?)?;
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}

impl CollectorStream {
    /// Connects for HTTP/2, including the TLS handshake if the endpoint uses TLS, until `end`; only the name lookup has
    /// no time limit. Returns an error if the TLS server does not negotiate HTTP/2.
    pub(super) fn connect(target: &CollectorTarget, end: Instant) -> io::Result<Self> {
        let socket = connect_tcp(&target.endpoint.host, target.endpoint.port, end)?;
        socket.set_nodelay(true)?;
        let stream = DeadlineSocket { socket, end };
        let Some(trust) = &target.trust else { return Ok(Self::Plain(stream)) };
        let config = trust.tls_client_config().map_err(io::Error::other)?;
        let name = ServerName::try_from(target.endpoint.host.clone()).map_err(io::Error::other)?;
        let session = ClientConnection::new(config, name).map_err(io::Error::other)?;
        let mut secure = StreamOwned::new(session, stream);
        while secure.conn.is_handshaking() {
            secure.conn.complete_io(&mut secure.sock)?;
        }
        if secure.conn.alpn_protocol() != Some(HTTP2) {
            return Err(io::Error::other("it does not support HTTP/2 over TLS"));
        }
        Ok(Self::Secure(Box::new(secure)))
    }

    /// Sets the deadline of all following reads and writes; after it they return `TimedOut` or `WouldBlock`.
    pub(super) fn set_deadline(&mut self, end: Instant) {
        match self {
            Self::Plain(stream) => stream.end = end,
            Self::Secure(secure) => secure.sock.end = end,
        }
    }
}

/// Connects to the first address of `host` that accepts, of at most [`MOST_ADDRESSES`]; returns the last error if none
/// accepts. Each attempt gets an equal share of the time left until `end`, at least 1 ms.
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

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;
    use crate::telemetry::exporter::trusted_authorities::TrustedAuthorities;
    use crate::telemetry::settings::Endpoint;

    #[test]
    fn handshake_with_a_slow_collector_ends_at_the_deadline() {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let collector = std::thread::spawn(move || {
            let (mut client, _) = listener.accept().expect("a client");
            // Header of a TLS record of 16 KB, whose content never becomes complete.
            let _ = client.write_all(&[22, 3, 3, 0x40, 0]);
            let end = Instant::now() + Duration::from_secs(3);
            while Instant::now() < end && client.write_all(&[0]).is_ok() {
                std::thread::sleep(Duration::from_millis(20));
            }
        });
        let target = CollectorTarget {
            endpoint: Endpoint { host: "127.0.0.1".into(), port, secure: true, path: None },
            headers: Vec::new(),
            trust: Some(TrustedAuthorities::none()),
        };
        let begin = Instant::now();
        let outcome = CollectorStream::connect(&target, begin + Duration::from_millis(300));
        assert!(outcome.is_err() && begin.elapsed() < Duration::from_secs(2), "{:?}", begin.elapsed());
        collector.join().expect("no panic");
    }
}
