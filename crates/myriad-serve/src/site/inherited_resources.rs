//! Resources that a worker process receives from the supervisor.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use myriad_conf::SourceFile;
use myriad_exchange::state_storage::SharedStateStorage;
use myriad_net::QuicRelay;
use zeroize::Zeroizing;

/// Resources that the supervisor opened for the worker process.
#[derive(Debug)]
pub struct InheritedResources {
    /// Listening sockets with the name of their address, which occurs several times with `reuseport`.
    pub listeners: Vec<(String, OwnedFd)>,
    /// Secret of QUIC address validation tokens, and of stateless resets and connection IDs of listeners without
    /// `quic_host_key`.
    pub quic_secret: Zeroizing<Vec<u8>>,
    /// Number of this process, modulo 256; distinguishes the processes that share QUIC sockets.
    pub process: u8,
    /// Relay of datagrams to other processes that have the same QUIC sockets.
    pub relay: Arc<QuicRelay>,
    /// Open log files, with their absolute paths.
    pub logs: Vec<(PathBuf, OwnedFd)>,
    /// Certificates and keys, read by the supervisor, which has the necessary privileges.
    pub tls_files: myriad_tls::TlsFiles,
    /// Connection to the supervisor, which saves state that must survive the process.
    pub keeper: SharedStateStorage,
    /// TLS ticket keys of the previous process, by the lifetime of tickets in seconds.
    pub ticket_keys: HashMap<u32, Zeroizing<Vec<u8>>>,
    /// Configuration files, for the display of their lines in explanations.
    pub sources: Vec<SourceFile>,
    /// Folder against which relative paths of the configuration are resolved, such as those of logs and cache zones,
    /// except those for which `folder` is used.
    pub prefix: PathBuf,
    /// Folder of the main configuration file, against which relative names of password, certificate and key files and
    /// of lookup tables are resolved.
    pub folder: PathBuf,
}
