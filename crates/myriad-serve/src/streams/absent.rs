//! Replacement of `myriad_origin::stream` in builds without it. A configuration with a `stream` block is rejected, so
//! values of [`StreamRuntime`] and [`WorkerStreams`] never exist.

#![allow(
    clippy::unused_self,
    clippy::needless_pass_by_value,
    reason = "interface of `myriad_origin::stream`"
)]

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

/// State of the `stream` block that survives a reload; empty, because this build does not support `stream`.
#[derive(Default)]
pub(crate) struct StreamReloadState;

impl StreamReloadState {
    /// Does nothing: this build does not support `stream`.
    pub(crate) fn settle(&mut self, _model: &Model) {}

    /// Returns nothing: this build does not support `stream`.
    #[cfg(feature = "cluster")]
    pub(crate) fn shared_limit_zones(&self, _model: &Model) -> Vec<myriad_access::SharedLimitZone> {
        Vec::new()
    }
}

/// Compiled `stream` block, which cannot exist in this build.
pub(crate) enum StreamRuntime {}

impl StreamRuntime {
    /// Returns the counters of the block's connection limits (`limit_conn`), by zone name.
    pub(crate) fn limits(&self) -> &[(Box<str>, Arc<LimitCounts>)] {
        match *self {}
    }

    /// Returns the zones that count the sessions of the block's servers.
    pub(crate) fn traffic_zones(&self) -> Vec<Arc<TrafficZone>> {
        match *self {}
    }

    /// Returns the DNS resolvers of the block.
    pub(crate) fn resolvers(&self) -> &[Arc<ResolverConfig>] {
        match *self {}
    }

    /// Returns whether the listener with this number is a UDP socket.
    pub(crate) fn is_datagram(&self, _number: u32) -> bool {
        match *self {}
    }

    /// Starts resolving the host names of the block's upstream groups periodically.
    pub(crate) fn start_resolving(&self, _tell: &UnresolvedLogger) {
        match *self {}
    }

    /// Returns the block's upstream groups, for administration.
    pub(crate) fn controls(&self) -> Vec<GroupControl> {
        match *self {}
    }
}

/// `stream` block as run by one worker; cannot exist in this build.
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

    /// Returns the future that proxies a connection; `None` if the connection does not belong to `stream`.
    pub(crate) fn driver_for(&self, _connection: &Rc<Connection>) -> Option<RawDriver> {
        match *self {}
    }

    /// Starts the health checks of the block's upstream groups.
    pub(crate) fn begin_checks(&self, _tell: &HealthLogger) {
        match *self {}
    }
}

/// Returns the number of open UDP sessions: none in this build.
pub(crate) fn sessions() -> usize {
    0
}
