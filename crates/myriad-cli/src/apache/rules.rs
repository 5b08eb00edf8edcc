//! Parsed conditions and rules of `mod_rewrite`.

use crate::apache::lines::ApacheItem;
use crate::apache::site::TranslatedEntry;

/// State of the conditions and rules that have been parsed.
#[derive(Debug, Default)]
pub(crate) struct ModRewriteState {
    pub(crate) is_on: bool,
    pub(crate) base: Option<String>,
    pub(crate) conditions: Vec<RewriteCondition>,
    pub(crate) count: usize,
    /// True if the previous rule was translated and has the flag `C`.
    pub(crate) chained: bool,
    /// True if the last rule was not translated, and the next rule is chained to it.
    pub(crate) is_chain_broken: bool,
    pub(crate) entries: Vec<TranslatedEntry>,
    /// True if a condition could not be translated, so that the following rule cannot be either.
    pub(crate) broken: bool,
}

/// Parsed directive `RewriteCond`.
#[derive(Clone, Debug)]
pub(crate) struct RewriteCondition {
    pub(crate) item: ApacheItem,
    pub(crate) test: String,
    /// Pattern without its `!`.
    pub(crate) pattern: String,
    pub(crate) negated: bool,
    pub(crate) no_case: bool,
    /// True for the flag `OR`: this condition or the next one must match.
    pub(crate) or: bool,
}

/// Parsed directive `RewriteRule`.
#[derive(Clone, Debug, Default)]
pub(crate) struct RewriteRule {
    pub(crate) number: usize,
    pub(crate) pattern: String,
    pub(crate) negated: bool,
    pub(crate) target: String,
    pub(crate) flags: RuleFlags,
}

/// Flags of a rule that can be translated.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct RuleFlags {
    pub(crate) no_case: bool,
    pub(crate) last: bool,
    pub(crate) append_query: bool,
    pub(crate) drop_query: bool,
    /// Status of the flags `R`, `F` and `G`; `None` without them.
    pub(crate) status: Option<u16>,
    pub(crate) chain: bool,
    /// Names and values of the flags `E=NAME:VALUE`.
    pub(crate) env: Vec<(String, String)>,
}
