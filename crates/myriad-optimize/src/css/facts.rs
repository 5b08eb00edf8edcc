//! Facts about the style sheets of a page that other filters need: which elements may show white space as written,
//! which images get their size from their width, which fonts the page uses first.

use std::fmt;
use std::ops::Range;

use super::CssRefusal;
use super::fonts::FontFacts;
use super::rules::{CssItem, ItemKind, at_name, is_trivia, next_item, string_value, trimmed, url_value};
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
/// Properties other than `width`, `height` and `max-width` by which the height of an image may differ from the one
/// that results from its width and the aspect ratio of its file.
const SIZING: [&str; 19] = [
    "min-width",
    "min-height",
    "max-height",
    "inline-size",
    "block-size",
    "min-inline-size",
    "max-inline-size",
    "min-block-size",
    "max-block-size",
    "aspect-ratio",
    "align-self",
    "justify-self",
    "place-self",
    "flex",
    "flex-basis",
    "content",
    "animation",
    "animation-name",
    "zoom",
];
/// Pseudo-elements that contain no text of the page.
const WITHOUT_TEXT: [&str; 6] = ["before", "after", "marker", "placeholder", "selection", "backdrop"];
/// Maximum nesting of `:is()` and `:where()` that is evaluated.
const NESTED: usize = 4;

/// Condition for an element: the last compound of a selector, without what cannot be decided from the element's tag. It
/// matches at least the elements that the selector matches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ElementPattern {
    /// Name that the element must have, in lower case; `None` for any name.
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

    /// Returns whether an element with the name `tag`, the value `classes` of its `class` attribute and the ID `id`
    /// matches. Case is ignored, as in quirks mode.
    pub fn matches(&self, tag: &str, classes: &str, id: &str) -> bool {
        self.tag.as_deref().is_none_or(|name| name.eq_ignore_ascii_case(tag))
            && self.ids.iter().all(|name| name.eq_ignore_ascii_case(id))
            && self
                .classes
                .iter()
                .all(|name| classes.split_ascii_whitespace().any(|class| class.eq_ignore_ascii_case(name)))
    }
}

impl fmt::Display for ElementPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(tag) = &self.tag {
            f.write_str(tag)?;
        } else if self.is_any() {
            f.write_str("*")?;
        }
        self.ids.iter().try_for_each(|id| write!(f, "#{id}"))?;
        self.classes.iter().try_for_each(|class| write!(f, ".{class}"))
    }
}

/// Facts about a style sheet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SheetFacts {
    /// Patterns of elements in which browsers may show white space as written, instead of collapsing it.
    pub preserving: Vec<ElementPattern>,
    /// Patterns of elements: if such an element is an image, its height may not follow from its width.
    pub sized: Vec<ElementPattern>,
    /// Patterns of elements that may stretch an image within them to their own width.
    pub stretching: Vec<ElementPattern>,
    /// True if a rule with the selector `img`, in no other rule than `@layer`, sets `height: auto`.
    pub has_auto_height: bool,
    /// Fonts that the sheet declares, and uses for the whole page.
    pub fonts: FontFacts,
    /// References of `@import` rules, as written; `None` for one that is not understood.
    pub imports: Vec<Option<String>>,
}

impl SheetFacts {
    /// Collects the facts about a style sheet. Returns an error if it cannot be split into tokens.
    pub fn read(text: &str, limits: &OptimizeLimits) -> Result<Self, CssRefusal> {
        let sheet = CssTokens::read(text, limits)?;
        let mut reader = FactsReader { sheet: &sheet, facts: Self::default(), conditions: 0 };
        let effects = reader.list(0..sheet.tokens.len(), false);
        let mut facts = reader.facts;
        // Declarations of an unknown at-rule.
        if effects.preserves {
            facts.preserving.push(ElementPattern::default());
        }
        if effects.sizes {
            facts.sized.push(ElementPattern::default());
        }
        if effects.stretches {
            facts.stretching.push(ElementPattern::default());
        }
        Ok(facts)
    }

