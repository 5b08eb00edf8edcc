//! Results of scripts, reported to the explanation of a request (`myriad -t --explain`).

/// Directive or table that was evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trace<'a> {
    /// Directive of the rewrite module.
    Rule {
        /// [`crate::StepSource::tag`] of the directive.
        tag: usize,
        /// Result.
        outcome: RuleOutcome<'a>,
    },
    /// Variable of a `map`.
    Map {
        /// Name of the variable, without `$`.
        variable: &'a str,
        /// Value that was looked up.
        subject: &'a [u8],
        /// Key of the matching line; `None` for the default.
        line: Option<&'a str>,
    },
}

/// Result of a directive of the rewrite module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleOutcome<'a> {
    /// `set`: the assigned value.
    Set(&'a [u8]),
    /// `if`: true if the condition is true.
    If(bool),
    /// `rewrite`: its regex does not match.
    NoMatch,
    /// `rewrite`: its regex matches; the new URI or the redirect.
    Rewritten(&'a [u8]),
    /// `return`, `break`.
    Ends,
}
