//! Uncompiled text of a configuration: bytes with their position.

use std::borrow::Cow;

use crate::span::Span;

/// Argument whose variables or regex another crate compiles. It may contain any bytes, because nginx's language defines
/// no charset.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct Text {
    /// Content of the argument, without quotes and with escapes decoded.
    pub value: Vec<u8>,
    /// Position in the source; the default span for built-in text.
    pub span: Span,
}

impl Text {
    /// Creates text with a position in the source.
    pub fn new(value: impl Into<Vec<u8>>, span: Span) -> Self {
        Self { value: value.into(), span }
    }

    /// Creates built-in text, with the default span.
    pub fn builtin(value: &str) -> Self {
        Self { value: value.as_bytes().to_vec(), span: Span::default() }
    }

    /// Returns the content.
    pub fn bytes(&self) -> &[u8] {
        &self.value
    }

    /// Returns the text as `&str`, or `None` if it is not UTF-8.
    pub fn as_str(&self) -> Option<&str> {
        std::str::from_utf8(&self.value).ok()
    }

    /// Returns the text for messages, with invalid UTF-8 replaced by U+FFFD.
    pub fn lossy(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(&self.value)
    }

    /// Returns whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.value.is_empty()
    }

    /// Returns whether the text contains `$`, so that its value may depend on the request.
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
