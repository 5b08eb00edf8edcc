//! Parses the default values of directives.

use std::path::Path;

use super::directive::{DefaultValue, Directive};
use crate::{
    parse::parse,
    parsed::{Node, Word},
    source::MemoryLoader,
    span::Span,
};

/// Parses the defaults of directives that are given as text, and returns each as a directive with the index of its row
/// in `directives`.
pub(super) fn written(directives: &[Directive]) -> Vec<(usize, Node)> {
    let mut file = String::new();
    let mut rows = Vec::new();
    for (index, directive) in directives.iter().enumerate() {
        let DefaultValue::Text(text) = directive.default else { continue };
        rows.push(index);
        let (before, behind) = if directive.arity.block { ("{ ", " }") } else { ("", ";") };
        file.extend([&*directive.name, " ", before, text, behind, "\n"]);
    }
    let path = Path::new("defaults");
    let mut nodes = parse(&MemoryLoader::with(path, file), path, b"", &[]).nodes;
    debug_assert_eq!(nodes.len(), rows.len(), "a default must be a single directive");
    nodes.iter_mut().for_each(clear_positions);
    rows.into_iter().zip(nodes).collect()
}

/// Removes the positions from a directive, because a default belongs to no file.
fn clear_positions(node: &mut Node) {
    let words = std::iter::once(&mut node.name).chain(&mut node.args);
    words.for_each(|Word { span, .. }| *span = Span::default());
    node.span = Span::default();
    node.block.iter_mut().flatten().for_each(clear_positions);
}
