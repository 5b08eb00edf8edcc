//! Uncompiled text of the configuration: bytes with the place they came from.

use std::borrow::Cow;

use crate::span::Span;

/// A word whose `$variables` or regex a later crate compiles; any bytes, since nginx's language has no charset.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Text {
    /// The bytes, unescaped and unquoted.
    pub value: Vec<u8>,
    /// Where they were written; the default span for built-in defaults.
    pub span: Span,
}

impl Text {
    /// Text found at `span`.
    pub fn new(value: impl Into<Vec<u8>>, span: Span) -> Self {
        Self { value: value.into(), span }
    }

    /// Text that no file holds: a default.
    pub fn builtin(value: &str) -> Self {
        Self { value: value.as_bytes().to_vec(), span: Span::default() }
    }

    /// The bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.value
    }

    /// The bytes as UTF-8, if they are.
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.value).ok()
    }

    /// For messages only: bytes that are not UTF-8 are replaced.
    pub fn lossy(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.value)
    }

    /// Whether it holds no bytes.
    pub fn is_empty(&self) -> bool {
        self.value.is_empty()
    }

    /// Whether a `$` stands in it, so that it may vary by request.
    pub fn has_variables(&self) -> bool {
        self.value.contains(&b'$')
    }
}

impl std::fmt::Debug for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?}", self.lossy())
    }
}

impl From<&str> for Text {
    fn from(value: &str) -> Self {
        Self::builtin(value)
    }
}
