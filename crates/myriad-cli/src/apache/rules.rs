//! Parsed conditions and rules of `mod_rewrite`.

use crate::apache::lines::Item;
use crate::apache::site::Entry;

/// State of the parsed conditions and rules.
#[derive(Debug, Default)]
pub(crate) struct Rules {
    pub(crate) is_on: bool,
    pub(crate) base: Option<String>,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) count: usize,
    /// True if the previous rule had the flag `C`.
    pub(crate) chained: bool,
    pub(crate) entries: Vec<Entry>,
    /// True if a condition was rejected, so that the following rule cannot be translated.
    pub(crate) broken: bool,
}

/// Directive `RewriteCond`.
#[derive(Clone, Debug)]
pub(crate) struct Condition {
    pub(crate) item: Item,
    pub(crate) test: String,
    /// Pattern without its `!`.
    pub(crate) pattern: String,
    pub(crate) negated: bool,
    pub(crate) no_case: bool,
    /// True for the flag `OR`: this condition or the next one must match.
    pub(crate) or: bool,
}

/// Directive `RewriteRule`.
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
    /// Status of the flags `R`, `F`, `G`.
    pub(crate) status: Option<u16>,
    pub(crate) chain: bool,
    /// Names and values of `E=NAME:VALUE`.
    pub(crate) env: Vec<(String, String)>,
}
