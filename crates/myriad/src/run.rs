//! Execution of the command lines that [`cli::parse`] accepts; `main` executes the other commands.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use myriad_conf::Model;
use myriad_log::{ErrorLog, ErrorLogTarget, LogFile, LogLevel, LogSink};
use myriad_serve::{release_memory_soon, run_on_temporary_thread};

use crate::certificates;
use crate::daemon::{self, ProcessOrigin};
use crate::folders;
use crate::generation;
use crate::listeners;
use crate::logs::{self, LogFiles};
use crate::origins;
use crate::supervisor::Supervisor;
use myriad_cli::accounts;
use myriad_cli::cli::{self, ServerOptions, SignalRequest};
use myriad_cli::configuration::{Configuration, ConfigurationSource};
use myriad_cli::explain;
use myriad_cli::instance::{InstanceLock, LockHolder, holder_or_error};
use myriad_cli::paths::ServerPaths;
use myriad_cli::pidfile::{self, reason};
use myriad_cli::report::{ConfigFinding, print_message, report};
use myriad_cli::servers;
use myriad_cli::servers::SelectedServer;
use myriad_cli::version;
use myriad_cli::wordpress;
use myriad_cli::wordpress::{ConfigurationPurpose, Preset, SelfSigned};

/// Executes the arguments (without the program name). The exit status is 0 or 1, as in nginx.
pub(crate) fn run(arguments: Vec<OsString>) -> ExitCode {
    let options = match cli::parse(arguments) {
        Ok(options) => options,
        Err(error) => {
            eprintln!("myriad: {error}");
            return ExitCode::FAILURE;
        }
    };
    if options.help || options.version {
        eprint!("{}", version::text(options.configure));
        if options.help {
            eprint!("\n{}", cli::USAGE);
        }
        return ExitCode::SUCCESS;
    }
    let origin = match origin(&options) {
        Ok(Some(origin)) => origin,
        Ok(None) => return ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("myriad: {error}");
            return ExitCode::FAILURE;
        }
    };
    match options.request {
        Some(request) => match running_preset(&options) {
            Ok(Some(holder)) => exit_code(holder.signal(request.signal()).map(drop)),
            Ok(None) => send(&origin, request),
            Err(error) => exit_code(Err(error)),
        },
        None if options.certificates => certificates::run(&origin),
        None if options.test => test(&origin, &options),
        None => start(&origin, options.error_log.is_some()),
    }
}

/// Returns the source of the configuration; `None` if the command line only prints or installs files, which has then
/// been done. For a preset, also prints warnings and creates the folders of the prefix and a requested self-signed
/// certificate.
fn origin(options: &ServerOptions) -> Result<Option<ConfigurationSource>, String> {
    let Some(asked) = &options.wordpress else {
        let directives = options.directives.clone().unwrap_or_default();
        return Ok(Some(ConfigurationSource { paths: ServerPaths::new(options), directives, preset: None }));
    };
    if asked.is_template() {
        return print(asked.kind.preset().as_bytes());
    }
    if let Some(done) = asked.installed() {
        return print((done?.join("\n") + "\n").as_bytes());
    }
    let kind = asked.kind;
    let purpose = match (asked.print, options.test) {
        (true, _) => ConfigurationPurpose::Print,
        (false, true) => ConfigurationPurpose::Test,
        (false, false) => ConfigurationPurpose::Start,
    };
    let mut warnings = Vec::new();
    if purpose == ConfigurationPurpose::Start && !daemon::is_upgrade() {
        warnings = asked.check_php().map_err(|error| kind.adapt_message(error))?;
    }
    let (asked, of_dashboard) = asked.clone().with_dashboard(purpose);
    warnings.extend(of_dashboard);
    for warning in &warnings {
        print_message(LogLevel::Warn, &kind.adapt_message(warning));
    }
    let site = asked.site().map_err(|error| kind.adapt_message(error))?;
    for warning in &site.warnings {
        print_message(LogLevel::Warn, &kind.adapt_message(warning));
    }
    if asked.print {
        return print(&site.text).map_err(|error| kind.adapt_message(error));
    }
    let preset = Preset::new(&site, &asked);
    let prepared = wordpress::prepare(&site.prefix);
    let made = prepared.and_then(|()| site.self_signed.as_ref().map_or(Ok(()), SelfSigned::make));
    made.map_err(|error| {
        let folder = site.prefix.display();
        kind.adapt_message(format!(
            "wordpress: the folder of the cache, the logs and the pid file, {folder}: {error}; name another folder with --prefix"
        ))
    })?;
    let configuration = wordpress::name(kind, &site.prefix);
    let paths = ServerPaths { prefix: site.prefix, configuration, error_log: None };
    Ok(Some(ConfigurationSource { paths, directives: Vec::new(), preset: Some(preset) }))
}

