//! Removal of white space and comments from style sheets (`rewrite_css`).

use std::ops::Range;

use super::CssRefusal;
use super::rules::{CssItem, ItemKind, at_name, is_trivia, next_item};
use super::tokens::{CssKind, CssTokens};
use crate::OptimizeLimits;

/// First bytes of a style sheet that declares its encoding.
const CHARSET: &str = "@charset \"";
/// Number of bytes of a style sheet in which browsers search for its encoding.
const MAX_CHARSET: usize = 1024;

/// Removes white space and comments that have no meaning. Comments that start with `/*!` (licenses) are retained
/// between rules and declarations. Returns an error if the sheet exceeds a limit or cannot be split into tokens, if the
/// tokens of the result differ from those of the original, or if only the result starts with an `@charset` rule.
///
/// ```
/// let limits = myriad_optimize::OptimizeLimits::default();
/// let css = "a > b , c :hover { color : red ; /* x */ margin: 0 -1px; }\n";
/// assert_eq!(myriad_optimize::css::rewrite_css(css, &limits).as_deref(), Ok("a>b,c :hover{color:red;margin:0 -1px;}"));
/// ```
pub fn rewrite_css(text: &str, limits: &OptimizeLimits) -> Result<String, CssRefusal> {
    let sheet = CssTokens::read(text, limits)?;
    let mut writer = Writer { sheet: &sheet, out: String::with_capacity(text.len()) };
    writer.list(0..sheet.tokens.len(), false);
    let result = writer.out;
    // A rule that was ignored because a comment preceded it must not come first.
    if starts_with_charset(&result) && !starts_with_charset(text) {
        return Err(CssRefusal::Charset);
    }
    let rewritten = CssTokens::read(&result, limits).map_err(|_| CssRefusal::Different)?;
    if !sheet.significant().eq(rewritten.significant()) {
        return Err(CssRefusal::Different);
    }
    Ok(result)
}

/// Returns the encoding that the first bytes of a style sheet declare; `None` if they declare none. An `@charset` rule
/// anywhere else, or in a `style` element, declares nothing (CSS Syntax, section 3.2).
pub fn declared_charset(text: &str) -> Option<&str> {
    let (name, rest) = text.strip_prefix(CHARSET)?.split_once('"')?;
    (rest.starts_with(';') && CHARSET.len() + name.len() + 2 <= MAX_CHARSET).then_some(name)
}

/// Returns whether a style sheet starts with the bytes by which browsers recognize an `@charset` rule.
fn starts_with_charset(text: &str) -> bool {
    text.starts_with(CHARSET)
}

/// Context of white space, which determines between which tokens the white space has no meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Selector,
    /// In the value of a declaration.
    Value,
    /// In the part of an at-rule before its block or semicolon; true for `@media` and `@container`.
    AtRule(bool),
}

struct Writer<'s, 'a> {
    sheet: &'s CssTokens<'a>,
    out: String,
}

impl Writer<'_, '_> {
    /// Writes a list of rules and declarations.
    fn list(&mut self, range: Range<usize>, is_nested: bool) {
        let mut at = range.start;
        while at < range.end {
            match self.sheet.kind(at) {
                CssKind::Blank => at += 1,
                CssKind::Comment => {
                    if self.sheet.text_of(at).starts_with("/*!") {
                        self.out.push_str(self.sheet.text_of(at));
                    }
                    at += 1;
                }
                _ => {
                    let (item, next) = next_item(self.sheet, at, range.end, is_nested);
                    self.item(&item);
                    at = next;
                }
            }
        }
    }

    fn item(&mut self, item: &CssItem) {
        match item.kind {
            ItemKind::AtRule => self.at_rule(item),
            ItemKind::StyleRule => self.tokens(item.prelude.clone(), Place::Selector),
            ItemKind::Declaration(colon) => {
                self.tokens(item.prelude.start..colon, Place::Value);
                self.out.push(':');
                self.tokens(colon + 1..item.prelude.end, Place::Value);
            }
            // Scripts can read the value of a custom property as it is written.
            ItemKind::CustomProperty => self.verbatim(item.prelude.clone()),
            ItemKind::Remainder => self.tokens(item.prelude.clone(), Place::AtRule(false)),
        }
        if let Some(open) = item.block {
            let close = self.sheet.close_of(open);
            self.out.push('{');
            self.list(open + 1..close, true);
            self.out.push('}');
        } else if item.semicolon.is_some() {
            self.out.push(';');
        }
    }

