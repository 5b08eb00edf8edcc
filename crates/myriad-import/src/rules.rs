//! Conditions and rules of mod_rewrite, as they are read.

use crate::lines::Item;
use crate::site::Entry;

/// What has been read of them.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    pub(crate) is_on: bool,
    pub(crate) base: Option<String>,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) count: usize,
    /// Whether the rule before had the flag `C`.
    pub(crate) chained: bool,
    pub(crate) entries: Vec<Entry>,
    /// Conditions that were refused: the rule behind them cannot be told.
    pub(crate) broken: bool,
}

/// `RewriteCond`.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    pub(crate) item: Item,
    pub(crate) test: String,
    /// Without its `!`.
    pub(crate) pattern: String,
    pub(crate) negated: bool,
    pub(crate) no_case: bool,
    /// `OR`: it or the next one.
    pub(crate) or: bool,
}

/// `RewriteRule`.
#[derive(Clone, Debug, Default)]
pub(crate) struct Rule {
    pub(crate) number: usize,
    pub(crate) pattern: String,
    pub(crate) negated: bool,
    pub(crate) target: String,
    pub(crate) flags: Flags,
}

/// Flags of a rule that have a counterpart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Flags {
    pub(crate) no_case: bool,
    pub(crate) last: bool,
    pub(crate) append_query: bool,
    pub(crate) drop_query: bool,
    /// Status of `R`, `F`, `G`.
    pub(crate) status: Option<u16>,
    pub(crate) chain: bool,
    /// `E=NAME:VALUE`.
    pub(crate) env: Vec<(String, String)>,
}