/// Prints `text` and returns `None`, because no server is started. Returns an error if standard output is closed or its
/// disk is full.
fn print(text: &[u8]) -> Result<Option<ConfigurationSource>, String> {
    io::stdout().write_all(text).map_err(|error| format!("wordpress: standard output: {error}"))?;
    Ok(None)
}

/// Returns the log that is used until the configuration names another: the file `error_log` of `paths`, created
/// immediately as in nginx. Without such a file (`-e stderr`), or if it cannot be opened, nothing is logged; a failure
/// is reported on standard error only if `was_asked_for` (`-e`).
fn early_log(paths: &ServerPaths, was_asked_for: bool) -> ErrorLog {
    let Some(path) = &paths.error_log else { return ErrorLog::new(Vec::new()) };
    match logs::open(path) {
        Ok(file) => {
            let sink = LogSink::File(Arc::new(LogFile::new(path.clone(), file)));
            ErrorLog::new(vec![ErrorLogTarget::new(sink, LogLevel::Notice)])
        }
        Err(error) => {
            if was_asked_for {
                let text = format!(
                    "could not open error log file: open() \"{}\" failed ({})",
                    path.display(),
                    reason(&error)
                );
                print_message(LogLevel::Alert, &text);
            }
            ErrorLog::new(Vec::new())
        }
    }
}

fn fail_with(log: &ErrorLog, findings: &[ConfigFinding]) -> ExitCode {
    log_findings(log, findings);
    ExitCode::FAILURE
}

fn log_findings(log: &ErrorLog, findings: &[ConfigFinding]) {
    for finding in findings {
        report(log, finding.level, &finding.text, true);
    }
}

