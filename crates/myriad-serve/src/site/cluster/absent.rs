//! Replacement of the node of a cluster in builds without the feature `cluster`. A configuration with a `cluster` block is
//! rejected, so that nothing is started.

use std::path::Path;
use std::sync::Arc;

use myriad_conf::Model;
use myriad_exchange::runtime::Runtime;
use myriad_exchange::state_storage::SharedStateStorage;
use myriad_tls::TlsReloadState;
use myriad_tls::acme_client::OrderCoordinator;

use super::start_error::StartError;
use crate::compile::RetainedState;

/// Node that never runs.
#[derive(Default)]
pub(super) struct ClusterHandle(());

/// Change of nothing.
pub(super) struct ClusterPlan;

impl ClusterHandle {
    /// Does nothing.
    #[expect(clippy::unnecessary_wraps, reason = "interface of the feature `cluster`")]
    pub(super) fn start(_: &Model, _: &Path, _: &Runtime, _: &RetainedState) -> Result<Self, StartError> {
        Ok(Self(()))
    }

    /// Does nothing.
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "interface of the feature `cluster`")]
    pub(super) fn prepare(&self, _: &Model, _: &Path, _: &Runtime) -> Result<ClusterPlan, StartError> {
        Ok(ClusterPlan)
    }

    /// Does nothing.
    #[expect(clippy::unused_self, reason = "interface of the feature `cluster`")]
    pub(super) fn apply(&mut self, _plan: ClusterPlan) {}

    /// Does nothing.
    #[expect(clippy::unused_self, reason = "interface of the feature `cluster`")]
    pub(super) fn share_ticket_keys(&self, _: &TlsReloadState) {}

    /// Does nothing.
    #[expect(clippy::unused_self, reason = "interface of the feature `cluster`")]
    pub(super) fn share_certificates(&self, _: &Runtime, _: &SharedStateStorage) {}

    /// Returns `None`: each certificate is ordered for this server.
    #[expect(clippy::unused_self, reason = "interface of the feature `cluster`")]
    pub(super) fn coordinator(&self) -> Option<Arc<dyn OrderCoordinator>> {
        None
    }

    /// Does nothing.
    #[expect(clippy::unused_self, reason = "interface of the feature `cluster`")]
    pub(super) fn share_limits(&self, _: &Model, _: &RetainedState) {}

    /// Does nothing.
    #[expect(clippy::unused_self, reason = "interface of the feature `cluster`")]
    pub(super) fn stop(&mut self, _is_leaving: bool) {}
}
