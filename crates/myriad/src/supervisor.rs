//! The supervisor owns sockets, logs, pid file and privileges. It runs a worker process and parses no network input.
//!
//! ```text
//! starting --worker ready--> running --TERM, INT--> stopping --workers gone--> exit
//!     |                        |  ^      QUIT-----> quitting --workers gone--> exit
//!     +--worker failed-> exit  +--+ HUP reload, USR1 reopen, USR2 upgrade, WINCH workers only, crash respawn
//! ```

mod announcement;
mod kin;
mod messages;
mod pending;
mod reload;
mod succession;
mod workers;

use std::io;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use myriad_log::Level;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::Signal;
use zeroize::Zeroizing;

use crate::activation;
use crate::cores;
use crate::daemon::{Birth, Elder};
use crate::generation::Generation;
use crate::listeners::Listeners;
use crate::notify::InitSystem;
use crate::process::{WorkerProcess, describe};
use crate::ticket_keys::TicketKeys;
use announcement::Announcement;
use kin::{Age, Kin};
use myriad_cli::configuration::{Configuration, Origin};
use myriad_cli::instance::Instance;
use myriad_cli::pidfile::{PidFile, reason};
use myriad_cli::report::{Finding, report};
use myriad_cli::signals::{self, Signals};
use pending::Reload;
use succession::Succession;
use workers::Workers;

/// Maximum time for a worker to exit after TERM. It exits at once unless it must write catalogues of many files. The
/// master process of nginx grants one second.
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
enum Ending {
    Graceful,
    /// Workers that still run at this time are killed.
    Fast(Instant),
}

/// Sender of a message.
enum Speaker {
    Worker(u32),
    /// Supervisor before or after this one.
    Supervisor(Age),
}

/// Running server: its configuration, its workers and its announcements to other processes.
#[derive(Debug)]
pub(crate) struct Supervisor {
    signals: Signals,
    current: Generation,
    reload: Reload,
    workers: Workers,
    announced: Announcement,
    succession: Succession,
    kin: Kin,
    /// Keys of session tickets for the next worker process.
    ticket_keys: TicketKeys,
    init: InitSystem,
    ending: Option<Ending>,
    failed: bool,
}

impl Supervisor {
    /// Opens the resources of the configuration and starts the first worker.
    ///
    /// # Errors
    /// Returns messages for the log.
    pub(crate) fn start(
        origin: &Origin,
        configuration: &Configuration,
        birth: Birth,
        instance: Option<Instance>,
    ) -> Result<Self, Vec<Finding>> {
        let io_error = |error: io::Error| vec![error.to_string().into()];
        cores::refuse().map_err(io_error)?;
        let signals = Signals::watch(&WATCHED).map_err(io_error)?;
        let succession = Succession::new(matches!(birth, Birth::Upgrade(..))).map_err(io_error)?;
        let (inherited, ticket_keys, foreground, kin) = match birth {
            Birth::Plain => (activated()?, TicketKeys::default(), None, Kin::default()),
            Birth::Detached(stream) => {
                (Listeners::default(), TicketKeys::default(), Some(stream), Kin::default())
            }
            Birth::Upgrade(listeners, keys, Elder { depth, channel, processes }, _) => {
                (listeners, keys, None, Kin::of_heir(depth, channel, processes))
            }
        };
        let (init, untold) = InitSystem::of_this_process();
        let mut supervisor = Self {
            signals,
            current: Generation::prepare(origin, configuration, &inherited)?,
            reload: Reload::default(),
            workers: Workers::none(),
            announced: Announcement::new(instance, foreground),
            succession,
            kin,
            ticket_keys,
            init,
            ending: None,
            failed: false,
        };
        supervisor.warn_of_strangers(&inherited, untold);
        if let Err(error) = supervisor.start_worker() {
            supervisor.current.listeners.unlink();
            return Err(vec![format!("the worker process could not be started: {error}").into()]);
        }
        Ok(supervisor)
    }

    /// Warns of inherited sockets without a `listen`, which are closed, and of an init system that cannot be notified.
    fn warn_of_strangers(&self, inherited: &Listeners, untold: Option<String>) {
        let strangers = inherited.without(&self.current.listeners);
        let closed = strangers.map(|name| {
            format!("the socket {name} was passed to this process, but no \"listen\" directive uses it: it is closed")
        });
        for text in closed.chain(untold) {
            self.log(Level::Warn, &text);
        }
    }

    /// Runs until a signal requests the shutdown.
    pub(crate) fn run(mut self) -> ExitCode {
        while self.ending.is_none() || !self.workers.is_empty() {
            let spoken = match self.wait() {
                Ok(spoken) => spoken,
                Err(error) => {
                    self.log(Level::Alert, &format!("poll() failed: {error}"));
                    return ExitCode::FAILURE;
                }
            };
            for signal in self.signals.take() {
                self.signalled(signal);
            }
            for speaker in spoken {
                match speaker {
                    Speaker::Worker(pid) => self.hear(pid),
                    Speaker::Supervisor(age) => {
                        self.kin.hear(age);
                        self.workers.tell(&mut self.kin);
                    }
                }
            }
            self.reap();
            self.keep_time();
        }
        if !self.succession.shares_sockets() {
            self.current.listeners.unlink();
        }
        self.log(Level::Notice, "exit");
        if self.failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }

    /// Writes to the log, and to standard error until the first worker accepts connections.
    fn log(&self, level: Level, message: &str) {
        report(&self.current.log, level, message, !self.announced.is_made());
    }

