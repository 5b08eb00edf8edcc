//! `daemon on` without fork: the started process executes its own binary again in a new session and waits for the
//! result.
//!
//! ```text
//! started process --exec, MYRIAD_DETACHED--> supervisor: setsid, bind, start the worker, write the pid file
//!       exit 0 <------------ 'R' -------------- ready
//!       exit 1 <-------- end of file ---------- failed; its errors are already on standard error
//! ```

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::process::{Child, Command, ExitCode, Stdio};

use myriad_serve::QuicProcess;

use crate::activation;
use crate::control::{ControlChannel, MessageKind};
use crate::handover::{LegacyHandover, QuicProcesses};
use crate::inbox::ReachableProcess;
use crate::listeners::ListenerSet;
use crate::notify;
use crate::stdio;
use crate::ticket_keys::TicketKeys;
use myriad_cli::instance::InstanceLock;

const DETACHED: &str = "MYRIAD_DETACHED";
const UPGRADE: &str = "MYRIAD_UPGRADE";
/// Name of the lock of the folder (`myriad wordpress`) among the names of passed sockets. An older binary treats it as
/// a socket that it does not need.
const INSTANCE: &str = "instance";
const READY: u8 = b'R';

/// Returns whether this process was started by a supervisor that passes its sockets to a new binary.
pub(crate) fn is_upgrade() -> bool {
    std::env::var_os(UPGRADE).is_some()
}

/// Origin of this process: a plain start, the background half of `daemon on`, or an upgrade.
#[derive(Debug)]
pub(crate) enum ProcessOrigin {
    /// Started by a person, a script or an init system; also the foreground half of `daemon on`.
    Plain,
    /// Background half of `daemon on`; the stream reports success to the foreground half.
    Detached(UnixStream),
    /// Started by a supervisor for an upgrade. The old supervisor passes its sockets, its TLS ticket keys, and the lock
    /// of its prefix folder if it has locked one (`myriad wordpress`).
    Upgrade(ListenerSet, TicketKeys, PredecessorSupervisor, Option<InstanceLock>),
}

/// Supervisor that started this process, for an upgrade.
#[derive(Debug)]
pub(crate) struct PredecessorSupervisor {
    /// Number of supervisors before this one in the chain of upgrades.
    pub(crate) depth: u32,
    pub(crate) channel: ControlChannel,
    /// Worker processes of earlier supervisors that serve QUIC on the same sockets; empty if an older binary does not
    /// report them.
    pub(crate) processes: Vec<ReachableProcess>,
}

impl ProcessOrigin {
    /// Determines how this process was started, from its environment. The background half of `daemon on` starts its
    /// session here. Returns an error if an old supervisor has passed no sockets.
    pub(crate) fn from_environment() -> io::Result<Self> {
        if std::env::var_os(DETACHED).is_some() {
            rustix::process::setsid()?;
            return Ok(Self::Detached(stdio::take_stdin()?.into()));
        }
        if std::env::var_os(UPGRADE).is_none() {
            return Ok(Self::Plain);
        }
        let channel = ControlChannel::new(stdio::take_stdin()?.into())?;
        let message = channel.receive()?.filter(|message| message.kind == MessageKind::Listeners);
        let message = message.ok_or_else(|| io::Error::other("the old process handed over no sockets"))?;
        let LegacyHandover { names, secret, ticket_keys, depth } =
            LegacyHandover::decode(&message.payload).unwrap_or_default();
        // An older binary does not send this message.
        let received =
            channel.receive().ok().flatten().filter(|message| message.kind == MessageKind::Processes);
        let processes = received.and_then(|message| {
            QuicProcesses::decode(&message.payload)
                .and_then(|processes| processes.reachable(message.descriptors))
        });
        let elder = PredecessorSupervisor { depth, channel, processes: processes.unwrap_or_default() };
        let mut named: Vec<_> = names.into_iter().zip(message.descriptors).collect();
        let lock = named.extract_if(.., |(name, _)| name == INSTANCE).next();
        let listeners = ListenerSet::inherit(named.into_iter(), secret);
        Ok(Self::Upgrade(listeners, ticket_keys, elder, lock.map(|(_, lock)| InstanceLock::inherit(lock))))
    }
}

/// Reports to the foreground half of `daemon on` that the server runs.
pub(crate) fn announce_ready(mut foreground: UnixStream) {
    // Fails if the foreground half has been killed meanwhile; the server continues.
    let _ = foreground.write_all(&[READY]);
}

/// Starts the background half of `daemon on`, and waits until the server runs or has failed. Returns the exit status of
/// the foreground half.
pub(crate) fn detach() -> io::Result<ExitCode> {
    let (mut ours, theirs) = UnixStream::pair()?;
    let mut command = same_command(std::env::current_exe()?);
    command.env(DETACHED, "1").stdin(Stdio::from(OwnedFd::from(theirs)));
    let mut child = command.spawn()?;
    // The command owns the other endpoint until it is dropped; the end of the stream would not be seen.
    drop(command);
    let mut answer = [0];
    match ours.read(&mut answer) {
        Ok(1) if answer[0] == READY => Ok(ExitCode::SUCCESS),
        _ => {
            let _ = child.wait();
            Ok(ExitCode::FAILURE)
        }
    }
}

/// Starts a new binary with the same command line, and sends it the listening sockets, the TLS ticket keys, the lock of
/// the folder, and the worker processes that serve QUIC.
///
/// Returns the child process, and the channel to it unless the new binary has closed it.
pub(crate) fn upgrade(
    binary: PathBuf,
    (listeners, keys): (&ListenerSet, &TicketKeys),
    instance: Option<&InstanceLock>,
    (depth, processes): (u32, &[(QuicProcess, BorrowedFd<'_>)]),
) -> io::Result<(Child, Option<ControlChannel>)> {
    let (channel, theirs) = ControlChannel::pair()?;
    let mut command = same_command(binary);
    command.env(UPGRADE, "1").stdin(Stdio::from(OwnedFd::from(theirs)));
    let child = command.spawn()?;
    let lock = instance.map(|instance| (INSTANCE, instance.as_fd()));
    let (names, descriptors): (Vec<_>, Vec<_>) = listeners.iter().chain(lock).unzip();
    let legacy = LegacyHandover {
        names: names.into_iter().map(str::to_owned).collect(),
        secret: listeners.secret().to_vec().into(),
        ticket_keys: keys.clone(),
        depth,
    };
    channel.send(MessageKind::Listeners, &legacy.encode(), &descriptors)?;
    // An older binary has already closed its endpoint of the channel. It serves nevertheless.
    let accepts_processes = QuicProcesses::send(&channel, None, processes).is_ok();
    Ok((child, accepts_processes.then_some(channel)))
}

fn same_command(binary: PathBuf) -> Command {
    let mut command = Command::new(binary);
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    command.args(arguments).stdout(Stdio::null()).env_remove(DETACHED).env_remove(UPGRADE);
    // These variables apply only to this process: the new process handles the watchdog from then on, and receives its
    // sockets through the channel.
    command.env_remove(notify::WATCHDOG_PROCESS);
    for name in activation::VARIABLES {
        command.env_remove(name);
    }
    command
}
