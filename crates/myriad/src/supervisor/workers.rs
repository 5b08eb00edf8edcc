//! Worker processes of a supervisor, and the schedule of restarts after a crash.

use std::io;
use std::os::fd::BorrowedFd;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use myriad_log::{ErrorLog, LogLevel};
use myriad_serve::{QuicProcess, Standing};

use super::peer_supervisors::PeerSupervisors;
use crate::control::ControlChannel;
use crate::generation::ServerGeneration;
use crate::process::WorkerProcess;
use crate::ticket_keys::TicketKeys;

/// Initial and maximum delay before a worker is restarted that exited soon after its start. The delay doubles each
/// time.
const RESPAWN_PAUSE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(10));
/// Minimum lifetime of a worker after which its exit resets the restart delay.
const STEADY: Duration = Duration::from_secs(5);

/// Worker processes of a supervisor, including processes that are shutting down.
#[derive(Debug)]
pub(super) struct SupervisedWorkers {
    processes: Vec<WorkerProcess>,
    /// True if a worker that exits is replaced. WINCH sets the value to false; a reload, or the exit of a new binary
    /// while no worker runs, sets it to true.
    pub(super) accepting: bool,
    pub(super) respawn: RespawnSchedule,
}

impl SupervisedWorkers {
    /// Creates an empty list; the first worker may be started.
    pub(super) fn empty() -> Self {
        Self {
            processes: Vec::new(),
            accepting: true,
            respawn: RespawnSchedule { due: None, pause: RESPAWN_PAUSE.0, count: 0 },
        }
    }

    /// Starts a worker for a configuration and logs the start. Returns the process ID of the worker. The caller must
    /// notify the other processes that serve QUIC by [`SupervisedWorkers::send_processes`].
    ///
    /// # Errors
    /// Returns an error if the process cannot be started or its configuration cannot be sent to it.
    pub(super) fn start(
        &mut self,
        generation: &ServerGeneration,
        keys: &TicketKeys,
        log: &ErrorLog,
        peers: &mut PeerSupervisors,
    ) -> io::Result<u32> {
        let numbers: Vec<u8> = self.processes.iter().map(WorkerProcess::number).collect();
        let name = peers.next_name(&numbers);
        let others = self.all_with(peers);
        let worker = WorkerProcess::start(generation, keys, self.respawn.count, name, &others)?;
        let pid = worker.pid();
        log.write(LogLevel::Notice, None, format_args!("start worker process {pid}"));
        self.processes.push(worker);
        Ok(pid)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.processes.is_empty()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &WorkerProcess> {
        self.processes.iter()
    }

    /// Returns the worker with this process ID; `None` if there is none.
    pub(super) fn find(&mut self, pid: u32) -> Option<&mut WorkerProcess> {
        self.processes.iter_mut().find(|worker| worker.pid() == pid)
    }

    /// Returns the worker that accepts connections; `None` while there is none.
    pub(super) fn serving(&self) -> Option<&WorkerProcess> {
        self.processes.iter().find(|worker| worker.state == Standing::Serving)
    }

    /// Returns the open channels to workers, each with the process ID of its worker.
    pub(super) fn channels(&self) -> impl Iterator<Item = (u32, &ControlChannel)> {
        self.processes.iter().filter_map(|worker| Some((worker.pid(), worker.channel.as_ref()?)))
    }

    /// Marks a worker as serving. Workers that served before are requested to quit, after they have received the list
    /// of processes.
    pub(super) fn ready(&mut self, pid: u32, peers: &mut PeerSupervisors) {
        if let Some(worker) = self.find(pid).filter(|worker| worker.state == Standing::Starting) {
            worker.state = Standing::Serving;
        }
        self.send_processes(peers);
        let before = self.processes.iter_mut().filter(|it| it.pid() != pid && it.state == Standing::Serving);
        if before.map(WorkerProcess::quit).count() > 0 {
            self.send_processes(peers);
        }
    }

    /// Sets the IDs of the QUIC listeners of the serving worker, after its configuration has changed.
    pub(super) fn serves_quic(&mut self, listeners: &[u64]) {
        for worker in self.processes.iter_mut().filter(|worker| worker.state == Standing::Serving) {
            worker.quic = listeners.to_vec();
        }
    }

    /// Returns the worker processes of this supervisor that have an inbox for QUIC datagrams, each with the sending
    /// endpoint of its inbox.
    pub(super) fn reachable(&self) -> Vec<(QuicProcess, BorrowedFd<'_>)> {
        self.processes.iter().filter_map(WorkerProcess::reachable).collect()
    }

    /// Returns all worker processes that have an inbox for QUIC datagrams, each with the sending endpoint of its inbox,
    /// including those of other supervisors.
    fn all_with<'a>(&'a self, peers: &'a PeerSupervisors) -> Vec<(QuicProcess, BorrowedFd<'a>)> {
        self.reachable().into_iter().chain(peers.processes()).collect()
    }