    /// Returns whether a `style` attribute may show white space as written: it contains `white-space` or an escape.
    pub fn preserves_inline(style: &str) -> bool {
        style.to_ascii_lowercase().contains("white-space") || style.contains('\\')
    }
}

/// Effects of the declarations of a rule on an element that it selects.
#[derive(Clone, Copy, Default)]
struct Effects {
    /// True if white space may be shown as written.
    preserves: bool,
    /// True if the height of an image may not follow from its width.
    sizes: bool,
    /// True if the width is set.
    widens: bool,
    /// True if images within the element may be stretched to its width.
    stretches: bool,
    /// True if the height of an image follows from its width (`height: auto`).
    has_auto_height: bool,
}

impl Effects {
    fn add(&mut self, other: Self) {
        self.preserves |= other.preserves;
        self.sizes |= other.sizes;
        self.widens |= other.widens;
        self.stretches |= other.stretches;
        self.has_auto_height |= other.has_auto_height;
    }
}

struct FactsReader<'s, 'a> {
    sheet: &'s CssTokens<'a>,
    facts: SheetFacts,
    /// Number of rules around the current one, other than `@layer`.
    conditions: usize,
}

impl FactsReader<'_, '_> {
    /// Reads a list of rules and declarations. Returns the combined effects of its declarations, except declarations in
    /// nested style rules.
    fn list(&mut self, range: Range<usize>, is_nested: bool) -> Effects {
        let mut effects = Effects::default();
        let mut at = range.start;
        while at < range.end {
            if is_trivia(self.sheet, at) {
                at += 1;
                continue;
            }
            let (item, next) = next_item(self.sheet, at, range.end, is_nested);
            effects.add(self.item(&item));
            at = next;
        }
        effects
    }

    fn item(&mut self, item: &CssItem) -> Effects {
        let sheet = self.sheet;
        let inner = item.block.map(|open| open + 1..sheet.close_of(open));
        match (item.kind, inner) {
            (ItemKind::StyleRule, Some(inner)) => self.style_rule(item, inner),
            (ItemKind::AtRule, inner) => {
                let name = at_name(sheet, item).to_ascii_lowercase();
                match (name.as_str(), inner) {
                    ("import", _) => self.facts.imports.push(import_reference(sheet, item)),
                    ("font-face", Some(inner)) if self.conditions == 0 => {
                        self.facts.fonts.read_face(sheet, inner);
                    }
                    (name, Some(inner)) if name.ends_with("keyframes") => {
                        let mut frames = FactsReader { sheet, facts: SheetFacts::default(), conditions: 0 };
                        let effects = frames.list(inner, true);
                        if effects.preserves || !frames.facts.preserving.is_empty() {
                            // The animation may be that of any element.
                            self.facts.preserving.push(ElementPattern::default());
                        }
                    }
                    (name, Some(inner)) => {
                        let is_condition = name != "layer";
                        self.conditions += usize::from(is_condition);
                        let effects = self.list(inner, true);
                        self.conditions -= usize::from(is_condition);
                        return Effects { has_auto_height: false, ..effects };
                    }
                    _ => {}
                }
                Effects::default()
            }
            (ItemKind::Declaration(colon), _) => {
                let name =
                    sheet.text_of(trimmed(sheet, item.prelude.start..colon).end - 1).to_ascii_lowercase();
                effects_of(sheet, &name, colon + 1..item.prelude.end)
            }
            _ => Effects::default(),
        }
    }

