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

/// Empty replacement of a cluster node: this build has no cluster.
#[derive(Default)]
pub(super) struct ClusterHandle(());

/// Empty replacement of the prepared change of a cluster node: this build has no cluster.
pub(super) struct ClusterPlan;

impl ClusterHandle {
    /// Returns an empty handle; starts nothing, because this build has no cluster. Never fails.
    #[expect(clippy::unnecessary_wraps, reason = "interface of the feature `cluster`")]
    pub(super) fn start(_: &Model, _: &Path, _: &Runtime, _: &RetainedState) -> Result<Self, StartError> {
        Ok(Self(()))
    }

    /// Returns an empty plan; prepares nothing, because this build has no cluster. Never fails.
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "interface of the feature `cluster`")]
    pub(super) fn prepare(&self, _: &Model, _: &Path, _: &Runtime) -> Result<ClusterPlan, StartError> {
        Ok(ClusterPlan)
    }

    /// Does nothing: in this build there is no cluster node to which a plan could be applied.
    #[expect(clippy::unused_self, reason = "interface of the feature `cluster`")]
    pub(super) fn apply(&mut self, _plan: ClusterPlan) {}

    /// Does nothing: in this build there are no other nodes with which ticket keys could be shared.
    #[expect(clippy::unused_self, reason = "interface of the feature `cluster`")]
    pub(super) fn share_ticket_keys(&self, _: &TlsReloadState) {}

    /// Does nothing: in this build there are no other nodes with which certificates could be shared.
    #[expect(clippy::unused_self, reason = "interface of the feature `cluster`")]
    pub(super) fn share_certificates(&self, _: &Runtime, _: &SharedStateStorage) {}

    /// Returns `None`: without a cluster, this server orders its certificates without coordination.
    #[expect(clippy::unused_self, reason = "interface of the feature `cluster`")]
    pub(super) fn coordinator(&self) -> Option<Arc<dyn OrderCoordinator>> {
        None
    }

    /// Does nothing: in this build there are no other nodes with which limit zones could be shared.
    #[expect(clippy::unused_self, reason = "interface of the feature `cluster`")]
    pub(super) fn share_limits(&self, _: &Model, _: &RetainedState) {}

    /// Does nothing: in this build there is no cluster node to stop.
    #[expect(clippy::unused_self, reason = "interface of the feature `cluster`")]
    pub(super) fn stop(&mut self, _is_leaving: bool) {}
}
