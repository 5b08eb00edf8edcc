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
    /// Longer than `sheet_bytes` of the limits, or `bundle_bytes` for a combined sheet.
    TooLong,
    /// Nested more deeply than `sheet_depth` of the limits.
    TooDeep,
    /// Bad tokens, or brackets that are closed but not open.
    Malformed,
    /// The end is within a comment, string, bracket or rule.
    OpenEnd,
    /// The result would have other tokens than the original.
    Different,
    /// An `@charset` that is not at the start, but would be there in the result.
    Charset,
    /// An `@import` that would not be at the start of the combined sheet.
    Import,
    /// An `@namespace`, which applies to the whole sheet.
    Namespace,
    /// A URL with escapes; or a relative URL that is in a custom property, cannot be resolved, or contains characters
    /// that cannot be written in its place.
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