    fn style_rule(&mut self, item: &CssItem, inner: Range<usize>) -> Effects {
        let sheet = self.sheet;
        if self.conditions == 0 {
            self.facts.fonts.read_rule(sheet, item.prelude.clone(), inner.clone());
        }
        self.conditions += 1;
        let effects = self.list(inner, true);
        self.conditions -= 1;
        if effects.preserves || effects.sizes || effects.widens || effects.stretches {
            let subjects = patterns(sheet, item.prelude.clone(), NESTED);
            // A width does not change the height if `img { height: auto }` is the rule that applies; only the width
            // of all images is known not to be a size for both.
            let is_named = |pattern: &&ElementPattern| !pattern.classes.is_empty() || !pattern.ids.is_empty();
            let is_image = |pattern: &&ElementPattern| pattern.tag.as_deref().is_none_or(|tag| tag == "img");
            if effects.sizes || effects.widens {
                let sized = subjects.iter().filter(is_image);
                self.facts.sized.extend(sized.filter(|pattern| effects.sizes || is_named(pattern)).cloned());
            }
            if effects.stretches {
                self.facts.stretching.extend(subjects.iter().cloned());
            }
            if effects.preserves {
                self.facts.preserving.extend(subjects);
            }
        }
        if effects.has_auto_height && self.conditions == 0 {
            self.facts.has_auto_height |= selects_all_images(sheet, item.prelude.clone());
        }
        Effects::default()
    }
}

/// Returns the effects of the declaration of the property `name`, whose value consists of the tokens `value`.
fn effects_of(sheet: &CssTokens<'_>, name: &str, value: Range<usize>) -> Effects {
    let has_word = |words: &[&str]| {
        value.clone().any(|index| words.iter().any(|word| sheet.text_of(index).eq_ignore_ascii_case(word)))
    };
    let is_variable = || has_word(&["var(", "inherit", "env("]);
    let mut effects = Effects::default();
    match name {
        "white-space" | "white-space-collapse" => effects.preserves = preserves(sheet, value),
        "height" => {
            let mut words = value.clone().filter(|index| !is_trivia(sheet, *index));
            let is_auto = words.next().is_some_and(|first| sheet.text_of(first).eq_ignore_ascii_case("auto"));
            effects.has_auto_height = is_auto;
            effects.sizes = !is_auto;
        }
        "width" => effects.widens = true,
        "display" => effects.stretches = has_word(&["contents"]) || is_variable(),
        "flex-direction" | "flex-flow" => {
            effects.stretches = has_word(&["column", "column-reverse"]) || is_variable();
        }
        "justify-items" | "place-items" => effects.stretches = has_word(&["stretch"]) || is_variable(),
        "-webkit-box-orient" => effects.stretches = has_word(&["vertical", "block-axis"]),
        name if name == "all" || name.contains('\\') => {
            let preserves = preserves(sheet, value);
            effects = Effects { preserves, sizes: true, stretches: true, ..effects };
        }
        name => {
            let plain = name.strip_prefix("-webkit-").or_else(|| name.strip_prefix("-moz-")).unwrap_or(name);
            effects.sizes = SIZING.contains(&plain) || is_space(plain) && !is_zero(sheet, value);
        }
    }
    effects
}

/// Returns whether a property sets the space or border around the content, which `box-sizing` may include in the width.
fn is_space(name: &str) -> bool {
    let has_no_size = ["radius", "color", "collapse", "spacing", "image"];
    name.starts_with("padding")
        || name.starts_with("border") && !has_no_size.iter().any(|part| name.contains(part))
}

/// Returns whether all lengths of a value are zero, and no border has a style.
fn is_zero(sheet: &CssTokens<'_>, value: Range<usize>) -> bool {
    value.filter(|index| !is_trivia(sheet, *index)).all(|index| {
        let text = sheet.text_of(index).to_ascii_lowercase();
        let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == '%');
        matches!(text.as_str(), "none" | "initial" | "unset" | "!" | "important")
            || number.parse::<f64>().is_ok_and(|number| number == 0.0)
    })
}

/// Returns whether one of the selectors is `img`.
fn selects_all_images(sheet: &CssTokens<'_>, prelude: Range<usize>) -> bool {
    let words: Vec<&str> =
        prelude.filter(|index| !is_trivia(sheet, *index)).map(|index| sheet.text_of(index)).collect();
    words
        .split(|word| *word == ",")
        .any(|selector| matches!(selector, [name] if name.eq_ignore_ascii_case("img")))
}

