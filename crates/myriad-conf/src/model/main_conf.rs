//! Directives outside `http`: processes, privileges, logs.

use crate::settings::{ErrorLog, Network};
use crate::text::Text;

/// `worker_processes`: number of workers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WorkerProcesses {
    /// One worker per processor.
    #[default]
    Auto,
    /// Number of workers, at least 1.
    Count(u32),
}

/// `memory_limit`: memory limit of the worker process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryLimit {
    /// `off`: no limit.
    #[default]
    Off,
    /// Limit in bytes, at least [`MemoryLimit::LEAST`].
    Bytes(u64),
    /// Percentage of the memory of the machine, or of the control group if that has less.
    Percent(u8),
}

impl MemoryLimit {
    /// Minimum limit, in bytes. Below it, the process would reject requests although it has nothing to evict.
    pub const LEAST: u64 = 64 << 20;

    /// Returns the memory limit in bytes for a machine with `memory` bytes; `None` for `off`. The limit is at most
    /// `memory`, but at least [`MemoryLimit::LEAST`].
    pub fn of(self, memory: u64) -> Option<u64> {
        let wanted = match self {
            Self::Off => return None,
            Self::Bytes(bytes) => bytes,
            Self::Percent(part) => (u128::from(memory) * u128::from(part) / 100) as u64,
        };
        Some(wanted.min(memory).max(Self::LEAST))
    }
}

/// `control_socket`: path of the unix socket by which commands control the running server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum ControlSocket {
    /// Not set: in the folder of the pid file.
    #[default]
    BesidePid,
    /// `off`: no control socket.
    Off,
    /// Path of the socket, relative to the prefix.
    At(Text),
}

/// `history`: location of the file with past statistics.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum HistoryFile {
    /// Not set: next to the folder of the first cache zone; if there is no zone, in memory only.
    #[default]
    BesideZone,
    /// `off`: no past statistics are recorded.
    Off,
    /// Path of the file, relative to the prefix.
    At(Text),
}

/// Directives of the main context and of `events`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MainConf {
    /// `worker_processes`: number of workers.
    pub worker_processes: WorkerProcesses,
    /// `worker_connections`: maximum number of connections per worker.
    pub worker_connections: u32,
    /// `debug_connection`: networks of clients whose requests are logged at `debug`, whatever the configured log level.
    pub debug_connections: Vec<Network>,
    /// `worker_rlimit_nofile`: maximum number of open files of the worker process; `None` for the hard limit of the
    /// system.
    pub worker_rlimit_nofile: Option<u64>,
    /// `worker_rlimit_core`: maximum size of a core file, in bytes; `None` for no core files.
    pub worker_rlimit_core: Option<u64>,
    /// `memory_limit`: memory limit of the worker process.
    pub memory_limit: MemoryLimit,
    /// `worker_shutdown_timeout`: maximum time for a graceful shutdown, in ms; `None` for no limit.
    pub worker_shutdown_timeout: Option<u64>,
    /// `working_directory`: directory of the worker process, such as for core files; `None` if not set.
    pub working_directory: Option<Text>,
    /// `user`: user of the worker process, if the server is started by root; `None` for `nobody`.
    pub user: Option<Text>,
    /// Second argument of `user`: group of the worker process; `None` for the primary group of the user.
    pub group: Option<Text>,
    /// `sandbox`: true if the worker process drops the privileges that it does not use.
    pub sandbox: bool,
    /// `pid`: path of the file with the process ID, relative to the prefix.
    pub pid: Text,
    /// `control_socket`: path of the unix socket by which commands control the running server.
    pub control_socket: ControlSocket,
    /// `history`: location of the file with past statistics.
    pub history: HistoryFile,
    /// `daemon`: true if the server runs in the background.
    pub daemon: bool,
    /// `master_process`: value as written; without effect.
    pub master_process: bool,
    /// `error_log` of the main context; empty if not set.
    pub error_logs: Vec<ErrorLog>,
    /// `env`: `NAME` preserves an environment variable, `NAME=value` sets it. Others are removed, except `TZ` and
    /// `RUST_BACKTRACE`.
    pub env: Vec<Text>,
    /// `pcre_jit`: value as written. Has no effect: regexes are compiled to machine code if the machine supports it.
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
