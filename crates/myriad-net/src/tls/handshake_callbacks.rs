//! Interface between a TLS handshake and the configuration.

use std::sync::Arc;

use rustls::ServerConfig;
use rustls::server::ClientHello;

use crate::connection::Connection;
use crate::service::Service;

/// Callbacks of a TLS handshake with a client.
pub trait HandshakeCallbacks {
    /// Returns the time limit of the whole handshake in milliseconds; 0 for no limit.
    fn timeout_ms(&self, connection: &Connection) -> u64;

    /// Returns true if a PROXY protocol header precedes the handshake.
    fn expects_proxy_header(&self, connection: &Connection) -> bool {
        let _ = connection;
        false
    }

    /// Reports a connection without a valid PROXY protocol header, which is then closed.
    fn proxy_header_failed(&self, connection: &Connection) {
        let _ = connection;
    }

    /// Returns the TLS settings for a client hello; `None` rejects the handshake: because of `ssl_reject_handshake`, or
    /// because the server has no usable certificate.
    fn tls(&self, connection: &Connection, hello: &ClientHello<'_>) -> Option<Arc<ServerConfig>>;

    /// Returns true if the offers of the client hello (cipher suites, groups, signature schemes) must be stored,
    /// because variables such as `$ssl_ciphers` use them.
    fn stores_offers(&self) -> bool {
        false
    }
}

/// Callbacks of the TLS handshake of an HTTP connection. They forward each call to the service.
pub(crate) struct ServiceCallbacks<'a, S>(pub(crate) &'a S);

impl<S: Service> HandshakeCallbacks for ServiceCallbacks<'_, S> {
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

    fn stores_offers(&self) -> bool {
        self.0.stores_offers()
    }
}
