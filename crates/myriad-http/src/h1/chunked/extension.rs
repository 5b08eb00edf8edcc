//! Chunk extensions, after the size of a chunk (RFC 9112 §7.1.1).

use crate::token::is_tchar;

/// State of the parser of chunk extensions.
///
/// ```text
/// Start --tchar--> Name --=--> ValueStart --tchar--> Value
///                   `-blank-> NameEnd --=--^     `--"--> Quoted --"--> QuotedEnd
///                                                          `-\-> Escaped -> Quoted
/// Value, QuotedEnd --blank--> ValueEnd
/// Name, NameEnd, Value, QuotedEnd, ValueEnd --;--> Start
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ExtensionState {
    /// State after a semicolon, before the name of an extension.
    Start,
    Name,
    /// State in white space after the name of an extension.
    NameEnd,
    ValueStart,
    Value,
    Quoted,
    /// State after a backslash in a quoted value of an extension.
    Escaped,
    QuotedEnd,
    /// State in white space after the value of an extension.
    ValueEnd,
    /// State in which any byte is accepted except control bytes other than tabs, for recipients that ignore extensions.
    Any,
}

impl ExtensionState {
    /// Returns the state after `byte`; `None` if the byte is invalid here. White space around `;` and `=` is accepted,
    /// as the RFC requires.
    pub(super) fn next(self, byte: u8) -> Option<Self> {
        let is_blank = matches!(byte, b' ' | b'\t');
        let is_text = is_blank || matches!(byte, b'!'..=b'~' | 0x80..);
        Some(match (self, byte) {
            (Self::Any | Self::Escaped, _) if is_text => {
                if self == Self::Any {
                    Self::Any
                } else {
                    Self::Quoted
                }
            }
            (Self::Quoted, b'"') => Self::QuotedEnd,
            (Self::Quoted, b'\\') => Self::Escaped,
            (Self::Quoted, _) if is_text => Self::Quoted,
            (Self::Start | Self::NameEnd | Self::ValueStart | Self::ValueEnd, _) if is_blank => self,
            (Self::Name, _) if is_blank => Self::NameEnd,
            (Self::Value | Self::QuotedEnd, _) if is_blank => Self::ValueEnd,
            (Self::Start | Self::Name, _) if is_tchar(byte) => Self::Name,
            (Self::ValueStart | Self::Value, _) if is_tchar(byte) => Self::Value,
            (Self::ValueStart, b'"') => Self::Quoted,
            (Self::Name | Self::NameEnd, b'=') => Self::ValueStart,
            (Self::Name | Self::NameEnd | Self::Value | Self::QuotedEnd | Self::ValueEnd, b';') => {
                Self::Start
            }
            _ => return None,
        })
    }

    /// Returns whether the line with the chunk size may end in this state: after a name or value without white space
    /// after it, or at any position in [`Self::Any`].
    pub(super) fn may_end(self) -> bool {
        matches!(self, Self::Name | Self::Value | Self::QuotedEnd | Self::Any)
    }
}
