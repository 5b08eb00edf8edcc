//! What stands outside `http`: processes, privileges, logs.

use crate::settings::{ErrorLog, Network};
use crate::text::Text;

/// `worker_processes`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WorkerProcesses {
    /// One for each processor.
    #[default]
    Auto,
    /// So many, at least 1.
    Count(u32),
}

/// `control_socket`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ControlSocket {
    /// Not written: beside the pid file.
    #[default]
    BesidePid,
    /// `off`.
    Off,
    /// A path relative to the prefix.
    At(Text),
}

/// `history`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum HistoryFile {
    /// Not written: beside the folder of the first cache zone.
    #[default]
    BesideZone,
    /// `off`.
    Off,
    /// A path relative to the prefix.
    At(Text),
}

/// Main context, with `events`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MainConf {
    /// `worker_processes`.
    pub worker_processes: WorkerProcesses,
    /// `worker_connections`.
    pub worker_connections: u32,
    /// `debug_connection`: whose requests are logged down to `debug` whatever the logs' levels are.
    pub debug_connections: Vec<Network>,
    /// `worker_rlimit_nofile`.
    pub worker_rlimit_nofile: Option<u64>,
    /// `worker_rlimit_core`, bytes.
    pub worker_rlimit_core: Option<u64>,
    /// `worker_shutdown_timeout`, ms.
    pub worker_shutdown_timeout: Option<u64>,
    /// `working_directory`.
    pub working_directory: Option<Text>,
    /// `user`.
    pub user: Option<Text>,
    /// Second argument of `user`.
    pub group: Option<Text>,
    /// `sandbox`: whether the worker process gives up what it has no use for.
    pub sandbox: bool,
    /// `pid`, relative to the prefix.
    pub pid: Text,
    /// `control_socket`.
    pub control_socket: ControlSocket,
    /// `history`.
    pub history: HistoryFile,
    /// `daemon`.
    pub daemon: bool,
    /// `master_process`.
    pub master_process: bool,
    /// `error_log` of the main context; empty where not written.
    pub error_logs: Vec<ErrorLog>,
    /// `env`: `NAME` keeps, `NAME=value` sets.
    pub env: Vec<Text>,
    /// `pcre_jit`.
    pub pcre_jit: bool,
}
