//! Too few connections or descriptors: what the worker process is given, and what the log says when it is not enough.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use myriad_log::{ErrorLog, Level};
use myriad_net::{Seats, Shortage};
use rustix::process::{Resource, getrlimit};

/// Descriptors of a worker thread that are no connections: its event loop, what wakes it, a spare one.
const WORKER_OWN: u64 = 4;
/// Descriptors that are left to files, zones, resolvers and the control socket; an eighth of all comes on top of it.
const RESERVE: u64 = 32;
/// The fewest connections that a worker is given, however few descriptors there are.
const FEWEST: u64 = 8;

/// How many connections each worker may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Room {
    /// For each worker.
    pub connections: usize,
    /// The limit of descriptors that made it fewer than asked for; none where it is as many.
    pub lowered_by: Option<u64>,
}

impl Room {
    /// Fits `worker_connections` of `workers` workers, each with `listeners` sockets, to the descriptors that the process may
    /// open; says in the log what does not fit.
    pub(crate) fn fit(wanted: usize, workers: usize, listeners: usize, log: &ErrorLog) -> Self {
        let open = std::fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count() as u64);
        let limit = getrlimit(Resource::Nofile).current;
        let room = Self::of(wanted, limit, open, (workers, listeners));
        if let Some(limit) = room.lowered_by {
            let asked = wanted.saturating_mul(workers);
            log.write(
                Level::Warn,
                None,
                format_args!(
                    "{wanted} worker_connections for each of {workers} workers need more than {limit} open files: \
                     each worker has {} until there are some {} (\"worker_rlimit_nofile\", ulimit -n)",
                    room.connections,
                    needed(asked as u64, open, (workers, listeners)),
                ),
            );
        }
        room
    }

    fn of(wanted: usize, limit: Option<u64>, open: u64, machine: (usize, usize)) -> Self {
        let whole = Self { connections: wanted, lowered_by: None };
        let Some(limit) = limit else { return whole };
        let left = limit.saturating_sub(limit / 8).saturating_sub(others(open, machine));
        let each = (left / machine.0.max(1) as u64).max(FEWEST);
        match usize::try_from(each) {
            Ok(each) if each < wanted => Self { connections: each, lowered_by: Some(limit) },
            _ => whole,
        }
    }
}

/// How many files may be kept open that nobody is sent: half of the share that is left to files.
pub(crate) fn kept_files() -> usize {
    let limit = getrlimit(Resource::Nofile).current;
    limit.and_then(|limit| usize::try_from(limit / 16).ok()).unwrap_or(usize::MAX)
}

/// Descriptors that are no connections, but for the share of all that is left to files.
fn others(open: u64, (workers, listeners): (usize, usize)) -> u64 {
    open + RESERVE + workers as u64 * (WORKER_OWN + listeners as u64)
}

/// The limit that so many connections need.
fn needed(connections: u64, open: u64, machine: (usize, usize)) -> u64 {
    let besides = connections.saturating_add(others(open, machine));
    besides.saturating_add(besides / 7 + 1)
}

/// Says at most once a second, over all workers, what was done for want of connections or descriptors: a worker that is
/// too early says it the next time.
pub(crate) fn report(seats: &Seats, room: Room, log: &ErrorLog) {
    static SAID: AtomicU64 = AtomicU64::new(0);
    let now = myriad_net::clock::monotonic_ms() / 1000 + 1;
    let said = SAID.load(Relaxed);
    if said >= now || SAID.compare_exchange(said, now, Relaxed, Relaxed).is_err() {
        return;
    }
    match seats.take_shortage() {
        Some(shortage) => log.write(Level::Warn, None, format_args!("{}", line(shortage, room))),
        // Nothing was said: another worker may say something in this second.
        None => SAID.store(said, Relaxed),
    }
}

fn line(shortage: Shortage, room: Room) -> String {
    let Shortage { idle, stalled, refused, descriptors } = shortage;
    let what = if descriptors {
        "the open files of the process are not enough".to_owned()
    } else {
        format!("{} worker_connections are not enough", room.connections)
    };
    let remedy = if descriptors || room.lowered_by.is_some() {
        "raise the limit of open files (\"worker_rlimit_nofile\", ulimit -n)"
    } else {
        "raise \"worker_connections\""
    };
    let refused = if refused { ", others could not be taken in" } else { "" };
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
        let whole = Room { connections: 512, lowered_by: None };
        assert_eq!(Room::of(512, None, 20, machine), whole);
        assert_eq!(Room::of(512, Some(65_536), 20, machine), whole);
        // 256, less 32, less 20 + 32 + 2 * 7, is 158.
        assert_eq!(Room::of(512, Some(256), 20, machine), Room { connections: 79, lowered_by: Some(256) });
        assert_eq!(Room::of(512, Some(10), 20, machine).connections, 8);
        let limit = needed(2 * 512, 20, machine);
        assert_eq!(Room::of(512, Some(limit), 20, machine), whole);
        assert!(Room::of(512, Some(limit - 3), 20, machine).lowered_by.is_some());
    }

    #[test]
    fn so_many_connections_need_a_limit_that_never_overflows() {
        assert_eq!(needed(u64::MAX, 20, (2, 3)), u64::MAX);
        let (few, many) = (needed(100, 20, (1, 1)), needed(100, 20, (8, 4)));
        assert!(100 < few && few < many, "{few} {many}");
    }

    #[test]
    fn line_says_the_limit_what_was_closed_and_the_remedy() {
        let room = Room { connections: 32, lowered_by: None };
        let shortage = Shortage { idle: 3, stalled: 1, ..Shortage::default() };
        assert_eq!(
            line(shortage, room),
            "32 worker_connections are not enough, reusing connections: 3 idle and 1 stalled ones were closed; \
             raise \"worker_connections\""
        );
        let text = line(shortage, Room { lowered_by: Some(256), ..room });
        assert!(text.ends_with("(\"worker_rlimit_nofile\", ulimit -n)"), "{text}");
        let text = line(Shortage { refused: true, descriptors: true, ..Shortage::default() }, room);
        assert!(text.starts_with("the open files") && text.contains("could not be taken in"), "{text}");
    }
}
