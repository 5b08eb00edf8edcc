//! Results of rewrite directives and maps, reported for the explanation of a request (`myriad -t --explain`).

/// Evaluated directive or map, with its result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trace<'a> {
    /// Evaluated directive of the rewrite module.
    Rule {
        /// [`crate::StepSource::tag`] of the directive.
        tag: usize,
        /// Result of the directive.
        outcome: RuleOutcome<'a>,
    },
    /// `map` whose variable was computed.
    Map {
        /// Name of the variable, without `$`.
        variable: &'a str,
        /// Value that was looked up in the map.
        subject: &'a [u8],
        /// Key of the matching line, as written; `None` for the default.
        line: Option<&'a str>,
    },
}

/// Result of a directive of the rewrite module.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RuleOutcome<'a> {
    /// `set`, or a function call: the assigned value.
    Set(&'a [u8]),
    /// `if`: value of the condition.
    If(bool),
    /// `rewrite`: its regex does not match.
    NoMatch,
    /// `rewrite`: its regex matches. The value is the new URI, or the URL of the redirect.
    Rewritten(&'a [u8]),
    /// `return` or `break`, which terminates the program.
    Ends,
}
