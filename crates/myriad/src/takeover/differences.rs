//! Directives of a configuration that do here something else than in nginx, or nothing, with the places where they stand.

use std::collections::BTreeMap;

use myriad_conf::registry::Status;
use myriad_conf::{Node, Parsed, Span, line_and_column};

/// Most places that are named for one directive.
const PLACES: usize = 3;

/// Lines that tell of them, a directive each; empty if there are none.
pub(super) fn lines(parsed: &Parsed) -> Vec<String> {
    let mut notes: BTreeMap<&str, String> = BTreeMap::new();
    for directive in myriad_serve::registry().directives() {
        let note = match directive.status {
            Status::Differs(note) => format!("differs: {note}"),
            Status::NoEffect(note) => format!("has no effect: {note}"),
            Status::Later(note) => format!("is not acted on yet: {note}"),
            Status::Same | Status::Refused(_) | Status::Own => continue,
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

/// Visits the directives of all blocks.
pub(super) fn gather<'p>(nodes: &'p [Node], visit: &mut impl FnMut(&'p Node)) {
    // The depth of blocks is bounded by the parser.
    for node in nodes {
        visit(node);
        gather(node.block.as_deref().unwrap_or_default(), visit);
    }
}

/// File and line; `None` for what no file holds.
fn place(parsed: &Parsed, span: Span) -> Option<String> {
    let source =
        parsed.source(span.file).filter(|source| !source.builtin && source.path.as_os_str() != "-g")?;
    let (line, _) = line_and_column(source, span.start);
    Some(format!("{}:{line}", source.path.display()))
}
