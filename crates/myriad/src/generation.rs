//! [`ServerGeneration`]: a configuration with all resources that the supervisor opened for it.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use myriad_conf::model::{MainConf, WorkerProcesses};
use myriad_conf::settings::BodyInFile;
use myriad_conf::{Model, Span};
use myriad_log::{ErrorLog, LogLevel};

use crate::folders;
use crate::handover::{Confinement, HandedFiles, WorkerHandover};
use crate::listeners::{ListenerSet, QUIC};
use crate::logs::LogFiles;
use crate::state;
use crate::ticket_keys::TicketKeys;
use myriad_cli::accounts::Account;
use myriad_cli::admin::socket;
use myriad_cli::configuration::{Configuration, ConfigurationSource, ResolvedHost};
use myriad_cli::pidfile::reason;
use myriad_cli::report::ConfigFinding;
use myriad_cli::wordpress;

/// User of the workers without the directive `user`, as in nginx.
const DEFAULT_USER: &str = "nobody";

/// Configuration with its sockets, its logs and the user of its workers.
///
/// The supervisor retains only the values that it uses, and the files for the next worker process. Only the worker has
/// the syntax tree and the servers, of which there may be thousands.
#[derive(Debug)]
pub(crate) struct ServerGeneration {
    pub(crate) origin: ConfigurationSource,
    /// Settings of the main level of the configuration, outside of `http`.
    pub(crate) main: MainConf,
    /// Folders of the cache zones of the configuration.
    zones: Vec<PathBuf>,
    /// Files in which the supervisor stores state for the workers, such as certificates.
    pub(crate) state: Vec<PathBuf>,
    /// Description of the running `myriad wordpress` or `myriad php` for `status`, in lines; empty for other servers.
    pub(crate) facts: String,
    files: HandedFiles,
    hosts: Vec<ResolvedHost>,
    pub(crate) listeners: ListenerSet,
    pub(crate) logs: LogFiles,
    pub(crate) log: ErrorLog,
    account: Option<Account>,
}

impl ServerGeneration {
    /// Creates the folders and the history file, and opens the logs and sockets of the configuration. Sockets that
    /// `current` has are reused. If the control socket at its default path cannot be created, a warning is logged; with
    /// `control_socket` it is an error.
    ///
    /// # Errors
    /// Returns messages for the log if the user is unknown, or if a folder, log or socket cannot be created or opened.
    pub(crate) fn prepare(
        origin: &ConfigurationSource,
        configuration: &Configuration,
        current: &ListenerSet,
    ) -> Result<Self, Vec<ConfigFinding>> {
        let model = &configuration.model;
        let paths = &origin.paths;
        let account = account(model).map_err(|error| vec![error.into()])?;
        let left = make_folders(model, origin, account.as_ref()).map_err(|error| vec![error.into()])?;
        make_history(model, origin, account.as_ref());
        let logs = LogFiles::open(model, paths).map_err(|error| vec![error.into()])?;
        let log = logs.main(&model.main, paths).map_err(|error| vec![error.to_string().into()])?;
        for path in left {
            let text = format_args!(
                "the folder \"{}\" will be created by the worker processes: root does not follow a symbolic link that other \
                     users may have created",
                path.display()
            );
            log.write(LogLevel::Warn, None, text);
        }
        let mut listeners = ListenerSet::open(model, threads(model), current)?;
        if let Some((path, is_written)) = socket::path(model, paths)
            && let Err(error) = listeners.add_control(&path, current)
        {
            let reason = reason(&error);
            let text = format!("the control socket \"{}\" could not be created ({reason})", path.display());
            if is_written {
                listeners.discard_fresh();
                let text = format!("{text}: set another path with \"control_socket\", or \"off\"");
                return Err(vec![text.into()]);
            }
            // Only a warning: the configuration does not contain the directive, and serving is more important.
            log.write(
                LogLevel::Warn,
                None,
                format_args!("{text}; \"myriad purge\" and \"myriad cache\" will not work"),
            );
        }
        let zones = model.http.iter().flat_map(|http| &http.cache_zones);
        let tls_files =
            configuration.tls_files.iter().map(|(path, bytes)| (path.as_path(), bytes.as_slice()));
        Ok(Self {
            origin: origin.clone(),
            main: model.main.clone(),
            zones: zones.map(|zone| paths.complete(zone.path.bytes())).collect(),
            state: state::names(model, &paths.prefix),
            facts: origin.preset.as_ref().map(|_| wordpress::facts(model, paths)).unwrap_or_default(),
            files: HandedFiles::pack(configuration.files(), tls_files),
            hosts: configuration.hosts.clone(),
            listeners,
            logs,
            log,
            account,
        })
    }

    /// Returns the configuration, with its state files and keys, as payload for the worker process with number
    /// `process`.
    pub(crate) fn handover(&self, process: u8, ticket_keys: &TicketKeys) -> WorkerHandover {
        WorkerHandover {
            paths: self.origin.paths.clone(),
            directives: self.origin.directives.clone(),
            files: self.files.clone(),
            stored_state: state::read(&self.state),
            hosts: self.hosts.clone(),
            listeners: self.listeners.iter().map(|(name, _)| name.to_owned()).collect(),
            quic: (self.listeners.secret().to_vec().into(), process),
            ticket_keys: ticket_keys.clone(),
            logs: self.logs.iter().map(|(path, _)| path.to_owned()).collect(),
        }
    }

