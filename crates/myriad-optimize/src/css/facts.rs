//! Facts about the style sheets of a page that other filters need: which elements may show white space as written.

use std::ops::Range;

use super::CssRefusal;
use super::rules::{CssItem, ItemKind, at_name, is_trivia, next_item, trimmed};
use super::tokens::{CssKind, CssTokens};
use crate::OptimizeLimits;

/// Values of `white-space` and `white-space-collapse` with which runs of white space are shown as one space.
const COLLAPSING: [&str; 13] = [
    "normal",
    "nowrap",
    "inherit",
    "initial",
    "unset",
    "revert",
    "revert-layer",
    "collapse",
    "wrap",
    "balance",
    "pretty",
    "stable",
    "auto",
];
/// Pseudo-elements without text of the page.
const WITHOUT_TEXT: [&str; 6] = ["before", "after", "marker", "placeholder", "selection", "backdrop"];
/// Maximum nesting of `:is()` and `:where()` that is evaluated.
const NESTED: usize = 4;

/// Condition for an element: the last compound of a selector, without what cannot be decided from the element's tag. It
/// matches at least the elements that the selector matches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ElementPattern {
    /// Name in lower case; `None` for any.
    pub tag: Option<String>,
    /// Classes that the element must have.
    pub classes: Vec<String>,
    /// IDs that the element must have.
    pub ids: Vec<String>,
}

impl ElementPattern {
    /// Returns whether the pattern matches every element.
    pub fn is_any(&self) -> bool {
        self.tag.is_none() && self.classes.is_empty() && self.ids.is_empty()
    }

    /// Returns whether an element may match. Case is ignored, as in quirks mode.
    pub fn matches(&self, tag: &str, classes: &str, id: &str) -> bool {
        self.tag.as_deref().is_none_or(|name| name.eq_ignore_ascii_case(tag))
            && self.ids.iter().all(|name| name.eq_ignore_ascii_case(id))
            && self
                .classes
                .iter()
                .all(|name| classes.split_ascii_whitespace().any(|class| class.eq_ignore_ascii_case(name)))
    }
}

/// Facts about a style sheet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SheetFacts {
    /// Elements whose white space may be shown as written.
    pub preserving: Vec<ElementPattern>,
    /// References of `@import` rules, as written; `None` for one that is not understood.
    pub imports: Vec<Option<String>>,
}

impl SheetFacts {
    /// Reads a style sheet.
    pub fn read(text: &str, limits: &OptimizeLimits) -> Result<Self, CssRefusal> {
        let sheet = CssTokens::read(text, limits)?;
        let mut facts = Self::default();
        if facts.list(&sheet, 0..sheet.tokens.len(), false) {
            // A declaration of an unknown at-rule.
            facts.preserving.push(ElementPattern::default());
        }
        Ok(facts)
    }

    /// Returns whether a `style` attribute shows white space as written; true if it is not understood.
    pub fn preserves_inline(style: &str) -> bool {
        style.to_ascii_lowercase().contains("white-space") || style.contains('\\')
    }

    /// Reads a list of items. Returns whether its declarations, without those of nested style rules, show white space as
    /// written.
    fn list(&mut self, sheet: &CssTokens<'_>, range: Range<usize>, is_nested: bool) -> bool {
        let mut preserves = false;
        let mut at = range.start;
        while at < range.end {
            if is_trivia(sheet, at) {
                at += 1;
                continue;
            }
            let (item, next) = next_item(sheet, at, range.end, is_nested);
            preserves |= self.item(sheet, &item);
            at = next;
        }
        preserves
    }

