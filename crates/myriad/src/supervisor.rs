//! The supervisor: owns sockets, logs, pid file and rights; keeps a worker running; meets no client.
//!
//! ```text
//! starting --worker ready--> running --TERM, INT--> stopping --workers gone--> end
//!     |                        |  ^      QUIT-----> quitting --workers gone--> end
//!     +--worker failed--> end  +--+ HUP reload, USR1 reopen, USR2 upgrade, WINCH workers only, crash respawn
//! ```

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::{Child, ExitCode};
use std::time::{Duration, Instant};

use myriad_log::Level;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, Signal, getppid};

use crate::configuration::{Configuration, Origin};
use crate::control::Kind;
use crate::daemon::{self, Birth};
use crate::generation::Generation;
use crate::handover::{decode_ticket_key, encode_paths};
use crate::instance::Instance;
use crate::listeners::Listeners;
use crate::logs::Logs;
use crate::pidfile::{PidFile, reason};
use crate::process::{State, WorkerProcess, describe};
use crate::report::{Finding, report};
use crate::signals::{self, Signals};
use crate::ticket_keys::TicketKeys;
use crate::{stdio, wordpress, worker_requests};

/// How long a worker that was told to stop may take. It ends at once unless it has catalogues of many files to write; nginx's
/// master grants a second.
const STOP_LIMIT: Duration = Duration::from_secs(5);
/// First and longest pause before a worker that keeps ending is started again.
const RESPAWN_PAUSE: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(10));
/// A worker that lived this long did not fail at its start.
const STEADY: Duration = Duration::from_secs(5);

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

/// Why everything is being ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Graceful,
    /// Workers that are still there at this time are killed.
    Fast(Instant),
}

/// A configuration that waits for a worker to take it over.
#[derive(Debug)]
struct Pending {
    next: Generation,
    /// The worker that decides: the one that serves, or a new one where the process itself must change.
    pid: u32,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Supervisor {
    signals: Signals,
    current: Generation,
    pending: Option<Pending>,
    /// A reload was asked for while one was under way.
    reload_again: bool,
    workers: Vec<WorkerProcess>,
    /// Whether workers are started; not after WINCH.
    accepting: bool,
    respawn: Option<Instant>,
    pause: Duration,
    pid_file: Option<PidFile>,
    /// The lock of the folder of a `myriad wordpress`.
    instance: Option<Instance>,
    foreground: Option<std::os::unix::net::UnixStream>,
    /// The old supervisor whose sockets this one took over.
    heir_of: Option<Pid>,
    upgrade: Option<Child>,
    /// Keys of tickets for the next worker process.
    ticket_keys: TicketKeys,
    binary: PathBuf,
    ending: Option<Ending>,
    failed: bool,
}

impl Supervisor {
    /// Opens everything and starts the first worker; errors are messages for the log.
    pub(crate) fn start(
        origin: &Origin,
        configuration: Configuration,
        birth: Birth,
        instance: Option<Instance>,
    ) -> Result<Self, Vec<Finding>> {
        let io_error = |error: io::Error| vec![error.to_string().into()];
        let signals = Signals::watch(&WATCHED).map_err(io_error)?;
        let mut ticket_keys = TicketKeys::default();
        let (inherited, foreground, heir_of) = match birth {
            Birth::Plain => (Listeners::default(), None, None),
            Birth::Detached(stream) => (Listeners::default(), Some(stream), None),
            Birth::Upgrade(listeners, keys, _) => {
                ticket_keys = keys;
                (listeners, None, getppid())
            }
        };
        let current = Generation::prepare(origin, configuration, &inherited)?;
        let mut supervisor = Self {
            signals,
            current,
            pending: None,
            reload_again: false,
            workers: Vec::new(),
            accepting: true,
            respawn: None,
            pause: RESPAWN_PAUSE.0,
            pid_file: None,
            instance,
            foreground,
            heir_of,
            upgrade: None,
            ticket_keys,
            binary: std::env::current_exe().map_err(io_error)?,
            ending: None,
            failed: false,
        };
        if let Err(error) = supervisor.start_worker() {
            supervisor.current.listeners.unlink();
            return Err(vec![format!("the worker process could not be started: {error}").into()]);
        }
        Ok(supervisor)
    }

