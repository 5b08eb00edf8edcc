//! The state of a resolution, which its steps share.

use crate::{
    diagnostic::Diagnostic,
    parsed::Parsed,
    registry::{Registry, Use},
};

/// Resolves one configuration: its syntax tree, the directives that there are, what was found in it, which names it uses.
pub(super) struct Builder<'p> {
    pub(super) parsed: &'p Parsed,
    pub(super) registry: &'p Registry,
    pub(super) findings: Vec<Diagnostic>,
    pub(super) uses: Vec<Use>,
}

impl Builder<'_> {
    /// Keeps the value, or the error.
    pub(super) fn note<T>(&mut self, result: Result<T, Diagnostic>) -> Option<T> {
        result.map_err(|diagnostic| self.findings.push(diagnostic)).ok()
    }
}
