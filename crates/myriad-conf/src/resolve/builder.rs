//! State shared by the resolution of all blocks.

use crate::{
    diagnostic::Diagnostic,
    parsed::ParsedConfiguration,
    registry::{NameUse, Registry},
};

/// State of the resolution of a configuration: its syntax tree, the registry, diagnostics so far, and names in use.
pub(super) struct Builder<'p> {
    pub(super) parsed: &'p ParsedConfiguration,
    pub(super) registry: &'p Registry,
    pub(super) findings: Vec<Diagnostic>,
    pub(super) uses: Vec<NameUse>,
}

impl Builder<'_> {
    /// Returns the value of `result`. Returns `None` for an error, which is added to the diagnostics; it is not
    /// returned.
    pub(super) fn note<T>(&mut self, result: Result<T, Diagnostic>) -> Option<T> {
        result.map_err(|diagnostic| self.findings.push(diagnostic)).ok()
    }
}
