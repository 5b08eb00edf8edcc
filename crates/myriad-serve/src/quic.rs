//! HTTP/3 as the site has it: which server a client means, and what workers share of a listener.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::Arc;

use myriad_net::{ChooseTls, Connection, Crossing, QuicPlace, QuicSecret, QuicSettings, Refusal};
use rustls::ServerConfig;
use rustls::server::ClientHello;

use crate::runtime::{Listener, Runtime};

/// What outlives a reload.
pub(crate) struct Quic {
    secret: QuicSecret,
    process: u8,
    /// Where workers pass datagrams on, by listener number.
    crossings: HashMap<u32, Arc<Crossing>>,
}

impl Quic {
    /// `secret` makes tokens where a listener has no key of its own; `process` is the number of this one.
    pub(crate) fn new(secret: &[u8], process: u8) -> Self {
        Self { secret: QuicSecret::new(secret), process, crossings: HashMap::new() }
    }

    /// A listener of so many sockets, as the worker `index` of so many has it.
    pub(crate) fn place(
        &mut self,
        number: u32,
        listener: &Listener,
        (index, workers): (usize, usize),
        sockets: usize,
    ) -> QuicPlace {
        let crossing = self.crossings.entry(number).or_insert_with(|| Crossing::new(workers));
        let secret = listener.quic_secret.as_deref().map(QuicSecret::new);
        QuicPlace {
            number,
            worker: index as u8,
            process: self.process,
            alone: sockets >= workers,
            secret: secret.unwrap_or_else(|| self.secret.clone()),
            crossing: Arc::clone(crossing),
        }
    }
}

/// Finds the server that a client names, behind the listener and address that it came to.
struct Choice {
    runtime: Arc<Runtime>,
    listener: u32,
    local: Option<SocketAddr>,
}

impl ChooseTls for Choice {
    fn choose(&self, hello: &ClientHello<'_>) -> Result<Arc<ServerConfig>, Refusal> {
        self.runtime.tls_http3(self.listener, self.local, hello.server_name())
    }
}

/// How a client is spoken to that comes now. Before it has named a server, the default one's settings hold.
pub(crate) fn settings(runtime: &Arc<Runtime>, connection: &Connection) -> Option<QuicSettings> {
    let server = runtime.server(runtime.hosts(connection)?.default);
    let choice =
        Choice { runtime: Arc::clone(runtime), listener: connection.listener, local: connection.local() };
    let http3 = &server.http3;
    Some(QuicSettings {
        tls: Arc::new(choice),
        streams: http3.max_concurrent_streams,
        stream_buffer: http3.stream_buffer_size,
        retry: http3.retry,
        gso: http3.gso,
        idle_ms: server.limits.timeouts.keepalive_ms,
        handshake_ms: server.limits.header_timeout_ms,
    })
}
