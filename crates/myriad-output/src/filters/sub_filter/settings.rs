//! Settings of the sub_filter module.

use myriad_conf::Text;

/// One `sub_filter PATTERN REPLACEMENT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Replacement {
    /// Text to replace; letter case is ignored.
    pub pattern: Text,
    /// Text that replaces the pattern.
    pub replacement: Text,
}

/// Settings of `sub_filter*` on a configuration level.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct SubFilterSettings {
    /// `sub_filter`, in source order.
    pub replacements: Vec<Replacement>,
    /// `sub_filter_once`: true if only the first occurrence of each pattern is replaced.
    pub once: bool,
    /// `sub_filter_types`, in lower case, always including `text/html`; `*` alone means every type.
    pub types: Vec<String>,
    /// `sub_filter_last_modified`: true if `Last-Modified` is preserved.
    pub last_modified: bool,
}

myriad_conf::feature_settings!(SubFilterSettings);
