//! Properties that every parsed text must have, for the mutation test and the fuzz target.

use myriad_conf::{Node, ParsedConfiguration};

/// Asserts that each word is at its recorded position and within its directive.
pub(crate) fn check(parsed: &ParsedConfiguration, nodes: &[Node]) {
    for node in nodes {
        for word in std::iter::once(&node.name).chain(&node.args) {
            let source = parsed.source(word.span.file).expect("a source for every span");
            let written = &source.bytes[word.span.start as usize..word.span.end as usize];
            if !word.quoted && !written.contains(&b'\\') {
                assert_eq!(word.text, written);
            }
            assert!(node.span.file != word.span.file || node.span.start <= word.span.start);
        }
        check(parsed, node.block.as_deref().unwrap_or_default());
    }
}
