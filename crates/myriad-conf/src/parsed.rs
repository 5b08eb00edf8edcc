//! A configuration as written: syntax tree and sources.

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
    /// Whether it stood in quotes.
    pub quoted: bool,
    /// Where, with the quotes.
    pub span: Span,
}

impl Word {
    /// The word as text to be compiled.
    pub fn to_text(&self) -> Text {
        Text::new(self.text.clone(), self.span)
    }
}

/// One directive with its block, if it has one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// The directive's name.
    pub name: Word,
    /// Its arguments.
    pub args: Vec<Word>,
    /// What stands between `{` and `}`; includes are already replaced by what they include.
    pub block: Option<Vec<Node>>,
    /// The place from the name to the `;` or `{`, without it.
    pub span: Span,
}

/// One file that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Source {
    /// Its path; `-g` for the command line's directives.
    pub path: PathBuf,
    /// Its bytes.
    pub bytes: std::sync::Arc<[u8]>,
    /// Whether it is a built-in table that stands in for an absent file.
    pub builtin: bool,
}

/// A configuration as written.
#[derive(Clone, Debug, Default)]
pub struct Parsed {
    /// The main context.
    pub nodes: Vec<Node>,
    /// Every file read, each once, in the order of first reading; `FileId` is an index into it.
    pub sources: Vec<Source>,
    /// What stopped the syntax from being understood; [`crate::build`] reports these with its own.
    pub errors: Vec<Diagnostic>,
    /// Directives that nothing ends, each with its error; they are in the tree as if a `;` stood there.
    pub unfinished: Vec<Span>,
    /// Directives with a word that could not be read, or not as it was meant; what else is wrong with them follows from that.
    pub damaged: Vec<Span>,
    /// The files in which a brace is missing or too many, so that blocks may not hold what they were meant to hold.
    pub unbalanced: Vec<FileId>,
}

impl Parsed {
    /// The file a span lies in.
    pub fn source(&self, file: FileId) -> Option<&Source> {
        self.sources.get(file.0 as usize)
    }
}