fn test(origin: &ConfigurationSource, options: &ServerOptions) -> ExitCode {
    let log = early_log(&origin.paths, options.error_log.is_some());
    let path = origin.paths.configuration.display();
    // With `--explain`, only errors, warnings and the explanation are printed.
    let quiet = options.quiet || options.explain.is_some();
    // The explanation does not test whether the server could start now.
    let tries = options.explain.is_none();
    let failed = || {
        eprintln!("myriad: configuration file {path} test failed");
        ExitCode::FAILURE
    };
    let (configuration, faults) = match test_configuration(origin, quiet, tries) {
        Ok(tested) => tested,
        Err(findings) => {
            fail_with(&log, &findings);
            return failed();
        }
    };
    // All problems are printed, so that one run of `-t` reports everything to correct.
    log_findings(&log, &faults);
    log_findings(&log, &configuration.warnings());
    if tries {
        log_findings(&log, &unreachable(origin, &configuration));
    }
    if !quiet {
        configuration.hints().iter().for_each(ConfigFinding::print);
    }
    if !faults.is_empty() {
        return failed();
    }
    if !quiet {
        eprintln!("myriad: configuration file {path} test is successful");
    }
    if let Some(asked) = &options.explain
        && let Err(error) = explain::run(origin, &configuration, asked)
    {
        eprintln!("myriad: {error}");
        return ExitCode::FAILURE;
    }
    if options.dump && io::stdout().write_all(&myriad_conf::dump(&configuration.parsed)).is_err() {
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// Returns the configuration and the faults that would prevent it from starting on this machine, as far as `-t` can
/// test; or the errors of the configuration. Unless `quiet`, prints that the syntax is ok.
fn test_configuration(
    origin: &ConfigurationSource,
    quiet: bool,
    tries: bool,
) -> Result<(Configuration, Vec<ConfigFinding>), Vec<ConfigFinding>> {
    let examined = origin.examine();
    let unknown_user = unknown_user(examined.model());
    let configuration = examined.into_configuration().map_err(|mut findings| {
        findings.extend(unknown_user);
        findings
    })?;
    if !quiet {
        eprintln!("myriad: the configuration file {} syntax is ok", origin.paths.configuration.display());
    }
    let faults = test_resources(origin, &configuration, tries);
    Ok((configuration, faults))
}

/// Returns the error of the directive `user` (`None` if the directive is missing or its user and group exist), which is
/// checked even if the configuration has other errors.
fn unknown_user(model: &Model) -> Option<ConfigFinding> {
    model.main.user.as_ref().and_then(|_| generation::account(model).err()).map(ConfigFinding::from)
}

/// Performs the tests of `nginx -t`: log files can be opened, the user exists, the folder of the pid file exists
/// (tested only if the others succeed), and, with `tries`, addresses are free or bound by the server that already runs
/// this configuration. Returns the failures.
fn test_resources(
    origin: &ConfigurationSource,
    configuration: &Configuration,
    tries: bool,
) -> Vec<ConfigFinding> {
    let model = &configuration.model;
    let opened = LogFiles::open(model, &origin.paths).map(drop);
    let account = generation::account(model).map(drop);
    let mut findings: Vec<_> =
        [opened, account].into_iter().filter_map(|tried| tried.err().map(ConfigFinding::from)).collect();
    let pid_path = pid_path(origin, model);
    if findings.is_empty() {
        findings.extend(no_folder(&pid_path, &origin.paths));
    }
    if tries {
        let running = pidfile::read(&pid_path).ok();
        findings.extend(listeners::try_all(model, running));
    }
    findings
}

/// Returns the error of a pid file whose folder cannot be accessed; `None` if the folder exists. The test does not
/// create the file: other programs would take it for that of a running server.
fn no_folder(path: &Path, paths: &ServerPaths) -> Option<ConfigFinding> {
    let error = path.parent().and_then(|folder| std::fs::metadata(folder).err())?;
    let advice = paths.advice(path, &error);
    Some(format!("open() \"{}\" failed ({}){advice}", path.display(), reason(&error)).into())
}

/// Returns warnings about origins on this machine that do not accept connections, or not from the workers. For a
/// preset, missing sockets are not reported.
fn unreachable(origin: &ConfigurationSource, configuration: &Configuration) -> Vec<ConfigFinding> {
    let account = generation::account(&configuration.model).ok().flatten();
    // A preset has already warned of missing sockets, and named the option that sets them.
    let warns_of_missing = origin.preset.is_none();
    let warnings = origins::warnings(&configuration.model, account.as_ref(), warns_of_missing);
    ConfigFinding::of(&configuration.parsed, &warnings)
}

fn pid_path(origin: &ConfigurationSource, model: &Model) -> PathBuf {
    origin.paths.complete(model.main.pid.bytes())
}

/// Sends the signal of the option `-s` to the running supervisor, found by its pid file.
fn send(origin: &ConfigurationSource, request: SignalRequest) -> ExitCode {
    let configuration = match origin.load() {
        Ok(configuration) => configuration,
        Err(findings) => return fail_with(&ErrorLog::new(Vec::new()), &findings),
    };
    let pid = pidfile::read(&pid_path(origin, &configuration.model));
    let pid = pid.map_err(|error| format!("{error}{}", servers::hint()));
    let sent = pid.and_then(|pid| {
        rustix::process::kill_process(pid, request.signal()).map_err(|error| {
            let error = io::Error::from(error);
            format!(
                "kill({}, {}) failed ({})",
                pid.as_raw_nonzero(),
                request.signal().as_raw(),
                reason(&error)
            )
        })
    });
    exit_code(sent)
}

/// Returns the holder of the running preset; `None` if it does not run, or if the command line selects a configuration.
fn running_preset(options: &ServerOptions) -> Result<Option<LockHolder>, String> {
    match SelectedServer::of(options) {
        SelectedServer::Preset(prefix) => holder_or_error(&prefix),
        SelectedServer::Configuration(_) => Ok(None),
    }
}

fn exit_code(done: Result<(), String>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            print_message(LogLevel::Error, &error);
            ExitCode::FAILURE
        }
    }
}

