//! The supervisor owns sockets, logs, pid file and privileges. It runs a worker process and parses no network input.
//!
//! ```text
//! starting --worker ready--> running --TERM, INT--> stopping --workers gone--> exit
//!     |                        |  ^      QUIT-----> quitting --workers gone--> exit
//!     +--worker failed-> exit  +--+ HUP reload, USR1 reopen, USR2 upgrade, WINCH workers only, crash respawn
//! ```

mod announcement;
mod messages;
mod peer_supervisors;
mod pending_configuration;
mod reload;
mod succession;
mod workers;

use std::io;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use myriad_log::LogLevel;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;
use zeroize::Zeroizing;

use crate::activation;
use crate::core_dumps;
use crate::daemon::{PredecessorSupervisor, ProcessOrigin};
use crate::generation::ServerGeneration;
use crate::listeners::ListenerSet;
use crate::notify::InitSystem;
use crate::process::{WorkerProcess, describe};
use crate::ticket_keys::TicketKeys;
use announcement::ServerAnnouncement;
use myriad_cli::configuration::{Configuration, ConfigurationSource};
use myriad_cli::instance::InstanceLock;
use myriad_cli::pidfile::{PidFile, reason};
use myriad_cli::report::{ConfigFinding, report};
use myriad_cli::signals::{self, Signals};
use peer_supervisors::{PeerSupervisors, SideAge};
use pending_configuration::ReloadState;
use succession::SupervisorSuccession;
use workers::SupervisedWorkers;

/// Maximum time for a worker to exit after SIGTERM before it is killed. A worker exits immediately unless it must write
/// file indexes of large zones. nginx waits one second.
const STOP_LIMIT: Duration = Duration::from_secs(5);

const WATCHED: [Signal; 8] = [
    Signal::TERM,
    Signal::INT,
    Signal::QUIT,
    Signal::HUP,
    Signal::USR1,
    Signal::USR2,
    Signal::WINCH,
    Signal::CHILD,
];

/// Kind of the requested shutdown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ShutdownKind {
    Graceful,
    /// Fast shutdown: workers that still run at this time are killed.
    Fast(Instant),
}

/// Process from which a message can be received.
enum MessageSender {
    Worker(u32),
    /// Adjacent supervisor: the old or the new one of an upgrade.
    Supervisor(SideAge),
}

/// Running server: its configuration, its workers, and the means by which other processes find it.
#[derive(Debug)]
pub(crate) struct Supervisor {
    signals: Signals,
    current: ServerGeneration,
    reload: ReloadState,
    workers: SupervisedWorkers,
    announced: ServerAnnouncement,
    succession: SupervisorSuccession,
    peer_supervisors: PeerSupervisors,
    /// TLS ticket keys for the next worker process.
    ticket_keys: TicketKeys,
    init: InitSystem,
    ending: Option<ShutdownKind>,
    failed: bool,
}

impl Supervisor {
    /// Opens the resources of the configuration and starts the first worker.
    ///
    /// # Errors
    /// Returns messages for the log if a resource cannot be opened or the worker process cannot be started.
    pub(crate) fn start(
        origin: &ConfigurationSource,
        configuration: &Configuration,
        birth: ProcessOrigin,
        instance: Option<InstanceLock>,
    ) -> Result<Self, Vec<ConfigFinding>> {
        let io_error = |error: io::Error| vec![error.to_string().into()];
        core_dumps::disable().map_err(io_error)?;
        let signals = Signals::watch(&WATCHED).map_err(io_error)?;
        let succession =
            SupervisorSuccession::new(matches!(birth, ProcessOrigin::Upgrade(..))).map_err(io_error)?;
        let (inherited, ticket_keys, foreground, kin) = match birth {
            ProcessOrigin::Plain => {
                (activated_listeners()?, TicketKeys::default(), None, PeerSupervisors::default())
            }
            ProcessOrigin::Detached(stream) => {
                (ListenerSet::default(), TicketKeys::default(), Some(stream), PeerSupervisors::default())
            }
            ProcessOrigin::Upgrade(
                listeners,
                keys,
                PredecessorSupervisor { depth, channel, processes },
                _,
            ) => (listeners, keys, None, PeerSupervisors::for_successor(depth, channel, processes)),
        };
        let (init, untold) = InitSystem::from_environment();
        let mut supervisor = Self {
            signals,
            current: ServerGeneration::prepare(origin, configuration, &inherited)?,
            reload: ReloadState::default(),
            workers: SupervisedWorkers::empty(),
            announced: ServerAnnouncement::new(instance, foreground),
            succession,
            peer_supervisors: kin,
            ticket_keys,
            init,
            ending: None,
            failed: false,
        };
        supervisor.warn_of_unused_sockets(&inherited, untold);
        if let Err(error) = supervisor.start_worker() {
            supervisor.current.listeners.unlink();
            return Err(vec![format!("the worker process could not be started: {error}").into()]);
        }
        Ok(supervisor)
    }

