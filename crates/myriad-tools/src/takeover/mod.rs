//! `myriad takeover`: replaces an installed nginx with Myriad on the same configuration; `--undo` restores nginx.
//!
//! ```text
//! nginx: find -> examine the configuration -> errors, differences -> swap: drop-in, services, responses
//!                                                                      '--worse than before--> restore nginx
//! ```

mod answers;
mod differences;
mod nginx;
mod options;
mod record;
mod services;
mod swap;
mod unit;

pub use options::USAGE;
use std::ffi::OsString;
use std::process::ExitCode;

use myriad_log::LogLevel;

use myriad_cli::admin::{ChangeAction, help};
use myriad_cli::cli;
use myriad_cli::configuration::{Configuration, ConfigurationSource};
use myriad_cli::paths::ServerPaths;
use myriad_cli::port_holder;
use myriad_cli::report::ConfigFinding;
use nginx::NginxInstallation;
use options::TakeoverOptions;
use record::TakeoverRecord;
use swap::NginxSwap;
use unit::MyriadCommandLine;

/// Runs `myriad takeover` with the arguments after its name. The exit status is 0, or 1 if the takeover is not possible
/// or fails.
pub fn run(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    tried(arguments).unwrap_or_else(|error| {
        eprintln!("myriad: takeover: {error}");
        ExitCode::FAILURE
    })
}

fn tried(arguments: impl Iterator<Item = OsString>) -> Result<ExitCode, String> {
    let Some(options) = TakeoverOptions::parse(arguments)? else { return Ok(help(USAGE)) };
    if options.act == ChangeAction::Undo {
        return undo(&options);
    }
    if TakeoverRecord::read(&options.root)?.is_some() {
        return Err("Myriad has already taken over; to restore nginx, run myriad takeover --undo".into());
    }
    let nginx = NginxInstallation::find(&options, master(&options)?)
        .map_err(|error| error + &port_holder::web_servers())?;
    println!("{} at {}", nginx.version, nginx.program.display());
    println!("configuration {}, prefix {}", nginx.configuration.display(), nginx.prefix.display());
    let origin = origin(&nginx)?;
    let Some(configuration) = examine_configuration(&origin) else {
        return Err("the configuration contains the errors above; nothing was changed. Fix them (nginx can continue to run), then \
             run the command again"
            .into());
    };
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let line = MyriadCommandLine::of(&nginx, &configuration.parsed, program);
    let folders = unit::folders(&nginx, &configuration.parsed);
    if options.act == ChangeAction::Show {
        show(&options, &nginx, &line);
        return Ok(ExitCode::SUCCESS);
    }
    let found = swap::obstacles(&options.unit)
        .map_err(|error| format!("{error}\n{}", manual_commands(&nginx, &line)))?;
    let record = TakeoverRecord {
        program: nginx.program.clone(),
        configuration: nginx.configuration.clone(),
        prefix: nginx.prefix.clone(),
        ..found
    };
    let questions = answers::address_checks(&configuration.model);
    let unit = unit::text(&line, &folders);
    NginxSwap { root: &options.root, record, unit, questions }.apply()?;
    println!(
        "\nMyriad is serving. It reads {}; after a change there, run `systemctl reload myriad`.",
        nginx.configuration.display()
    );
    println!("To restore nginx: myriad takeover --undo");
    Ok(ExitCode::SUCCESS)
}

/// Returns the process ID of the nginx master: the main process of the service, otherwise the only trusted master that
/// runs. Returns `None` if none runs or the configuration is given by an option, and an error if several run.
fn master(options: &TakeoverOptions) -> Result<Option<u32>, String> {
    if options.configuration.is_some() {
        return Ok(None);
    }
    // systemd does not know an nginx that was started manually.
    if let Ok(service) = services::query_service(&options.unit)
        && service.pid.is_some()
    {
        return Ok(service.pid);
    }
    match nginx::masters().as_slice() {
        [] => Ok(None),
        [master] => Ok(Some(*master)),
        [first, others @ ..] => Err(format!(
            "several nginx master processes are running (process {first} and {} more): specify the configuration with -c",
            others.len()
        )),
    }
}

