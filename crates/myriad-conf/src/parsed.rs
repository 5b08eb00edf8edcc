//! Parsed configuration: syntax tree and sources.

use std::path::PathBuf;

use crate::{
    diagnostic::Diagnostic,
    span::{FileId, Span},
    text::Text,
};

/// One word of a directive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// The bytes, unescaped and unquoted.
    pub text: Vec<u8>,
    /// True if the word was quoted.
    pub quoted: bool,
    /// Position, including the quotes.
    pub span: Span,
}

impl Word {
    /// Converts the word to text that can be compiled.
    pub fn to_text(&self) -> Text {
        Text::new(self.text.clone(), self.span)
    }
}

/// Directive with its block, if any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Name of the directive.
    pub name: Word,
    /// Arguments of the directive.
    pub args: Vec<Word>,
    /// Content between `{` and `}`. `include` directives are already replaced by the included directives.
    pub block: Option<Vec<Node>>,
    /// Position from the name up to the `;` or `{`, which is not included.
    pub span: Span,
}

/// Source file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Path of the file; `-g` for directives of the command line.
    pub path: PathBuf,
    /// Content of the file.
    pub bytes: std::sync::Arc<[u8]>,
    /// True if this is a built-in table used in place of a missing file.
    pub builtin: bool,
}

/// Parsed configuration.
#[derive(Clone, Debug, Default)]
pub struct ParsedConfiguration {
    /// The main context.
    pub nodes: Vec<Node>,
    /// All source files, each listed once, in the order of first reading. A `FileId` is an index into this list.
    pub sources: Vec<SourceFile>,
    /// Syntax errors. [`crate::build`] reports them together with its own errors.
    pub errors: Vec<Diagnostic>,
    /// Directives without a terminating `;` or `{`, each reported as an error. The syntax tree contains them as if a
    /// `;` followed.
    pub unfinished: Vec<Span>,
    /// Directives with a word that could not be read, or not as intended. Further errors in them are consequences.
    pub damaged: Vec<Span>,
    /// Files with a missing or extra brace, so that the contents of blocks may differ from the intended contents.
    pub unbalanced: Vec<FileId>,
}

impl ParsedConfiguration {
    /// Returns the source file with this identifier, such as that of a span; `None` if it is not in the list.
    pub fn source(&self, file: FileId) -> Option<&SourceFile> {
        self.sources.get(file.0 as usize)
    }
}
