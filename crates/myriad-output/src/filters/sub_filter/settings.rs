//! Settings of the directives.

use myriad_conf::Text;

/// Single `sub_filter`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Replacement {
    /// Pattern, in lower case except for variables.
    pub pattern: Text,
    /// Replacement.
    pub replacement: Text,
}

/// `sub_filter*` of a level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SubFilterSettings {
    /// `sub_filter`, in source order.
    pub replacements: Vec<Replacement>,
    /// `sub_filter_once`.
    pub once: bool,
    /// `sub_filter_types`, lower case, always including `text/html`; `*` alone means every type.
    pub types: Vec<String>,
    /// `sub_filter_last_modified`.
    pub last_modified: bool,
}

myriad_conf::feature_settings!(SubFilterSettings);
