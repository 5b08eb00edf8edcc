//! Directives that belong together.

use super::directive::Directive;

/// Directives that belong together: those of a room of this crate, or of a feature.
#[derive(Clone, Copy)]
pub struct Family {
    /// What they are called together; the docs have a section of it.
    pub name: &'static str,
    /// The directives, in the order of the docs.
    pub rows: &'static [Directive],
}
