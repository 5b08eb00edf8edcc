//! The worker process: receives configurations from the supervisor, drops its rights, and runs the site.
//!
//! ```text
//! started --Confine, Configure--> serving --Quit, or the supervisor has exited--> draining --last exchange--> exit 0
//!                                 serving --Configure--> serving (with the new configuration)
//!                                 any state --SIGTERM--> exit 0, or 1 if a component has failed
//! ```

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::thread;

use myriad_conf::SourceFile;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Resource, Rlimit, Signal, getrlimit, setrlimit};

use crate::confine::confine;
use crate::control::{ControlChannel, ControlMessage, MessageKind};
use crate::core_dumps;
use crate::handover::{
    Confinement, QuicProcesses, WorkerHandover, decode_paths, encode_file, encode_paths, encode_ticket_key,
};
use crate::listeners::CONTROL;
use crate::stdio;
use myriad_cli::admin::server::ControlServer;
use myriad_cli::configuration;
use myriad_cli::signals::Signals;
use myriad_serve::{
    FolderCreator, InheritedResources, QuicRelay, RunningSite, SharedStateStorage, StateStorage,
    release_memory_soon, run_on_temporary_thread,
};
use myriad_tls::TicketKeyStore;

/// Hidden argument by which this binary runs as a worker.
pub(crate) const ARGUMENT: &str = "--worker";

/// Error text for an invalid message payload of the supervisor.
const NO_CONFIGURATION: &str = "the supervisor sent no valid configuration";

/// Signals that a worker ignores. They are intended for the supervisor, and would terminate the process.
const IGNORED: [Signal; 4] = [Signal::INT, Signal::HUP, Signal::USR1, Signal::USR2];

/// Sends data that must outlive the worker process to the supervisor, which stores it.
#[derive(Debug)]
struct SupervisorKeeper(Arc<ControlChannel>);

impl SupervisorKeeper {
    fn send_to_supervisor(&self, kind: MessageKind, path: &Path, payload: &[u8]) {
        if let Err(error) = self.0.send(kind, payload, &[]) {
            eprintln!("myriad: [alert] \"{}\" could not be sent to the supervisor: {error}", path.display());
        }
    }
}

impl StateStorage for SupervisorKeeper {
    fn save_file(&self, path: &Path, bytes: &[u8]) {
        self.send_to_supervisor(MessageKind::Keep, path, &encode_file(path, bytes));
    }
}

impl FolderCreator for SupervisorKeeper {
    fn request_folder(&self, path: &Path) {
        self.send_to_supervisor(MessageKind::Folder, path, &encode_paths(std::iter::once(path)));
    }
}

impl TicketKeyStore for SupervisorKeeper {
    fn ticket_keys(&self, lifetime_s: u32, record: Option<&[u8]>) {
        // Fails if the supervisor has exited; then no next process is started.
        let _ = self.0.send(
            MessageKind::TicketKeys,
            &encode_ticket_key(lifetime_s, record.unwrap_or_default()),
            &[],
        );
    }
}

/// Runs the worker until it is requested to stop. Standard input is the channel to the supervisor.
pub(crate) fn run() -> ExitCode {
    match WorkerRuntime::inherit().and_then(WorkerRuntime::serve) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("myriad: [emerg] worker process: {error}");
            ExitCode::FAILURE
        }
    }
}

struct WorkerRuntime {
    channel: Arc<ControlChannel>,
    signals: Signals,
    site: Option<Arc<RunningSite>>,
    /// Server of the control socket; `None` if the configuration has none, before the first configuration, and while
    /// connections are drained.
    control_server: Option<ControlServer>,
    /// User ID of the user that started the server; that user may use the control socket.
    owner: u32,
    /// Description of the rights that the process has dropped, for the log, or the error of dropping them. `None`
    /// before the rights are dropped, and after the description was reported.
    confined: Option<Result<String, String>>,
    /// Relay of QUIC datagrams to and from other processes with the same sockets.
    relay: Arc<QuicRelay>,
    draining: bool,
    /// True if the supervisor has exited or a message could not be received: the channel is no longer polled, because a
    /// closed one would always be readable.
    orphaned: bool,
}

