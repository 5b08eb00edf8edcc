//! Directives of a configuration that behave differently from nginx or have no effect.

use std::collections::BTreeMap;

use myriad_conf::registry::DirectiveStatus;
use myriad_conf::{Node, ParsedConfiguration, Span, line_and_column};

/// Maximum number of positions in the configuration that are listed for one directive.
const PLACES: usize = 3;

/// Returns a line for each directive of the configuration that differs from nginx, has no effect or is not implemented,
/// with at most [`PLACES`] positions; empty if there is no such directive.
pub(super) fn lines(parsed: &ParsedConfiguration) -> Vec<String> {
    let mut notes: BTreeMap<&str, String> = BTreeMap::new();
    for directive in myriad_serve::registry().directives() {
        let note = match directive.status {
            DirectiveStatus::Differs(note) => format!("differs: {note}"),
            DirectiveStatus::NoEffect(note) => format!("has no effect: {note}"),
            DirectiveStatus::Later(note) => format!("is not implemented yet: {note}"),
            DirectiveStatus::Same | DirectiveStatus::Refused(_) | DirectiveStatus::Own => continue,
        };
        notes.entry(&directive.name).or_insert_with(|| note.replace(['`', '*'], ""));
    }
    let mut found: BTreeMap<String, Vec<Span>> = BTreeMap::new();
    gather(&parsed.nodes, &mut |node| {
        let name = String::from_utf8_lossy(&node.name.text).into_owned();
        if notes.contains_key(name.as_str()) {
            found.entry(name).or_default().push(node.span);
        }
    });
    let line = |(name, spans): (&String, &Vec<Span>)| {
        let mut places: Vec<String> = spans.iter().filter_map(|span| place(parsed, *span)).collect();
        let more = places.len().saturating_sub(PLACES);
        places.truncate(PLACES);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        let note = notes.get(name.as_str())?;
        (!places.is_empty()).then(|| format!("{name} {note}\n  --> {}{more}", places.join(", ")))
    };
    found.iter().filter_map(line).collect()
}

/// Calls `visit` for each of the directives `nodes` and, recursively, for each directive in their blocks.
pub(super) fn gather<'p>(nodes: &'p [Node], visit: &mut impl FnMut(&'p Node)) {
    // The recursion is bounded: the parser limits the depth of blocks.
    for node in nodes {
        visit(node);
        gather(node.block.as_deref().unwrap_or_default(), visit);
    }
}

/// Returns the file and line of a position in the configuration; `None` if it is not in a file.
fn place(parsed: &ParsedConfiguration, span: Span) -> Option<String> {
    let source =
        parsed.source(span.file).filter(|source| !source.builtin && source.path.as_os_str() != "-g")?;
    let (line, _) = line_and_column(source, span.start);
    Some(format!("{}:{line}", source.path.display()))
}
