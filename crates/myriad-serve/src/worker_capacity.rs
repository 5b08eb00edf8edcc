//! Maximum number of connections per worker, and log messages about shortages of connections or file descriptors.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use myriad_log::{ErrorLog, LogLevel};
use myriad_net::{ConnectionLimiter, Shortage};
use rustix::process::{Resource, getrlimit};

/// File descriptors of a worker thread that are not connections: its event loop, its waker, a spare.
const WORKER_DESCRIPTORS: u64 = 4;
/// File descriptors reserved for cache files, resolvers and the control socket, in addition to one eighth of the limit
/// for served files.
const RESERVED_DESCRIPTORS: u64 = 32;
/// Minimum number of connections to which the descriptor limit may reduce the `worker_connections` of a worker.
const MIN_CONNECTIONS: u64 = 8;

/// Maximum number of connections of each worker, and the reason if it is less than configured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WorkerCapacity {
    /// Maximum number of connections per worker.
    pub connections: usize,
    /// Descriptor limit that reduced `connections` below `worker_connections`; `None` if it was not reduced.
    pub lowered_by: Option<u64>,
}

impl WorkerCapacity {
    /// Returns the capacity of each of `workers` workers with `listeners` sockets each: `wanted`
    /// (`worker_connections`), or less if the descriptor limit of the process requires it, but at least
    /// [`MIN_CONNECTIONS`] unless `wanted` is less. A reduction is logged as a warning.
    pub(crate) fn fit(wanted: usize, workers: usize, listeners: usize, log: &ErrorLog) -> Self {
        let open = std::fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count() as u64);
        let limit = getrlimit(Resource::Nofile).current;
        let room = Self::within_limit(wanted, limit, open, (workers, listeners));
        if let Some(limit) = room.lowered_by {
            let asked = wanted.saturating_mul(workers);
            log.write(
                LogLevel::Warn,
                None,
                format_args!(
                    "{wanted} worker_connections for each of {workers} workers exceed the limit of {limit} open files: each worker \
                         accepts {} connections until the limit is raised to {} (\"worker_rlimit_nofile\", ulimit -n)",
                    room.connections,
                    required_limit(asked as u64, open, (workers, listeners)),
                ),
            );
        }
        room
    }

    fn within_limit(wanted: usize, limit: Option<u64>, open: u64, machine: (usize, usize)) -> Self {
        let whole = Self { connections: wanted, lowered_by: None };
        let Some(limit) = limit else { return whole };
        let left = limit.saturating_sub(limit / 8).saturating_sub(other_descriptors(open, machine));
        let each = (left / machine.0.max(1) as u64).max(MIN_CONNECTIONS);
        match usize::try_from(each) {
            Ok(each) if each < wanted => Self { connections: each, lowered_by: Some(limit) },
            _ => whole,
        }
    }
}

/// Returns the maximum number of unused open files in the cache: one sixteenth of the descriptor limit, half of the
/// share reserved for files; `usize::MAX` if the limit is unlimited.
pub(crate) fn max_cached_files() -> usize {
    let limit = getrlimit(Resource::Nofile).current;
    limit.and_then(|limit| usize::try_from(limit / 16).ok()).unwrap_or(usize::MAX)
}

/// Returns the number of descriptors that are needed for purposes other than connections and served files. `open` is
/// the number of descriptors that are already open.
fn other_descriptors(open: u64, (workers, listeners): (usize, usize)) -> u64 {
    open + RESERVED_DESCRIPTORS + workers as u64 * (WORKER_DESCRIPTORS + listeners as u64)
}

/// Returns the descriptor limit that the process requires for a total of `connections`, including descriptors for other
/// purposes and one eighth of the limit for served files. `open` is the number of descriptors that are already open;
/// `machine` is the number of workers and the number of listening sockets of each.
fn required_limit(connections: u64, open: u64, machine: (usize, usize)) -> u64 {
    let besides = connections.saturating_add(other_descriptors(open, machine));
    besides.saturating_add(besides / 7 + 1)
}

