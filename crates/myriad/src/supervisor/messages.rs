//! Messages of workers: they are ready, have failed, or send data that the supervisor must store.

use myriad_log::LogLevel;
use myriad_serve::Standing;

use super::Supervisor;
use crate::control::{ControlChannel, MessageKind};
use crate::daemon;
use crate::generation::ServerGeneration;
use crate::handover::decode_ticket_key;
use crate::stdio;
use crate::worker_requests;
use myriad_cli::pidfile::reason;

impl Supervisor {
    /// Receives and handles one message of a worker whose channel is readable. If the worker has closed the channel or
    /// no message can be received, closes the channel; in the second case also kills the worker. A payload that cannot
    /// be decoded is only logged.
    pub(super) fn receive_message(&mut self, pid: u32) {
        let Some(worker) = self.workers.find(pid) else { return };
        let received = worker.channel.as_ref().map(ControlChannel::receive);
        let Some(Ok(Some(message))) = received else {
            // The worker is exiting, or has sent an invalid message. SIGCHLD reports its exit.
            worker.channel = None;
            if !matches!(received, Some(Ok(None)) | None) {
                worker.kill();
            }
            return;
        };
        match message.kind {
            MessageKind::Ready => {
                if !message.payload.is_empty() {
                    let confined = String::from_utf8_lossy(&message.payload);
                    self.log(LogLevel::Notice, &format!("worker process {pid} is confined: {confined}"));
                }
                self.worker_ready(pid);
            }
            MessageKind::Failed => self.worker_failed(pid, &String::from_utf8_lossy(&message.payload)),
            MessageKind::Drained => {
                // The text contains that of nginx for an exiting worker, for which scripts wait.
                let text = format!(
                    "the last connection of an earlier configuration is closed: it exited with code 0, worker process {pid} continues"
                );
                self.log(LogLevel::Notice, &text);
            }
            MessageKind::Keep => self.handle_storage_request(worker_requests::store_file, &message.payload),
            MessageKind::Folder => {
                self.handle_storage_request(worker_requests::remake_folder, &message.payload);
            }
            // A leaving worker no longer issues tickets that a client would present to the next worker.
            MessageKind::TicketKeys if worker.state != Standing::Leaving => {
                self.keep_ticket_key(&message.payload);
            }
            MessageKind::TicketKeys
            | MessageKind::Configure
            | MessageKind::Reopen
            | MessageKind::Quit
            | MessageKind::Listeners
            | MessageKind::Confine
            | MessageKind::Processes => {}
        }
    }

    fn keep_ticket_key(&mut self, payload: &[u8]) {
        let taken = decode_ticket_key(payload)
            .ok_or("a worker process sent an invalid session ticket key")
            .and_then(|(lifetime_s, record)| self.ticket_keys.replace_record(lifetime_s, record));
        if let Err(error) = taken {
            self.log(LogLevel::Alert, error);
        }
    }

    /// Handles a request of a worker to store a file or create a folder, which the running or the pending configuration
    /// must name.
    fn handle_storage_request(
        &self,
        work: fn(&[&ServerGeneration], &[u8]) -> Result<(), String>,
        payload: &[u8],
    ) {
        let next = self.reload.pending.iter().map(|pending| &pending.next);
        let generations: Vec<&ServerGeneration> = std::iter::once(&self.current).chain(next).collect();
        if let Err(error) = work(&generations, payload) {
            self.log(LogLevel::Alert, &error);
        }
    }

    fn worker_ready(&mut self, pid: u32) {
        if self.reload.waits_for(pid) {
            self.commit();
        }
        self.workers.ready(pid, &mut self.peer_supervisors);
        if !self.announced.is_written() {
            self.become_ready();
        }
        self.reload_again();
    }

    /// Announces the server, once its first worker accepts connections: by the pid file, the lock file, the init
    /// system, the greeting, and the foreground half of `daemon on`. If the pid file cannot be written, stops the
    /// server.
    fn become_ready(&mut self) {
        let path = self.current.pid_path();
        if let Err(error) = self.announced.write_pid_file(&path) {
            let advice = self.current.origin.paths.advice(&path, &error);
            let text = format!("open() \"{}\" failed ({}){advice}", path.display(), reason(&error));
            self.log(LogLevel::Emerg, &text);
            self.failed = true;
            self.stop();
            return;
        }
        self.write_instance_state();
        self.init.ready("serving");
        if !self.succession.is_successor() {
            self.announced.print_greeting(&self.current);
        }
        if let Some(foreground) = self.announced.foreground.take() {
            let log = self.current.terminal_substitute();
            if let Err(error) = stdio::leave_terminal(log.as_ref()) {
                self.log(LogLevel::Alert, &format!("dup2() failed: {error}"));
            }
            daemon::announce_ready(foreground);
        }
    }
}
