//! Commands for administrators from `myriad-tools`, an optional part of the binary (Cargo feature `tools`).

#[cfg(not(feature = "tools"))]
mod absent;
#[cfg(feature = "tools")]
mod compiled;
#[cfg(all(feature = "tools", not(feature = "optimizer")))]
#[path = "tools/optimizer_absent.rs"]
mod optimizer;
#[cfg(feature = "optimizer")]
#[path = "tools/optimizer_compiled.rs"]
mod optimizer;
mod tool;

#[cfg(not(feature = "tools"))]
use absent::TOOLS;
#[cfg(feature = "tools")]
use compiled::TOOLS;

use std::ffi::OsString;

use tool::{Implementation, Tool};

/// Returns the administrative command with this name, whether it is compiled in or not; `None` for other words.
pub(crate) fn named(word: &OsString) -> Option<&'static Tool> {
    TOOLS.iter().find(|tool| word == tool.name)
}

/// Returns name and implementation of the commands that are compiled in, in the order of the manual.
pub(crate) fn compiled() -> impl Iterator<Item = (&'static str, &'static Implementation)> {
    TOOLS.iter().filter_map(|tool| Some((tool.name, tool.implementation.as_ref()?)))
}
