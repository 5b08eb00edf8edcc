//! `myriad optimize`: grades a page and shows what each filter of the page optimizer would save, or what it did with a
//! stored page.
//!
//! ```text
//! URL -> fetch: page, its resources -> myriad_optimize::audit -> report: text or JSON
//! ```

mod fetch;
mod options;
mod report;
mod response;
mod show;

use std::ffi::OsString;
use std::process::ExitCode;

use myriad_cli::admin::help;
use myriad_optimize::OptimizeOptions;

use options::OptimizeCommand;
pub use options::USAGE;

/// Runs `myriad optimize` with the arguments after its name. The exit status is 0; 1 after an error; 2 if `show` finds
/// neither a cached page nor a record of an image.
pub fn run(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    tried(arguments).unwrap_or_else(|error| {
        eprintln!("myriad: optimize: {error}");
        ExitCode::FAILURE
    })
}

fn tried(arguments: impl Iterator<Item = OsString>) -> Result<ExitCode, String> {
    let options = match OptimizeCommand::parse(arguments)? {
        None => return Ok(help(USAGE)),
        Some(OptimizeCommand::Show(words, page)) => return show::run(&words, &page),
        Some(OptimizeCommand::Audit(options)) => options,
    };
    let fetched = fetch::page_and_resources(&options)?;
    let mut audit = myriad_optimize::audit(&fetched.page, &fetched.resources, &OptimizeOptions::default())
        .map_err(|reason| format!("{}: {reason}", options.target))?;
    for skipped in &mut audit.not_read {
        if let Some(reason) = fetched.failures.get(&skipped.subject) {
            skipped.reason.clone_from(reason);
        }
    }
    report::print(&audit, options.words.has("--json"), options.words.has("--all"))
}
