//! Replacement of the module `h3` in builds without the feature `http3`. It is never used, because configurations with
//! `listen ... quic` are rejected.

#![allow(
    clippy::unused_self,
    clippy::needless_pass_by_value,
    clippy::unnecessary_wraps,
    reason = "interface of `h3`"
)]

use std::io;
use std::os::fd::OwnedFd;
use std::rc::Rc;

use crate::connection_limiter::ConnectionLimiter;
use crate::quic_process::QuicProcess;
use crate::service::Service;

/// Parameters of a QUIC listener for one worker.
pub struct QuicWorkerSockets {
    /// Number of the listener in the configuration.
    pub number: u32,
}

/// QUIC settings for new connections; has no values.
pub enum QuicSettings {}

/// Relay of datagrams between processes; does nothing.
#[derive(Debug, Default)]
pub struct QuicRelay;

impl QuicRelay {
    /// Ignores the processes, because this build has no HTTP/3.
    pub fn set_processes(&self, _own: QuicProcess, _others: Vec<(QuicProcess, OwnedFd)>) {}

    /// Does nothing, because this build has no HTTP/3.
    pub fn stop_accepting(&self) {}

    /// Drops and thereby closes the inbox.
    pub fn set_inbox(&self, _inbox: OwnedFd) {}

    /// Does nothing, because this build has no HTTP/3; always succeeds.
    pub fn start_reading_inbox(&self) -> io::Result<()> {
        Ok(())
    }
}

/// QUIC listeners of one worker; always empty.
#[derive(Clone, Default)]
pub(crate) struct Hubs(());

/// Reference to a listener by an acceptor; has no values.
pub(crate) enum AcceptorRefs {}

impl Hubs {
    /// Always returns an error, because this build has no HTTP/3.
    pub(crate) fn listen<S: Service>(
        &self,
        _service: &Rc<S>,
        _limiter: &ConnectionLimiter,
        _sockets: Vec<OwnedFd>,
        _place: QuicWorkerSockets,
    ) -> io::Result<AcceptorRefs> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "this build has no feature \"http3\""))
    }
}