    /// Waits for a signal, a message, the exit of a child or the next deadline; returns the senders of messages.
    fn wait(&self) -> io::Result<Vec<Speaker>> {
        let mut polled = vec![PollFd::new(&self.signals, PollFlags::IN)];
        let mut speakers = Vec::new();
        let workers = self.workers.channels().map(|(pid, channel)| (Speaker::Worker(pid), channel));
        let supervisors = self.kin.channels().map(|(age, channel)| (Speaker::Supervisor(age), channel));
        for (speaker, channel) in workers.chain(supervisors) {
            polled.push(PollFd::new(channel, PollFlags::IN));
            speakers.push(speaker);
        }
        let deadline = match self.ending {
            Some(Ending::Fast(deadline)) => Some(deadline),
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

    fn signalled(&mut self, signal: Signal) {
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
            Level::Notice,
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
        self.ending = Some(Ending::Fast(Instant::now() + STOP_LIMIT));
        self.init.stopping();
        self.reload.abandon();
        self.workers.terminate();
    }

    fn quit(&mut self) {
        if self.ending.is_some() {
            return;
        }
        self.ending = Some(Ending::Graceful);
        // A new binary announces its processes before it serves: workers receive their successors before they stop.
        self.kin.catch_up();
        self.workers.tell(&mut self.kin);
        match self.succession.heir() {
            Some(heir) => self.init.passes_to(heir),
            None => self.init.stopping(),
        }
        self.reload.abandon();
        let listeners = std::mem::take(&mut self.current.listeners);
        if !self.succession.shares_sockets() {
            listeners.unlink();
        }
        drop(listeners);
        self.workers.quit();
        self.workers.tell(&mut self.kin);
    }

    /// Handles WINCH as nginx does: workers shut down gracefully, this process continues and retains its sockets.
    fn close_workers(&mut self) {
        self.workers.accepting = false;
        self.workers.respawn.due = None;
        self.reload.abandon();
        self.workers.quit();
        self.workers.tell(&mut self.kin);
    }

    fn start_worker(&mut self) -> io::Result<()> {
        self.workers.respawn.due = None;
        self.workers.start(&self.current, self.ticket_keys.valid(), &self.current.log, &mut self.kin)?;
        self.workers.tell(&mut self.kin);
        Ok(())
    }

    /// Writes the number and the state of this process to the lock of the folder of a `myriad wordpress`. A new
    /// supervisor writes its own.
    fn tell_instance(&self) {
        if self.succession.has_heir() {
            return;
        }
        if let Err(error) = self.announced.tell_instance(&self.current, &self.reload.counted) {
            self.log(
                Level::Alert,
                &format!("could not write the lock file of the prefix: {}", reason(&error)),
            );
        }
    }

    fn reap(&mut self) {
        while let Some((worker, status)) = self.workers.take_ended() {
            let level = if status.code().is_some() { Level::Notice } else { Level::Alert };
            self.log(level, &format!("worker process {} {}", worker.pid(), describe(status)));
            self.workers.tell(&mut self.kin);
            self.worker_gone(&worker);
        }
        if let Some(status) = self.succession.take_ended() {
            self.log(Level::Notice, &format!("new binary process {}", describe(status)));
            self.kin.set_heir(None);
            self.workers.tell(&mut self.kin);
            if let Some(Err(error)) = self.announced.pid_file.as_mut().map(PidFile::rename_back) {
                self.log(Level::Alert, &format!("rename() of the pid file failed: {error}"));
            }
            self.tell_instance();
            if self.workers.is_empty() && self.ending.is_none() {
                self.workers.accepting = true;
                self.workers.respawn.due = Some(Instant::now());
            }
        }
    }

    fn worker_gone(&mut self, worker: &WorkerProcess) {
        if self.reload.waits_for(worker.pid()) {
            self.pending_failed(format!(
                "worker process {} exited before it accepted the new configuration",
                worker.pid()
            ));
        }
        if self.ending.is_some() || !self.workers.accepting {
            return;
        }
        if !self.announced.is_made() {
            self.failed = true;
            self.stop();
            return;
        }
        self.workers.replace(worker);
        self.reload_again();
    }

    fn keep_time(&mut self) {
        let now = Instant::now();
        self.init.keep_alive(now);
        if let Some(Ending::Fast(deadline)) = self.ending
            && now >= deadline
        {
            self.workers.kill();
            self.ending = Some(Ending::Fast(now + STOP_LIMIT));
        }
        if self.ending.is_none()
            && self.workers.respawn.is_due(now)
            && let Err(error) = self.start_worker()
        {
            self.log(Level::Alert, &format!("the worker process could not be started: {error}"));
            self.workers.respawn.later(now);
        }
    }

    /// Handles USR2 as nginx does: starts the new binary next to this one, which continues to serve until it receives a
    /// signal to stop.
    fn upgrade(&mut self) {
        if self.succession.has_heir() || self.ending.is_some() {
            return;
        }
        if let Some(Err(error)) = self.announced.pid_file.as_mut().map(PidFile::rename_to_oldbin) {
            return self.log(Level::Alert, &format!("rename() of the pid file failed: {error}"));
        }
        let (keys, instance) = (self.ticket_keys.valid(), self.announced.instance.as_ref());
        let processes = self.kin.for_heir(self.workers.reachable());
        let kin = (self.kin.next_depth(), &processes[..]);
        match self.succession.begin((&self.current.listeners, keys), instance, kin) {
            Ok(channel) => self.kin.set_heir(channel),
            Err(error) => {
                self.log(Level::Alert, &format!("the new binary could not be started: {error}"));
                if let Some(file) = self.announced.pid_file.as_mut() {
                    let _ = file.rename_back();
                }
            }
        }
    }
}

/// Creates listeners from the sockets that the init system passes to this server.
fn activated() -> Result<Listeners, Vec<Finding>> {
    let sockets = activation::sockets().map_err(|error| vec![error.into()])?;
    Ok(Listeners::inherit(sockets.into_iter(), Zeroizing::default()))
}
