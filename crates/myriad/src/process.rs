//! Worker processes, as the supervisor sees one: a child and the channel to it.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Instant;

use myriad_conf::model::MainConf;
use myriad_serve::{QuicProcess, Standing};
use rustix::process::{Pid, Signal, kill_process};

use crate::control::{Channel, Kind};
use crate::generation::Generation;
use crate::handover::Processes;
use crate::inbox;
use crate::ticket_keys::TicketKeys;
use crate::worker;

/// What the allocator of a worker is told: threads take over no memory of threads that have ended (`apart`), else what one configuration
/// has left would be scattered over that of the next, and none of it would ever go back to the system.
const ALLOCATOR: [(&str, &str); 2] =
    [("MIMALLOC_MAX_SEGMENT_RECLAIM", "0"), ("MIMALLOC_ABANDONED_PAGE_PURGE", "1")];

/// A child and the channel to it.
#[derive(Debug)]
pub(crate) struct WorkerProcess {
    child: Child,
    /// `None` once the worker closed its end.
    pub(crate) channel: Option<Channel>,
    /// ```text
    /// Starting --Ready--> Serving --told to go--> Leaving --exit--> gone
    /// ```
    /// A process may end in any state.
    pub(crate) state: Standing,
    pub(crate) since: Instant,
    /// Number, which connection IDs of QUIC hold, and rank ([`QuicProcess`]).
    name: (u8, u64),
    /// Listeners for QUIC of the configuration that it runs, by [`myriad_serve::listener_id`].
    pub(crate) quic: Vec<u64>,
    /// Way into its inbox, once it has listeners for QUIC.
    way_in: Option<OwnedFd>,
    /// The inbox itself, until the process has it.
    inbox: Option<OwnedFd>,
}

impl WorkerProcess {
    /// Starts this same binary as a worker under that name and hands it a configuration, and the others that serve QUIC. `respawned` workers
    /// ended by themselves before it, which the API shows.
    pub(crate) fn start(
        generation: &Generation,
        keys: &TicketKeys,
        respawned: u64,
        name: (u8, u64),
        others: &[(QuicProcess, BorrowedFd<'_>)],
    ) -> io::Result<Self> {
        let (channel, theirs) = Channel::pair()?;
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
            // Nobody knows of it yet, so nobody else would wait for its end.
            let _ = process.child.kill();
            process.child.wait()?;
            return Err(error);
        }
        Ok(process)
    }

    /// Tells a process that has just started what it needs to serve.
    fn begin(
        &mut self,
        generation: &Generation,
        keys: &TicketKeys,
        others: &[(QuicProcess, BorrowedFd<'_>)],
    ) -> io::Result<()> {
        self.tell(Kind::Confine, &generation.confinement().encode(), &[])?;
        // Before the configuration: whether it may read the sockets of QUIC follows from who else there is.
        self.make_inbox()?;
        self.tell_of(others)?;
        self.inbox_is_told();
        self.configure(generation, keys)
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends a configuration with the descriptors that it needs.
    pub(crate) fn configure(&self, generation: &Generation, keys: &TicketKeys) -> io::Result<()> {
        let listeners = generation.listeners.iter().map(|(_, socket)| socket);
        let logs = generation.logs.iter().map(|(_, file)| file);
        let descriptors: Vec<_> = listeners.chain(logs).collect();
        self.tell(Kind::Configure, &generation.handover(self.name.0, keys).encode(), &descriptors)
    }

    /// Number that its connection IDs hold.
    pub(crate) fn number(&self) -> u8 {
        self.name.0
    }

    /// What others are to know of it, with the way into its inbox; none where it serves no QUIC.
    pub(crate) fn reachable(&self) -> Option<(QuicProcess, BorrowedFd<'_>)> {
        Some((self.quic_process(), self.way_in.as_ref()?.as_fd()))
    }

    fn quic_process(&self) -> QuicProcess {
        let (number, rank) = self.name;
        QuicProcess { number, rank, standing: self.state, listeners: self.quic.clone() }
    }

    /// Makes the inbox of a process that serves QUIC and has none.
    pub(crate) fn make_inbox(&mut self) -> io::Result<()> {
        if self.way_in.is_none() && !self.quic.is_empty() {
            let (way_in, inbox) = inbox::make()?;
            self.way_in = Some(way_in);
            self.inbox = Some(inbox);
        }
        Ok(())
    }

    /// Forgets the inbox, which the process has got.
    pub(crate) fn inbox_is_told(&mut self) {
        self.inbox = None;
    }

    /// Tells it which others serve QUIC at the same sockets, and how it stands itself.
    pub(crate) fn tell_of(&self, others: &[(QuicProcess, BorrowedFd<'_>)]) -> io::Result<()> {
        if self.way_in.is_none() {
            return Ok(());
        }
        let channel = self.channel.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
        let own = self.quic_process();
        let others: Vec<_> = others.iter().filter(|(other, _)| other.number != own.number).cloned().collect();
        Processes::send(channel, Some((&own, self.inbox.as_ref().map(AsFd::as_fd))), &others)
    }

    /// Sends one message.
    pub(crate) fn tell(&self, kind: Kind, payload: &[u8], descriptors: &[BorrowedFd<'_>]) -> io::Result<()> {
        let channel = self.channel.as_ref().ok_or(io::ErrorKind::BrokenPipe)?;
        channel.send(kind, payload, descriptors)
    }

    /// Tells it to finish what is under way and end.
    pub(crate) fn quit(&mut self) {
        self.state = Standing::Leaving;
        if self.tell(Kind::Quit, b"", &[]).is_err() {
            // Closing the channel says the same.
            self.channel = None;
        }
    }

    /// Sends TERM: it writes what must be kept and ends.
    pub(crate) fn terminate(&mut self) {
        self.state = Standing::Leaving;
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
    }

    /// Kills it.
    pub(crate) fn kill(&mut self) {
        let _ = self.child.kill();
    }

    /// Exit status, if it has ended.
    pub(crate) fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().ok().flatten()
    }
}

/// Environment as nginx documents `env`: all variables are removed but `TZ`, `RUST_BACKTRACE` and those that the directive
/// names.
fn set_environment(command: &mut Command, main: &MainConf) {
    command.env_clear();
    let kept = ["TZ", "RUST_BACKTRACE"].map(str::to_owned);
    let written = main.env.iter().map(|variable| variable.lossy().into_owned());
    for variable in kept.into_iter().chain(written) {
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

/// nginx's words for how a process ended.
pub(crate) fn describe(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(signal), _) if status.core_dumped() => format!("exited on signal {signal} (core dumped)"),
        (Some(signal), _) => format!("exited on signal {signal}"),
        (None, code) => format!("exited with code {}", code.unwrap_or_default()),
    }
}
