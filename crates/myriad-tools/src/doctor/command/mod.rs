//! `myriad doctor`: examines a running WordPress stack and prints problems with remedies, the most severe first.
//!
//! ```text
//! Myriad, site, php-fpm -> collect: machine, php (FastCGI), site (HTTP), sources -> doctor::findings -> report
//! ```

mod collect;
mod fastcgi;
mod machine;
mod options;
mod php;
mod report;
mod site;
mod sources;
mod stack;

pub use options::USAGE;
use std::ffi::OsString;
use std::process::ExitCode;

use options::DoctorOptions;

use myriad_cli::admin::help;

/// Exit status if the doctor could not examine the site, for example because no server responds.
const NOT_LOOKED: u8 = 3;

/// Runs `myriad doctor` with the arguments after its name. The exit status depends on the most severe finding; it is
/// [`NOT_LOOKED`] if the site could not be examined.
pub fn run(arguments: impl Iterator<Item = OsString>) -> ExitCode {
    tried(arguments).unwrap_or_else(|error| {
        eprintln!("myriad: doctor: {error}");
        ExitCode::from(NOT_LOOKED)
    })
}

fn tried(arguments: impl Iterator<Item = OsString>) -> Result<ExitCode, String> {
    let Some(options) = DoctorOptions::parse(arguments)? else { return Ok(help(options::USAGE)) };
    let (target, facts) = collect::collect_facts(&options)?;
    report::print(&target, &crate::doctor::findings(&facts), options.json, options.all)
}
