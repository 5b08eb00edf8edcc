//! `myriad tune`: computes settings of the whole stack for a machine, compares them with the present ones, and on
//! request writes or undoes them.
//!
//! ```text
//! machine: detect_machine -> tune::plan -> report (compared with sources::present)
//!                                      -> apply: record, files, validated by their programs -> undo
//! ```

mod apply;
mod checks;
mod machine;
mod options;
mod programs;
mod record;
mod report;
mod sources;
mod workers;

pub use options::USAGE;
use std::ffi::OsString;
use std::process::ExitCode;

use options::TuneOptions;

use myriad_cli::admin::{ChangeAction, help};
pub use workers::largest as largest_worker;

/// Runs `myriad tune` with the arguments after its name. The exit status is 0, or 1 after an error or if `--undo` did
/// not restore a file.
pub fn run(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    tried(arguments).unwrap_or_else(|error| {
        eprintln!("myriad: tune: {error}");
        ExitCode::FAILURE
    })
}

fn tried(arguments: impl Iterator<Item = OsString>) -> Result<ExitCode, String> {
    let Some(options) = TuneOptions::parse(arguments)? else { return Ok(help(options::USAGE)) };
    if options.act == ChangeAction::Undo {
        return apply::undo(&options.root, options.force);
    }
    let found = machine::detect_machine(&options)?;
    let plan = crate::tune::plan(&found.facts);
    report::print(&options.root, &found, &plan)?;
    if options.act == ChangeAction::Apply {
        return apply::apply(&options.root, &plan);
    }
    Ok(ExitCode::SUCCESS)
}
