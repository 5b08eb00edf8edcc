//! Executes the command line.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use myriad_conf::Model;
use myriad_log::{ErrorLog, Level, LogFile, Sink, Target};
use myriad_serve::{apart, give_back_soon};

use crate::certificates;
use crate::daemon::{self, Birth};
use crate::folders;
use crate::generation;
use crate::listeners;
use crate::logs::{self, Logs};
use crate::origins;
use crate::supervisor::Supervisor;
use myriad_cli::accounts;
use myriad_cli::cli::{self, Options, Request};
use myriad_cli::configuration::{Configuration, Origin};
use myriad_cli::explain;
use myriad_cli::instance::{Holder, Instance, held};
use myriad_cli::paths::Paths;
use myriad_cli::pidfile::{self, reason};
use myriad_cli::report::{Finding, report, say};
use myriad_cli::servers;
use myriad_cli::servers::Named;
use myriad_cli::version;
use myriad_cli::wordpress;
use myriad_cli::wordpress::{Preset, Purpose, SelfSigned};

/// Executes the arguments (without the program name). The exit status is that of nginx: 0 or 1.
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
            Ok(Some(holder)) => said(holder.signal(request.signal()).map(drop)),
            Ok(None) => send(&origin, request),
            Err(error) => said(Err(error)),
        },
        None if options.certificates => certificates::run(&origin),
        None if options.test => test(&origin, &options),
        None => start(&origin, options.error_log.is_some()),
    }
}

/// Returns the origin of the configuration; `None` if the command line only prints it.
fn origin(options: &Options) -> Result<Option<Origin>, String> {
    let Some(asked) = &options.wordpress else {
        let directives = options.directives.clone().unwrap_or_default();
        return Ok(Some(Origin { paths: Paths::new(options), directives, preset: None }));
    };
    if asked.is_template() {
        return print(asked.kind.preset().as_bytes());
    }
    if let Some(done) = asked.installed() {
        return print((done?.join("\n") + "\n").as_bytes());
    }
    let kind = asked.kind;
    let purpose = match (asked.print, options.test) {
        (true, _) => Purpose::Print,
        (false, true) => Purpose::Test,
        (false, false) => Purpose::Start,
    };
    let mut warnings = Vec::new();
    if purpose == Purpose::Start && !daemon::is_upgrade() {
        warnings = asked.check_php().map_err(|error| kind.worded(error))?;
    }
    let (asked, of_dashboard) = asked.clone().with_dashboard(purpose);
    warnings.extend(of_dashboard);
    for warning in &warnings {
        say(Level::Warn, &kind.worded(warning));
    }
    let site = asked.site().map_err(|error| kind.worded(error))?;
    for warning in &site.warnings {
        say(Level::Warn, &kind.worded(warning));
    }
    if asked.print {
        return print(&site.text);
    }
    let preset = Preset::new(&site, &asked);
    let prepared = wordpress::prepare(&site.prefix);
    let made = prepared.and_then(|()| site.self_signed.as_ref().map_or(Ok(()), SelfSigned::make));
    made.map_err(|error| {
        format!("wordpress: {}: {error}; name another folder with --prefix", site.prefix.display())
    })?;
    let configuration = wordpress::name(kind, &site.prefix);
    let paths = Paths { prefix: site.prefix, configuration, error_log: None };
    Ok(Some(Origin { paths, directives: Vec::new(), preset: Some(preset) }))
}

/// Prints a configuration. Errors are reported, as standard output may be a full disk or a closed pipe.
fn print(text: &[u8]) -> Result<Option<Origin>, String> {
    io::stdout().write_all(text).map_err(|error| format!("wordpress: --print: {error}"))?;
    Ok(None)
}

