//! `myriad log`: reads access and error logs and prints statistics.
//!
//! ```text
//! options -> files: named ones, or those of a configuration -> reading: line by line -> tally -> terminal
//! ```

mod configured_logs;
mod options;
mod reading;

use std::ffi::OsString;
use std::process::ExitCode;

use crate::log_stats::{LogReport, Style, render};

use myriad_cli::admin::{CommandOutput, exit_code_for, help};
use myriad_cli::terminal;
use options::LogOptions;
pub use options::USAGE;

/// Runs `myriad log` with the arguments after its name. The exit status is 0 for success, 1 for an error, 2 if no log
/// line was found.
pub fn run(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    tried(arguments).unwrap_or_else(|error| {
        eprintln!("myriad: log: {error}");
        ExitCode::FAILURE
    })
}

fn tried(arguments: impl Iterator<Item = OsString>) -> Result<ExitCode, String> {
    let Some(options) = LogOptions::parse(arguments)? else { return Ok(help(options::USAGE)) };
    let tally = reading::read(&options)?;
    let report = LogReport::of(&tally, options.limit);
    let mut output = CommandOutput::new();
    if options.json {
        let text = serde_json::to_string(&report).map_err(|error| error.to_string())?;
        output.line(&text)?;
    } else {
        let style = Style {
            width: terminal::width(),
            has_colors: terminal::has_colors(),
            has_unicode: terminal::has_unicode(),
            offset_minutes: myriad_log::local_time::offset_minutes,
            escaped: |text| myriad_log::escaped(text).into_owned(),
        };
        output.line(render(&report, &options.questions, &style).trim_end())?;
    }
    output.finish()?;
    if report.is_empty() {
        eprintln!(
            "myriad: log: no log line was found{}",
            if options.is_narrowed() { " that matches the options" } else { "" }
        );
    }
    Ok(exit_code_for(!report.is_empty()))
}
