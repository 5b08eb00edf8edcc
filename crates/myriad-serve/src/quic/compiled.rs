//! HTTP/3 of the site: selection of the server by the handshake, and listener state shared by workers.

use crate::handshake_certificates::certificates;
use std::cell::RefCell;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::rc::{Rc, Weak};
use std::sync::Arc;

use myriad_http::RequestHead;
use myriad_net::{
    ChooseTls, ClientAddress, Connection, QuicListenerShare, QuicRelay, QuicSecret, QuicSettings, QuicTokens,
    QuicWorkerSockets, Refusal, RequestBody, WorkerInboxes,
};
use myriad_tls::with_certificates;
use rustls::ServerConfig;
use rustls::server::ClientHello;
use zeroize::Zeroizing;

use myriad_exchange::exchange::Exchange;
use myriad_exchange::runtime::Generation;
use myriad_exchange::runtime::{ListenerHosts, Runtime};

/// QUIC state that survives a reload.
pub(crate) struct Quic {
    secret: Zeroizing<Box<[u8]>>,
    tokens: QuicTokens,
    process: u8,
    /// Relay of QUIC datagrams between the old and the new process during an upgrade.
    relay: Arc<QuicRelay>,
    /// Inboxes by which workers pass each other QUIC datagrams that arrived at another worker's socket, by listener
    /// number.
    crossings: HashMap<u32, Arc<WorkerInboxes>>,
}

impl Quic {
    /// Creates the state. `secret` is the key for address validation tokens, and for stateless resets and connection
    /// IDs of listeners without `quic_host_key`; `process` is the number of this process.
    pub(crate) fn new(secret: &[u8], process: u8, relay: Arc<QuicRelay>) -> Self {
        let tokens = QuicTokens::new(secret);
        Self { secret: Zeroizing::new(secret.into()), tokens, process, relay, crossings: HashMap::new() }
    }

    /// Returns the settings of a listener that has this number of sockets, for the worker `index` of `workers`.
    pub(crate) fn place(
        &mut self,
        number: u32,
        listener: &ListenerHosts,
        (index, workers): (usize, usize),
        sockets: usize,
    ) -> QuicWorkerSockets {
        let crossing = self.crossings.entry(number).or_insert_with(|| WorkerInboxes::new(workers));
        let secret = listener.quic_secret.as_deref().unwrap_or(&self.secret);
        QuicWorkerSockets {
            number,
            worker: index as u8,
            process: self.process,
            alone: sockets >= workers,
            secret: QuicSecret::new(secret, &listener.name),
            tokens: self.tokens.clone(),
            relay: QuicListenerShare::new(&self.relay, &listener.name, crossing),
            crossing: Arc::clone(crossing),
        }
    }
}

thread_local! {
    /// Configuration that this worker thread currently runs (its generation). QUIC handshake settings must be usable by
    /// several threads, which generations are not.
    static SITE: RefCell<Weak<Generation>> = const { RefCell::new(Weak::new()) };
}

/// Sets the generation (running configuration) by which QUIC handshakes of this thread select the server.
pub(crate) fn shake_hands_for(site: &Rc<Generation>) {
    SITE.with(|current| *current.borrow_mut() = Rc::downgrade(site));
}

/// Selects the TLS settings of the server that a client hello names, among those of its listener and local address.
struct Choice {
    connection: u64,
    listener: u32,
    peer: ClientAddress,
    local: Option<SocketAddr>,
}

impl ChooseTls for Choice {
    fn choose(&self, hello: &ClientHello<'_>) -> Result<Arc<ServerConfig>, Refusal> {
        let site = SITE.with(|site| site.borrow().upgrade()).ok_or(Refusal::NoApplicationProtocol)?;
        let name = hello.server_name();
        let (server, config) = site.runtime.tls_http3(self.listener, self.local, name)?;
        let Some(pair) = site.runtime.server(server).named.first() else { return Ok(config) };
        let addresses = (self.peer, self.local);
        let greeting = Connection::placeholder_from_parts(self.connection, self.listener, addresses, name);
        let mut exchange =
            Exchange::begin(&site, &mut RequestHead::default(), &greeting, RequestBody::empty());
        let certificates = certificates(&mut exchange, server).ok_or(Refusal::NoCertificate)?;
        Ok(with_certificates(&config, certificates, pair.is_clients))
    }

    fn stores_offers(&self) -> bool {
        SITE.with(|site| site.borrow().upgrade()).is_some_and(|site| site.runtime.reads_tls_offer)
    }
}

/// Returns the QUIC settings for a new client: those of the default server, until the client has named a server.
/// Returns `None` if the connection's listener has no servers.
pub(crate) fn settings(runtime: &Runtime, connection: &Connection) -> Option<QuicSettings> {
    let server = runtime.server(runtime.hosts(connection)?.default);
    let choice = Choice {
        connection: connection.id,
        listener: connection.listener(),
        peer: connection.peer,
        local: connection.local(),
    };
    let http3 = &server.http3;
    Some(QuicSettings {
        tls: Arc::new(choice),
        streams: http3.max_concurrent_streams,
        stream_buffer: http3.stream_buffer_size,
        retry: http3.retry,
        gso: http3.gso,
        min_rate: server.limits.timeouts.min_rate,
        idle_ms: server.limits.timeouts.keepalive_ms,
        handshake_ms: server.limits.header_timeout_ms,
    })
}

#[cfg(test)]
mod tests;
