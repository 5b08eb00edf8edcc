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

/// `memory_limit`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryLimit {
    /// `off`.
    #[default]
    Off,
    /// So many bytes, at least [`MemoryLimit::LEAST`].
    Bytes(u64),
    /// A part of the memory that the machine has, or the control group where that is less, percent.
    Percent(u8),
}

impl MemoryLimit {
    /// The least size, bytes: below it the process would refuse requests though it had nothing to give up.
    pub const LEAST: u64 = 64 << 20;

    /// The limit in bytes, where there are so many bytes of memory; none for `off`. It is never more than those, nor less than the
    /// least.
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
