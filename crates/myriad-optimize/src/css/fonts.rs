//! Fonts that a style sheet declares (`@font-face`), and those that it uses for the whole page.

use std::ops::Range;

use myriad_base::digits::hexadecimal;

use super::rules::{ItemKind, is_trivia, next_item, string_value, trimmed, url_value};
use super::tokens::{CssKind, CssTokens};

/// Selectors of the elements from which the text of a page inherits its font.
const ROOTS: [&str; 3] = [":root", "html", "body"];
/// Code point of a letter that a font for the text of a page contains.
const LETTER: u32 = 'a' as u32;
/// Font weight of usual text (`font-weight: normal`).
const NORMAL: u32 = 400;

/// Font of an `@font-face` rule for usual text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FontFace {
    /// Name of the family in lower case.
    pub family: String,
    /// Reference of the font's WOFF2 file, as written in the style sheet.
    pub reference: String,
}

/// Font family that a rule sets for the whole page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FontFamily {
    /// Name of the family in lower case.
    Name(String),
    /// Name of the custom property that contains the family.
    Variable(String),
    /// Value that this module does not understand.
    Unknown,
}

/// Fonts that a style sheet declares, and uses for the whole page. Rules within other rules are included only if these
/// are `@layer`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FontFacts {
    /// Fonts for usual text: normal style and weight, with Latin letters.
    pub faces: Vec<FontFace>,
    /// Families of the rules for `body` (true), and for `html` and `:root` (false), in their order.
    pub families: Vec<(bool, FontFamily)>,
    /// Names of the custom properties of the rules for `body`, `html` and `:root`, each with the family in its value,
    /// in their order.
    pub variables: Vec<(String, FontFamily)>,
}

impl FontFacts {
    /// Adds the font of an `@font-face` block to `faces` if it is for usual text and its first file is a WOFF2 file.
    pub(super) fn read_face(&mut self, sheet: &CssTokens<'_>, block: Range<usize>) {
        let (mut family, mut reference, mut is_usual) = (None, None, true);
        for (name, value) in declarations(sheet, block) {
            match name.as_str() {
                "font-family" => family = Some(first_family(sheet, value)),
                "src" => reference = woff2_reference(sheet, value),
                "font-style" => is_usual &= text(sheet, value).eq_ignore_ascii_case("normal"),
                "font-weight" => is_usual &= is_normal_weight(&text(sheet, value)),
                "unicode-range" => is_usual &= contains_letter(&text(sheet, value)),
                _ => {}
            }
        }
        if let (Some(FontFamily::Name(family)), Some(reference), true) = (family, reference, is_usual) {
            self.faces.push(FontFace { family, reference });
        }
    }

    /// Collects the font families and custom properties of a style rule that has one of [`ROOTS`] as selector;
    /// ignores other rules.
    pub(super) fn read_rule(&mut self, sheet: &CssTokens<'_>, prelude: Range<usize>, block: Range<usize>) {
        let selectors = text(sheet, prelude).to_ascii_lowercase();
        let root = selectors
            .split(',')
            .map(str::trim)
            .filter(|selector| ROOTS.contains(selector))
            .max_by_key(|name| *name == "body");
        let Some(root) = root else { return };
        for (name, value) in declarations(sheet, block) {
            match name.as_str() {
                "font-family" => self.families.push((root == "body", first_family(sheet, value))),
                "font" | "all" => self.families.push((root == "body", FontFamily::Unknown)),
                name if name.starts_with("--") => {
                    self.variables.push((name.to_owned(), first_family(sheet, value)));
                }
                _ => {}
            }
        }
    }
}

/// Returns the declarations of a block: names (in lower case, except names of custom properties) and token ranges of
/// the values.
fn declarations(sheet: &CssTokens<'_>, block: Range<usize>) -> Vec<(String, Range<usize>)> {
    let (mut found, mut at) = (Vec::new(), block.start);
    while at < block.end {
        if is_trivia(sheet, at) {
            at += 1;
            continue;
        }
        let (item, next) = next_item(sheet, at, block.end, true);
        match item.kind {
            ItemKind::Declaration(colon) => {
                let name =
                    sheet.text_of(trimmed(sheet, item.prelude.start..colon).end - 1).to_ascii_lowercase();
                found.push((name, trimmed(sheet, colon + 1..item.prelude.end)));
            }
            ItemKind::CustomProperty => {
                let colon = item.prelude.clone().find(|index| sheet.kind(*index) == CssKind::Colon);
                if let Some(colon) = colon {
                    let value = trimmed(sheet, colon + 1..item.prelude.end);
                    found.push((sheet.text_of(at).to_owned(), value));
                }
            }
            _ => {}
        }
        at = next;
    }
    found
}

/// Returns the text of a range of tokens, without comments.
fn text(sheet: &CssTokens<'_>, range: Range<usize>) -> String {
    let words =
        range.filter(|index| sheet.kind(*index) != CssKind::Comment).map(|index| sheet.text_of(index));
    words.collect::<String>().trim().to_owned()
}

