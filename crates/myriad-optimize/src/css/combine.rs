//! Combination of style sheets (`combine_css`).

use super::CssRefusal;
use super::minify::rewrite_css;
use super::rules::{CssItem, ItemKind, at_name, is_trivia, next_item, string_value, url_value};
use super::tokens::{CssKind, CssTokens};
use crate::{OptimizeLimits, PageUrl};

/// Style sheet that has been prepared for a combination with others.
#[derive(Clone, Debug)]
pub struct SheetSource {
    text: String,
    has_import: bool,
}

impl SheetSource {
    /// Prepares a style sheet that was loaded from `url`: removes `@charset`, makes relative URLs independent of the
    /// sheet's folder, and removes white space and comments if `is_minified`. Returns an error if the sheet exceeds a
    /// limit, is not valid or not complete, or has `@namespace` or a URL that cannot be rewritten
    /// ([`CssRefusal::Url`]).
    pub fn prepare(
        text: &str,
        url: &PageUrl,
        is_minified: bool,
        limits: &OptimizeLimits,
    ) -> Result<Self, CssRefusal> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let sheet = CssTokens::read(text, limits)?;
        let mut mover = UrlMover { sheet: &sheet, url, edits: Vec::new() };
        let mut has_import = false;
        let mut at = 0;
        while at < sheet.tokens.len() {
            if is_trivia(&sheet, at) {
                at += 1;
                continue;
            }
            let (item, next) = next_item(&sheet, at, sheet.tokens.len(), false);
            let name = match item.kind {
                ItemKind::AtRule => at_name(&sheet, &item).to_ascii_lowercase(),
                _ => String::new(),
            };
            match name.as_str() {
                // The encoding is known here, and browsers ignore the rule in all other respects.
                "charset" => {
                    mover.edits.extend((at..next).map(|index| (index, String::new())));
                    at = next;
                    continue;
                }
                "namespace" => return Err(CssRefusal::Namespace),
                "import" => has_import = true,
                _ => {}
            }
            let is_mark = matches!(sheet.text_of(at), "<!--" | "-->");
            if item.block.is_none() && item.semicolon.is_none() && !is_mark {
                return Err(CssRefusal::OpenEnd);
            }
            mover.item(at, next, &item, false)?;
            at = next;
        }
        let moved = mover.moved();
        let text = if is_minified { rewrite_css(&moved, limits)? } else { moved };
        Ok(Self { text, has_import })
    }

    /// Returns the text of the sheet as prepared by [`SheetSource::prepare`].
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns whether the sheet must be the first of a combination, because it imports others.
    pub fn must_be_first(&self) -> bool {
        self.has_import
    }
}

/// Combines style sheets in their order, and compares the tokens of the result with those of the sheets. Returns an
/// error if tokens differ, if the result would exceed a limit, or if a sheet other than the first has `@import`.
pub fn combine(sheets: &[&SheetSource], limits: &OptimizeLimits) -> Result<String, CssRefusal> {
    if sheets.iter().skip(1).any(|sheet| sheet.has_import) {
        return Err(CssRefusal::Import);
    }
    if sheets.iter().map(|sheet| sheet.text.len() + 1).sum::<usize>() > limits.bundle_bytes {
        return Err(CssRefusal::TooLong);
    }
    let combined = sheets.iter().map(|sheet| sheet.text.as_str()).collect::<Vec<_>>().join("\n");
    let whole_limits = OptimizeLimits { sheet_bytes: limits.bundle_bytes, ..limits.clone() };
    let whole = CssTokens::read(&combined, &whole_limits)?;
    let mut tokens = whole.significant();
    for sheet in sheets {
        let part = CssTokens::read(&sheet.text, limits)?;
        if !part.significant().all(|token| tokens.next() == Some(token)) {
            return Err(CssRefusal::Different);
        }
    }
    if tokens.next().is_some() {
        Err(CssRefusal::Different)
    } else {
        drop(tokens);
        Ok(combined)
    }
}

