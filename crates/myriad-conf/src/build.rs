//! Syntax tree to [`Model`].

use crate::{diagnostic::Diagnostic, model::Model, parsed::Parsed};

/// Checks a configuration against the registry and resolves it; every error of every file comes back at once.
pub fn build(parsed: &Parsed) -> Result<Model, Vec<Diagnostic>> {
    Err(parsed.errors.clone())
}
