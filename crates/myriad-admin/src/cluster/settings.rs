//! Settings of a cluster.

use myriad_conf::{Span, Text};

use super::server_url::ServerUrl;

/// Settings of the directive `cluster`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ClusterSettings {
    /// Cluster of this configuration; `None` without a `cluster` block. Set only in `http`.
    pub cluster: Option<ClusterConf>,
}

myriad_conf::feature_settings!(ClusterSettings);

/// Settings of a `cluster` block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClusterConf {
    /// Position of the head of the block in the configuration.
    pub span: Span,
    /// Name of the cluster, which is part of its keys in Valkey: letters, digits, `-`, `_` and `.`.
    pub name: String,
    /// `server`: addresses of Valkey, at least one. They are tried in order until one accepts a connection.
    pub servers: Vec<ServerUrl>,
    /// `username`: user name for the authentication at Valkey; `None` for the user `default`.
    pub username: Option<String>,
    /// `password_file`: file with the password for Valkey; `None` if Valkey requires no password.
    pub password_file: Option<Text>,
    /// `sentinel_password_file`: file with the password for Sentinels; `None` if they require no password.
    pub sentinel_password_file: Option<Text>,
    /// `trusted_certificate`: PEM file of the certificate authorities that validate the certificates of Valkey and
    /// of Sentinels; `None` for the system's.
    pub trusted_certificate: Option<Text>,
    /// `secret_file`: file with the secret with which nodes authenticate their records. It is the same on all nodes.
    pub secret_file: Text,
    /// `node`: name of this node, unique in the cluster; `None` for the host name of the machine.
    pub node: Option<String>,
    /// `partition`: use of stored pages while Valkey is not reachable.
    pub partition: PartitionPolicy,
    /// `pages`: true if the nodes fetch pages for each other.
    pub shares_pages: bool,
    /// `receipt_timeout`: maximum time that the answer to a purge waits for the receipts of other nodes, in
    /// milliseconds; 0 if it does not wait.
    pub receipt_timeout_ms: u64,
}

/// Use of pages stored before this node lost its connection to Valkey, while the node may miss purges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartitionPolicy {
    /// `serve TIME`: the pages are used for this time in milliseconds after the loss of the connection; after that
    /// time, they are stale.
    Serve(u64),
    /// `strict`: the pages are stale at once.
    Strict,
}

/// Default of `partition`: pages are used for ten minutes.
pub(super) const DEFAULT_PARTITION: PartitionPolicy = PartitionPolicy::Serve(600_000);
/// Default of `receipt_timeout`, in milliseconds.
pub(super) const DEFAULT_RECEIPT_TIMEOUT_MS: u64 = 1000;