    fn item(&mut self, sheet: &CssTokens<'_>, item: &CssItem) -> bool {
        let inner = item.block.map(|open| open + 1..sheet.close_of(open));
        match (item.kind, inner) {
            (ItemKind::StyleRule, Some(inner)) => {
                let preserves = self.list(sheet, inner, true);
                let subjects = preserves.then(|| patterns(sheet, item.prelude.clone(), NESTED));
                self.preserving.extend(subjects.into_iter().flatten());
            }
            (ItemKind::AtRule, inner) => {
                let name = at_name(sheet, item).to_ascii_lowercase();
                match (name.as_str(), inner) {
                    ("import", _) => self.imports.push(import_reference(sheet, item)),
                    (name, Some(inner)) if name.ends_with("keyframes") => {
                        let mut frames = Self::default();
                        if frames.list(sheet, inner, true) || !frames.preserving.is_empty() {
                            // The animation may be that of any element.
                            self.preserving.push(ElementPattern::default());
                        }
                    }
                    (_, Some(inner)) => return self.list(sheet, inner, true),
                    _ => {}
                }
            }
            (ItemKind::Declaration(colon), _) => {
                let name = sheet.text_of(trimmed(sheet, item.prelude.start..colon).end - 1);
                let is_white_space = ["white-space", "white-space-collapse", "all"]
                    .iter()
                    .any(|known| name.eq_ignore_ascii_case(known))
                    || name.contains('\\');
                return is_white_space && preserves(sheet, colon + 1..item.prelude.end);
            }
            _ => {}
        }
        false
    }
}

/// Returns whether a value of `white-space` is none of [`COLLAPSING`].
fn preserves(sheet: &CssTokens<'_>, value: Range<usize>) -> bool {
    value.filter(|index| !is_trivia(sheet, *index)).any(|index| match sheet.kind(index) {
        CssKind::Delim('!') => false,
        CssKind::Ident => {
            let word = sheet.text_of(index).to_ascii_lowercase();
            word != "important" && !COLLAPSING.contains(&word.as_str())
        }
        _ => true,
    })
}

/// Returns the reference of an `@import` rule; `None` if it is not understood.
fn import_reference(sheet: &CssTokens<'_>, item: &CssItem) -> Option<String> {
    let mut indexes = item.prelude.clone().skip(1).filter(|index| !is_trivia(sheet, *index));
    let first = indexes.next()?;
    match sheet.kind(first) {
        CssKind::String => string_value(sheet.text_of(first)),
        CssKind::Url => url_value(sheet.text_of(first)),
        CssKind::Function => string_value(sheet.text_of(indexes.next()?)),
        _ => None,
    }
}

/// Returns the value of a string token; `None` if it contains escapes.
pub(super) fn string_value(token: &str) -> Option<String> {
    let inner = token.strip_prefix(['"', '\''])?;
    let inner = &inner[..inner.len().checked_sub(1)?];
    (!inner.contains('\\')).then(|| inner.to_owned())
}

/// Returns the value of an unquoted `url()` token; `None` if it contains escapes.
pub(super) fn url_value(token: &str) -> Option<String> {
    let inner = token.get(4..)?.strip_suffix(')')?.trim_matches(|c: char| c.is_ascii_whitespace());
    (!inner.contains('\\')).then(|| inner.to_owned())
}

/// Returns patterns of the elements that a list of selectors may match.
fn patterns(sheet: &CssTokens<'_>, prelude: Range<usize>, nested: usize) -> Vec<ElementPattern> {
    let mut found = Vec::new();
    let mut start = prelude.start;
    let mut at = prelude.start;
    while at <= prelude.end {
        if at == prelude.end || sheet.kind(at) == CssKind::Comma {
            found.extend(subject(sheet, trimmed(sheet, start..at), nested));
            start = at + 1;
            at += 1;
        } else {
            at = sheet.close_of(at) + 1;
        }
    }
    found
}

/// Returns patterns of the elements that one selector may match; none if it selects a pseudo-element without text.
fn subject(sheet: &CssTokens<'_>, selector: Range<usize>, nested: usize) -> Vec<ElementPattern> {
    let (mut start, mut at, mut is_after_blank) = (selector.start, selector.start, false);
    while at < selector.end {
        match sheet.kind(at) {
            CssKind::Delim('>' | '+' | '~') => start = at + 1,
            CssKind::Blank => is_after_blank = true,
            CssKind::Comment => {}
            _ if is_after_blank => {
                start = at;
                is_after_blank = false;
            }
            _ => {}
        }
        at = sheet.close_of(at) + 1;
    }
    compound(sheet, trimmed(sheet, start..selector.end), nested)
}