/// Returns the log until the configuration names another: that of `-e`, created at once as in nginx.
fn early_log(paths: &Paths, was_asked_for: bool) -> ErrorLog {
    let Some(path) = &paths.error_log else { return ErrorLog::new(Vec::new()) };
    match logs::open(path) {
        Ok(file) => {
            let sink = Sink::File(Arc::new(LogFile::new(path.clone(), file)));
            ErrorLog::new(vec![Target::new(sink, Level::Notice)])
        }
        Err(error) => {
            if was_asked_for {
                let text = format!(
                    "could not open error log file: open() \"{}\" failed ({})",
                    path.display(),
                    reason(&error)
                );
                say(Level::Alert, &text);
            }
            ErrorLog::new(Vec::new())
        }
    }
}

fn refuse(log: &ErrorLog, findings: &[Finding]) -> ExitCode {
    tell(log, findings);
    ExitCode::FAILURE
}

fn tell(log: &ErrorLog, findings: &[Finding]) {
    for finding in findings {
        report(log, finding.level, &finding.text, true);
    }
}

fn test(origin: &Origin, options: &Options) -> ExitCode {
    let log = early_log(&origin.paths, options.error_log.is_some());
    let path = origin.paths.configuration.display();
    // With `--explain` only the explanation is printed.
    let quiet = options.quiet || options.explain.is_some();
    // It does not test either whether the server could start now.
    let tries = options.explain.is_none();
    let failed = || {
        eprintln!("myriad: configuration file {path} test failed");
        ExitCode::FAILURE
    };
    let (configuration, faults) = match tested(origin, quiet, tries) {
        Ok(tested) => tested,
        Err(findings) => {
            refuse(&log, &findings);
            return failed();
        }
    };
    // All problems are printed, so that one run of `-t` reports everything to correct.
    tell(&log, &faults);
    tell(&log, &configuration.warnings());
    if tries {
        tell(&log, &unreachable(origin, &configuration));
    }
    if !quiet {
        configuration.hints().iter().for_each(Finding::say);
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

/// Returns the configuration with the faults that would prevent it from starting on this machine, as far as `-t` can
/// test them; or its errors.
fn tested(origin: &Origin, quiet: bool, tries: bool) -> Result<(Configuration, Vec<Finding>), Vec<Finding>> {
    let examined = origin.examine();
    let unknown_user = unknown_user(examined.model());
    let configuration = examined.into_configuration().map_err(|mut findings| {
        findings.extend(unknown_user);
        findings
    })?;
    if !quiet {
        eprintln!("myriad: the configuration file {} syntax is ok", origin.paths.configuration.display());
    }
    let faults = open_what_it_names(origin, &configuration, tries);
    Ok((configuration, faults))
}

/// Returns the error of the directive `user`, which is looked up even if the configuration has other errors.
fn unknown_user(model: &Model) -> Option<Finding> {
    model.main.user.as_ref().and_then(|_| generation::account(model).err()).map(Finding::from)
}

/// Performs the tests of `nginx -t`: log files can be opened, the user exists, addresses are free or bound by the
/// running server of this configuration.
fn open_what_it_names(origin: &Origin, configuration: &Configuration, tries: bool) -> Vec<Finding> {
    let model = &configuration.model;
    let opened = Logs::open(model, &origin.paths).map(drop);
    let account = generation::account(model).map(drop);
    let mut findings: Vec<_> =
        [opened, account].into_iter().filter_map(|tried| tried.err().map(Finding::from)).collect();
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

/// Returns the error of a pid file whose folder does not exist. The test does not create the file, as other programs
/// would read it as that of a running server.
fn no_folder(path: &Path, paths: &Paths) -> Option<Finding> {
    let error = path.parent().and_then(|folder| std::fs::metadata(folder).err())?;
    let advice = paths.advice(path, &error);
    Some(format!("open() \"{}\" failed ({}){advice}", path.display(), reason(&error)).into())
}

/// Returns warnings on local origins that do not accept connections, or not from the workers.
fn unreachable(origin: &Origin, configuration: &Configuration) -> Vec<Finding> {
    let account = generation::account(&configuration.model).ok().flatten();
    // A preset has already warned of missing sockets, with the option that names them.
    let tells_missing = origin.preset.is_none();
    let warnings = origins::warnings(&configuration.model, account.as_ref(), tells_missing);
    Finding::of(&configuration.parsed, &warnings)
}

fn pid_path(origin: &Origin, model: &Model) -> PathBuf {
    origin.paths.complete(model.main.pid.bytes())
}

/// Sends the signal of `-s` to the running supervisor.
fn send(origin: &Origin, request: Request) -> ExitCode {
    let configuration = match origin.load() {
        Ok(configuration) => configuration,
        Err(findings) => return refuse(&ErrorLog::new(Vec::new()), &findings),
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
    said(sent)
}

/// Returns the running preset, unless the command line selects a configuration.
fn running_preset(options: &Options) -> Result<Option<Holder>, String> {
    match Named::of(options) {
        Named::Preset(prefix) => held(&prefix),
        Named::Configuration(_) => Ok(None),
    }
}

fn said(done: Result<(), String>) -> ExitCode {
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say(Level::Error, &error);
            ExitCode::FAILURE
        }
    }
}

/// Locks the folder of a `myriad wordpress`; in an upgrade the old supervisor passes its lock.
fn claim(origin: &Origin, birth: &mut Birth) -> Result<Option<Instance>, String> {
    if origin.preset.is_none() {
        return Ok(None);
    }
    if let Birth::Upgrade(.., inherited @ Some(_)) = birth {
        return Ok(inherited.take());
    }
    Instance::claim(&origin.paths.prefix).map(Some)
}

/// Renames folders of zones that belong to the user of an earlier server with another `--user`, so that they are
/// recreated.
fn begin_caches_anew(origin: &Origin, configuration: &Configuration) {
    let Ok(Some(account)) = generation::account(&configuration.model) else { return };
    for zone in configuration.model.http.iter().flat_map(|http| &http.cache_zones) {
        let path = origin.paths.complete(zone.path.bytes());
        let text = match folders::begin_anew(&path, &account) {
            Ok(None) => continue,
            Ok(Some(owner)) => {
                let owner = accounts::name_of(owner).unwrap_or_else(|| owner.to_string());
                format!("wordpress: the cache {} belonged to {owner} and is cleared", path.display())
            }
            Err(error) => format!("wordpress: the cache {} belongs to another user: {error}", path.display()),
        };
        say(Level::Warn, &text);
    }
}

fn start(origin: &Origin, error_log_was_asked_for: bool) -> ExitCode {
    // Memory used to read the configuration is returned to the system: the supervisor needs little of it afterwards.
    match apart(|| begun(origin, error_log_was_asked_for)) {
        Ok(supervisor) => {
            give_back_soon();
            supervisor.run()
        }
        Err(status) => status,
    }
}

/// Returns the supervisor with its first worker, or the exit status of this process.
fn begun(origin: &Origin, error_log_was_asked_for: bool) -> Result<Supervisor, ExitCode> {
    let log = early_log(&origin.paths, error_log_was_asked_for);
    let mut birth = match Birth::of_this_process() {
        Ok(birth) => birth,
        Err(error) => return Err(refuse(&log, &[error.to_string().into()])),
    };
    let instance = match claim(origin, &mut birth) {
        Ok(instance) => instance,
        Err(error) => return Err(refuse(&log, &[error.into()])),
    };
    let configuration = match origin.load() {
        Ok(configuration) => configuration,
        Err(refused) => return Err(refuse(&log, &refused)),
    };
    if configuration.model.main.daemon && matches!(birth, Birth::Plain) {
        return Err(daemon::detach().unwrap_or_else(|error| {
            refuse(&log, &[format!("the process could not be moved to the background: {error}").into()])
        }));
    }
    tell(&log, &configuration.warnings());
    if instance.is_some() {
        begin_caches_anew(origin, &configuration);
    }
    Supervisor::start(origin, &configuration, birth, instance).map_err(|findings| refuse(&log, &findings))
}