impl WorkerRuntime {
    fn inherit() -> io::Result<Self> {
        let watched = [&[Signal::TERM, Signal::QUIT][..], &IGNORED].concat();
        let signals = Signals::watch(&watched)?;
        let channel = ControlChannel::new(UnixStream::from(stdio::take_stdin()?))?;
        // The user before the worker changes to its account.
        let owner = rustix::process::geteuid().as_raw();
        Ok(Self {
            channel: Arc::new(channel),
            signals,
            site: None,
            control_server: None,
            owner,
            confined: None,
            relay: Arc::default(),
            draining: false,
            orphaned: false,
        })
    }

    fn serve(mut self) -> io::Result<()> {
        let mut is_confined = false;
        loop {
            let (signalled, spoken) = self.wait()?;
            if signalled {
                let raised = self.signals.take();
                if raised.contains(&Signal::TERM) {
                    // Saves the file indexes of zones: for a million files this takes a second, and saves a minute at
                    // the next start.
                    if let Some(site) = &self.site {
                        site.halt();
                        if site.has_failed() {
                            return Err(io::Error::other("a component failed"));
                        }
                    }
                    return Ok(());
                }
                if raised.contains(&Signal::QUIT) {
                    self.drain();
                }
            }
            if spoken {
                // Memory for reading a configuration is returned to the system afterwards. The first message makes the
                // process drop its rights, which requires that this is its only thread.
                if is_confined {
                    run_on_temporary_thread(|| self.handle_next_message())?;
                } else {
                    self.handle_next_message()?;
                }
                is_confined = true;
            }
        }
    }

    /// Handles the next message of the supervisor. If the supervisor has closed the channel or the message cannot be
    /// received, starts to drain the connections. Returns an error, on which the process exits, if the first
    /// configuration is rejected or no reply can be sent.
    fn handle_next_message(&mut self) -> io::Result<()> {
        if let Ok(Some(message)) = self.channel.receive() {
            self.handle(message)?;
        } else {
            // The supervisor has exited: the worker completes the requests in progress and exits too.
            self.orphaned = true;
            self.drain();
        }
        Ok(())
    }

    /// Waits for a signal or a message. Returns whether a signal was (or may have been) raised, and whether the channel
    /// is readable.
    fn wait(&self) -> io::Result<(bool, bool)> {
        let channel = [PollFd::new(&self.channel, PollFlags::IN)];
        let mut polled = vec![PollFd::new(&self.signals, PollFlags::IN)];
        if !self.orphaned {
            polled.extend(channel);
        }
        match poll(&mut polled, None) {
            Err(rustix::io::Errno::INTR) => Ok((true, false)),
            Err(error) => Err(error.into()),
            Ok(_) => {
                let ready =
                    |index: usize| polled.get(index).is_some_and(|polled| !polled.revents().is_empty());
                Ok((ready(0), ready(1)))
            }
        }
    }

    fn handle(&mut self, message: ControlMessage) -> io::Result<()> {
        if self.draining && message.kind != MessageKind::Processes {
            return Ok(());
        }
        match message.kind {
            // An error is reported only after the configuration has been read, because the supervisor is still sending
            // it.
            MessageKind::Confine => self.confined = Some(apply_confinement(&message.payload)),
            MessageKind::Configure => match self.configure(message) {
                Ok(()) => {
                    let confined = self.confined.take().and_then(Result::ok).unwrap_or_default();
                    self.channel.send(MessageKind::Ready, confined.as_bytes(), &[])?;
                    release_memory_soon();
                }
                Err(reason) if self.site.is_none() => return Err(self.report_failure(reason)),
                Err(reason) => {
                    self.channel.send(MessageKind::Failed, reason.as_bytes(), &[])?;
                    release_memory_soon();
                }
            },
            MessageKind::Reopen => {
                let paths = decode_paths(&message.payload).unwrap_or_default();
                if let Some(site) = &self.site {
                    site.reopen(paths.into_iter().zip(message.descriptors).collect());
                }
            }
            MessageKind::Quit => self.drain(),
            MessageKind::Processes => self.update_quic_processes(message),
            MessageKind::Ready
            | MessageKind::Failed
            | MessageKind::Drained
            | MessageKind::Keep
            | MessageKind::Folder
            | MessageKind::TicketKeys
            | MessageKind::Listeners => {}
        }
        Ok(())
    }

