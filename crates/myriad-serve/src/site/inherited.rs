//! What a worker process is given by the supervisor.

use std::collections::HashMap;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use myriad_conf::Source;
use myriad_exchange::keeping::Keeper;
use myriad_net::Relay;
use zeroize::Zeroizing;

/// What the supervisor opened for the worker process.
#[derive(Debug)]
pub struct Inherited {
    /// Listening sockets under the name of their address; several of one name with `reuseport`.
    pub listeners: Vec<(String, OwnedFd)>,
    /// What QUIC makes resets and connection IDs with, where no `quic_host_key` is written.
    pub quic_secret: Zeroizing<Vec<u8>>,
    /// The number of this process, modulo 256.
    pub process: u8,
    /// What is known of other processes that have the same sockets for QUIC.
    pub relay: Arc<Relay>,
    /// Log files under their absolute paths.
    pub logs: Vec<(PathBuf, OwnedFd)>,
    /// Certificates and keys, read by whoever may.
    pub tls_files: myriad_tls::TlsFiles,
    /// Who keeps what must outlive the process.
    pub keeper: Keeper,
    /// Keys of tickets that a process before this one used, by the life time of tickets, seconds.
    pub ticket_keys: HashMap<u32, Zeroizing<Vec<u8>>>,
    /// The files of the configuration, for explanations.
    pub sources: Vec<Source>,
    /// What relative paths start from.
    pub prefix: PathBuf,
    /// The folder of the main configuration file.
    pub folder: PathBuf,
}