/// Locks the folder of a `myriad wordpress`; `None` without a preset. In an upgrade, the lock is received from the old
/// supervisor.
fn claim(origin: &ConfigurationSource, birth: &mut ProcessOrigin) -> Result<Option<InstanceLock>, String> {
    if origin.preset.is_none() {
        return Ok(None);
    }
    if let ProcessOrigin::Upgrade(.., inherited @ Some(_)) = birth {
        return Ok(inherited.take());
    }
    InstanceLock::claim(&origin.paths.prefix).map(Some)
}

/// If root starts the server, removes the folders of cache zones that belong neither to root nor to the account of the
/// workers, because an earlier server ran with another `--user`: they are renamed, and deleted in the background. Prints a
/// warning for each, also if it cannot be renamed and remains. They are created again later.
fn set_aside_foreign_caches(origin: &ConfigurationSource, configuration: &Configuration) {
    let Ok(Some(account)) = generation::account(&configuration.model) else { return };
    for zone in configuration.model.http.iter().flat_map(|http| &http.cache_zones) {
        let path = origin.paths.complete(zone.path.bytes());
        let text = match folders::set_aside_foreign(&path, &account) {
            Ok(None) => continue,
            Ok(Some(owner)) => {
                let owner = accounts::name_of(owner).unwrap_or_else(|| owner.to_string());
                format!("wordpress: the cache {} belonged to {owner} and is cleared", path.display())
            }
            Err(error) => format!("wordpress: the cache {} belongs to another user: {error}", path.display()),
        };
        print_message(LogLevel::Warn, &text);
    }
}

fn start(origin: &ConfigurationSource, error_log_was_asked_for: bool) -> ExitCode {
    // Memory for reading the configuration is returned to the system afterwards, because the supervisor itself needs
    // little.
    match run_on_temporary_thread(|| started_supervisor(origin, error_log_was_asked_for)) {
        Ok(supervisor) => {
            release_memory_soon();
            supervisor.run()
        }
        Err(status) => status,
    }
}

/// Starts the supervisor with its first worker. Returns the exit status of this process on failure, and in the
/// foreground half of `daemon on`, which starts the background half and waits for its result.
fn started_supervisor(
    origin: &ConfigurationSource,
    error_log_was_asked_for: bool,
) -> Result<Supervisor, ExitCode> {
    let log = early_log(&origin.paths, error_log_was_asked_for);
    let mut birth = match ProcessOrigin::from_environment() {
        Ok(birth) => birth,
        Err(error) => return Err(fail_with(&log, &[error.to_string().into()])),
    };
    let instance = match claim(origin, &mut birth) {
        Ok(instance) => instance,
        Err(error) => return Err(fail_with(&log, &[error.into()])),
    };
    let configuration = match origin.load() {
        Ok(configuration) => configuration,
        Err(refused) => return Err(fail_with(&log, &refused)),
    };
    if configuration.model.main.daemon && matches!(birth, ProcessOrigin::Plain) {
        return Err(daemon::detach().unwrap_or_else(|error| {
            fail_with(&log, &[format!("the process could not be moved to the background: {error}").into()])
        }));
    }
    log_findings(&log, &configuration.warnings());
    if instance.is_some() {
        set_aside_foreign_caches(origin, &configuration);
    }
    Supervisor::start(origin, &configuration, birth, instance).map_err(|findings| fail_with(&log, &findings))
}
