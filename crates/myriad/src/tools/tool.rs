//! Command for administrators, which may not be compiled in.

use std::ffi::OsString;
use std::iter::Skip;
use std::process::ExitCode;
use std::vec::IntoIter;

use myriad_conf::registry::BuildFeature;

/// Arguments after the name of a command.
pub(super) type ToolArguments = Skip<IntoIter<OsString>>;

/// Command for administrators.
pub(crate) struct Tool {
    /// First word of the command line that selects the command.
    pub(crate) name: &'static str,
    /// Cargo feature that the command belongs to.
    pub(super) feature: &'static str,
    /// Implementation of the command; `None` if it is not compiled in.
    pub(crate) implementation: Option<Implementation>,
}

/// Implementation of a command.
pub(crate) struct Implementation {
    /// Purpose, as in the NAME section of its man page.
    pub(crate) purpose: &'static str,
    /// Text that the command prints with `--help`.
    pub(crate) usage: &'static str,
    /// Runs the command with the arguments after its name.
    pub(super) run: fn(ToolArguments) -> ExitCode,
}

impl Tool {
    /// Runs the command; if it is not compiled in, prints the reason and returns a failure.
    pub(crate) fn run(&self, arguments: ToolArguments) -> ExitCode {
        if let Some(implementation) = &self.implementation {
            return (implementation.run)(arguments);
        }
        let reason = BuildFeature::missing(self.feature).map_or("", |feature| feature.refusal);
        eprintln!("myriad: \"{}\": {reason}", self.name);
        ExitCode::FAILURE
    }
}