    /// Returns the user, limits, working directory and sandbox setting that a new worker process applies before it
    /// reads the configuration.
    pub(crate) fn confinement(&self) -> Confinement {
        Confinement {
            account: self.account.clone(),
            descriptors: self.main.worker_rlimit_nofile,
            core: self.main.worker_rlimit_core,
            folder: self.main.working_directory.as_ref().map(|folder| folder.lossy().as_ref().into()),
            sandbox: self.main.sandbox,
        }
    }

    /// Returns whether the running worker process of `self` can also run `next`: its user, limits, working directory,
    /// sandbox setting and environment are unchanged.
    pub(crate) fn shares_process_with(&self, next: &Self) -> bool {
        self.confinement() == next.confinement() && self.main.env == next.main.env
    }

    /// Returns the IDs of the QUIC listeners ([`myriad_serve::listener_id`]).
    pub(crate) fn quic_listeners(&self) -> Vec<u64> {
        let names = self.listeners.iter().map(|(name, _)| name).filter(|name| name.starts_with(QUIC));
        let mut ids: Vec<u64> = names.map(myriad_serve::listener_id).collect();
        ids.dedup();
        ids
    }

    /// Returns the path of the pid file.
    pub(crate) fn pid_path(&self) -> PathBuf {
        self.origin.paths.complete(self.main.pid.bytes())
    }

    /// Returns the file to which a daemon redirects standard error: its first error log. Returns `None` without `daemon
    /// on`, or if that log is not an open file (standard error, syslog).
    pub(crate) fn terminal_substitute(&self) -> Option<OwnedFd> {
        let log = self.main.error_logs.first().filter(|_| self.is_daemon())?;
        let path = self.origin.paths.complete(log.target.bytes());
        let file = self.logs.iter().find(|(known, _)| *known == path)?.1;
        file.try_clone_to_owned().ok()
    }

    /// Returns whether the directive `daemon` is on.
    pub(crate) fn is_daemon(&self) -> bool {
        self.main.daemon
    }
}

/// Returns the number of worker threads; with `reuseport` each thread has a socket.
fn threads(model: &Model) -> usize {
    match model.main.worker_processes {
        WorkerProcesses::Auto => std::thread::available_parallelism().map_or(1, Into::into),
        WorkerProcesses::Count(count) => count as usize,
    }
}

/// Returns the account that the directive `user` names, by default `nobody`; `None` unless root starts the server,
/// because only root can change to another user. Returns an error text if the user or group is unknown.
pub(crate) fn account(model: &Model) -> Result<Option<Account>, String> {
    if !rustix::process::geteuid().is_root() {
        return Ok(None);
    }
    let main = &model.main;
    let user = main.user.as_ref().map_or(DEFAULT_USER.into(), |user| user.lossy());
    let group = main.group.as_ref().map(|group| group.lossy());
    Account::find(&user, group.as_deref()).map(Some)
}

impl ServerGeneration {
    /// Returns whether `path` is the folder of a cache zone of the configuration.
    pub(crate) fn is_zone(&self, path: &Path) -> bool {
        self.zones.iter().any(|zone| zone == path)
    }

    /// Recreates the folder of a zone for a worker that has no right to create it.
    ///
    /// Returns an error if the folder would be below a folder that other users can change, so that nothing is created
    /// there: they could redirect the path that root follows.
    pub(crate) fn remake_folder(&self, path: &Path) -> io::Result<()> {
        folders::is_safe(path)?;
        let is_made = folders::make(path, self.account.as_ref())?;
        is_made.then_some(()).ok_or_else(|| io::ErrorKind::PermissionDenied.into())
    }
}

/// Creates the history file, if history is stored in a file and root starts the server, and gives it to the user of the
/// workers: workers cannot create files in the folder above a zone. Errors are ignored: the worker reports that the file is
/// missing.
fn make_history(model: &Model, origin: &ConfigurationSource, account: Option<&Account>) {
    if let (Some(account), myriad_serve::HistoryStorage::At(path)) =
        (account, myriad_serve::history_path(model, &origin.paths.prefix))
    {
        let _ = folders::make_file(&path, account);
    }
}

/// Creates the folders of cache zones and of request bodies (if `client_body_temp_path` or `client_body_in_file_only`
/// is set), and gives them to the user of the workers. Returns the folders that root must not create, which the workers
/// must create themselves.
fn make_folders(
    model: &Model,
    origin: &ConfigurationSource,
    account: Option<&Account>,
) -> Result<Vec<PathBuf>, String> {
    let mut left = Vec::new();
    let Some(http) = &model.http else { return Ok(left) };
    let zones = http.cache_zones.iter().map(|zone| &zone.path);
    let bodies = http.levels().into_iter().map(|settings| &settings.client).filter(|client| {
        client.body_temp_path.path.span != Span::default() || client.body_in_file_only != BodyInFile::Off
    });
    for path in zones.chain(bodies.map(|client| &client.body_temp_path.path)) {
        let path = origin.paths.complete(path.bytes());
        let is_made = folders::make(&path, account)
            .map_err(|error| format!("mkdir() \"{}\" failed ({})", path.display(), reason(&error)))?;
        if !is_made && !left.contains(&path) {
            left.push(path);
        }
    }
    Ok(left)
}
