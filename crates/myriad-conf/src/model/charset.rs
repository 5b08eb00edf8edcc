//! `charset_map`.

use crate::span::Span;

/// A `charset_map FROM TO { … }`: how characters beyond ASCII of one charset are written in another, and back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CharsetMapConf {
    /// The charset of one byte a character.
    pub from: String,
    /// The other one; UTF-8, or of one byte a character too.
    pub to: String,
    /// A byte of the first and the one to three bytes of the second, in source order.
    pub pairs: Vec<(u8, Vec<u8>)>,
    /// The directive.
    pub span: Span,
}

impl CharsetMapConf {
    /// Whether the second charset is UTF-8.
    pub fn is_to_utf8(&self) -> bool {
        self.to.eq_ignore_ascii_case("utf-8")
    }
}
