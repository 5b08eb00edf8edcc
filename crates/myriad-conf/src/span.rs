//! Positions in configuration files.

/// Identifier of a source file: its index in [`crate::ParsedConfiguration::sources`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileId(pub u32);

/// Half-open range of bytes in a source file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Span {
    /// Source file.
    pub file: FileId,
    /// Offset of the first byte, in bytes.
    pub start: u32,
    /// Offset of the first byte after the span.
    pub end: u32,
}

impl Span {
    /// Creates the span `start..end` of `file`.
    pub fn new(file: FileId, start: u32, end: u32) -> Self {
        Self { file, start, end }
    }

    /// Returns the smallest span that covers both spans; `self` if they belong to different files.
    #[must_use]
    pub fn to(self, other: Self) -> Self {
        if self.file != other.file {
            return self;
        }
        Self { file: self.file, start: self.start.min(other.start), end: self.end.max(other.end) }
    }
}
