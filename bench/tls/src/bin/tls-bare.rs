//! Measures the cost of TLS alone: rustls on a socket.
//!
//! `tls-bare PORT CERTIFICATE full|resumed` performs handshakes with clients of 127.0.0.1:PORT and closes a connection when its
//! client does. One thread, one epoll. With `full` no session can be resumed; with `resumed` clients get two tickets, as from
//! Myriad.

use std::io::{self, ErrorKind};
use std::net::{TcpListener, TcpStream};
use std::os::fd::AsRawFd;
use std::sync::Arc;

use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustls::crypto::aws_lc_rs;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::NoServerSessionStorage;
use rustls::{ServerConfig, ServerConnection};

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().collect();
    let [_, port, certificate, mode] = &arguments[..] else {
        return Err(io::Error::other("usage: tls-bare PORT CERTIFICATE full|resumed"));
    };
    let port: u16 = port.parse().map_err(io::Error::other)?;
    let config = Arc::new(config(&std::fs::read(certificate)?, mode == "resumed")?);
    serve(&TcpListener::bind(("127.0.0.1", port))?, &config)
}

fn config(pem: &[u8], resumes: bool) -> io::Result<ServerConfig> {
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let key = PrivateKeyDer::from_pem_slice(pem).map_err(io::Error::other)?;
    let mut config = ServerConfig::builder_with_provider(Arc::new(aws_lc_rs::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?
        .with_no_client_auth()
        .with_single_cert(chain.map_err(io::Error::other)?, key)
        .map_err(io::Error::other)?;
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    if resumes {
        config.ticketer = aws_lc_rs::Ticketer::new().map_err(io::Error::other)?;
        config.send_tls13_tickets = 2;
    }
    Ok(config)
}

struct Client {
    stream: TcpStream,
    tls: ServerConnection,
}

fn serve(listener: &TcpListener, config: &Arc<ServerConfig>) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let poll = epoll::create(CreateFlags::CLOEXEC)?;
    epoll::add(&poll, listener, EventData::new_u64(u64::MAX), EventFlags::IN)?;
    let mut clients: Vec<Option<Client>> = Vec::new(); // by file descriptor
    let mut events: Vec<Event> = Vec::with_capacity(256);
    loop {
        events.clear();
        match epoll::wait(&poll, spare_capacity(&mut events), None) {
            Ok(_) => {}
            Err(rustix::io::Errno::INTR) => continue,
            Err(error) => return Err(error.into()),
        }
        for event in &events {
            let id = event.data.u64();
            if id == u64::MAX {
                while let Ok((stream, _)) = listener.accept() {
                    stream.set_nonblocking(true)?;
                    stream.set_nodelay(true)?;
                    let slot = usize::try_from(stream.as_raw_fd()).map_err(io::Error::other)?;
                    epoll::add(&poll, &stream, EventData::new_u64(slot as u64), EventFlags::IN)?;
                    clients.resize_with(clients.len().max(slot + 1), || None);
                    let tls = ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
                    clients[slot] = Some(Client { stream, tls });
                }
                continue;
            }
            let slot = usize::try_from(id).map_err(io::Error::other)?;
            if let Some(Some(client)) = clients.get_mut(slot)
                && client.goes_on().is_none()
            {
                clients[slot] = None;
            }
        }
    }
}

impl Client {
    /// Processes available bytes and sends the response; returns `None` if the client has finished.
    fn goes_on(&mut self) -> Option<()> {
        loop {
            match self.tls.read_tls(&mut self.stream) {
                Ok(0) => return None,
                Ok(_) => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return Some(()),
                Err(_) => return None,
            }
            let state = self.tls.process_new_packets().ok()?;
            while self.tls.wants_write() {
                self.tls.write_tls(&mut self.stream).ok()?;
            }
            if state.peer_has_closed() {
                return None;
            }
        }
    }
}
