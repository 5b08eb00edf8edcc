//! Replacement of `myriad-stream` in builds without it. A configuration with a `stream` block is rejected, so values of
//! [`StreamRuntime`] and [`WorkerStreams`] never exist.

#![allow(clippy::unused_self, clippy::needless_pass_by_value, reason = "interface of `myriad-stream`")]

use std::io;
use std::os::fd::OwnedFd;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;

use myriad_conf::Model;
use myriad_exchange::runtime::LimitCounts;
use myriad_exchange::traffic::TrafficZone;
use myriad_exchange::worker::WorkerState;
use myriad_net::{Connection, RawDriver};
use myriad_upstream::{GroupControl, HealthLogger, ResolverConfig, UnresolvedLogger};

/// State of `stream` that survives a reload: none.
#[derive(Default)]
pub(crate) struct StreamReloadState;

impl StreamReloadState {
    /// Does nothing.
    pub(crate) fn settle(&mut self, _model: &Model) {}
}

/// Compiled `stream` block.
pub(crate) enum StreamRuntime {}

impl StreamRuntime {
    /// Returns the counters of its connection limits, by zone name.
    pub(crate) fn limits(&self) -> &[(Box<str>, Arc<LimitCounts>)] {
        match *self {}
    }

    /// Returns the zones that count its sessions.
    pub(crate) fn traffic_zones(&self) -> Vec<Arc<TrafficZone>> {
        match *self {}
    }

    /// Returns its DNS resolvers.
    pub(crate) fn resolvers(&self) -> &[Arc<ResolverConfig>] {
        match *self {}
    }

    /// Returns whether the listener with this number is a UDP socket.
    pub(crate) fn is_datagram(&self, _number: u32) -> bool {
        match *self {}
    }

    /// Starts resolving the host names of its upstream groups periodically.
    pub(crate) fn start_resolving(&self, _tell: &UnresolvedLogger) {
        match *self {}
    }

    /// Returns its upstream groups, for administration.
    pub(crate) fn controls(&self) -> Vec<GroupControl> {
        match *self {}
    }
}

/// `stream` block in one worker.
pub(crate) enum WorkerStreams {}

impl WorkerStreams {
    /// Creates the block of a worker, without connections.
    pub(crate) fn new(runtime: Arc<StreamRuntime>, _worker: Rc<WorkerState>) -> Rc<Self> {
        match *runtime {}
    }

    /// Returns a future that receives and proxies the datagrams of a UDP socket.
    pub(crate) fn receive(
        &self,
        _number: u32,
        _socket: OwnedFd,
    ) -> io::Result<Pin<Box<dyn Future<Output = ()>>>> {
        match *self {}
    }

    /// Returns the driver of a connection.
    pub(crate) fn driver_for(&self, _connection: &Rc<Connection>) -> Option<RawDriver> {
        match *self {}
    }

    /// Starts the health checks of its upstream groups.
    pub(crate) fn begin_checks(&self, _tell: &HealthLogger) {
        match *self {}
    }
}

/// Returns the number of open UDP sessions.
pub(crate) fn sessions() -> usize {
    0
}
