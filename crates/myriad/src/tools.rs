//! Commands for administrators: those of `myriad-tools`, an optional part of the binary (feature `tools`).

#[cfg(not(feature = "tools"))]
mod absent;
#[cfg(feature = "tools")]
mod compiled;
mod tool;

#[cfg(not(feature = "tools"))]
use absent::TOOLS;
#[cfg(feature = "tools")]
use compiled::TOOLS;

use std::ffi::OsString;

use tool::{Implementation, Tool};

/// Returns the command with this name.
pub(crate) fn named(word: &OsString) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| word == tool.name)
}

/// Iterates over the commands that are compiled in, in the order of the manual.
pub(crate) fn compiled() -> impl Iterator<Item = (&'static str, &'static Implementation)> {
    TOOLS.iter().filter_map(|tool| Some((tool.name, tool.implementation.as_ref()?)))
}
