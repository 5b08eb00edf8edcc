//! State that the nodes exchange in addition to purges.

use std::sync::Arc;

use super::certificates::ClusterCertificates;
use super::limits::SharedLimits;
use super::pages::SharedPages;
use super::ticket_keys::ClusterTicketKeys;

/// State that the nodes exchange in addition to purges. It outlives the node, which a reload may replace. Clones are the
/// same state.
#[derive(Clone, Default)]
pub(super) struct ExchangedState {
    pub pages: Arc<SharedPages>,
    pub limits: Arc<SharedLimits>,
    pub ticket_keys: Arc<ClusterTicketKeys>,
    pub certificates: Arc<ClusterCertificates>,
}

impl ExchangedState {
    /// Returns the counters since the start of the process, with their names.
    pub(super) fn counters(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let pages = self.pages.counters().into_iter().chain(self.limits.counters());
        pages.chain(self.ticket_keys.counters()).chain(self.certificates.counters())
    }
}
