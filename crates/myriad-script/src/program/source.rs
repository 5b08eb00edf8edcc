//! The directives of the rewrite module as text.

use myriad_functions::Function;

use super::step::IfId;

/// One directive, with the embedder's mark by which errors name it.
#[derive(Debug, Clone)]
pub struct StepSource<'a> {
    /// Comes back as `ScriptError::item`.
    pub tag: usize,
    /// The directive.
    pub kind: StepKind<'a>,
}

/// The directives of the rewrite module.
#[derive(Debug, Clone)]
pub enum StepKind<'a> {
    /// `set $variable value`.
    Set {
        /// With its `$`.
        variable: &'a str,
        /// A text with variables.
        value: &'a str,
    },
    /// A directive that gives a variable what a function makes of texts: `set_md5 $variable text`.
    Call {
        /// The directive, as errors name it.
        name: &'a str,
        /// The variable, with its `$`.
        variable: &'a str,
        /// The function.
        function: &'a Function,
        /// Texts with variables.
        arguments: Vec<&'a str>,
    },
    /// `rewrite pattern replacement [flag]`.
    Rewrite {
        /// Matched against the URI; no flags of letter case but PCRE's own.
        pattern: &'a str,
        /// A text with variables; a `?` at its end drops the arguments.
        replacement: &'a str,
        /// `last`, `break`, `redirect` or `permanent`.
        flag: Option<&'a str>,
    },
    /// `return code [text]`, `return code URL` or `return URL`.
    Return {
        /// The code, or a URL.
        code: &'a str,
        /// Text or URL with variables.
        text: Option<&'a str>,
    },
    /// `break`.
    Break,
    /// `if (condition) { … }`.
    If {
        /// The words between `if` and `{`, with or without their brackets.
        condition: Vec<&'a str>,
        /// The directives of the rewrite module in the block, in order.
        block: Vec<StepSource<'a>>,
        /// The configuration of the block, if it has one of its own (in a location).
        id: Option<IfId>,
    },
}
