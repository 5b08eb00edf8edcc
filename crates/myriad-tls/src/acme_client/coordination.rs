//! Coordination of orders with the other nodes of a cluster: one node orders a certificate, and all use it.

use std::sync::Arc;
use std::time::Duration;

use myriad_conf::model::{AcmeChallenge, AcmeIdentifier};
use zeroize::Zeroizing;

use crate::acme_client::callbacks::{LogCallback, StoreCallback};
use crate::acme_client::certificate_slot::CertificateSlot;
use crate::acme_client::issuer::Issuer;
use crate::acme_client::wait_times::WaitReason;

/// Maximum duration of an order in a cluster, from its start until the authority has validated the names.
pub const LONGEST_ORDER: Duration = Duration::from_mins(15);

/// Request for the right to order a certificate for the nodes of a cluster.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OrderRequest {
    /// True to order the certificate even in the pause after a failed order of any node.
    pub ignores_pause: bool,
    /// True to take over the right of another node whose order takes too long, because this node has waited for longer
    /// than an order takes.
    pub takes_over: bool,
}

/// Coordination of certificate orders among the nodes of a cluster. The methods are called on the thread of an issuer,
/// and block for some seconds at most.
pub trait OrderCoordinator: Send + Sync {
    /// Requests the right to order the certificate of a slot.
    fn begin(&self, slot: &Arc<CertificateSlot>, request: OrderRequest) -> OrderTurn;

    /// Returns the account key in PEM on which the nodes agree; it is `proposal` if they had none. `None` if the nodes
    /// share no certificate of the issuer, cannot be reached, or their key is invalid.
    fn account_key(&self, issuer: &Issuer, proposal: &[u8]) -> Option<Zeroizing<Vec<u8>>>;
}

/// Result of [`OrderCoordinator::begin`].
pub enum OrderTurn {
    /// The certificate is not shared: this node orders it for itself.
    Unshared,
    /// This node orders the certificate for all nodes.
    Granted(Box<dyn OrderLease>),
    /// The certificate is not ordered now, for this reason. This node may request the right again after this time.
    Waiting(WaitReason, Duration),
    /// A newer certificate of another node was put into the slot, so that no order is needed.
    Taken,
}

/// Right to order a certificate, renewed until it is dropped. Dropping it permits other nodes to order the certificate.
pub trait OrderLease: Send + Sync {
    /// Returns true if the right was lost: it was not renewed in time, or another node has it now.
    fn is_lost(&self) -> bool;

    /// Returns the number of consecutive orders of the certificate, of all nodes, that had failed before this one.
    fn failures(&self) -> u32;

    /// Sends challenges to the other nodes, and waits until these answer them.
    fn publish(&self, challenges: &[SharedChallenge]) -> Result<(), PublishError>;

    /// Sends the certificate in the slot to the other nodes, also if the right was lost meanwhile: they use it unless they have
    /// a newer one. `text` contains the chain and the key in PEM.
    fn complete(self: Box<Self>, text: &[u8]);

    /// Reports to the other nodes that the order has failed. They do not order the certificate before the pause has
    /// passed, except with [`OrderRequest::ignores_pause`].
    fn fail(self: Box<Self>, pause: Duration);
}

/// Reason why challenges were not sent to the other nodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PublishError {
    /// The right to order the certificate was lost.
    LeaseLost,
    /// The other nodes cannot be reached; the text is the reason.
    Failed(String),
}

/// Pending challenge that any node answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedChallenge {
    /// Type of the challenge.
    pub kind: AcmeChallenge,
    /// Token of the challenge; unused by `tls-alpn-01`.
    pub token: String,
    /// DNS name or IP address that is validated.
    pub identifier: AcmeIdentifier,
    /// Key authorization, which answers the challenge (RFC 8555 section 8.1).
    pub answer: String,
}

/// Certificate that the nodes of a cluster share.
#[derive(Clone)]
pub struct SharedCertificate {
    /// Name of the issuer in the configuration.
    pub issuer: String,
    /// URL of the authority's directory.
    pub uri: String,
    /// Type of the challenges by which the names are validated.
    pub challenge: AcmeChallenge,
    /// Slot of the certificate.
    pub slot: Arc<CertificateSlot>,
    /// Writes a line to the error log.
    pub log: LogCallback,
    /// Stores the certificate permanently.
    pub store: StoreCallback,
}
