//! Items of a style sheet: rules and declarations, as ranges of tokens.

use std::ops::Range;

use super::tokens::{CssKind, CssTokens};

/// Rule or declaration of a style sheet, as ranges and indexes of its tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CssItem {
    pub(crate) kind: ItemKind,
    /// Tokens before the block or semicolon, without surrounding white space and comments except for custom properties.
    pub(crate) prelude: Range<usize>,
    /// Index of the token `{` of the block; `None` without a block.
    pub(crate) block: Option<usize>,
    /// Index of the token `;` after the item; `None` if there is none: the item has a block, is `<!--` or `-->`, or is
    /// the last.
    pub(crate) semicolon: Option<usize>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ItemKind {
    /// `@name …;` or `@name … {}`
    AtRule,
    /// `selectors {}`
    StyleRule,
    /// `name: value;`, with the index of the colon.
    Declaration(usize),
    /// `--name: value;`
    CustomProperty,
    /// A semicolon alone, and what is neither rule nor declaration.
    Remainder,
}

/// Reads the item that starts at token `at`, which is neither white space nor a comment. Returns it with the index
/// after it. `is_nested` is true within a block, where a semicolon terminates an item.
pub(crate) fn next_item(sheet: &CssTokens<'_>, at: usize, end: usize, is_nested: bool) -> (CssItem, usize) {
    let is_at_rule = sheet.kind(at) == CssKind::AtKeyword;
    if matches!(sheet.kind(at), CssKind::Other) && matches!(sheet.text_of(at), "<!--" | "-->") && !is_nested {
        let item = CssItem { kind: ItemKind::Remainder, prelude: at..at + 1, block: None, semicolon: None };
        return (item, at + 1);
    }
    let colon = colon_after(sheet, at, end);
    let is_custom = is_nested && colon.is_some() && sheet.text_of(at).starts_with("--");
    let mut index = at;
    let (mut block, mut semicolon) = (None, None);
    while index < end {
        match sheet.kind(index) {
            CssKind::Semicolon if is_at_rule || is_nested => {
                semicolon = Some(index);
                break;
            }
            CssKind::Open(b'{') if !is_custom => {
                block = Some(index);
                break;
            }
            _ => index = sheet.close_of(index) + 1,
        }
    }
    let next =
        block.map_or(index.min(end) + usize::from(semicolon.is_some()), |open| sheet.close_of(open) + 1);
    let kind = match (block, colon) {
        _ if is_at_rule => ItemKind::AtRule,
        (Some(_), _) => ItemKind::StyleRule,
        _ if is_custom => ItemKind::CustomProperty,
        (None, Some(colon)) if is_nested => ItemKind::Declaration(colon),
        _ => ItemKind::Remainder,
    };
    let prelude = at..block.or(semicolon).unwrap_or(end);
    let prelude = if is_custom { prelude } else { trimmed(sheet, prelude) };
    (CssItem { kind, prelude, block, semicolon }, next)
}

/// Returns the index of the colon that follows the name at token `at`, or the name after a `*` there; `None` if
/// another token follows or there is no name.
fn colon_after(sheet: &CssTokens<'_>, at: usize, end: usize) -> Option<usize> {
    // IE hacks put a delimiter before the name: `*zoom: 1`.
    let name = if matches!(sheet.kind(at), CssKind::Delim('*')) { at + 1 } else { at };
    if name >= end || sheet.kind(name) != CssKind::Ident {
        return None;
    }
    let colon = (name + 1..end).find(|index| !is_trivia(sheet, *index))?;
    (sheet.kind(colon) == CssKind::Colon).then_some(colon)
}

pub(crate) fn is_trivia(sheet: &CssTokens<'_>, index: usize) -> bool {
    matches!(sheet.kind(index), CssKind::Blank | CssKind::Comment)
}

/// Removes white space and comments at both ends of a range of tokens.
pub(crate) fn trimmed(sheet: &CssTokens<'_>, range: Range<usize>) -> Range<usize> {
    let Some(start) = range.clone().find(|index| !is_trivia(sheet, *index)) else {
        return range.start..range.start;
    };
    let end = range.rev().find(|index| !is_trivia(sheet, *index)).unwrap_or(start);
    start..end + 1
}

/// Returns the name of an at-rule as written.
pub(crate) fn at_name<'a>(sheet: &CssTokens<'a>, item: &CssItem) -> &'a str {
    &sheet.text_of(item.prelude.start)[1..]
}

/// Returns the value of a string token; `None` if it contains escapes or the token is no string.
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
