//! Style sheets: removal of white space and comments, combination, and the facts that other filters need.

mod combine;
mod facts;
mod fonts;
mod minify;
mod rules;
mod tokens;

pub use combine::{SheetSource, combine};
pub use facts::{ElementPattern, SheetFacts};
pub use fonts::{FontFace, FontFacts, FontFamily};
pub use minify::{declared_charset, rewrite_css};

/// Reason why a style sheet is left unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CssRefusal {
    /// The sheet is longer than `sheet_bytes` of the limits, or a combined sheet than `bundle_bytes`.
    TooLong,
    /// The sheet is nested more deeply than `sheet_depth` of the limits.
    TooDeep,
    /// The sheet contains invalid tokens, or closing brackets without an opening one.
    Malformed,
    /// The sheet ends within a comment, string, bracket or rule.
    OpenEnd,
    /// The tokens of the result would differ from those of the original.
    Different,
    /// The result would start with an `@charset` rule that is not at the start of the original.
    Charset,
    /// An `@import` rule would not be at the start of the combined sheet.
    Import,
    /// The sheet has an `@namespace` rule, which applies to the whole sheet.
    Namespace,
    /// The sheet has a URL with escapes; or a relative URL that is in a custom property, cannot be resolved, or
    /// contains characters that cannot be written in its position.
    Url,
}

impl std::fmt::Display for CssRefusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::TooLong => "too long",
            Self::TooDeep => "nested too deeply",
            Self::Malformed => "not valid CSS",
            Self::OpenEnd => "ends within a comment, string or block",
            Self::Different => "the result would not be equivalent",
            Self::Charset => "has an @charset rule that would take effect only in the result",
            Self::Import => "has an @import rule",
            Self::Namespace => "has an @namespace rule",
            Self::Url => "has a relative URL that cannot be moved",
        })
    }
}