    /// Warns about sockets from the init system or an old binary that no `listen` uses, which are closed, and about an
    /// init system that cannot be notified (for the reason `untold`).
    fn warn_of_unused_sockets(&self, inherited: &ListenerSet, untold: Option<String>) {
        let unused = inherited.missing_in(&self.current.listeners);
        let closed = unused.map(|name| {
            format!("the socket {name} was passed to this process, but no \"listen\" directive uses it: it is closed")
        });
        for text in closed.chain(untold) {
            self.log(LogLevel::Warn, &text);
        }
    }

    /// Runs until a signal requests the shutdown, or the first worker fails, and all workers have exited. Then removes
    /// the socket files, unless another supervisor uses them. The exit status is 1 if the server could not start or
    /// `poll` failed.
    pub(crate) fn run(mut self) -> ExitCode {
        while self.ending.is_none() || !self.workers.is_empty() {
            let spoken = match self.wait() {
                Ok(spoken) => spoken,
                Err(error) => {
                    self.log(LogLevel::Alert, &format!("poll() failed: {error}"));
                    return ExitCode::FAILURE;
                }
            };
            for signal in self.signals.take() {
                self.handle_signal(signal);
            }
            for speaker in spoken {
                match speaker {
                    MessageSender::Worker(pid) => self.receive_message(pid),
                    MessageSender::Supervisor(age) => {
                        self.peer_supervisors.receive_message(age);
                        self.workers.send_processes(&mut self.peer_supervisors);
                    }
                }
            }
            self.reap_workers();
            self.handle_deadlines();
        }
        if !self.succession.shares_sockets() {
            self.current.listeners.unlink();
        }
        self.log(LogLevel::Notice, "exit");
        if self.failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }

    /// Writes a message to the main error log. Until the first worker accepts connections, warnings and errors are also
    /// written to standard error.
    fn log(&self, level: LogLevel, message: &str) {
        report(&self.current.log, level, message, !self.announced.is_written());
    }