    /// Reports to the supervisor why this process exits. Returns the reason as error, or the error of the report.
    fn report_failure(&self, reason: String) -> io::Error {
        match self.channel.send(MessageKind::Failed, reason.as_bytes(), &[]) {
            Ok(()) => io::Error::other(reason),
            Err(error) => error,
        }
    }

    /// Stores the list of other processes that serve QUIC on the same sockets, and the inbox of this process if the
    /// message contains it, which is read once a configuration runs. Ignores invalid messages.
    fn update_quic_processes(&mut self, message: ControlMessage) {
        let ControlMessage { payload, mut descriptors, .. } = message;
        let Some(mut processes) = QuicProcesses::decode(&payload) else { return };
        if processes.has_inbox && !descriptors.is_empty() {
            self.relay.set_inbox(descriptors.remove(0));
        }
        if let Some((own, others)) = processes.own.take().zip(processes.reachable(descriptors)) {
            self.relay.set_processes(own, others.into_iter().map(|it| (it.process, it.sender)).collect());
        }
        // The first inbox is read only after the process has dropped its rights, so that its threads inherit the
        // restrictions.
        if self.site.is_some()
            && let Err(error) = self.relay.start_reading_inbox()
        {
            // Connections of this process continue, except those whose datagrams other processes forward; they wait for
            // the next attempt.
            eprintln!("myriad: [alert] QUIC packets from other processes cannot be read: {error}");
        }
    }

    /// Runs a configuration that the supervisor sent. Rejects the first configuration unless the process has applied
    /// its account and limits.
    fn configure(
        &mut self,
        ControlMessage { payload, descriptors, .. }: ControlMessage,
    ) -> Result<(), String> {
        if self.site.is_none() {
            self.confined.as_ref().ok_or(NO_CONFIGURATION)?.as_ref().map_err(String::clone)?;
        }
        let mut handover = WorkerHandover::decode(&payload).ok_or(NO_CONFIGURATION)?;
        drop(payload);
        let [files, mut tls_files] = handover.files.unpack().ok_or(NO_CONFIGURATION)?;
        tls_files.append(&mut handover.stored_state);
        let (model, sources) =
            configuration::rebuild(files, &handover.paths, &handover.directives, &handover.hosts)?;
        let mut inherited = self.inherited_resources(handover, tls_files, descriptors, sources)?;
        let is_control = |(name, _): &mut (String, OwnedFd)| name.starts_with(CONTROL);
        let control = inherited.listeners.extract_if(.., is_control).next().map(|(_, socket)| socket);
        if let Some(site) = &self.site {
            let channel = Arc::clone(&self.channel);
            let drained = Box::new(move || drop(channel.send(MessageKind::Drained, b"", &[])));
            site.reload(&model, inherited, drained).map_err(|error| error.to_string())?;
        } else {
            let site = RunningSite::start(&model, inherited).map_err(|error| error.to_string())?;
            self.site = Some(Arc::new(site));
        }
        self.serve_control_socket(control)
    }

    /// Serves the control socket `control` and stops serving the previous one. If `control` is `None` or this process
    /// has no site, only stops serving the previous one.
    fn serve_control_socket(&mut self, control: Option<OwnedFd>) -> Result<(), String> {
        let asked = self.site.as_ref().zip(control);
        let control_server =
            asked.map(|(site, socket)| ControlServer::open(socket, Arc::clone(site), self.owner));
        self.control_server =
            control_server.transpose().map_err(|error| format!("the control socket: {error}"))?;
        Ok(())
    }

    /// Returns the connection to the supervisor, for data that must outlive this process.
    fn keeper(&self) -> SharedStateStorage {
        Arc::new(SupervisorKeeper(Arc::clone(&self.channel)))
    }

