//! What a handshake asks of the site.

use std::sync::Arc;

use rustls::ServerConfig;
use rustls::server::ClientHello;

use crate::connection::Connection;
use crate::service::Service;

/// Answers what a handshake asks.
pub trait Greeter {
    /// How long the client has for all of it, milliseconds; 0 for any time.
    fn timeout_ms(&self, connection: &Connection) -> u64;

    /// Whether a PROXY protocol header comes first.
    fn expects_proxy_header(&self, connection: &Connection) -> bool {
        let _ = connection;
        false
    }

    /// There was none; the connection is closed.
    fn proxy_header_failed(&self, connection: &Connection) {
        let _ = connection;
    }

    /// How the server speaks that a client asks for; none refuses it (`ssl_reject_handshake`).
    fn tls(&self, connection: &Connection, hello: &ClientHello<'_>) -> Option<Arc<ServerConfig>>;

    /// Whether what a hello offered is kept, for variables.
    fn keeps_offers(&self) -> bool {
        false
    }
}

/// The greeter of a service.
pub(crate) struct OfService<'a, S>(pub(crate) &'a S);

impl<S: Service> Greeter for OfService<'_, S> {
    fn timeout_ms(&self, connection: &Connection) -> u64 {
        self.0.limits(connection).header_timeout_ms
    }

    fn expects_proxy_header(&self, connection: &Connection) -> bool {
        self.0.expects_proxy_header(connection)
    }

    fn proxy_header_failed(&self, connection: &Connection) {
        self.0.proxy_header_failed(connection);
    }

    fn tls(&self, connection: &Connection, hello: &ClientHello<'_>) -> Option<Arc<ServerConfig>> {
        self.0.tls(connection, hello)
    }

    fn keeps_offers(&self) -> bool {
        self.0.keeps_offers()
    }
}
