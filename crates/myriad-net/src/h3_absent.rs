//! Interface of HTTP/3 in a build without it (feature `http3`). No listener uses QUIC there, because configurations with
//! `listen ... quic` are refused.

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

/// Listener of a worker.
pub struct QuicWorkerSockets {
    /// Number of the listener.
    pub number: u32,
}

/// Settings for a client; no value exists.
pub enum QuicSettings {}

/// Relay of datagrams between processes, of which there are none.
#[derive(Debug, Default)]
pub struct QuicRelay;

impl QuicRelay {
    /// Ignores the current processes.
    pub fn set_processes(&self, _own: QuicProcess, _others: Vec<(QuicProcess, OwnedFd)>) {}

    /// Does nothing: no sockets are read.
    pub fn stop_accepting(&self) {}

    /// Closes the inbox.
    pub fn set_inbox(&self, _inbox: OwnedFd) {}

    /// Starts nothing, and succeeds.
    pub fn start_reading_inbox(&self) -> io::Result<()> {
        Ok(())
    }
}

/// QUIC listeners of one worker.
#[derive(Clone, Default)]
pub(crate) struct Hubs(());

/// User of a listener's sockets; no value exists.
pub(crate) enum AcceptorRefs {}

impl Hubs {
    /// Refuses to listen.
    pub(crate) fn listen<S: Service>(
        &self,
        _service: &Rc<S>,
        _seats: &ConnectionLimiter,
        _sockets: Vec<OwnedFd>,
        _place: QuicWorkerSockets,
    ) -> io::Result<AcceptorRefs> {
        Err(io::Error::new(io::ErrorKind::Unsupported, "this build has no feature \"http3\""))
    }
}