    fn at_rule(&mut self, item: &CssItem) {
        let name = at_name(self.sheet, item).to_ascii_lowercase();
        match name.as_str() {
            // Browsers recognize this rule by its bytes.
            "charset" => self.verbatim(item.prelude.clone()),
            "media" | "container" => self.tokens(item.prelude.clone(), Place::AtRule(true)),
            _ => self.tokens(item.prelude.clone(), Place::AtRule(false)),
        }
    }

    fn verbatim(&mut self, range: Range<usize>) {
        for index in range {
            self.out.push_str(self.sheet.text_of(index));
        }
    }

    /// Writes tokens, with the white space between them that has a meaning.
    fn tokens(&mut self, range: Range<usize>, place: Place) {
        let (mut previous, mut depth) = (None, 0_usize);
        for index in range {
            if is_trivia(self.sheet, index) {
                continue;
            }
            let kind = self.sheet.kind(index);
            if matches!(kind, CssKind::Close(_)) {
                depth = depth.saturating_sub(1);
            }
            if let Some(before) = previous.filter(|before| before + 1 < index) {
                self.gap(before, index, place, depth);
            }
            self.out.push_str(self.sheet.text_of(index));
            if matches!(kind, CssKind::Open(_) | CssKind::Function) {
                depth += 1;
            }
            previous = Some(index);
        }
    }

    /// Writes what separates two tokens that have white space or comments between them.
    fn gap(&mut self, before: usize, after: usize, place: Place, depth: usize) {
        let is_blank = (before + 1..after).any(|index| self.sheet.kind(index) == CssKind::Blank);
        let (left, right) = (self.sheet.kind(before), self.sheet.kind(after));
        if left == CssKind::Comma && matches!(right, CssKind::Close(_)) {
            // An empty fallback: `var(--a, )`.
            self.out.push_str(if is_blank { " " } else { "/**/" });
            return;
        }
        let is_separate = left == CssKind::Comma
            || right == CssKind::Comma
            || matches!(left, CssKind::Open(_) | CssKind::Function)
            || matches!(right, CssKind::Close(_));
        let has_no_meaning = is_separate
            || match place {
                Place::Selector => depth == 0 && (is_combinator(left) || is_combinator(right)),
                Place::Value => depth == 0 && (left == CssKind::Delim('!') || right == CssKind::Delim('!')),
                Place::AtRule(is_query) => {
                    is_query && depth > 0 && (left == CssKind::Colon || right == CssKind::Colon)
                }
            };
        if !has_no_meaning {
            self.out.push_str(if is_blank { " " } else { "/**/" });
        }
    }
}