/// Logs a shortage of connections or descriptors since the last report, and its effects. All workers together log at
/// most one message per second; a worker that is too early reports later.
pub(crate) fn report(seats: &ConnectionLimiter, room: WorkerCapacity, log: &ErrorLog) {
    static LAST_REPORT_S: AtomicU64 = AtomicU64::new(0);
    let now = myriad_net::clock::monotonic_ms() / 1000 + 1;
    let last_report_s = LAST_REPORT_S.load(Relaxed);
    if last_report_s >= now || LAST_REPORT_S.compare_exchange(last_report_s, now, Relaxed, Relaxed).is_err() {
        return;
    }
    match seats.take_shortage() {
        Some(shortage) => {
            log.write(LogLevel::Warn, None, format_args!("{}", shortage_message(shortage, room)));
        }
        // Nothing was logged, so another worker may log a message in this second.
        None => LAST_REPORT_S.store(last_report_s, Relaxed),
    }
}

fn shortage_message(shortage: Shortage, room: WorkerCapacity) -> String {
    let Shortage { idle, stalled, refused, descriptors } = shortage;
    let what = if descriptors {
        "the open files of the process are exhausted".to_owned()
    } else {
        format!("{} worker_connections are not enough", room.connections)
    };
    let remedy = if descriptors || room.lowered_by.is_some() {
        "raise the limit of open files (\"worker_rlimit_nofile\", ulimit -n)"
    } else {
        "raise \"worker_connections\""
    };
    let refused = if refused { ", further ones were rejected" } else { "" };
    format!(
        "{what}, reusing connections: {idle} idle and {stalled} stalled ones were closed{refused}; {remedy}"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_fit_into_the_descriptors() {
        let machine = (2, 3);
        let whole = WorkerCapacity { connections: 512, lowered_by: None };
        assert_eq!(WorkerCapacity::within_limit(512, None, 20, machine), whole);
        assert_eq!(WorkerCapacity::within_limit(512, Some(65_536), 20, machine), whole);
        // (256 - 256/8 - 32 - (20 + 2 * 7)) / 2 = 79.
        assert_eq!(
            WorkerCapacity::within_limit(512, Some(256), 20, machine),
            WorkerCapacity { connections: 79, lowered_by: Some(256) }
        );
        assert_eq!(WorkerCapacity::within_limit(512, Some(10), 20, machine).connections, 8);
        let limit = required_limit(2 * 512, 20, machine);
        assert_eq!(WorkerCapacity::within_limit(512, Some(limit), 20, machine), whole);
        assert!(WorkerCapacity::within_limit(512, Some(limit - 3), 20, machine).lowered_by.is_some());
    }

    #[test]
    fn so_many_connections_need_a_limit_that_never_overflows() {
        assert_eq!(required_limit(u64::MAX, 20, (2, 3)), u64::MAX);
        let (few, many) = (required_limit(100, 20, (1, 1)), required_limit(100, 20, (8, 4)));
        assert!(100 < few && few < many, "{few} {many}");
    }

    #[test]
    fn shortage_line_contains_limit_closed_count_and_remedy() {
        let room = WorkerCapacity { connections: 32, lowered_by: None };
        let shortage = Shortage { idle: 3, stalled: 1, ..Shortage::default() };
        assert_eq!(
            shortage_message(shortage, room),
            "32 worker_connections are not enough, reusing connections: 3 idle and 1 stalled ones were closed; \
             raise \"worker_connections\""
        );
        let text = shortage_message(shortage, WorkerCapacity { lowered_by: Some(256), ..room });
        assert!(text.ends_with("(\"worker_rlimit_nofile\", ulimit -n)"), "{text}");
        let text =
            shortage_message(Shortage { refused: true, descriptors: true, ..Shortage::default() }, room);
        assert!(text.starts_with("the open files") && text.contains("further ones were rejected"), "{text}");
    }
}
