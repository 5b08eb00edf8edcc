//! What errors took with them: names that a refused directive would have defined, blocks that a brace has shifted.

use std::collections::HashSet;

use crate::{
    diagnostic::{Diagnostic, Doubt, Severity},
    parsed::{Node, Parsed},
    span::{FileId, Span},
};

/// What is not known of a configuration that has errors, so that nothing is said which only follows from one of them.
#[derive(Debug, Default)]
pub(super) struct Lost {
    /// Words of the directives that were refused, in lower case, without `$` and signs.
    names: HashSet<Vec<u8>>,
    /// Text was not understood at all: any name may have stood there.
    is_anything: bool,
    unbalanced: Vec<FileId>,
    /// Directives that may hold words of the next one, or were not read as they were meant; sorted.
    unfinished: Vec<Span>,
}

impl Lost {
    /// Of what the errors say. Those of the parser come with the others.
    pub(super) fn by(parsed: &Parsed, findings: &[Diagnostic]) -> Self {
        let errors = findings.iter().filter(|finding| finding.severity == Severity::Error);
        // What nothing defines has itself defined nothing.
        let at = errors.filter(|error| error.doubt.is_none()).map(|error| error.span);
        let mut at: Vec<Span> = at.chain(parsed.unfinished.iter().copied()).collect();
        at.sort_unstable();
        let mut lost = Self {
            names: HashSet::new(),
            is_anything: parsed.errors.len() > parsed.unfinished.len(),
            unbalanced: parsed.unbalanced.clone(),
            unfinished: [&parsed.unfinished[..], &parsed.damaged].concat(),
        };
        lost.unfinished.sort_unstable();
        if !at.is_empty() {
            lost.of_nodes(&parsed.nodes, &at);
        }
        lost
    }

    /// Whether an error may follow from one that took something away.
    pub(super) fn explains(&self, finding: &Diagnostic) -> bool {
        // Of the last one that begins no later.
        let before = self
            .unfinished
            .partition_point(|span| (span.file, span.start) <= (finding.span.file, finding.span.start));
        let around = before.checked_sub(1).map(|at| self.unfinished[at]);
        if around.is_some_and(|around| around.file == finding.span.file && finding.span.end <= around.end) {
            return true;
        }
        match finding.doubt.as_deref() {
            Some(Doubt::Name(name)) => {
                self.is_anything || self.names.contains(&name.to_ascii_lowercase().into_bytes())
            }
            Some(Doubt::Context) => self.unbalanced.contains(&finding.span.file),
            None => false,
        }
    }

    /// Gathers the words of directives that hold an error, and of all that stands in their blocks where the error is their
    /// own. Returns whether there was one.
    fn of_nodes(&mut self, nodes: &[Node], errors: &[Span]) -> bool {
        let mut any = false;
        for node in nodes {
            let is_wrong = holds(node.span, errors);
            let inner = node.block.as_deref().unwrap_or_default();
            if is_wrong {
                self.all_of(inner);
            }
            if is_wrong | self.of_nodes(inner, errors) {
                self.words_of(node);
                any = true;
            }
        }
        any
    }

    fn all_of(&mut self, nodes: &[Node]) {
        for node in nodes {
            self.words_of(node);
            self.all_of(node.block.as_deref().unwrap_or_default());
        }
    }

    fn words_of(&mut self, node: &Node) {
        let is_sign = |byte: &u8| !byte.is_ascii_alphanumeric() && !matches!(byte, b'_' | b'-' | b'.');
        for word in node.args.iter().flat_map(|word| word.text.split(is_sign)) {
            if !word.is_empty() {
                self.names.insert(word.to_ascii_lowercase());
            }
        }
    }
}

/// Whether an error begins within a span; they are sorted.
fn holds(span: Span, errors: &[Span]) -> bool {
    let from = errors.partition_point(|error| (error.file, error.start) < (span.file, span.start));
    errors.get(from).is_some_and(|error| error.file == span.file && error.start <= span.end)
}