    /// Waits for a signal, a message, the exit of a child or the next deadline. Returns the processes that have sent
    /// messages or closed their channels.
    fn wait(&self) -> io::Result<Vec<MessageSender>> {
        let mut polled = vec![PollFd::new(&self.signals, PollFlags::IN)];
        let mut speakers = Vec::new();
        let workers = self.workers.channels().map(|(pid, channel)| (MessageSender::Worker(pid), channel));
        let supervisors =
            self.peer_supervisors.channels().map(|(age, channel)| (MessageSender::Supervisor(age), channel));
        for (speaker, channel) in workers.chain(supervisors) {
            polled.push(PollFd::new(channel, PollFlags::IN));
            speakers.push(speaker);
        }
        let deadline = match self.ending {
            Some(ShutdownKind::Fast(deadline)) => Some(deadline),
            _ => self.workers.respawn.due,
        };
        let deadline = deadline.into_iter().chain(self.init.next_beat()).min();
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let timeout = left.and_then(|left| Timespec::try_from(left).ok());
        match poll(&mut polled, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let spoken = polled[1..].iter().zip(speakers).filter(|(polled, _)| !polled.revents().is_empty());
        Ok(spoken.map(|(_, speaker)| speaker).collect())
    }

    fn handle_signal(&mut self, signal: Signal) {
        let deed = match signal {
            Signal::TERM | Signal::INT => "exiting",
            Signal::QUIT => "shutting down",
            Signal::HUP => "reconfiguring",
            Signal::USR1 => "reopening logs",
            Signal::USR2 => "changing binary",
            Signal::WINCH if self.current.is_daemon() => "closing workers",
            _ => return,
        };
        self.log(
            LogLevel::Notice,
            &format!("signal {} ({}) received, {deed}", signal.as_raw(), signals::name(signal)),
        );
        match signal {
            Signal::TERM | Signal::INT => self.stop(),
            Signal::QUIT => self.quit(),
            Signal::HUP => self.reload(),
            Signal::USR1 => self.reopen(),
            Signal::USR2 => self.upgrade(),
            _ => self.close_workers(),
        }
    }

    fn stop(&mut self) {
        self.ending = Some(ShutdownKind::Fast(Instant::now() + STOP_LIMIT));
        self.init.stopping();
        self.reload.abandon();
        self.workers.terminate();
    }

    fn quit(&mut self) {
        if self.ending.is_some() {
            return;
        }
        self.ending = Some(ShutdownKind::Graceful);
        // A new binary announces its processes before it serves. The workers must know them before they stop.
        self.peer_supervisors.receive_pending();
        self.workers.send_processes(&mut self.peer_supervisors);
        match self.succession.successor_pid() {
            Some(heir) => self.init.main_process_changed(heir),
            None => self.init.stopping(),
        }
        self.reload.abandon();
        let listeners = std::mem::take(&mut self.current.listeners);
        if !self.succession.shares_sockets() {
            listeners.unlink();
        }
        drop(listeners);
        self.workers.quit();
        self.workers.send_processes(&mut self.peer_supervisors);
    }

    /// Handles WINCH as nginx does: the workers shut down gracefully; this process continues and leaves its sockets
    /// open.
    fn close_workers(&mut self) {
        self.workers.accepting = false;
        self.workers.respawn.due = None;
        self.reload.abandon();
        self.workers.quit();
        self.workers.send_processes(&mut self.peer_supervisors);
    }

    fn start_worker(&mut self) -> io::Result<()> {
        self.workers.respawn.due = None;
        self.workers.start(
            &self.current,
            self.ticket_keys.valid(),
            &self.current.log,
            &mut self.peer_supervisors,
        )?;
        self.workers.send_processes(&mut self.peer_supervisors);
        Ok(())
    }

    /// Writes the process ID and the results of reloads to the lock file of a `myriad wordpress`. Does nothing after an
    /// upgrade has started, because the new supervisor writes the file.
    fn write_instance_state(&self) {
        if self.succession.has_successor() {
            return;
        }
        if let Err(error) = self.announced.write_instance_state(&self.current, &self.reload.counted) {
            self.log(
                LogLevel::Alert,
                &format!("could not write the lock file of the prefix: {}", reason(&error)),
            );
        }
    }

    fn reap_workers(&mut self) {
        while let Some((worker, status)) = self.workers.take_exited() {
            let level = if status.code().is_some() { LogLevel::Notice } else { LogLevel::Alert };
            self.log(level, &format!("worker process {} {}", worker.pid(), describe(status)));
            self.workers.send_processes(&mut self.peer_supervisors);
            self.handle_worker_exit(&worker);
        }
        if let Some(status) = self.succession.take_exit_status() {
            self.log(LogLevel::Notice, &format!("new binary process {}", describe(status)));
            self.peer_supervisors.set_successor(None);
            self.workers.send_processes(&mut self.peer_supervisors);
            if let Some(Err(error)) = self.announced.pid_file.as_mut().map(PidFile::rename_back) {
                self.log(LogLevel::Alert, &format!("rename() of the pid file failed: {error}"));
            }
            self.write_instance_state();
            if self.workers.is_empty() && self.ending.is_none() {
                self.workers.accepting = true;
                self.workers.respawn.due = Some(Instant::now());
            }
        }
    }

    fn handle_worker_exit(&mut self, worker: &WorkerProcess) {
        if self.reload.waits_for(worker.pid()) {
            let why =
                format!("worker process {} exited before it accepted the new configuration", worker.pid());
            self.log(LogLevel::Error, &why);
            self.pending_failed(why);
        }
        if self.ending.is_some() || !self.workers.accepting {
            return;
        }
        if !self.announced.is_written() {
            self.failed = true;
            self.stop();
            return;
        }
        self.workers.replace(worker);
        self.reload_again();
    }

    fn handle_deadlines(&mut self) {
        let now = Instant::now();
        self.init.keep_alive(now);
        if let Some(ShutdownKind::Fast(deadline)) = self.ending
            && now >= deadline
        {
            self.workers.kill();
            self.ending = Some(ShutdownKind::Fast(now + STOP_LIMIT));
        }
        if self.ending.is_none()
            && self.workers.respawn.is_due(now)
            && let Err(error) = self.start_worker()
        {
            self.log(LogLevel::Alert, &format!("the worker process could not be started: {error}"));
            self.workers.respawn.retry_later(now);
        }
    }

    /// Handles USR2 as nginx does: renames the pid file and starts the new binary. This process continues to serve
    /// until it receives a signal to stop. Does nothing if a new binary already runs, or during a shutdown.
    fn upgrade(&mut self) {
        if self.succession.has_successor() || self.ending.is_some() {
            return;
        }
        if let Some(Err(error)) = self.announced.pid_file.as_mut().map(PidFile::rename_to_oldbin) {
            return self.log(LogLevel::Alert, &format!("rename() of the pid file failed: {error}"));
        }
        let (keys, instance) = (self.ticket_keys.valid(), self.announced.instance.as_ref());
        let processes = self.peer_supervisors.processes_for_successor(self.workers.reachable());
        let peers = (self.peer_supervisors.next_depth(), &processes[..]);
        match self.succession.begin((&self.current.listeners, keys), instance, peers) {
            Ok(channel) => self.peer_supervisors.set_successor(channel),
            Err(error) => {
                self.log(LogLevel::Alert, &format!("the new binary could not be started: {error}"));
                if let Some(file) = self.announced.pid_file.as_mut() {
                    let _ = file.rename_back();
                }
            }
        }
    }
}

/// Creates listeners from the sockets that the init system passed to this process.
fn activated_listeners() -> Result<ListenerSet, Vec<ConfigFinding>> {
    let sockets = activation::sockets().map_err(|error| vec![error.into()])?;
    Ok(ListenerSet::inherit(sockets.into_iter(), Zeroizing::default()))
}