fn is_combinator(kind: CssKind) -> bool {
    matches!(kind, CssKind::Delim('>' | '~' | '+'))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewritten(text: &str) -> Result<String, CssRefusal> {
        rewrite_css(text, &OptimizeLimits::default())
    }

    #[test]
    fn white_space_without_meaning_is_removed() {
        for (text, expected) in [
            ("", ""),
            (" \n/* a */\n", ""),
            ("a { }", "a{}"),
            ("a  b{color : red}", "a b{color:red}"),
            ("a\n>\tb ~ c + d , e{}", "a>b~c+d,e{}"),
            ("a :hover, a:hover , * :not( .b ) {}", "a :hover,a:hover,* :not(.b){}"),
            (":nth-child( 2n + 1 ) > a{}", ":nth-child(2n + 1)>a{}"),
            ("a{width:calc( 1px + 2px )}", "a{width:calc(1px + 2px)}"),
            ("a{margin: 0 -1px ! important ; ; }", "a{margin:0 -1px!important;;}"),
            ("a{font: 12px/1.5 \"A  B\" , serif}", "a{font:12px/1.5 \"A  B\",serif}"),
            (
                "@media screen and ( min-width : 1px ) , print{a{b:c}}",
                "@media screen and (min-width:1px),print{a{b:c}}",
            ),
            (
                "@supports ( color : red ) and (not (a: b)){a{b:c}}",
                "@supports (color : red) and (not (a: b)){a{b:c}}",
            ),
            ("@import  url( x.css )  screen ;a{}", "@import url( x.css ) screen;a{}"),
            ("a/* b */c{}", "a/**/c{}"),
            ("a /* b */ c{}", "a c{}"),
            ("a{--x:  { a : b } ;--y: ;--z:;c: var( --x, )}", "a{--x:  { a : b } ;--y: ;--z:;c:var(--x, )}"),
            ("/*! (c) A */ a{} /* b */", "/*! (c) A */a{}"),
            ("a{b:c;& .d :hover{e : f}g : h}", "a{b:c;& .d :hover{e : f}g:h}".replace("e : f", "e:f").leak()),
            ("a{color: red;b:hover c{}}", "a{color:red;b:hover c{}}"),
            ("<!-- a{} -->", "<!--a{}-->"),
            ("a{*zoom : 1;_height : 1px;color:red\\9 }", "a{*zoom:1;_height:1px;color:red\\9 }"),
            ("a{grid-template: [ a ] 1fr / auto}", "a{grid-template:[a] 1fr / auto}"),
            ("@charset \"utf-8\";\na{}", "@charset \"utf-8\";a{}"),
            ("@font-face{unicode-range: U+26 , U+0-7F}", "@font-face{unicode-range:U+26,U+0-7F}"),
            ("@page :first{margin : 1in}", "@page :first{margin:1in}"),
            ("@layer a , b ;", "@layer a,b;"),
            ("a{b:c", ""),
        ] {
            match rewritten(text) {
                Ok(found) => assert_eq!(found, expected, "{text}"),
                Err(refusal) => assert_eq!((refusal, text), (CssRefusal::OpenEnd, "a{b:c")),
            }
        }
    }

    #[test]
    fn doubtful_sheets_are_left_unchanged() {
        let deep = "a{".repeat(100) + &"}".repeat(100);
        for (text, expected) in [
            ("a{b:c}}", CssRefusal::Malformed),
            ("a{b:'c", CssRefusal::OpenEnd),
            ("a{} /* b", CssRefusal::OpenEnd),
            ("a{} /*/", CssRefusal::OpenEnd),
            ("a{b:url(c", CssRefusal::OpenEnd),
            ("a{b:url(c d)}", CssRefusal::Malformed),
            ("a{b:'c\nd'}", CssRefusal::Malformed),
            ("a{b:c\\", CssRefusal::Malformed),
            ("a(b", CssRefusal::OpenEnd),
            ("/* a */@charset \"utf-8\";", CssRefusal::Charset),
            (deep.as_str(), CssRefusal::TooDeep),
        ] {
            let found = rewritten(text).expect_err(text);
            let is_open = expected == CssRefusal::OpenEnd && found == CssRefusal::Malformed;
            assert!(found == expected || is_open, "{text}: {found:?}");
        }
        let limits = OptimizeLimits { sheet_bytes: 3, ..OptimizeLimits::default() };
        assert_eq!(rewrite_css("a{b}", &limits), Err(CssRefusal::TooLong));
    }

    #[test]
    fn first_bytes_declare_the_encoding() {
        assert_eq!(declared_charset("@charset \"UTF-8\";a{}"), Some("UTF-8"));
        assert_eq!(declared_charset("@charset \"iso-8859-1\";"), Some("iso-8859-1"));
        let long = format!("@charset \"{}\";", "x".repeat(1024));
        for text in [
            " @charset \"a\";",
            "@charset 'a';",
            "@charset  \"a\";",
            "@Charset \"a\";",
            "@charset \"a\" ;",
            "@charset \"a",
            &long,
        ] {
            assert_eq!(declared_charset(text), None, "{text}");
        }
    }

    #[test]
    fn random_sheets_keep_their_tokens_and_are_stable() {
        let words = [
            "a",
            "{",
            "}",
            ":",
            ";",
            " ",
            "\n",
            "/* */",
            "/**/",
            "(",
            ")",
            "[",
            "]",
            "--x",
            "+",
            ">",
            "~",
            ",",
            "!important",
            "url(x)",
            "'s'",
            "@media",
            "@import",
            "1px",
            "-",
            ".",
            "#b",
            "f(",
            "\\",
            "<!--",
            "-->",
            "\u{e9}",
            "*",
            "/",
            "@charset \"x\"",
            "\"",
            "U+1?",
            "&",
            "|",
        ];
        let mut rewritten_count = 0;
        for seed in 0..20_000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let text: String = (0..random.usize(..30)).filter_map(|_| random.choice(words)).collect();
            let Ok(once) = rewritten(&text) else { continue };
            rewritten_count += 1;
            assert!(once.len() <= text.len() + 4 * text.matches("/*").count(), "{text}");
            assert_eq!(rewritten(&once).as_deref(), Ok(once.as_str()), "seed {seed}: {text}");
        }
        assert!(rewritten_count > 1000, "{rewritten_count}");
    }
}