/// Returns whether a value of `white-space` contains anything other than `!important` and words of [`COLLAPSING`].
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

/// Returns the reference of an `@import` rule, as written; `None` if the rule has another form or the reference
/// contains escapes.
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
        facts.preserving.iter().map(ElementPattern::to_string).collect()
    }

    #[test]
    fn elements_that_show_white_space_are_found() {
        for (text, expected) in [
            ("a{white-space:nowrap}b{white-space:normal!important}", &[][..]),
            ("a > b.c#d:hover{white-space:pre-wrap}", &["b#d.c"]),
            ("a , .b .c.d > e{White-Space : PRE}", &["a", "e"]),
            (".a::before,.b:after,.c::first-line{white-space:pre}", &[".c"]),
            ("@media x{@supports (a:b){.a{white-space:break-spaces}}}", &[".a"]),
            (".a{.b{white-space:pre-line}white-space:var(--x)}", &[".b", ".a"]),
            (":is(.a,p .b) , :where(c){white-space:pre}", &[".a", ".b", "c"]),
            ("[x],*,:not(.a){white-space:pre}", &["*", "*", "*"]),
            (".a\\:b{white-space:pre}", &["*"]),
            ("a::before{white-space:pre}", &[]),
            ("@keyframes k{from{white-space:pre}}", &["*"]),
            ("@-webkit-keyframes k{from{color:red}}", &[]),
            ("a{white-space-collapse:preserve}", &["a"]),
            ("a{white-spac\\65:pre}", &["a"]),
            (".a{@media x{white-space:pre}}", &[".a"]),
            ("a{white-space:pre;}b{color:red}", &["a"]),
        ] {
            assert_eq!(preserving(text), expected, "{text}");
        }
    }

    #[test]
    fn sizes_of_images_are_found() {
        let facts = |text: &str| SheetFacts::read(text, &OptimizeLimits::default()).expect(text);
        for (text, expected) in [
            ("img{max-width:100%;height:auto}", true),
            ("a,IMG , b{height: auto !important}", true),
            ("@layer x{img{height:auto}}", true),
            ("img{height:100px}", false),
            (".a img,img.b,img:hover,img[x]{height:auto}", false),
            ("@media x{img{height:auto}}", false),
            ("@supports (a:b){img{height:auto}}", false),
            (".a{img{height:auto}}", false),
            ("img{@media x{height:auto}}", false),
            ("img{max-height:auto}", false),
        ] {
            assert_eq!(facts(text).has_auto_height, expected, "{text}");
        }
        for (text, expected) in [
            ("img{height:auto;max-width:100%;width:100%;border:0}", 0),
            ("img{height:50%}", 1),
            (".a{height:10px}#b{max-height:1px}.c{width:1px}", 3),
            ("p.a{height:10px}.a::before{height:1px}", 0),
            ("@media x{.a img{aspect-ratio:1}}", 1),
            (".a{align-self:stretch}.b{animation:x}.c{flex:1}.d{all:unset}.e{heigh\\74:1px}", 5),
            ("*{-webkit-animation:x}", 1),
            (".a{padding:0 1px}.b{border:1px solid}.c{border-left-style:solid}.d{padding:var(--x)}", 4),
            ("*{padding:0px 0 .0em;border:0 none!important;border-radius:5px;border-color:red}", 0),
        ] {
            assert_eq!(facts(text).sized.len(), expected, "{text}");
        }
        for (text, expected) in [
            ("p{flex-flow:column wrap}.b{display:contents}.c{justify-items:stretch}", 3),
            (".a{flex-direction:var(--x)}.b{place-items:center stretch}", 2),
            (".a{flex-direction:row;display:flex}.b{justify-items:center}", 0),
        ] {
            assert_eq!(facts(text).stretching.len(), expected, "{text}");
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
