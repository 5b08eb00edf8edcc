//! Shared state of the resolution steps.

use crate::{
    diagnostic::Diagnostic,
    parsed::ParsedConfiguration,
    registry::{NameUse, Registry},
};

/// State for resolving a configuration: its syntax tree, the registry, the findings so far, and the names in use.
pub(super) struct Builder<'p> {
    pub(super) parsed: &'p ParsedConfiguration,
    pub(super) registry: &'p Registry,
    pub(super) findings: Vec<Diagnostic>,
    pub(super) uses: Vec<NameUse>,
}

impl Builder<'_> {
    /// Returns the value, or records the error.
    pub(super) fn note<T>(&mut self, result: Result<T, Diagnostic>) -> Option<T> {
        result.map_err(|diagnostic| self.findings.push(diagnostic)).ok()
    }
}