/// Returns the configuration of nginx with the command-line options that Myriad will use.
fn origin(nginx: &NginxInstallation) -> Result<ConfigurationSource, String> {
    if !nginx.configuration.is_file() {
        return Err(format!(
            "{}: no such file; specify the nginx configuration with -c",
            nginx.configuration.display()
        ));
    }
    let options = cli::ServerOptions {
        prefix: Some(nginx.prefix.clone()),
        configuration: Some(nginx.configuration.clone()),
        error_log: Some(nginx.error_log.clone()),
        ..cli::ServerOptions::default()
    };
    Ok(ConfigurationSource { paths: ServerPaths::new(&options), directives: Vec::new(), preset: None })
}

/// Loads the configuration of nginx and prints the findings; `None` if it has errors.
fn examine_configuration(origin: &ConfigurationSource) -> Option<Configuration> {
    let configuration = match origin.load() {
        Ok(configuration) => configuration,
        Err(findings) => {
            let refused = findings.iter().filter(|finding| finding.level < LogLevel::Warn).count();
            println!("\nErrors in the configuration: {refused}");
            print_all(&findings);
            return None;
        }
    };
    let lines = differences::lines(&configuration.parsed);
    println!("\nThe configuration is valid. Directives that differ from nginx: {}", lines.len());
    for line in &lines {
        println!("{line}");
    }
    let warnings = configuration.warnings();
    if !warnings.is_empty() {
        println!("\nWarnings about the configuration:");
        print_all(&warnings);
    }
    Some(configuration)
}

fn print_all(findings: &[ConfigFinding]) {
    for finding in findings {
        println!("{}\n", finding.text);
    }
}

/// Prints the steps of the takeover that `--apply` would perform.
fn show(options: &TakeoverOptions, nginx: &NginxInstallation, line: &MyriadCommandLine) {
    println!("\nThe takeover is possible. `myriad takeover --apply` performs these steps:");
    println!("  writes {}", unit::PLACE);
    println!("  stops and disables {}, enables and starts {}", options.unit, services::MYRIAD);
    println!("  checks each address, and restores nginx if a response is worse than before");
    println!("Without systemd:\n{}", manual_commands(nginx, line));
}

/// Returns text with the shell commands for a takeover without systemd, and the shell commands that restore nginx.
fn manual_commands(nginx: &NginxInstallation, line: &MyriadCommandLine) -> String {
    let of_nginx = |more: &str| {
        let shell = |path: &std::path::Path| unit::shell(&path.display().to_string());
        format!(
            "{} -p {} -c {}{more}",
            shell(&nginx.program),
            shell(&nginx.prefix),
            shell(&nginx.configuration)
        )
    };
    format!(
        "  {}\n  {}\nTo restore nginx:\n  {}\n  {}",
        of_nginx(" -s quit"),
        line.words(&[], false, unit::shell),
        line.words(&["-s", "quit"], false, unit::shell),
        of_nginx("")
    )
}

fn undo(options: &TakeoverOptions) -> Result<ExitCode, String> {
    let Some(record) = TakeoverRecord::read(&options.root)? else {
        return Err("nothing to undo: no record of a takeover was found".into());
    };
    // The addresses may have changed since the takeover, so the checks use the present configuration.
    let nginx = NginxInstallation {
        configuration: record.configuration.clone(),
        prefix: record.prefix.clone(),
        error_log: "stderr".into(),
        ..NginxInstallation::default()
    };
    let configuration = origin(&nginx).and_then(|origin| origin.load().map_err(|_| String::new())).ok();
    let questions =
        configuration.map(|configuration| answers::address_checks(&configuration.model)).unwrap_or_default();
    let before = answers::check_all(&questions, true);
    println!("Switching the services:");
    swap::restore_nginx(&options.root, &record)?;
    if record.nginx_ran {
        println!("Checking each address:");
        answers::compare(&questions, &before)?;
    }
    println!("nginx is restored.");
    Ok(ExitCode::SUCCESS)
}
