//! Scripts: removal of white space and comments.

mod lexer;
mod minify;

pub(crate) use minify::reads_own_url;
pub use minify::rewrite_javascript;

/// Reason why a script is left unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsRefusal {
    /// The script is longer than `script_bytes` of the limits.
    TooLong,
    /// It cannot be decided if the slash at this byte offset divides or starts a regular expression.
    AmbiguousSlash(usize),
    /// The token at this byte offset is not valid or not complete; the length of the script if a bracket is not closed.
    Malformed(usize),
    /// The script contains comments in the syntax of HTML.
    HtmlComment,
    /// The first line of the script starts with `#!`.
    Hashbang,
    /// The script has a regular expression that searches for `/*`; it may search the source of one of its functions for
    /// comments.
    ReadsComments,
    /// The tokens of the result, or its line breaks that have a meaning, would differ from those of the original.
    Different,
}

impl std::fmt::Display for JsRefusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TooLong => f.write_str("too long"),
            Self::AmbiguousSlash(at) => write!(f, "the slash at byte {at} is ambiguous"),
            Self::Malformed(at) => write!(f, "the token at byte {at} is not valid"),
            Self::HtmlComment => f.write_str("contains <!-- or -->"),
            Self::Hashbang => f.write_str("starts with #!"),
            Self::ReadsComments => f.write_str("may read the comments of its functions"),
            Self::Different => f.write_str("the result would not be equivalent"),
        }
    }
}
