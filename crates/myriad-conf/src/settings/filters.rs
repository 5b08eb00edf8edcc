//! What changes bodies on their way: nginx's gunzip and sub modules.

use crate::text::Text;

/// One `sub_filter`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubFilter {
    /// The text looked for, in lower case as far as it is no variable.
    pub pattern: Text,
    /// What stands in its place.
    pub replacement: Text,
}

/// Filters of a level.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FilterSettings {
    /// `gunzip`.
    pub gunzip: bool,
    /// `sub_filter`, in source order.
    pub sub: Vec<SubFilter>,
    /// `sub_filter_once`.
    pub sub_once: bool,
    /// `sub_filter_types`, lower case, always with `text/html`; `*` alone means every type.
    pub sub_types: Vec<String>,
    /// `sub_filter_last_modified`.
    pub sub_last_modified: bool,
}

impl Default for FilterSettings {
    fn default() -> Self {
        Self {
            gunzip: false,
            sub: Vec::new(),
            sub_once: true,
            sub_types: vec!["text/html".to_owned()],
            sub_last_modified: false,
        }
    }
}