/// Returns the first family of a list; `Unknown` if it is not understood.
fn first_family(sheet: &CssTokens<'_>, value: Range<usize>) -> FontFamily {
    let mut names: Vec<&str> = Vec::new();
    for index in value.clone().filter(|index| !is_trivia(sheet, *index)) {
        let word = sheet.text_of(index);
        match sheet.kind(index) {
            CssKind::String if names.is_empty() => {
                let name = string_value(word).map(|name| name.to_ascii_lowercase());
                return name.map_or(FontFamily::Unknown, FontFamily::Name);
            }
            CssKind::Function if names.is_empty() && word.eq_ignore_ascii_case("var(") => {
                let mut inner = (index + 1..value.end).filter(|index| !is_trivia(sheet, *index));
                let name =
                    inner.next().map(|index| sheet.text_of(index)).filter(|name| name.starts_with("--"));
                return name.map_or(FontFamily::Unknown, |name| FontFamily::Variable(name.to_owned()));
            }
            CssKind::Ident if !word.contains('\\') => names.push(word),
            CssKind::Comma => break,
            CssKind::Delim('!') if !names.is_empty() => break,
            _ => return FontFamily::Unknown,
        }
    }
    if names.is_empty() {
        FontFamily::Unknown
    } else {
        FontFamily::Name(names.join(" ").to_ascii_lowercase())
    }
}

/// Returns the first reference of `src`; `None` if it is no WOFF2 file, or a local font comes before it.
fn woff2_reference(sheet: &CssTokens<'_>, value: Range<usize>) -> Option<String> {
    let first = value.clone().find(|index| !is_trivia(sheet, *index))?;
    let reference = match sheet.kind(first) {
        CssKind::Url => url_value(sheet.text_of(first))?,
        CssKind::Function if sheet.text_of(first).eq_ignore_ascii_case("url(") => {
            string_value(sheet.text_of((first + 1..value.end).find(|index| !is_trivia(sheet, *index))?))?
        }
        _ => return None,
    };
    let path = reference.split(['?', '#']).next().unwrap_or_default();
    path.to_ascii_lowercase().ends_with(".woff2").then_some(reference)
}

/// Returns whether a value of `font-weight`, which may be a range, includes the normal weight.
fn is_normal_weight(value: &str) -> bool {
    let weights: Vec<u32> = value
        .split_ascii_whitespace()
        .filter_map(|word| if word.eq_ignore_ascii_case("normal") { Some(NORMAL) } else { word.parse().ok() })
        .collect();
    matches!(weights.as_slice(), [weight] if *weight == NORMAL)
        || matches!(weights.as_slice(), [first, last] if (*first..=*last).contains(&NORMAL))
}

/// Returns whether a `unicode-range` contains the letter `a`.
fn contains_letter(value: &str) -> bool {
    value.split(',').filter_map(|range| range.trim().get(2..)).any(|range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let number = |text: &str, digit: &str| hexadecimal::<u32>(text.replace('?', digit));
        matches!((number(first, "0"), number(last, "F")), (Some(first), Some(last)) if (first..=last).contains(&LETTER))
    })
}

#[cfg(test)]
mod tests {
    use super::super::SheetFacts;
    use super::*;
    use crate::OptimizeLimits;

    fn fonts(text: &str) -> FontFacts {
        SheetFacts::read(text, &OptimizeLimits::default()).expect(text).fonts
    }

    #[test]
    fn fonts_for_usual_text_are_found() {
        let face = |rest: &str| fonts(&format!("@font-face{{font-family:'A b';{rest}}}")).faces;
        for rest in [
            "src:url(f.woff2)format('woff2'),url(f.woff)",
            "src:url(old.eot);src:url('f.woff2') format(\"woff2\");font-weight:normal;font-style:normal",
            "font-weight: 100 900 ;src:url(f.woff2);unicode-range:U+0131, U+0000-00FF",
            "unicode-range:U+0??;src:url(f.woff2)",
        ] {
            let found = face(rest);
            assert_eq!(found.len(), 1, "{rest}");
            assert_eq!((found[0].family.as_str(), found[0].reference.as_str()), ("a b", "f.woff2"));
        }
        for rest in [
            "src:local('A b'),url(f.woff2)",
            "src:url(f.woff)",
            "src:url(f.woff2);font-weight:700",
            "src:url(f.woff2);font-style:italic",
            "src:url(f.woff2);unicode-range:U+0100-024F",
            "font-display:swap",
        ] {
            assert_eq!(face(rest), [], "{rest}");
        }
        assert!(fonts("@media x{@font-face{font-family:a;src:url(f.woff2)}}").faces.is_empty());
    }

    #[test]
    fn families_of_the_whole_page_are_found() {
        for (text, expected) in [
            ("body{font-family:Open  Sans,x}", vec![(true, FontFamily::Name("open sans".into()))]),
            ("HTML , p{font-family:'A'!important}", vec![(false, FontFamily::Name("a".into()))]),
            ("html,body{font-family:a !important}", vec![(true, FontFamily::Name("a".into()))]),
            (":root{font-family:var( --f , b)}", vec![(false, FontFamily::Variable("--f".into()))]),
            ("body{font:12px a}", vec![(true, FontFamily::Unknown)]),
            ("body.x,p{font-family:a}@media x{body{font-family:b}}", vec![]),
        ] {
            assert_eq!(fonts(text).families, expected, "{text}");
        }
        assert_eq!(
            fonts(":root{--f:\"Ab\",b;--c:#fff}").variables[0],
            ("--f".into(), FontFamily::Name("ab".into()))
        );
    }
}