/// Rewriter of the relative URLs in a style sheet, which makes them independent of the sheet's folder.
struct UrlMover<'s, 'a> {
    sheet: &'s CssTokens<'a>,
    url: &'s PageUrl,
    /// Indexes of tokens with their new texts, in the order of the tokens.
    edits: Vec<(usize, String)>,
}

impl UrlMover<'_, '_> {
    /// Collects the edits for the URLs of an item, which consists of the tokens `start..end`.
    fn item(&mut self, start: usize, end: usize, item: &CssItem, is_custom: bool) -> Result<(), CssRefusal> {
        let is_import =
            item.kind == ItemKind::AtRule && at_name(self.sheet, item).eq_ignore_ascii_case("import");
        let head_end = item.block.unwrap_or(end);
        self.values(start..head_end, is_import, is_custom || item.kind == ItemKind::CustomProperty)?;
        let Some(open) = item.block else { return Ok(()) };
        let close = self.sheet.close_of(open);
        let mut at = open + 1;
        while at < close {
            if is_trivia(self.sheet, at) {
                at += 1;
                continue;
            }
            let (inner, next) = next_item(self.sheet, at, close, true);
            self.item(at, next, &inner, false)?;
            at = next;
        }
        Ok(())
    }

    fn values(
        &mut self,
        range: std::ops::Range<usize>,
        is_import: bool,
        is_custom: bool,
    ) -> Result<(), CssRefusal> {
        // Names of the functions that are open.
        let mut functions: Vec<&str> = Vec::new();
        for index in range {
            let text = self.sheet.text_of(index);
            match self.sheet.kind(index) {
                CssKind::Function => functions.push(text),
                CssKind::Open(_) => functions.push(""),
                CssKind::Close(_) => {
                    functions.pop();
                }
                CssKind::Url => {
                    if let Some(moved) = self.moved_url(url_value(text), is_custom)? {
                        if moved.contains(['(', ')', '\'']) {
                            return Err(CssRefusal::Url);
                        }
                        self.edits.push((index, format!("url({moved})")));
                    }
                }
                CssKind::String => {
                    let function = functions.last().map(|name| name.to_ascii_lowercase()).unwrap_or_default();
                    let is_url =
                        matches!(function.as_str(), "url(" | "src(" | "image-set(" | "-webkit-image-set(")
                            || is_import && functions.is_empty();
                    if is_url && let Some(moved) = self.moved_url(string_value(text), is_custom)? {
                        self.edits.push((index, format!("\"{moved}\"")));
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the new text of a URL; `None` if it does not depend on the folder of the sheet. Returns an error for a
    /// URL with escapes, and for a relative URL that cannot be resolved or written, or is in a custom property.
    fn moved_url(&self, value: Option<String>, is_custom: bool) -> Result<Option<String>, CssRefusal> {
        let value = value.ok_or(CssRefusal::Url)?;
        let before_path = value.split(['/', '?', '#']).next().unwrap_or_default();
        if value.is_empty() || value.starts_with(['/', '#']) || before_path.contains(':') {
            return Ok(None);
        }
        // Browsers disagree about the base of relative URLs in custom properties.
        let moved = self.url.join(&value).filter(|_| !is_custom).ok_or(CssRefusal::Url)?;
        let fragment = value.find('#').map_or("", |at| &value[at..]);
        if !fragment.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"'()\\<>".contains(&byte)) {
            return Err(CssRefusal::Url);
        }
        Ok(Some(moved.path_and_query() + fragment))
    }

    /// Returns the text of the sheet with the edits.
    fn moved(&self) -> String {
        let mut text = String::with_capacity(self.sheet.text.len() + 64);
        let mut edits = self.edits.iter().peekable();
        for index in 0..self.sheet.tokens.len() {
            match edits.next_if(|(edited, _)| *edited == index) {
                Some((_, edit)) => text.push_str(edit),
                None => text.push_str(self.sheet.text_of(index)),
            }
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn prepared(text: &str) -> Result<String, CssRefusal> {
        let url = PageUrl::parse("https://a.test/themes/t/style.css?ver=1").expect("absolute");
        SheetSource::prepare(text, &url, true, &OptimizeLimits::default()).map(|sheet| sheet.text)
    }

    #[test]
    fn relative_urls_are_moved() {
        for (text, expected) in [
            ("a{b:url(i.png)}", "a{b:url(/themes/t/i.png)}"),
            ("a{b:URL( '../i.png?x#y' )}", "a{b:URL(\"/themes/i.png?x#y\")}"),
            ("a{b:url(\"i (1).png\")}", "a{b:url(\"/themes/t/i%20(1).png\")}"),
            ("a{b:url(/i.png) url(//b.test/i) url(data:x) url(#f) url(http://b.test/) url('')}", ""),
            (
                "@import 'x.css' layer(a) supports(b:c);",
                "@import \"/themes/t/x.css\" layer(a) supports(b:c);",
            ),
            ("@import url(x.css);", "@import url(/themes/t/x.css);"),
            (
                "a{b:image-set('i.png' 1x, url(j.png) 2x);content:'i.png'}",
                "a{b:image-set(\"/themes/t/i.png\" 1x,url(/themes/t/j.png) 2x);content:'i.png'}",
            ),
            (
                "@font-face{src:local('f'),url(f.woff2)format('woff2')}",
                "@font-face{src:local('f'),url(/themes/t/f.woff2)format('woff2')}",
            ),
            ("@media x{a{b:url(i.png)}}", "@media x{a{b:url(/themes/t/i.png)}}"),
            ("@charset \"UTF-8\";a{}", "a{}"),
            ("/* a */@charset \"utf-8\";a{}", "a{}"),
            ("a{}@charset 'utf-8';b{}", "a{}b{}"),
            ("@CHARSET \"iso-8859-1\" { c{d:url(e)} }\na{}", "a{}"),
            ("a{}@charset \"utf-8\"", "a{}"),
            ("\u{feff}a{}", "a{}"),
            ("a{--b:url(/i.png)}", ""),
        ] {
            assert_eq!(
                prepared(text).as_deref(),
                Ok(if expected.is_empty() { text } else { expected }),
                "{text}"
            );
        }
    }

    #[test]
    fn sheets_that_would_change_their_neighbours_are_left_out() {
        for (text, expected) in [
            ("a", CssRefusal::OpenEnd),
            ("a{} b, c", CssRefusal::OpenEnd),
            ("@import 'x.css'", CssRefusal::OpenEnd),
            ("a{", CssRefusal::OpenEnd),
            ("a{}}", CssRefusal::Malformed),
            ("a{}/*", CssRefusal::OpenEnd),
            ("@namespace svg url(http://b.test/);", CssRefusal::Namespace),
            ("a{--b:url(i.png)}", CssRefusal::Url),
            ("a{b:url(i\\.png)}", CssRefusal::Url),
            ("a{b:url(i'.png)}", CssRefusal::Malformed),
            ("a{b:url(\"\\\n i\")}", CssRefusal::Url),
        ] {
            assert_eq!(prepared(text), Err(expected), "{text}");
        }
    }

    #[test]
    fn combination_keeps_the_order_and_the_rules() {
        let url = PageUrl::parse("http://a.test/x/s.css").expect("absolute");
        let limits = OptimizeLimits::default();
        let sheet = |text: &str| SheetSource::prepare(text, &url, true, &limits).expect(text);
        let (first, second) = (sheet("@import 'i.css'; a { }"), sheet("b { } <!--"));
        assert!(first.must_be_first() && !second.must_be_first());
        let combined = combine(&[&first, &second, &second], &limits).expect("combinable");
        assert_eq!(combined, "@import \"/x/i.css\";a{}\nb{}<!--\nb{}<!--");
        assert_eq!(combine(&[&second, &first], &limits), Err(CssRefusal::Import));
        let source =
            SheetSource::prepare("a { b: url(i.png) } /* c */", &url, false, &limits).expect("valid");
        assert_eq!(source.text(), "a { b: url(/x/i.png) } /* c */");
        let small = OptimizeLimits { bundle_bytes: 10, ..limits.clone() };
        assert_eq!(combine(&[&first, &second], &small), Err(CssRefusal::TooLong));
    }
}
