//! Result of parsing: syntax tree, source files and syntax errors.

use std::{ops::Range, path::PathBuf};

use crate::{
    diagnostic::Diagnostic,
    span::{FileId, Span},
    text::Text,
};

/// Word of a configuration: a directive's name or an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Word {
    /// Content of the word, without quotes and with escapes decoded.
    pub text: Vec<u8>,
    /// True if the word was quoted.
    pub quoted: bool,
    /// Position of the word, including its quotes.
    pub span: Span,
}

impl Word {
    /// Returns the word as text, which may contain variables.
    pub fn to_text(&self) -> Text {
        Text::new(self.text.clone(), self.span)
    }
}

/// Directive, with the content of its block if it has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Name of the directive.
    pub name: Word,
    /// Arguments of the directive.
    pub args: Vec<Word>,
    /// Directives between `{` and `}`; `None` without a block. `include` is already replaced by the included
    /// directives.
    pub block: Option<Vec<Node>>,
    /// Position from the name to the last argument, without the `;` or `{`.
    pub span: Span,
}

/// Source file of a configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Path of the file; `-g` for directives given on the command line.
    pub path: PathBuf,
    /// Content of the file.
    pub bytes: std::sync::Arc<[u8]>,
    /// True for a built-in file that is used because the file does not exist.
    pub builtin: bool,
    /// Ranges of bytes after `data:` in words and comments, which may be private keys: diagnostics do not show them.
    pub masked: Vec<Range<u32>>,
}

impl SourceFile {
    /// Returns the text between two byte offsets, with `*` in place of each byte that is not shown: the text after `data:`
    /// may be a private key (`ssl_certificate_key`), and messages are logged.
    pub(crate) fn masked_bytes(&self, first: usize, last: usize) -> Vec<u8> {
        let mut text = self.bytes[first..last].to_vec();
        // Words that start before the text may extend into it.
        for range in &self.masked {
            let inside = |offset: u32| (offset as usize).clamp(first, last) - first;
            text[inside(range.start)..inside(range.end)].fill(b'*');
        }
        text
    }
}

/// Parsed configuration: all files as one syntax tree.
#[derive(Clone, Debug, Default)]
pub struct ParsedConfiguration {
    /// Directives of the main context.
    pub nodes: Vec<Node>,
    /// All source files, each once, in the order in which they were first read. A `FileId` is an index into this list.
    pub sources: Vec<SourceFile>,
    /// Syntax errors. [`crate::build`] reports them together with its own errors.
    pub errors: Vec<Diagnostic>,
    /// Directives without a terminating `;` or `{`, which is an error. The syntax tree contains them as if `;`
    /// followed.
    pub unfinished: Vec<Span>,
    /// Directives with an invalid word. Further errors about them are consequences.
    pub damaged: Vec<Span>,
    /// Files in which a brace is missing or extra, so that directives may be in other blocks than intended.
    pub unbalanced: Vec<FileId>,
}

impl ParsedConfiguration {
    /// Returns the source file with this identifier (as in a span); `None` if it does not exist.
    pub fn source(&self, file: FileId) -> Option<&SourceFile> {
        self.sources.get(file.0 as usize)
    }
}
