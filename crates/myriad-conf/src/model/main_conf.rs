//! Directives outside `http`: processes, privileges, logs.

use crate::settings::{ErrorLog, Network};
use crate::text::Text;

/// `worker_processes`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WorkerProcesses {
    /// One worker per processor.
    #[default]
    Auto,
    /// Number of workers, at least 1.
    Count(u32),
}

/// `memory_limit`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryLimit {
    /// `off`.
    #[default]
    Off,
    /// Bytes, at least [`MemoryLimit::MIN_LEN`].
    Bytes(u64),
    /// Percentage of the memory of the machine, or of the control group if that has less.
    Percent(u8),
}

impl MemoryLimit {
    /// Minimum limit, in bytes. Below it, the process would reject requests without having anything to evict.
    pub const LEAST: u64 = 64 << 20;

    /// Returns the limit in bytes for a machine with `memory` bytes, or `None` for `off`. The limit is at most
    /// `memory`, but at least [`MemoryLimit::MIN_LEN`].
    pub fn of(self, memory: u64) -> Option<u64> {
        let wanted = match self {
            Self::Off => return None,
            Self::Bytes(bytes) => bytes,
            Self::Percent(part) => (u128::from(memory) * u128::from(part) / 100) as u64,
        };
        Some(wanted.min(memory).max(Self::LEAST))
    }
}

/// `control_socket`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ControlSocket {
    /// Not set: the socket is in the folder of the pid file.
    #[default]
    BesidePid,
    /// `off`.
    Off,
    /// Path relative to the prefix.
    At(Text),
}

/// `history`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum HistoryFile {
    /// Not set: the file is next to the folder of the first cache zone.
    #[default]
    BesideZone,
    /// `off`.
    Off,
    /// Path relative to the prefix.
    At(Text),
}

/// Main context, including `events`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MainConf {
    /// `worker_processes`.
    pub worker_processes: WorkerProcesses,
    /// `worker_connections`.
    pub worker_connections: u32,
    /// `debug_connection`: clients whose requests are logged at `debug`, independent of the configured log levels.
    pub debug_connections: Vec<Network>,
    /// `worker_rlimit_nofile`.
    pub worker_rlimit_nofile: Option<u64>,
    /// `worker_rlimit_core`, bytes.
    pub worker_rlimit_core: Option<u64>,
    /// `memory_limit`.
    pub memory_limit: MemoryLimit,
    /// `worker_shutdown_timeout`, ms.
    pub worker_shutdown_timeout: Option<u64>,
    /// `working_directory`.
    pub working_directory: Option<Text>,
    /// `user`.
    pub user: Option<Text>,
    /// Second argument of `user`.
    pub group: Option<Text>,
    /// `sandbox`: true if the worker process drops the privileges that it does not use.
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
    /// `error_log` of the main context; empty if not set.
    pub error_logs: Vec<ErrorLog>,
    /// `env`: `NAME` preserves a variable, `NAME=value` sets it.
    pub env: Vec<Text>,
    /// `pcre_jit`.
    pub pcre_jit: bool,
}

#[cfg(test)]
mod tests {
    use super::MemoryLimit;

    #[test]
    fn limit_is_never_more_than_there_is_nor_less_than_the_least() {
        const GIB: u64 = 1 << 30;
        assert_eq!(MemoryLimit::Off.of(GIB), None);
        assert_eq!(MemoryLimit::Bytes(GIB / 2).of(GIB), Some(GIB / 2));
        assert_eq!(MemoryLimit::Bytes(4 * GIB).of(GIB), Some(GIB));
        assert_eq!(MemoryLimit::Percent(33).of(2 * GIB), Some(708_669_603));
        assert_eq!(MemoryLimit::Percent(1).of(GIB), Some(MemoryLimit::LEAST));
        assert_eq!(MemoryLimit::Percent(100).of(u64::MAX), Some(u64::MAX));
    }
}
