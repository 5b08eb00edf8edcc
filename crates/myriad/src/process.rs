//! Worker process as seen by the supervisor: a child process and the channel to it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Instant;

use myriad_conf::model::MainConf;
use myriad_serve::{QuicProcess, Standing};
use rustix::process::{Pid, Signal, kill_process};

use crate::control::{ControlChannel, MessageKind};
use crate::generation::ServerGeneration;
use crate::handover::QuicProcesses;
use crate::inbox;
use crate::ticket_keys::TicketKeys;
use crate::worker;

/// Options of mimalloc for a worker: threads do not reuse the memory of finished threads. Otherwise the remaining
/// allocations of an old configuration would be scattered among the allocations of the next one, and the memory could
/// never be returned to the system (`myriad_serve::temporary_thread`).
const ALLOCATOR: [(&str, &str); 2] =
    [("MIMALLOC_MAX_SEGMENT_RECLAIM", "0"), ("MIMALLOC_ABANDONED_PAGE_PURGE", "1")];

/// Worker process of a supervisor, and the channel to it.
#[derive(Debug)]
pub(crate) struct WorkerProcess {
    child: Child,
    /// Channel to the worker; `None` once the worker has closed its endpoint.
    pub(crate) channel: Option<ControlChannel>,
    /// State of the worker:
    ///
    /// ```text
    /// Starting --Ready--> Serving --quit or terminate--> Leaving --exit--> gone
    /// ```
    /// A starting process may also be requested to leave, and a process may exit in any state.
    pub(crate) state: Standing,
    /// Time at which the process was started.
    pub(crate) since: Instant,
    /// Number, which is part of QUIC connection IDs, and rank ([`QuicProcess`]).
    name: (u8, u64),
    /// IDs of the QUIC listeners of the worker's configuration ([`myriad_serve::listener_id`]).
    pub(crate) quic: Vec<u64>,
    /// Sending endpoint of the worker's inbox for QUIC datagrams; `None` before it has QUIC listeners.
    way_in: Option<OwnedFd>,
    /// Receiving endpoint of the worker's inbox; `None` before the inbox is created, and after the endpoint has been
    /// sent to the worker.
    inbox: Option<OwnedFd>,
}

