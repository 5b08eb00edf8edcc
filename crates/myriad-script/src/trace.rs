//! What scripts come to, told to whoever explains a request (`myriad -t --explain`).

/// A directive or a table that has run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trace<'a> {
    /// A directive of the rewrite module.
    Rule {
        /// The [`crate::StepSource::tag`] of the directive.
        tag: usize,
        /// What it came to.
        outcome: RuleOutcome<'a>,
    },
    /// A variable that a `map` makes.
    Map {
        /// The variable, without its `$`.
        variable: &'a str,
        /// What was looked up.
        subject: &'a [u8],
        /// The key of the line that fits; none for the default.
        line: Option<&'a str>,
    },
}

/// What a directive of the rewrite module came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleOutcome<'a> {
    /// `set`: the value.
    Set(&'a [u8]),
    /// `if`: whether it holds.
    If(bool),
    /// `rewrite`: its regex does not match.
    NoMatch,
    /// `rewrite`: it matches; what the URI, or the redirect, is now.
    Rewritten(&'a [u8]),
    /// `return`, `break`.
    Ends,
}
