//! Errors of scripts, at compile time and at run time.

use std::fmt;

/// Compile error, shown to the administrator when the configuration is loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptError {
    /// Message without file and line, in nginx's wording if nginx has this error.
    pub message: String,
    /// Byte offset of the error in the compiled text; 0 if it is not known.
    pub offset: usize,
    /// Position of the error in a list: [`crate::StepSource::tag`], or the index of a line or text. `None` for a single
    /// text.
    pub item: Option<usize>,
    /// Name of the undefined variable, without `$`; `None` for other errors.
    pub undefined: Option<Box<str>>,
    /// Cause that several errors may have in common: the module that an undefined variable belongs to. `None` if there
    /// is no such module.
    pub cause: Option<&'static str>,
}

impl ScriptError {
    pub(crate) fn new(message: impl Into<String>) -> ScriptError {
        ScriptError { message: message.into(), offset: 0, item: None, undefined: None, cause: None }
    }

    /// Sets the name of the undefined variable.
    pub(crate) fn undefined(mut self, name: &str) -> ScriptError {
        self.undefined = Some(name.into());
        self
    }

    pub(crate) fn at(mut self, offset: usize) -> ScriptError {
        self.offset = offset;
        self
    }

    /// Sets the position of the error in a list, unless it is already set.
    pub(crate) fn in_item(mut self, item: usize) -> ScriptError {
        self.item.get_or_insert(item);
        self
    }
}

impl fmt::Display for ScriptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ScriptError {}

/// Run-time error of a script. The embedder logs it and responds with 500.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EvalError {
    /// A regular expression failed: it exceeded the match or memory limit, the subject is not valid UTF-8, or a pattern
    /// that is compiled at run time (SSI) is invalid.
    Regex {
        /// Regular expression as written.
        pattern: String,
        /// Error message of PCRE2.
        reason: String,
    },
    /// The value of a variable depends on itself, or on more than 100 nested variables.
    Cycle {
        /// Name of the variable at which the evaluation failed, without `$`.
        variable: String,
    },
    /// `rewrite` produced an empty URI.
    EmptyUri,
    /// A function has no value for its arguments.
    Function {
        /// Directive that calls the function, with the variable that it sets.
        directive: String,
        /// Reason why the function has no value.
        reason: String,
    },
    /// A directive of the rewrite module produced more than [`MOST_TEXT`] bytes from variables.
    TooLong {
        /// Directive that produced the text, with its first argument (without it for `if`, with the status for
        /// `return`).
        directive: String,
    },
}

/// Maximum number of bytes that `set`, `rewrite`, `return`, `if` and function calls such as `set_md5` produce from
/// variables. nginx has no such limit; it prevents memory exhaustion by a value that is doubled in each of ten rounds
/// of rewriting.
pub const MOST_TEXT: usize = 1 << 20;

impl fmt::Display for EvalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EvalError::Regex { pattern, reason } => {
                write!(f, "matching against \"{pattern}\" failed: {reason}")
            }
            EvalError::Cycle { variable } => write!(f, "cycle while evaluating variable \"{variable}\""),
            EvalError::Function { directive, reason } => write!(f, "\"{directive}\": {reason}"),
            EvalError::EmptyUri => f.write_str("the rewritten URI has a zero length"),
            EvalError::TooLong { directive } => write!(
                f,
                "\"{directive}\" produces a text of more than {MOST_TEXT} bytes: use shorter variables, and check that no value \
                     contains itself again in each round of rewriting"
            ),
        }
    }
}

impl std::error::Error for EvalError {}