impl WorkerProcess {
    /// Starts this binary as a worker with number and rank `name`. Sends it its confinement, `others` (the other
    /// processes that serve QUIC), and a configuration. `respawned` is the number of workers that exited unexpectedly,
    /// which the API reports.
    pub(crate) fn start(
        generation: &ServerGeneration,
        keys: &TicketKeys,
        respawned: u64,
        name: (u8, u64),
        others: &[(QuicProcess, BorrowedFd<'_>)],
    ) -> io::Result<Self> {
        let (channel, theirs) = ControlChannel::pair()?;
        let mut command = Command::new("/proc/self/exe");
        command.arg0("myriad: worker process").arg(worker::ARGUMENT);
        command.stdin(Stdio::from(OwnedFd::from(theirs))).stdout(Stdio::null());
        if let Some(log) = generation.terminal_substitute() {
            command.stderr(Stdio::from(log));
        }
        set_environment(&mut command, &generation.main);
        command.env("MYRIAD_RESPAWNED", respawned.to_string());
        command.envs(ALLOCATOR);
        let child = command.spawn()?;
        let mut process = Self {
            child,
            channel: Some(channel),
            state: Standing::Starting,
            since: Instant::now(),
            name,
            quic: generation.quic_listeners(),
            way_in: None,
            inbox: None,
        };
        if let Err(error) = process.begin(generation, keys, others) {
            // The process is not in any list yet, so its exit must be awaited here.
            let _ = process.child.kill();
            process.child.wait()?;
            return Err(error);
        }
        Ok(process)
    }

    /// Sends a new worker process everything that it needs to serve.
    fn begin(
        &mut self,
        generation: &ServerGeneration,
        keys: &TicketKeys,
        others: &[(QuicProcess, BorrowedFd<'_>)],
    ) -> io::Result<()> {
        self.send(MessageKind::Confine, &generation.confinement().encode(), &[])?;
        // The other processes are sent before the configuration, because they determine whether this process may read
        // the QUIC sockets.
        self.make_inbox()?;
        self.send_processes(others)?;
        self.close_inbox();
        self.configure(generation, keys)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends the worker a configuration with the descriptors that it needs.
    pub(crate) fn configure(&self, generation: &ServerGeneration, keys: &TicketKeys) -> io::Result<()> {
        let listeners = generation.listeners.iter().map(|(_, socket)| socket);
        let logs = generation.logs.iter().map(|(_, file)| file);
        let descriptors: Vec<_> = listeners.chain(logs).collect();
        self.send(MessageKind::Configure, &generation.handover(self.name.0, keys).encode(), &descriptors)
    }

    /// Returns the number of the worker that is part of its QUIC connection IDs.
    pub(crate) fn number(&self) -> u8 {
        self.name.0
    }

    /// Returns the description of this worker for other processes, and the sending endpoint of its inbox; `None` if it
    /// has no inbox, because it has never served QUIC or the inbox could not be created.
    pub(crate) fn reachable(&self) -> Option<(QuicProcess, BorrowedFd<'_>)> {
        Some((self.quic_process(), self.way_in.as_ref()?.as_fd()))
    }

    fn quic_process(&self) -> QuicProcess {
        let (number, rank) = self.name;
        QuicProcess { number, rank, standing: self.state, listeners: self.quic.clone() }
    }

    /// Creates the worker's inbox for QUIC datagrams, if it serves QUIC and has none.
    pub(crate) fn make_inbox(&mut self) -> io::Result<()> {
        if self.way_in.is_none() && !self.quic.is_empty() {
            let (way_in, inbox) = inbox::new_inbox()?;
            self.way_in = Some(way_in);
            self.inbox = Some(inbox);
        }
        Ok(())
    }

    /// Closes the receiving endpoint of the inbox here, once the worker has received it.
    pub(crate) fn close_inbox(&mut self) {
        self.inbox = None;
    }

    /// Sends the worker its number, rank and state for QUIC, and the list of other processes that serve QUIC on the
    /// same sockets. Does nothing if the worker has no inbox.
    pub(crate) fn send_processes(&self, others: &[(QuicProcess, BorrowedFd<'_>)]) -> io::Result<()> {
        if self.way_in.is_none() {
            return Ok(());
        }
        let channel = self.channel.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
        let own = self.quic_process();
        let others: Vec<_> = others.iter().filter(|(other, _)| other.number != own.number).cloned().collect();
        QuicProcesses::send(channel, Some((&own, self.inbox.as_ref().map(AsFd::as_fd))), &others)
    }

    /// Sends one message to the worker.
    pub(crate) fn send(
        &self,
        kind: MessageKind,
        payload: &[u8],
        descriptors: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        let channel = self.channel.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
        channel.send(kind, payload, descriptors)
    }

    /// Requests the worker to complete the requests in progress and exit.
    pub(crate) fn quit(&mut self) {
        self.state = Standing::Leaving;
        if self.send(MessageKind::Quit, b"", &[]).is_err() {
            // The worker also shuts down if its channel is closed.
            self.channel = None;
        }
    }

    /// Sends SIGTERM: the process saves the data that must persist and exits.
    pub(crate) fn terminate(&mut self) {
        self.state = Standing::Leaving;
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
    }

    /// Sends SIGKILL to the worker.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
    }

    /// Returns the exit status of the worker; `None` while it runs.
    pub(crate) fn exit_status(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }
}

/// Sets the environment of a worker by the directives `env`: only `TZ`, `RUST_BACKTRACE` and the variables that the
/// directives name are retained or set; all others are removed.
fn set_environment(command: &mut Command, main: &MainConf) {
    command.env_clear();
    let always_kept = ["TZ", "RUST_BACKTRACE"].map(str::to_owned);
    let written = main.env.iter().map(|variable| variable.lossy().into_owned());
    for variable in always_kept.into_iter().chain(written) {
        match variable.split_once('=') {
            Some((name, value)) => {
                command.env(name, value);
            }
            None => {
                if let Some(value) = std::env::var_os(&variable) {
                    command.env(variable, value);
                }
            }
        }
    }
}

/// Describes the exit of a process in the wording of nginx.
pub(crate) fn describe(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(signal), _) if status.core_dumped() => format!("exited on signal {signal} (core dumped)"),
        (Some(signal), _) => format!("exited on signal {signal}"),
        (None, code) => format!("exited with code {}", code.unwrap_or_default()),
    }
}
