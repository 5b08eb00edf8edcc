//! Elements with all tokens that they contain.

use super::tokenizer::{HtmlKind, HtmlTag};

/// Names of elements whose contents cannot close an element outside of them.
const SCOPES: [&str; 10] =
    ["table", "td", "th", "caption", "svg", "math", "template", "button", "object", "marquee"];
/// Names of elements that never have an end tag.
pub(crate) const VOID: [&str; 14] = [
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track",
    "wbr",
];

/// Position relative to the elements that a condition selects.
#[derive(Default)]
pub(crate) struct ElementRegions {
    open: Option<OpenElement>,
}

struct OpenElement {
    name: String,
    /// Number of open elements with the name of the selected element, including that element.
    depth: usize,
    /// Number of open elements of [`SCOPES`] within the selected element.
    scopes: usize,
}

impl ElementRegions {
    /// Returns whether the next token is part of an element for which `is_selected` is true. Regions may be too long (if
    /// end tags are missing), never too short.
    pub(crate) fn next(
        &mut self,
        kind: &HtmlKind<'_>,
        is_selected: impl FnOnce(&HtmlTag<'_>) -> bool,
    ) -> bool {
        let Some(open) = &mut self.open else {
            let HtmlKind::Start(tag) = kind else { return false };
            let is_start = is_selected(tag);
            if is_start && !VOID.contains(&tag.name.as_str()) {
                self.open = Some(OpenElement { name: tag.name.clone(), depth: 1, scopes: 0 });
            }
            return is_start;
        };
        let scope = |name: &String| *name != open.name && SCOPES.contains(&name.as_str());
        match kind {
            HtmlKind::Start(tag) if tag.name == open.name => open.depth += 1,
            HtmlKind::Start(tag) if scope(&tag.name) => open.scopes += 1,
            HtmlKind::End(name) if scope(name) => open.scopes = open.scopes.saturating_sub(1),
            HtmlKind::End(name) if *name == open.name && open.scopes == 0 => {
                open.depth -= 1;
                if open.depth == 0 {
                    self.open = None;
                }
            }
            _ => {}
        }
        true
    }
}
