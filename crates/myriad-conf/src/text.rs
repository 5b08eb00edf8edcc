//! Uncompiled configuration text: bytes with their position in the source.

use std::borrow::Cow;

use crate::span::Span;

/// Word with `$variables` or a regex that another crate compiles. The bytes are arbitrary, because nginx's language
/// defines no charset.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Text {
    /// The bytes, unescaped and unquoted.
    pub value: Vec<u8>,
    /// Position in the source; the default span for built-in defaults.
    pub span: Span,
}

impl Text {
    /// Creates text with a position.
    pub fn new(value: impl Into<Vec<u8>>, span: Span) -> Self {
        Self { value: value.into(), span }
    }

    /// Creates text of a built-in default, with the default span.
    pub fn builtin(value: &str) -> Self {
        Self { value: value.as_bytes().to_vec(), span: Span::default() }
    }

    /// Returns the bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.value
    }

    /// Returns the text as `&str`, or `None` if it is not UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.value).ok()
    }

    /// Returns the text for messages, with invalid UTF-8 replaced.
    pub fn lossy(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.value)
    }

    /// Returns whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.value.is_empty()
    }

    /// Returns whether the text contains a `$`, so that its value may vary by request.
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
