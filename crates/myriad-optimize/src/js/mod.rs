//! Scripts: removal of white space and comments.

mod lexer;
mod minify;

pub(crate) use minify::reads_own_url;
pub use minify::rewrite_javascript;

/// Reason why a script is left unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsRefusal {
    /// Longer than the limit.
    TooLong,
    /// It cannot be decided here if a slash at this offset divides or starts a regular expression.
    AmbiguousSlash(usize),
    /// A token at this offset is not valid or not complete.
    Malformed(usize),
    /// Comments in the syntax of HTML, or a first line that starts with `#!`.
    HtmlComment,
    /// It searches texts for comments; the searched text may be the source of one of its functions.
    ReadsComments,
    /// The result would have other tokens.
    Different,
}

impl std::fmt::Display for JsRefusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TooLong => f.write_str("too long"),
            Self::AmbiguousSlash(at) => write!(f, "the slash at byte {at} is ambiguous"),
            Self::Malformed(at) => write!(f, "the token at byte {at} is not valid"),
            Self::HtmlComment => f.write_str("contains <!-- or -->"),
            Self::ReadsComments => f.write_str("may read the comments of its functions"),
            Self::Different => f.write_str("the result would not be equivalent"),
        }
    }
}
