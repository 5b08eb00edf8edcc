//! `myriad warm`: requests pages, the most important first, so that they are cached before visitors need them. A budget
//! leaves most of PHP's time to visitors.
//!
//! ```text
//! sitemap, log or stored pages -> pages::of -> work::run: threads that request, pause and count -> summary
//! ```

mod options;
mod pages;
mod work;

pub use options::USAGE;
use std::ffi::OsString;
use std::process::ExitCode;

use options::WarmOptions;

use myriad_cli::admin::help;

/// Runs `myriad warm` with the arguments after its name. The exit status is 0, 1 after an error or if a page failed, or
/// 2 if `--by-heat` finds no stored page.
pub fn run(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    tried(arguments).unwrap_or_else(|error| {
        eprintln!("myriad: warm: {error}");
        ExitCode::FAILURE
    })
}

fn tried(arguments: impl Iterator<Item = OsString>) -> Result<ExitCode, String> {
    let Some(options) = WarmOptions::parse(arguments)? else { return Ok(help(options::USAGE)) };
    let pages = pages::of(&options)?;
    work::run(&options, pages)
}
