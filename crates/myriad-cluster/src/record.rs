//! Formats of the values that a cluster stores in Valkey or Redis, and of the file with a node's position.
//!
//! Messages about limits, which are published and not stored, are encrypted (`limits`).
//!
//! The last bytes of each value are a tag: HMAC-SHA256 with a key that is derived from the cluster's secret. The tag
//! covers the kind of the value, the name of the cluster, and the name of the node to whose key the value belongs. A
//! client of Valkey without the secret can therefore neither write a value nor move one to another key. It can only
//! delete values or restore old ones; both are detected as a gap in the log, or have no effect.
//!
//! Values with secrets, such as keys of session tickets, are encrypted instead, with AES-256-GCM and a key that is derived from the
//! cluster's secret, the name of the cluster and the name of the value.

mod authenticate;
mod certificate;
mod encrypt;
mod error;
mod examine;
mod fields;
mod identity;
mod limits;
mod member;
mod order_lease;
mod page;
mod purges;
mod receipt;
mod stored;
#[cfg(test)]
mod tests;
mod ticket_key;

pub use authenticate::{ClusterSecret, MIN_SECRET_BYTES, RecordContext};
pub use certificate::{CertificateNames, ChallengeRecord, PemRecord};
pub use encrypt::MAX_ENCRYPTED_BYTES;
pub use error::RecordError;
pub use examine::examine_records;
pub use identity::{EntryId, LogPosition, NameError, NodeName, PurgeId, RecordTag, StartId};
pub use limits::{
    Acknowledgement, LimitRecord, LimitZoneId, MAX_ACKNOWLEDGEMENTS, MAX_LIMIT_BYTES, MAX_LIMIT_KEY,
    MAX_LIMIT_ZONES, ZoneUsage,
};
pub use member::{MemberRecord, MemberState};
pub use order_lease::{OrderLeaseRecord, OrderState};
pub use page::PageRecord;
pub use purges::{
    ClusterPurge, LogRecord, MAX_PURGE_BYTES, MAX_RECORD_BYTES, MAX_RECORD_PURGES, RecordContents,
};
pub use receipt::ReceiptRecord;
pub use stored::{StoredNode, StoredRecord};
pub use ticket_key::TicketKeyRecord;
