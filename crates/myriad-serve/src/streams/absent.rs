//! The `stream` block in a build without it. Configurations with the block are refused, so no value of its types exists.

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

/// State that outlives a reload: none.
#[derive(Default)]
pub(crate) struct StreamReloadState;

impl StreamReloadState {
    /// Does nothing.
    pub(crate) fn settle(&mut self, _model: &Model) {}
}

/// Compiled block.
pub(crate) enum StreamRuntime {}

impl StreamRuntime {
    /// Returns the decisions of its limits.
    pub(crate) fn limits(&self) -> &[(Box<str>, Arc<LimitCounts>)] {
        match *self {}
    }

    /// Returns the zones that count its sessions.
    pub(crate) fn traffic_zones(&self) -> Vec<Arc<TrafficZone>> {
        match *self {}
    }

    /// Returns its resolvers.
    pub(crate) fn resolvers(&self) -> &[Arc<ResolverConfig>] {
        match *self {}
    }

    /// Returns whether a socket, by its number, is a UDP socket.
    pub(crate) fn is_datagram(&self, _number: u32) -> bool {
        match *self {}
    }

    /// Resolves the names of groups periodically.
    pub(crate) fn start_resolving(&self, _tell: &UnresolvedLogger) {
        match *self {}
    }

    /// Returns its groups, for administrators.
    pub(crate) fn controls(&self) -> Vec<GroupControl> {
        match *self {}
    }
}

/// Block in one worker.
pub(crate) enum WorkerStreams {}

impl WorkerStreams {
    /// Creates a block without connections.
    pub(crate) fn new(runtime: Arc<StreamRuntime>, _worker: Rc<WorkerState>) -> Rc<Self> {
        match *runtime {}
    }

    /// Returns a future that serves the datagrams of a socket.
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

    /// Starts health checks.
    pub(crate) fn begin_checks(&self, _tell: &HealthLogger) {
        match *self {}
    }
}

/// Returns the number of open UDP sessions.
pub(crate) fn sessions() -> usize {
    0
}
