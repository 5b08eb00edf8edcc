//! The two ways in which a script fails: while it is compiled, and while it runs.

use std::fmt;

/// Says why a text does not compile; shown to the administrator at load.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptError {
    /// What is wrong, in nginx's words where nginx has them, without file and line.
    pub message: String,
    /// Byte offset into the text that was given, at which the fault starts.
    pub offset: usize,
    /// The `tag` of the [`crate::StepSource`], or the index of the line in a `map`, `geo` or `split_clients` block.
    pub item: Option<usize>,
    /// Name of the undefined variable, without `$`, if this is the only error.
    pub undefined: Option<Box<str>>,
    /// Cause that the error shares with others.
    pub cause: Option<&'static str>,
}

impl ScriptError {
    pub(crate) fn new(message: impl Into<String>) -> ScriptError {
        ScriptError { message: message.into(), offset: 0, item: None, undefined: None, cause: None }
    }

    /// Says which variable nothing defines.
    pub(crate) fn undefined(mut self, name: &str) -> ScriptError {
        self.undefined = Some(name.into());
        self
    }

    pub(crate) fn at(mut self, offset: usize) -> ScriptError {
        self.offset = offset;
        self
    }

    /// Marks the error with the item in which it stands; an inner mark is kept.
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

/// Says why a script could not finish for this request; the caller answers 500 and logs it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EvalError {
    /// The regular expression gave up: its match limit, its memory, or a subject that is not valid UTF-8.
    Regex {
        /// The pattern as written.
        pattern: String,
        /// What PCRE2 says.
        reason: String,
    },
    /// A variable needs itself to be evaluated.
    Cycle {
        /// The name of the variable, without `$`.
        variable: String,
    },
    /// `rewrite` produced an empty URI.
    EmptyUri,
    /// A function has no value for what it was called with.
    Function {
        /// The directive, with the variable that it sets.
        directive: String,
        /// Why.
        reason: String,
    },
    /// A directive of the rewrite module made a text longer than [`MOST_TEXT`].
    TooLong {
        /// The directive, with what tells it from others of its name.
        directive: String,
    },
}

/// Most bytes that `set`, `rewrite`, `return` and `if` make of variables. nginx has no bound of its own; here a value that
/// is put twice into its successor by each of ten rounds of rewriting must not take the memory of the machine.
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
                "\"{directive}\" makes a text of more than {MOST_TEXT} bytes: put shorter variables into it, and see that \
                 no value takes itself up again in each round of rewriting"
            ),
        }
    }
}

impl std::error::Error for EvalError {}
