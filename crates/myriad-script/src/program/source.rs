//! Source form of the rewrite module's directives.

use crate::functions::Function;

use super::step::IfId;

/// Directive with a tag of the embedder that identifies it in errors.
#[derive(Debug, Clone)]
pub struct StepSource<'a> {
    /// Returned as `ScriptError::item`.
    pub tag: usize,
    /// The directive.
    pub kind: StepKind<'a>,
}

/// Directives of the rewrite module.
#[derive(Debug, Clone)]
pub enum StepKind<'a> {
    /// `set $variable value`.
    Set {
        /// Variable, with its `$`.
        variable: &'a str,
        /// Text with variables.
        value: &'a str,
    },
    /// Directive that sets a variable to the result of a function of texts: `set_md5 $variable text`.
    Call {
        /// Directive in the form used by errors.
        name: &'a str,
        /// Variable, with its `$`.
        variable: &'a str,
        /// The function.
        function: &'a Function,
        /// Texts with variables.
        arguments: Vec<&'a str>,
    },
    /// `rewrite pattern replacement [flag]`.
    Rewrite {
        /// Pattern matched against the URI; case-sensitive unless PCRE options in the pattern change this.
        pattern: &'a str,
        /// Text with variables; a trailing `?` drops the arguments.
        replacement: &'a str,
        /// `last`, `break`, `redirect` or `permanent`.
        flag: Option<&'a str>,
    },
    /// `return code [text]`, `return code URL` or `return URL`.
    Return {
        /// Code, or a URL.
        code: &'a str,
        /// Text or URL with variables.
        text: Option<&'a str>,
    },
    /// `break`.
    Break,
    /// `if (condition) { … }`.
    If {
        /// Words between `if` and `{`, with or without parentheses.
        condition: Vec<&'a str>,
        /// Directives of the rewrite module in the block, in order.
        block: Vec<StepSource<'a>>,
        /// Settings of the block, if it has any (in a location).
        id: Option<IfId>,
    },
}
