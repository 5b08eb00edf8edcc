//! Information lost through errors: names that a rejected directive would have defined, and files where a wrong brace
//! shifts blocks.

use std::collections::HashSet;

use crate::{
    diagnostic::{Diagnostic, PossibleCause, Severity},
    parsed::{Node, ParsedConfiguration},
    span::{FileId, Span},
};

/// Parts of a configuration that are unknown because of errors. Used to suppress errors that are only consequences of
/// others.
#[derive(Debug, Default)]
pub(super) struct LostDefinitions {
    /// Words in arguments of rejected directives, in lower case; any of them may be a name that is now undefined.
    names: HashSet<Vec<u8>>,
    /// True if text could not be parsed. It may have defined any name.
    is_anything: bool,
    unbalanced: Vec<FileId>,
    /// Positions of directives without a terminator or with an invalid word, sorted. Other errors at these positions
    /// are consequences.
    unfinished: Vec<Span>,
}

impl LostDefinitions {
    /// Collects the unknown parts of a configuration from all its errors, including those of the parser.
    pub(super) fn by(parsed: &ParsedConfiguration, findings: &[Diagnostic]) -> Self {
        let errors = findings.iter().filter(|finding| finding.severity == Severity::Error);
        // An error about an undefined name rejects no definition.
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

    /// Returns whether the error `finding` may be only a consequence of another error: it is inside a directive with an
    /// invalid word or without a terminator, or its [`PossibleCause`] has occurred.
    pub(super) fn explains(&self, finding: &Diagnostic) -> bool {
        // Finds the last unfinished or damaged directive that starts at or before the error.
        let before = self
            .unfinished
            .partition_point(|span| (span.file, span.start) <= (finding.span.file, finding.span.start));
        let around = before.checked_sub(1).map(|at| self.unfinished[at]);
        if around.is_some_and(|around| around.file == finding.span.file && finding.span.end <= around.end) {
            return true;
        }
        match finding.doubt.as_deref() {
            Some(PossibleCause::Name(name)) => {
                self.is_anything || self.names.contains(&name.to_ascii_lowercase().into_bytes())
            }
            Some(PossibleCause::Context) => self.unbalanced.contains(&finding.span.file),
            None => false,
        }
    }

    /// Collects the words in the arguments of each directive of `nodes` that has an error, itself or in its block. If
    /// the directive itself has an error, the words of all directives in its block are collected, too. Returns true if
    /// any of `nodes` has an error.
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

/// Returns whether an error starts within `span` or at its end. `errors` is sorted.
fn holds(span: Span, errors: &[Span]) -> bool {
    let from = errors.partition_point(|error| (error.file, error.start) < (span.file, span.start));
    errors.get(from).is_some_and(|error| error.file == span.file && error.start <= span.end)
}