    /// Collects the resources that the site receives from the supervisor.
    fn inherited_resources(
        &self,
        handover: WorkerHandover,
        tls_files: Vec<(PathBuf, Vec<u8>)>,
        descriptors: Vec<OwnedFd>,
        sources: Vec<SourceFile>,
    ) -> Result<InheritedResources, String> {
        let WorkerHandover { paths, listeners, quic, ticket_keys, logs, .. } = handover;
        if descriptors.len() != listeners.len() + logs.len() {
            return Err("a file descriptor is missing".into());
        }
        let mut descriptors = descriptors.into_iter();
        let (quic_secret, process) = quic;
        Ok(InheritedResources {
            listeners: listeners.into_iter().zip(descriptors.by_ref()).collect(),
            quic_secret,
            process,
            relay: Arc::clone(&self.relay),
            logs: logs.into_iter().zip(descriptors).collect(),
            tls_files: tls_files.into_iter().collect(),
            keeper: self.keeper(),
            ticket_keys: ticket_keys.into_map(),
            sources,
            folder: paths.configuration.parent().unwrap_or(&paths.prefix).to_owned(),
            prefix: paths.prefix,
        })
    }

    /// Starts to drain the connections, unless this has been done, and exits the process afterwards.
    fn drain(&mut self) {
        if std::mem::replace(&mut self.draining, true) {
            return;
        }
        self.control_server = None;
        self.relay.stop_accepting();
        let site = self.site.take();
        thread::spawn(move || {
            if let Some(site) = site {
                site.quit();
                site.wait();
            }
            std::process::exit(0);
        });
    }
}

/// Applies limits, account, core dump setting, working directory and sandbox. Must be called while the process has a
/// single thread. Returns a description of the dropped rights for the log, empty with `sandbox off`. A limit that
/// cannot be set only causes a warning.
fn apply_confinement(payload: &[u8]) -> Result<String, String> {
    let confinement = Confinement::decode(payload).ok_or(NO_CONFIGURATION)?;
    if let Err(error) = limit(&confinement) {
        // Only a warning, as in nginx: a server with fewer descriptors is better than none.
        eprintln!("myriad: [warn] setrlimit() failed: {error}");
        let _ = raise_descriptors();
    }
    if let Some(account) = &confinement.account {
        account.switch_process().map_err(|error| format!("setuid({}) failed: {error}", account.uid))?;
    }
    core_dumps::apply(confinement.core).map_err(|error| format!("prctl(PR_SET_DUMPABLE) failed: {error}"))?;
    if let Some(folder) = &confinement.folder {
        std::env::set_current_dir(folder)
            .map_err(|error| format!("chdir(\"{}\") failed: {error}", folder.display()))?;
    }
    if confinement.sandbox { confine_worker() } else { Ok(String::new()) }
}

fn confine_worker() -> Result<String, String> {
    let confined = confine().map_err(|error| {
        format!(
            "the worker could not drop its privileges: {error}; \"sandbox off;\" runs it without the sandbox"
        )
    })?;
    Ok(confined.to_string())
}

/// Sets the process limits of `worker_rlimit_nofile` and `worker_rlimit_core`. Without `worker_rlimit_nofile`, the
/// limit is raised as far as possible, because the usual soft limit of 1024 is too low for a server.
fn limit(confinement: &Confinement) -> io::Result<()> {
    core_dumps::limit(confinement.core)?;
    let descriptors = getrlimit(Resource::Nofile);
    let wanted = match confinement.descriptors {
        Some(count) => {
            Rlimit { current: Some(count), maximum: descriptors.maximum.map(|max| max.max(count)) }
        }
        None => return raise_descriptors(),
    };
    Ok(setrlimit(Resource::Nofile, wanted)?)
}

/// Raises the soft limit of descriptors to the hard limit, which needs no privilege.
fn raise_descriptors() -> io::Result<()> {
    let most = getrlimit(Resource::Nofile).maximum;
    Ok(setrlimit(Resource::Nofile, Rlimit { current: most, maximum: most })?)
}
