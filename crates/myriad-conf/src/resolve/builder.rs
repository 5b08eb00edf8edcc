//! Shared state of the resolution steps.

use crate::{
    diagnostic::Diagnostic,
    parsed::Parsed,
    registry::{Registry, Use},
};

/// State for resolving a configuration: its syntax tree, the registry, the findings so far, and the names in use.
pub(super) struct Builder<'p> {
    pub(super) parsed: &'p Parsed,
    pub(super) registry: &'p Registry,
    pub(super) findings: Vec<Diagnostic>,
    pub(super) uses: Vec<Use>,
}

impl Builder<'_> {
    /// Returns the value, or records the error.
    pub(super) fn note<T>(&mut self, result: Result<T, Diagnostic>) -> Option<T> {
        result.map_err(|diagnostic| self.findings.push(diagnostic)).ok()
    }
}