    /// Runs until told to end.
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
            for pid in spoken {
                self.hear(pid);
            }
            self.reap();
            self.keep_time();
        }
        if !self.sockets_are_shared() {
            self.current.listeners.unlink();
        }
        self.log(Level::Notice, "exit");
        if self.failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }

    fn is_running(&self) -> bool {
        self.pid_file.is_some()
    }

    fn log(&self, level: Level, message: &str) {
        report(&self.current.log, level, message, !self.is_running());
    }

    /// Waits for a signal, a message, a child's end or the next deadline; gives the workers that spoke.
    fn wait(&self) -> io::Result<Vec<u32>> {
        let mut polled = vec![PollFd::new(&self.signals, PollFlags::IN)];
        let mut pids = Vec::new();
        for worker in &self.workers {
            if let Some(channel) = &worker.channel {
                polled.push(PollFd::new(channel, PollFlags::IN));
                pids.push(worker.pid());
            }
        }
        let deadline = match self.ending {
            Some(Ending::Fast(deadline)) => Some(deadline),
            _ => self.respawn,
        };
        let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
        let timeout = left.and_then(|left| Timespec::try_from(left).ok());
        match poll(&mut polled, timeout.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
        let spoken = polled[1..].iter().zip(pids).filter(|(polled, _)| !polled.revents().is_empty());
        Ok(spoken.map(|(_, pid)| pid).collect())
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
        self.abandon_pending();
        self.workers.iter_mut().for_each(WorkerProcess::terminate);
    }

    fn quit(&mut self) {
        if self.ending.is_some() {
            return;
        }
        self.ending = Some(Ending::Graceful);
        self.abandon_pending();
        let listeners = std::mem::take(&mut self.current.listeners);
        if !self.sockets_are_shared() {
            listeners.unlink();
        }
        drop(listeners);
        self.workers.iter_mut().for_each(WorkerProcess::quit);
    }

    /// nginx's WINCH: workers end gracefully, this process stays with its sockets.
    fn close_workers(&mut self) {
        self.accepting = false;
        self.respawn = None;
        self.abandon_pending();
        self.workers.iter_mut().for_each(WorkerProcess::quit);
    }

    /// Whether another supervisor listens on the same sockets.
    fn sockets_are_shared(&self) -> bool {
        self.upgrade.is_some() || (self.heir_of.is_some() && getppid() == self.heir_of)
    }

    fn start_worker(&mut self) -> io::Result<()> {
        self.respawn = None;
        let worker = WorkerProcess::start(&self.current, self.ticket_keys.valid())?;
        self.log_started(&worker);
        self.workers.push(worker);
        Ok(())
    }

    fn log_started(&self, worker: &WorkerProcess) {
        let message = format_args!("start worker process {}", worker.pid());
        self.current.log.write(Level::Notice, None, message);
    }

    fn reload(&mut self) {
        if self.ending.is_some() {
            return;
        }
        if self.pending.is_some() {
            self.reload_again = true;
            return;
        }
        if let Err(findings) = self.take_new_configuration() {
            for finding in findings {
                self.log(finding.level, &finding.text);
            }
            self.log(Level::Error, "the new configuration was not taken: the earlier one keeps running");
        }
    }

    fn take_new_configuration(&mut self) -> Result<(), Vec<Finding>> {
        let (origin, warnings) = self.current.origin.renewed().map_err(|error| vec![error.into()])?;
        for warning in warnings {
            self.log(Level::Warn, &warning);
        }
        let configuration = origin.load()?;
        for warning in configuration.warnings() {
            self.log(warning.level, &warning.text);
        }
        let next = Generation::prepare(&origin, configuration, &self.current.listeners)?;
        let reusable = self.current.shares_process_with(&next);
        let serving = self.workers.iter().find(|worker| worker.state == State::Serving && reusable);
        let handed = match serving {
            Some(worker) => worker.configure(&next, self.ticket_keys.valid()).map(|()| worker.pid()),
            None => WorkerProcess::start(&next, self.ticket_keys.valid()).map(|worker| {
                self.log_started(&worker);
                let pid = worker.pid();
                self.workers.push(worker);
                pid
            }),
        };
        match handed {
            Ok(pid) => {
                self.accepting = true;
                self.respawn = None;
                self.pending = Some(Pending { next, pid });
                Ok(())
            }
            Err(error) => {
                next.listeners.discard_fresh();
                Err(vec![format!("the worker process could not be told: {error}").into()])
            }
        }
    }

    fn abandon_pending(&mut self) {
        if let Some(pending) = self.pending.take() {
            pending.next.listeners.discard_fresh();
        }
        self.reload_again = false;
    }

    fn hear(&mut self, pid: u32) {
        let Some(worker) = self.workers.iter_mut().find(|worker| worker.pid() == pid) else { return };
        let received = worker.channel.as_ref().map(crate::control::Channel::receive);
        let Some(Ok(Some(message))) = received else {
            // It is ending, or no longer makes sense; its end is noticed as such.
            worker.channel = None;
            if !matches!(received, Some(Ok(None)) | None) {
                worker.kill();
            }
            return;
        };
        match message.kind {
            Kind::Ready => self.worker_ready(pid),
            Kind::Failed => self.worker_failed(pid, &String::from_utf8_lossy(&message.payload)),
            Kind::Drained => {
                // Whoever waits for nginx's old workers looks for these words.
                let text = format!(
                    "the last connection of an earlier configuration has ended: it exited with code 0, \
                     worker process {pid} goes on"
                );
                self.log(Level::Notice, &text);
            }
            Kind::Keep => self.keep(worker_requests::keep, &message.payload),
            Kind::Folder => self.keep(worker_requests::remake_folder, &message.payload),
            // One that leaves seals nothing more that anybody would bring to its heir.
            Kind::TicketKeys if worker.state != State::Leaving => self.keep_ticket_key(&message.payload),
            Kind::TicketKeys | Kind::Configure | Kind::Reopen | Kind::Quit | Kind::Listeners => {}
        }
    }

    fn keep_ticket_key(&mut self, payload: &[u8]) {
        let taken = decode_ticket_key(payload)
            .ok_or("a worker process hands over keys of tickets that make no sense")
            .and_then(|(lifetime_s, record)| self.ticket_keys.take(lifetime_s, record));
        if let Err(error) = taken {
            self.log(Level::Alert, error);
        }
    }

    /// Does what a worker asks of the files of the configurations that run, or are about to.
    fn keep(&self, work: fn(&[&Generation], &[u8]) -> Result<(), String>, payload: &[u8]) {
        let next = self.pending.iter().map(|pending| &pending.next);
        let generations: Vec<&Generation> = std::iter::once(&self.current).chain(next).collect();
        if let Err(error) = work(&generations, payload) {
            self.log(Level::Alert, &error);
        }
    }

    fn worker_ready(&mut self, pid: u32) {
        if self.pending.as_ref().is_some_and(|pending| pending.pid == pid) {
            self.commit();
        }
        for worker in &mut self.workers {
            if worker.pid() == pid && worker.state == State::Starting {
                worker.state = State::Serving;
            } else if worker.pid() != pid && worker.state == State::Serving {
                // Its place is taken by the one that just became ready.
                worker.quit();
            }
        }
        if self.pid_file.is_none() {
            self.become_ready();
        }
        if std::mem::take(&mut self.reload_again) {
            self.reload();
        }
    }

    fn commit(&mut self) {
        let Some(Pending { next, .. }) = self.pending.take() else { return };
        let old = std::mem::replace(&mut self.current, next);
        old.listeners.replaced_by(&self.current.listeners);
        let path = self.current.pid_path();
        if pid_file_moved(self.pid_file.as_ref(), &path) {
            match PidFile::write(path.clone()) {
                Ok(file) => self.pid_file = Some(file),
                Err(error) => {
                    let text = format!("open() \"{}\" failed ({})", path.display(), reason(&error));
                    self.log(Level::Emerg, &text);
                }
            }
        }
        self.tell_instance();
        self.log(Level::Notice, "the new configuration runs");
    }

    /// The first worker accepts: now the world may know.
    fn become_ready(&mut self) {
        let path = self.current.pid_path();
        match PidFile::write(path.clone()) {
            Ok(file) => self.pid_file = Some(file),
            Err(error) => {
                let advice = self.current.origin.paths.advice(&path, &error);
                let text = format!("open() \"{}\" failed ({}){advice}", path.display(), reason(&error));
                self.log(Level::Emerg, &text);
                self.failed = true;
                self.stop();
                return;
            }
        }
        self.tell_instance();
        if self.instance.is_some() && self.heir_of.is_none() {
            // Nobody may read it.
            let _ = io::stderr().write_all(wordpress::greeting(&self.current).as_bytes());
        }
        if let Some(foreground) = self.foreground.take() {
            let log = self.current.terminal_substitute();
            if let Err(error) = stdio::leave_terminal(log.as_ref()) {
                self.log(Level::Alert, &format!("dup2() failed: {error}"));
            }
            daemon::announce_ready(foreground);
        }
    }

    /// Writes into the lock of the folder which process this is, and what it does.
    fn tell_instance(&self) {
        let told = self.instance.as_ref().map(|instance| instance.tell(&wordpress::facts(&self.current)));
        if let Some(Err(error)) = told {
            self.log(Level::Alert, &format!("the lock of the folder: {}", reason(&error)));
        }
    }

    fn worker_failed(&mut self, pid: u32, why: &str) {
        self.log(Level::Emerg, why);
        if self.pending.as_ref().is_some_and(|pending| pending.pid == pid) {
            self.abandon_pending();
            self.log(Level::Error, "the new configuration was not taken: the earlier one keeps running");
        }
    }

    fn reap(&mut self) {
        let mut index = 0;
        while index < self.workers.len() {
            match self.workers[index].ended() {
                Some(status) => {
                    let worker = self.workers.remove(index);
                    let level = if status.code().is_some() { Level::Notice } else { Level::Alert };
                    self.log(level, &format!("worker process {} {}", worker.pid(), describe(status)));
                    self.worker_gone(&worker);
                }
                None => index += 1,
            }
        }
        if let Some(Ok(Some(status))) = self.upgrade.as_mut().map(Child::try_wait) {
            self.upgrade = None;
            self.log(Level::Notice, &format!("new binary process {}", describe(status)));
            if let Some(Err(error)) = self.pid_file.as_mut().map(PidFile::rename_back) {
                self.log(Level::Alert, &format!("rename() of the pid file failed: {error}"));
            }
            self.tell_instance();
            if self.workers.is_empty() && self.ending.is_none() {
                self.accepting = true;
                self.respawn = Some(Instant::now());
            }
        }
    }

    fn worker_gone(&mut self, worker: &WorkerProcess) {
        if self.pending.as_ref().is_some_and(|pending| pending.pid == worker.pid()) {
            self.abandon_pending();
        }
        if self.ending.is_some() || !self.accepting {
            return;
        }
        if !self.is_running() {
            self.failed = true;
            self.stop();
            return;
        }
        let replaced = self.workers.iter().any(|other| other.state != State::Leaving);
        if replaced || worker.state == State::Leaving {
            return;
        }
        if worker.since.elapsed() >= STEADY {
            self.pause = RESPAWN_PAUSE.0;
            self.respawn = Some(Instant::now());
        } else {
            self.respawn = Some(Instant::now() + self.pause);
            self.pause = (self.pause * 2).min(RESPAWN_PAUSE.1);
        }
    }

    fn keep_time(&mut self) {
        let now = Instant::now();
        if let Some(Ending::Fast(deadline)) = self.ending
            && now >= deadline
        {
            self.workers.iter_mut().for_each(WorkerProcess::kill);
            self.ending = Some(Ending::Fast(now + STOP_LIMIT));
        }
        if self.ending.is_none()
            && self.respawn.is_some_and(|due| now >= due)
            && let Err(error) = self.start_worker()
        {
            self.log(Level::Alert, &format!("the worker process could not be started: {error}"));
            self.respawn = Some(now + self.pause);
        }
    }

    fn reopen(&mut self) {
        let Generation { configuration, origin, .. } = &self.current;
        let opened = Logs::open(&configuration.model, &origin.paths);
        let logs = match opened {
            Ok(logs) => logs,
            Err(finding) => return self.log(Level::Emerg, &finding),
        };
        match logs.main(&configuration.model, &origin.paths) {
            Ok(log) => self.current.log = log,
            Err(error) => self.log(Level::Emerg, &error.to_string()),
        }
        let paths: Vec<_> = logs.iter().map(|(path, _)| path).collect();
        let payload = encode_paths(paths.into_iter());
        let files: Vec<_> = logs.iter().map(|(_, file)| file).collect();
        for worker in &self.workers {
            if let Err(error) = worker.tell(Kind::Reopen, &payload, &files) {
                self.log(Level::Error, &format!("worker process {} keeps its logs: {error}", worker.pid()));
            }
        }
        self.current.logs = logs;
    }

    fn upgrade(&mut self) {
        if self.upgrade.is_some() || self.ending.is_some() {
            return;
        }
        if let Some(Err(error)) = self.pid_file.as_mut().map(PidFile::rename_to_oldbin) {
            return self.log(Level::Alert, &format!("rename() of the pid file failed: {error}"));
        }
        match daemon::upgrade(
            self.binary.clone(),
            &self.current.listeners,
            self.ticket_keys.valid(),
            self.instance.as_ref(),
        ) {
            Ok(child) => self.upgrade = Some(child),
            Err(error) => {
                self.log(Level::Alert, &format!("the new binary could not be started: {error}"));
                if let Some(file) = self.pid_file.as_mut() {
                    let _ = file.rename_back();
                }
            }
        }
    }
}

fn pid_file_moved(file: Option<&PidFile>, path: &std::path::Path) -> bool {
    file.is_some_and(|file| {
        file.path() != path && !file.path().as_os_str().as_encoded_bytes().ends_with(b".oldbin")
    })
}
