//! Replacement of `compiled` in builds without HTTP/3: no listener uses QUIC.

#![allow(clippy::unused_self, clippy::needless_pass_by_value, reason = "interface of the compiled part")]

use std::rc::Rc;
use std::sync::Arc;

use myriad_exchange::runtime::Generation;
use myriad_exchange::runtime::{ListenerHosts, Runtime};
use myriad_net::{Connection, QuicRelay, QuicSettings, QuicWorkerSockets};

/// QUIC state that survives a reload; empty, because this build has no HTTP/3.
pub(crate) struct Quic;

impl Quic {
    /// Creates the empty state; this build has no HTTP/3.
    pub(crate) fn new(_secret: &[u8], _process: u8, _relay: Arc<QuicRelay>) -> Self {
        Self
    }

    /// Returns the number of a listener, for which the worker then returns an error: this build has no HTTP/3.
    pub(crate) fn place(
        &mut self,
        number: u32,
        _listener: &ListenerHosts,
        _position: (usize, usize),
        _sockets: usize,
    ) -> QuicWorkerSockets {
        QuicWorkerSockets { number }
    }
}

/// Does nothing: without HTTP/3 there are no QUIC handshakes.
pub(crate) fn shake_hands_for(_site: &Rc<Generation>) {}

/// Returns `None`, so that every QUIC client is rejected: this build has no HTTP/3.
pub(crate) fn settings(_runtime: &Runtime, _connection: &Connection) -> Option<QuicSettings> {
    None
}
