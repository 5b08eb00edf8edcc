//! The worker processes of a supervisor, and when the next one is started after a crash.

use std::io;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use myriad_log::{ErrorLog, Level};

use crate::control::Channel;
use crate::generation::Generation;
use crate::process::{State, WorkerProcess};
use crate::ticket_keys::TicketKeys;

/// First and longest pause before a worker that keeps ending is started again.
const RESPAWN_PAUSE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(10));
/// A worker that lived this long did not fail at its start.
const STEADY: Duration = Duration::from_secs(5);

/// The worker processes there are, those that leave included.
#[derive(Debug)]
pub(super) struct Workers {
    processes: Vec<WorkerProcess>,
    /// Whether a worker that ended is replaced; not after WINCH.
    pub(super) accepting: bool,
    pub(super) respawn: Respawn,
}

impl Workers {
    /// None yet, and the first one may be started.
    pub(super) fn none() -> Self {
        Self {
            processes: Vec::new(),
            accepting: true,
            respawn: Respawn { due: None, pause: RESPAWN_PAUSE.0 },
        }
    }

    /// Starts one for a configuration and tells the log; returns its process number.
    ///
    /// # Errors
    /// The process cannot be started, or not be told its configuration.
    pub(super) fn start(
        &mut self,
        generation: &Generation,
        keys: &TicketKeys,
        log: &ErrorLog,
    ) -> io::Result<u32> {
        let worker = WorkerProcess::start(generation, keys)?;
        let pid = worker.pid();
        log.write(Level::Notice, None, format_args!("start worker process {pid}"));
        self.processes.push(worker);
        Ok(pid)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.processes.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &WorkerProcess> {
        self.processes.iter()
    }

    pub(super) fn find(&mut self, pid: u32) -> Option<&mut WorkerProcess> {
        self.processes.iter_mut().find(|worker| worker.pid() == pid)
    }

    /// The one that accepts connections.
    pub(super) fn serving(&self) -> Option<&WorkerProcess> {
        self.processes.iter().find(|worker| worker.state == State::Serving)
    }

    /// The channels of those that have one, each with the number of its process.
    pub(super) fn channels(&self) -> impl Iterator<Item = (u32, &Channel)> {
        self.processes.iter().filter_map(|worker| Some((worker.pid(), worker.channel.as_ref()?)))
    }

    /// This one runs its configuration: it serves, and those that served before leave.
    pub(super) fn ready(&mut self, pid: u32) {
        for worker in &mut self.processes {
            if worker.pid() == pid && worker.state == State::Starting {
                worker.state = State::Serving;
            } else if worker.pid() != pid && worker.state == State::Serving {
                worker.quit();
            }
        }
    }

    /// Lets all finish what is under way and end.
    pub(super) fn quit(&mut self) {
        self.processes.iter_mut().for_each(WorkerProcess::quit);
    }

    /// Ends all now, with a chance to flush.
    pub(super) fn terminate(&mut self) {
        self.processes.iter_mut().for_each(WorkerProcess::terminate);
    }

    /// Ends all without a chance.
    pub(super) fn kill(&mut self) {
        self.processes.iter_mut().for_each(WorkerProcess::kill);
    }

    /// Takes out one that has ended, if there is one, with how it ended.
    pub(super) fn take_ended(&mut self) -> Option<(WorkerProcess, ExitStatus)> {
        let ended = |(at, worker): (usize, &mut WorkerProcess)| Some((at, worker.ended()?));
        let (at, status) = self.processes.iter_mut().enumerate().find_map(ended)?;
        Some((self.processes.remove(at), status))
    }

    /// Has a worker that ended by itself replaced, unless it was leaving or another one starts or serves.
    pub(super) fn replace(&mut self, gone: &WorkerProcess) {
        let replaced = self.processes.iter().any(|other| other.state != State::Leaving);
        if !replaced && gone.state != State::Leaving {
            self.respawn.after(gone.since.elapsed(), Instant::now());
        }
    }
}

/// When the next worker process is started.
#[derive(Debug)]
pub(super) struct Respawn {
    /// `None` while no start is due.
    pub(super) due: Option<Instant>,
    /// The pause before the next start after one that failed.
    pause: Duration,
}

impl Respawn {
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.due.is_some_and(|due| now >= due)
    }

    /// A worker could not be started: once more after the same pause.
    pub(super) fn later(&mut self, now: Instant) {
        self.due = Some(now + self.pause);
    }

    /// After a worker that lived for so long: at once if it was [`STEADY`], else after a pause that doubles each time, to
    /// [`RESPAWN_PAUSE`]'s longest.
    fn after(&mut self, lived: Duration, now: Instant) {
        if lived >= STEADY {
            self.pause = RESPAWN_PAUSE.0;
            self.due = Some(now);
        } else {
            self.due = Some(now + self.pause);
            self.pause = (self.pause * 2).min(RESPAWN_PAUSE.1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn worker_that_keeps_ending_is_started_after_longer_and_longer_pauses() {
        let now = Instant::now();
        let mut respawn = Workers::none().respawn;
        let mut pause = |lived: Duration| {
            respawn.after(lived, now);
            respawn.due.map(|due| (due - now).as_millis())
        };
        let pauses: Vec<_> = (0..9).filter_map(|_| pause(Duration::ZERO)).collect();
        assert_eq!(pauses, [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
        assert_eq!(pause(STEADY), Some(0), "one that ran for a while is replaced at once");
        assert_eq!(pause(Duration::ZERO), Some(100));
    }
}
