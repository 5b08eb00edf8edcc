//! Everybody by https, compiled.

use std::sync::Arc;

use myriad_acme::Slot;

/// `https_only` of a server.
pub struct HttpsOnly {
    /// The port, with its colon; empty for the usual one.
    pub port: Box<str>,
    /// The certificate that has to come first: nobody is led to where no handshake is answered.
    pub awaits: Option<Arc<Slot>>,
}