    /// Sends the list of all processes that serve QUIC to the workers and to the adjacent supervisors. If it cannot be
    /// sent to a worker, that worker has exited or is about to.
    pub(super) fn send_processes(&mut self, peers: &mut PeerSupervisors) {
        for worker in &mut self.processes {
            // On an error the worker has no inbox. It serves nevertheless, but its connections are lost when it exits.
            let _ = worker.make_inbox();
        }
        peers.send_to_adjacent(&self.reachable());
        let all = self.all_with(peers);
        let sent: Vec<bool> =
            self.processes.iter().map(|worker| worker.send_processes(&all).is_ok()).collect();
        for (worker, _) in self.processes.iter_mut().zip(sent).filter(|(_, is_sent)| *is_sent) {
            worker.close_inbox();
        }
    }

    /// Requests all workers to complete the requests in progress and exit.
    pub(super) fn quit(&mut self) {
        self.processes.iter_mut().for_each(WorkerProcess::quit);
    }

    /// Sends SIGTERM to all workers: they save the data that must persist and exit.
    pub(super) fn terminate(&mut self) {
        self.processes.iter_mut().for_each(WorkerProcess::terminate);
    }

    /// Sends SIGKILL to all workers.
    pub(super) fn kill(&mut self) {
        self.processes.iter_mut().for_each(WorkerProcess::kill);
    }

    /// Removes a worker that has exited from the list. Returns it with its exit status; `None` if all run.
    pub(super) fn take_exited(&mut self) -> Option<(WorkerProcess, ExitStatus)> {
        let exited = |(at, worker): (usize, &mut WorkerProcess)| Some((at, worker.exit_status()?));
        let (at, status) = self.processes.iter_mut().enumerate().find_map(exited)?;
        Some((self.processes.remove(at), status))
    }

    /// Schedules a replacement for a worker that has exited, unless it was leaving, or another worker is starting or
    /// serving.
    pub(super) fn replace(&mut self, gone: &WorkerProcess) {
        let replaced = self.processes.iter().any(|other| other.state != Standing::Leaving);
        if !replaced && gone.state != Standing::Leaving {
            self.respawn.schedule_after_exit(gone.since.elapsed(), Instant::now());
        }
    }
}

/// Time of the next start of a worker after an unexpected exit.
#[derive(Debug)]
pub(super) struct RespawnSchedule {
    /// Time at which a worker is started; `None` if no start is scheduled.
    pub(super) due: Option<Instant>,
    /// Delay before the start of a worker after the next early exit.
    pause: Duration,
    /// Number of workers that have exited unexpectedly and for which a replacement was scheduled.
    count: u64,
}

impl RespawnSchedule {
    pub(super) fn is_due(&self, now: Instant) -> bool {
        self.due.is_some_and(|due| now >= due)
    }

    /// Schedules another attempt after the current delay, which is not increased, because the worker could not be
    /// started.
    pub(super) fn retry_later(&mut self, now: Instant) {
        self.due = Some(now + self.pause);
    }

    /// Schedules the start after a worker with lifetime `lived` has exited: immediately if it lived for [`STEADY`],
    /// otherwise after a delay that doubles each time, up to the maximum of [`RESPAWN_PAUSE`].
    fn schedule_after_exit(&mut self, lived: Duration, now: Instant) {
        self.count += 1;
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
    fn crashing_worker_is_restarted_after_growing_pauses() {
        let now = Instant::now();
        let mut respawn = SupervisedWorkers::empty().respawn;
        let mut pause = |lived: Duration| {
            respawn.schedule_after_exit(lived, now);
            respawn.due.map(|due| (due - now).as_millis())
        };
        let pauses: Vec<_> = (0..9).filter_map(|_| pause(Duration::ZERO)).collect();
        assert_eq!(pauses, [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000]);
        assert_eq!(pause(STEADY), Some(0), "a worker process that ran for some time is replaced immediately");
        assert_eq!(pause(Duration::ZERO), Some(100));
    }
}