fn compound(sheet: &CssTokens<'_>, range: Range<usize>, nested: usize) -> Vec<ElementPattern> {
    let mut pattern = ElementPattern::default();
    let mut alternatives = Vec::new();
    let mut at = range.start;
    while at < range.end {
        let text = sheet.text_of(at);
        let after = (at + 1 < range.end).then(|| sheet.text_of(at + 1));
        let is_plain = |name: &str| !name.contains('\\');
        match sheet.kind(at) {
            CssKind::Delim('.') => {
                pattern.classes.extend(after.filter(|name| is_plain(name)).map(str::to_owned));
                at += 1;
            }
            CssKind::Colon => {
                let name = after.unwrap_or_default().to_ascii_lowercase();
                if WITHOUT_TEXT.contains(&name.as_str()) {
                    return Vec::new();
                }
                let is_function = at + 1 < range.end && sheet.kind(at + 1) == CssKind::Function;
                if is_function && nested > 0 && matches!(name.as_str(), "is(" | "where(") {
                    let inner = trimmed(sheet, at + 2..sheet.close_of(at + 1));
                    alternatives = patterns(sheet, inner, nested - 1);
                }
                // A second colon is read as the name and skipped on its own.
                at += usize::from(name != ":");
            }
            CssKind::Ident if is_plain(text) => pattern.tag = Some(text.to_ascii_lowercase()),
            CssKind::Other if text.starts_with('#') && is_plain(text) => {
                pattern.ids.push(text[1..].to_owned());
            }
            _ => {}
        }
        at = sheet.close_of(at.min(range.end - 1)) + 1;
    }
    if pattern.is_any() && !alternatives.is_empty() { alternatives } else { vec![pattern] }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn preserving(text: &str) -> Vec<String> {
        let facts = SheetFacts::read(text, &OptimizeLimits::default()).expect(text);
        let written = |pattern: &ElementPattern| {
            let mut words = vec![pattern.tag.clone().unwrap_or_else(|| "*".to_owned())];
            words.extend(pattern.classes.iter().map(|name| format!(".{name}")));
            words.extend(pattern.ids.iter().map(|name| format!("#{name}")));
            words.concat()
        };
        facts.preserving.iter().map(written).collect()
    }

    #[test]
    fn elements_that_show_white_space_are_found() {
        for (text, expected) in [
            ("a{white-space:nowrap}b{white-space:normal!important}", &[][..]),
            ("a > b.c#d:hover{white-space:pre-wrap}", &["b.c#d"]),
            ("a , .b .c.d > e{White-Space : PRE}", &["a", "e"]),
            (".a::before,.b:after,.c::first-line{white-space:pre}", &["*.c"]),
            ("@media x{@supports (a:b){.a{white-space:break-spaces}}}", &["*.a"]),
            (".a{.b{white-space:pre-line}white-space:var(--x)}", &["*.b", "*.a"]),
            (":is(.a,p .b) , :where(c){white-space:pre}", &["*.a", "*.b", "c"]),
            ("[x],*,:not(.a){white-space:pre}", &["*", "*", "*"]),
            (".a\\:b{white-space:pre}", &["*"]),
            ("a::before{white-space:pre}", &[]),
            ("@keyframes k{from{white-space:pre}}", &["*"]),
            ("@-webkit-keyframes k{from{color:red}}", &[]),
            ("a{white-space-collapse:preserve}", &["a"]),
            ("a{white-spac\\65:pre}", &["a"]),
            (".a{@media x{white-space:pre}}", &["*.a"]),
            ("a{white-space:pre;}b{color:red}", &["a"]),
        ] {
            assert_eq!(preserving(text), expected, "{text}");
        }
    }

    #[test]
    fn elements_are_listed_once_for_each_rule() {
        let text = format!("{}a{{{}}}", "a,".repeat(1999), "white-space:pre;".repeat(2000));
        assert_eq!(preserving(&text).len(), 2000);
    }

    #[test]
    fn imports_are_listed() {
        let text = "@import 'a.css';@import url(b.css) print;@import url( \"c.css\" );@import x;";
        let facts = SheetFacts::read(text, &OptimizeLimits::default()).expect("valid");
        let imports: Vec<_> = facts.imports.iter().map(|import| import.as_deref().unwrap_or("?")).collect();
        assert_eq!(imports, ["a.css", "b.css", "c.css", "?"]);
    }

    #[test]
    fn patterns_match_at_least_the_elements_of_the_selector() {
        let pattern = ElementPattern { tag: Some("p".into()), classes: vec!["a".into()], ids: Vec::new() };
        assert!(
            pattern.matches("P", "b A", "")
                && !pattern.matches("p", "ab", "")
                && !pattern.matches("q", "a", "")
        );
        assert!(ElementPattern::default().matches("x", "", ""));
    }
}
