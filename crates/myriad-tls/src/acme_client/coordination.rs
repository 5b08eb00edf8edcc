//! Coordination of orders with the other nodes of a cluster: one node orders a certificate, and all use it.

use std::sync::Arc;
use std::time::Duration;

use myriad_conf::model::{AcmeChallenge, AcmeIdentifier};
use zeroize::Zeroizing;

use crate::acme_client::callbacks::{LogCallback, StoreCallback};
use crate::acme_client::certificate_slot::CertificateSlot;
use crate::acme_client::issuer::Issuer;
use crate::acme_client::wait_times::WaitReason;

/// Maximum duration of an order of a node of a cluster, until the certificate is requested with its key.
pub const LONGEST_ORDER: Duration = Duration::from_mins(15);

/// Request for the right to order a certificate.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OrderRequest {
    /// True if the pause after a failed order of another node does not matter.
    pub ignores_pause: bool,
    /// True if the right of another node does not matter, because this node has waited for longer than an order takes.
    pub takes_over: bool,
}

/// Coordination of orders. The methods are called on the thread of an issuer, and block for some seconds at most.
pub trait OrderCoordinator: Send + Sync {
    /// Requests the right to order the certificate of a slot.
    fn begin(&self, slot: &Arc<CertificateSlot>, request: OrderRequest) -> OrderTurn;

    /// Returns the key of the account in PEM on which the nodes agree, `proposal` if none had one; `None` if the nodes
    /// share no account of the issuer, or cannot be reached.
    fn account_key(&self, issuer: &Issuer, proposal: &[u8]) -> Option<Zeroizing<Vec<u8>>>;
}

/// Answer to the request to order a certificate.
pub enum OrderTurn {
    /// The certificate is not shared: this node orders it.
    Unshared,
    /// This node orders the certificate for all.
    Granted(Box<dyn OrderLease>),
    /// It is not ordered now, for this reason. The time is that after which this node may request it again.
    Waiting(WaitReason, Duration),
    /// A newer certificate of another node is in the slot.
    Taken,
}

/// Right to order a certificate, renewed until it is dropped. Dropping it permits other nodes to order the certificate.
pub trait OrderLease: Send + Sync {
    /// Returns true if the right was lost: it was not renewed in time, or another node has it now.
    fn is_lost(&self) -> bool;

    /// Returns the number of successive orders of the certificate that failed, of all nodes.
    fn failures(&self) -> u32;

    /// Sends challenges to the other nodes, and waits until they answer them.
    fn publish(&self, challenges: &[SharedChallenge]) -> Result<(), PublishError>;

    /// Sends the certificate in the slot to the other nodes, also if the right was lost meanwhile: they use it unless they have
    /// a newer one. `text` contains the chain and the key in PEM.
    fn complete(self: Box<Self>, text: &[u8]);

    /// Reports that the order has failed. No node requests the certificate before the pause has passed.
    fn fail(self: Box<Self>, pause: Duration);
}

/// Reason why the other nodes do not answer challenges.
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
    /// Name that is validated.
    pub identifier: AcmeIdentifier,
    /// Key authorization.
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
