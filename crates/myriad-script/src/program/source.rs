//! Directives of the rewrite module before compilation.

use crate::functions::Function;

use super::step::IfId;

/// Directive, with a number by which the embedder identifies it in errors and traces.
#[derive(Debug, Clone)]
pub struct StepSource<'a> {
    /// Number of the directive, chosen by the embedder; errors contain it as `ScriptError::item`.
    pub tag: usize,
    /// Kind of the directive, with its arguments.
    pub kind: StepKind<'a>,
}

/// Directive of the rewrite module, with its texts as written.
#[derive(Debug, Clone)]
pub enum StepKind<'a> {
    /// `set $variable value`.
    Set {
        /// Variable, with its `$`.
        variable: &'a str,
        /// Value to assign: a text with variables.
        value: &'a str,
    },
    /// Directive that sets a variable to the result of a function of texts: `set_md5 $variable text`.
    Call {
        /// Directive and variable, as named in errors.
        name: &'a str,
        /// Variable, with its `$`.
        variable: &'a str,
        /// Function that computes the value.
        function: &'a Function,
        /// Arguments of the function: texts with variables.
        arguments: Vec<&'a str>,
    },
    /// `rewrite pattern replacement [flag]`.
    Rewrite {
        /// Pattern that is matched against the URI, case-sensitively unless the pattern contains PCRE2 options.
        pattern: &'a str,
        /// Text with variables. With a trailing `?`, the arguments of the request are not appended.
        replacement: &'a str,
        /// `last`, `break`, `redirect` or `permanent`; `None` without a flag.
        flag: Option<&'a str>,
    },
    /// `return code [text]`, `return code URL` or `return URL`.
    Return {
        /// Status; if `text` is `None`, it may be a URL instead.
        code: &'a str,
        /// Text of the response, or URL of a redirect, with variables.
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
        /// Identifier of the settings in the block; `None` if it has none.
        id: Option<IfId>,
    },
}
