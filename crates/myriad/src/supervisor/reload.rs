//! Reload (HUP): the configuration is read and sent to a worker, and replaces the previous one when the worker is
//! ready. Reopening of log files (USR1).
//!
//! ```text
//! running --read, opened--> pending --worker ready--> running the new one
//!         <--invalid--------'  '--worker failed, worker gone--> running the earlier one
//! ```

use std::io;

use myriad_log::LogLevel;
use myriad_serve::{release_memory_soon, run_on_temporary_thread};

use super::Supervisor;
use super::pending_configuration::{NOT_TAKEN, PendingConfiguration};
use crate::control::MessageKind;
use crate::generation::ServerGeneration;
use crate::handover::encode_paths;
use myriad_cli::pidfile::reason;
use myriad_cli::report::ConfigFinding;

/// Log line, and status for the init system, of a reload that succeeded.
const TAKEN: &str = "the new configuration is in effect";

impl Supervisor {
    /// Reads the configuration again and sends it to a worker. If another reload is in progress, this one starts after
    /// it. Does nothing during a shutdown.
    pub(super) fn reload(&mut self) {
        if self.ending.is_some() {
            return;
        }
        if self.reload.pending.is_some() {
            self.reload.again = true;
            return;
        }
        self.init.reloading();
        self.reload.counted.begin();
        self.write_instance_state();
        if let Err(findings) = self.take_new_configuration() {
            for finding in &findings {
                self.log(finding.level, &finding.text);
            }
            self.reload_failed(findings.into_iter().map(|finding| finding.text).collect());
        }
    }

    /// Reports a failed reload: with the reasons `why` to `myriad wordpress reload`, without them to the init system
    /// and the log.
    fn reload_failed(&mut self, why: Vec<String>) {
        self.log(LogLevel::Error, NOT_TAKEN);
        self.init.ready(NOT_TAKEN);
        self.reload.counted.end(why);
        self.write_instance_state();
        release_memory_soon();
    }

    /// Handles the failure of a worker to accept the pending configuration. A reload that was requested meanwhile
    /// remains due.
    pub(super) fn pending_failed(&mut self, why: String) {
        let again = self.reload.again;
        self.reload.abandon();
        self.reload.again = again;
        self.reload_failed(vec![why]);
    }

    /// Starts the reload that was requested during the reload that has finished.
    pub(super) fn reload_again(&mut self) {
        if std::mem::take(&mut self.reload.again) {
            self.reload();
        }
    }

    fn take_new_configuration(&mut self) -> Result<(), Vec<ConfigFinding>> {
        let next = run_on_temporary_thread(|| self.prepare_generation())?;
        match self.hand_over(&next) {
            Ok(pid) => {
                self.workers.send_processes(&mut self.peer_supervisors);
                self.workers.accepting = true;
                self.workers.respawn.due = None;
                self.reload.pending = Some(PendingConfiguration { next, pid });
                Ok(())
            }
            Err(error) => {
                next.listeners.discard_fresh();
                Err(vec![
                    format!("the configuration could not be passed to a worker process: {error}").into(),
                ])
            }
        }
    }

    /// Reads the configuration again and opens its resources.
    fn prepare_generation(&self) -> Result<ServerGeneration, Vec<ConfigFinding>> {
        let (origin, warnings) = self.current.origin.renewed().map_err(|error| vec![error.into()])?;
        for warning in warnings {
            self.log(LogLevel::Warn, &warning);
        }
        let configuration = origin.load()?;
        for warning in configuration.warnings() {
            self.log(warning.level, &warning.text);
        }
        ServerGeneration::prepare(&origin, &configuration, &self.current.listeners)
    }

    /// Sends a configuration to the serving worker, or to a new one if the process must be replaced or none is serving.
    /// Returns the worker's process ID.
    fn hand_over(&mut self, next: &ServerGeneration) -> io::Result<u32> {
        let keys = self.ticket_keys.valid();
        match self.workers.serving().filter(|_| self.current.shares_process_with(next)) {
            Some(worker) => worker.configure(next, keys).map(|()| worker.pid()),
            None => self.workers.start(next, keys, &self.current.log, &mut self.peer_supervisors),
        }
    }

    /// Makes the pending configuration the current one.
    pub(super) fn commit(&mut self) {
        let Some(PendingConfiguration { next, .. }) = self.reload.pending.take() else { return };
        let old = std::mem::replace(&mut self.current, next);
        old.listeners.replaced_by(&self.current.listeners);
        self.workers.serves_quic(&self.current.quic_listeners());
        let path = self.current.pid_path();
        if self.announced.pid_file_moves_to(&path)
            && let Err(error) = self.announced.write_pid_file(&path)
        {
            self.log(LogLevel::Emerg, &format!("open() \"{}\" failed ({})", path.display(), reason(&error)));
        }
        self.reload.counted.end(Vec::new());
        self.write_instance_state();
        self.log(LogLevel::Notice, TAKEN);
        self.init.ready(TAKEN);
        release_memory_soon();
    }

    /// Logs the failure of a worker, and drops the pending configuration if it was sent to that worker.
    pub(super) fn worker_failed(&mut self, pid: u32, why: &str) {
        self.log(LogLevel::Emerg, why);
        if self.reload.waits_for(pid) {
            self.pending_failed(why.to_owned());
            self.reload_again();
        }
    }

    /// Reopens the log files, after they were renamed, and sends them to the workers. If one cannot be opened, all
    /// earlier files remain in use.
    pub(super) fn reopen(&mut self) {
        let ServerGeneration { main, origin, .. } = &self.current;
        let opened = self.current.logs.reopen(&origin.paths);
        let logs = match opened {
            Ok(logs) => logs,
            Err(finding) => return self.log(LogLevel::Emerg, &finding),
        };
        match logs.main(main, &origin.paths) {
            Ok(log) => self.current.log = log,
            Err(error) => self.log(LogLevel::Emerg, &error.to_string()),
        }
        let paths: Vec<_> = logs.iter().map(|(path, _)| path).collect();
        let payload = encode_paths(paths.into_iter());
        let files: Vec<_> = logs.iter().map(|(_, file)| file).collect();
        for worker in self.workers.iter() {
            if let Err(error) = worker.send(MessageKind::Reopen, &payload, &files) {
                self.log(
                    LogLevel::Error,
                    &format!("worker process {} could not reopen its logs: {error}", worker.pid()),
                );
            }
        }
        self.current.logs = logs;
    }
}
