//! Collapse of white space in pages (`collapse_whitespace`).

use super::HtmlRefusal;
use super::regions::ElementRegions;
use super::tokenizer::{HtmlKind, HtmlTag, HtmlToken, tokenize};
use crate::OptimizeLimits;
use crate::css::{ElementPattern, SheetFacts};

/// Names of elements in which white space is retained, because browsers show it, scripts commonly read it, or other
/// parsing rules apply.
const KEPT: [&str; 11] = [
    "pre",
    "textarea",
    "listing",
    "xmp",
    "plaintext",
    "code",
    "svg",
    "math",
    "template",
    "noscript",
    "object",
];

/// Replaces runs of white space in the text of a page with one line break (if the run contains one) or space, and
/// removes white space in start tags. No text node becomes empty, so the tree stays the same. `preserving` are the
/// elements whose white space the style sheets of the page may show as written; elements for which `is_excluded` is
/// true stay as they are. Returns an error if the page cannot be tokenized, or if the result differs in more than white
/// space.
///
/// ```
/// let limits = Default::default();
/// let page = "<p  class=a >x  y \n\n z</p>\n\n<pre> a  b </pre>";
/// let shorter = myriad_optimize::html::collapse_whitespace(page, &[], &|_| false, &limits);
/// assert_eq!(shorter.as_deref(), Ok("<p class=a>x y\nz</p>\n<pre> a  b </pre>"));
/// ```
pub fn collapse_whitespace(
    page: &str,
    preserving: &[ElementPattern],
    is_excluded: &dyn Fn(&HtmlTag<'_>) -> bool,
    limits: &OptimizeLimits,
) -> Result<String, HtmlRefusal> {
    let tokens = tokenize(page, limits)?;
    let mut regions = ElementRegions::default();
    let mut shorter = String::with_capacity(page.len());
    let mut is_kept = Vec::with_capacity(tokens.len());
    for token in &tokens {
        let text = &page[token.range.clone()];
        let keep = regions.next(&token.kind, |tag| keeps_white_space(tag, preserving) || is_excluded(tag));
        match &token.kind {
            HtmlKind::Text if !keep => collapse(text, &mut shorter),
            HtmlKind::Start(tag) if !keep => write_tag(text, tag, &mut shorter),
            _ => shorter.push_str(text),
        }
        is_kept.push(keep);
    }
    let result = tokenize(&shorter, limits)?;
    if let Some(at) = first_difference(page, &tokens, &is_kept, &shorter, &result) {
        return Err(HtmlRefusal::Ambiguous(at));
    }
    Ok(shorter)
}

/// Returns whether the white space in the element with this start tag is retained.
fn keeps_white_space(tag: &HtmlTag<'_>, preserving: &[ElementPattern]) -> bool {
    let name = tag.name.as_str();
    // Custom elements may read their text.
    if KEPT.contains(&name) || name.contains('-') || tag.has("contenteditable") || tag.has("is") {
        return true;
    }
    if tag.raw("style").is_some_and(SheetFacts::preserves_inline) {
        return true;
    }
    let (class, id) = (tag.value("class"), tag.value("id"));
    let is_unclear = tag.has("class") && class.is_none() || tag.has("id") && id.is_none();
    let (class, id) = (class.unwrap_or_default(), id.unwrap_or_default());
    preserving.iter().any(|pattern| is_unclear || pattern.matches(name, &class, &id))
}

/// Returns whether CSS treats a character as collapsible white space or a line break. A form feed is not.
fn is_collapsible(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r')
}

fn collapse(text: &str, out: &mut String) {
    let mut rest = text;
    while let Some(at) = rest.find(is_collapsible) {
        out.push_str(&rest[..at]);
        let after = rest[at..].trim_start_matches(is_collapsible);
        let run = &rest[at..rest.len() - after.len()];
        // Between letters of some languages, a line break is shown as nothing and a space as a space.
        out.push(if run.contains(['\n', '\r']) { '\n' } else { ' ' });
        rest = after;
    }
    out.push_str(rest);
}

fn write_tag(text: &str, tag: &HtmlTag<'_>, out: &mut String) {
    out.push('<');
    out.push_str(&text[1..=tag.name.len()]);
    for attribute in &tag.attributes {
        out.push(' ');
        out.push_str(attribute.text);
    }
    if tag.is_self_closing {
        // An unquoted value would include the slash.
        if tag.attributes.last().is_some_and(|last| last.is_unquoted) {
            out.push(' ');
        }
        out.push('/');
    }
    out.push('>');
}

fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_collapsible).filter(|word| !word.is_empty())
}

/// Returns the offset in the page of the first token that differs otherwise than in collapsible white space; 0 if the
/// numbers of tokens differ, `None` if no token differs.
fn first_difference(
    page: &str,
    tokens: &[HtmlToken<'_>],
    is_kept: &[bool],
    shorter: &str,
    result: &[HtmlToken<'_>],
) -> Option<usize> {
    if tokens.len() != result.len() {
        return Some(0);
    }
    let differs = |((old, new), kept): &((&HtmlToken<'_>, &HtmlToken<'_>), &bool)| {
        let (before, after) = (&page[old.range.clone()], &shorter[new.range.clone()]);
        match (&old.kind, &new.kind) {
            (HtmlKind::Text, HtmlKind::Text) if !**kept => {
                let ends = |text: &str| (text.starts_with(is_collapsible), text.ends_with(is_collapsible));
                ends(before) != ends(after) || words(before).ne(words(after))
            }
            (HtmlKind::Start(old), HtmlKind::Start(new)) => {
                let same = |(old, new): (&super::HtmlAttribute<'_>, &super::HtmlAttribute<'_>)| {
                    (old.name, old.value) == (new.name, new.value)
                };
                old.name != new.name
                    || old.is_self_closing != new.is_self_closing
                    || old.attributes.len() != new.attributes.len()
                    || !old.attributes.iter().zip(&new.attributes).all(same)
            }
            (old, new) => old != new || before != after,
        }
    };
    tokens.iter().zip(result).zip(is_kept).find(differs).map(|((old, _), _)| old.range.start)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collapsed(page: &str, css: &str) -> String {
        let limits = OptimizeLimits::default();
        let facts = SheetFacts::read(css, &limits).expect("valid");
        collapse_whitespace(page, &facts.preserving, &|tag| tag.has("excluded"), &limits)
            .expect("unambiguous")
    }

    #[test]
    fn white_space_collapses_only_where_it_is_not_shown() {
        for (page, expected) in [
            ("<p>  a  \t b\r\n\r\n c</p>  <p>", "<p> a b\nc</p> <p>"),
            ("<pre>\n\n a  b</pre>  x", "<pre>\n\n a  b</pre> x"),
            ("<textarea>  a  </textarea><script>  a  </script><style>  a  </style>", ""),
            ("<title>  a  b </title><!--[if IE]>  <p>  <![endif]-->", ""),
            ("<a  href='x  y'\n class = b  c >", "<a href='x  y' class = b c>"),
            ("<br  /><img a=b />", "<br/><img a=b />"),
            ("<p style='white-space: pre'>  a  </p>", ""),
            ("<p class=v>  a  <p>  b  </p></p>  c  d", "<p class=v>  a  <p>  b  </p></p> c d"),
            ("<div class='u v'>  <b>  </b>  </div>  x", "<div class='u v'>  <b>  </b>  </div> x"),
            ("<my-code>  a  </my-code><i contenteditable>  b  </i>", ""),
            ("<svg>  <text>  a  </text>  </svg>", ""),
            ("<noscript>  <p>  </noscript>  x", "<noscript>  <p>  </noscript> x"),
            ("a\u{a0}\u{a0}b \u{c} c\u{3000}  d", "a\u{a0}\u{a0}b \u{c} c\u{3000} d"),
            ("<pre><table><td></pre>  x  </td></table>  y  ", ""),
            ("<p>x</p", ""),
            ("<p excluded>  a  </p>  b", "<p excluded>  a  </p> b"),
        ] {
            let expected = if expected.is_empty() { page } else { expected };
            assert_eq!(collapsed(page, ".v{white-space:pre-wrap}"), expected, "{page}");
        }
    }

    #[test]
    fn collapsed_pages_are_stable_and_never_longer() {
        let words = [
            "<p",
            ">",
            "</p>",
            " ",
            "  ",
            "\n",
            "a",
            "=",
            "'",
            "\"",
            "<pre>",
            "</pre>",
            "<!--",
            "-->",
            "<script>",
            "</script>",
            "/",
            "<svg>",
            "</svg>",
            "<style>",
            "</style>",
            "class",
            "v",
            "\u{e9}",
            "<textarea>",
            "</textarea>",
            "\r",
            "\t",
            "<x-y>",
            "&amp;",
        ];
        let limits = OptimizeLimits::default();
        for seed in 0..20_000 {
            let mut random = fastrand::Rng::with_seed(seed);
            let page: String = (0..random.usize(..30)).filter_map(|_| random.choice(words)).collect();
            let Ok(once) = collapse_whitespace(&page, &[], &|_| false, &limits) else { continue };
            assert!(once.len() <= page.len() + page.matches('<').count(), "{page}");
            assert_eq!(
                collapse_whitespace(&once, &[], &|_| false, &limits).as_deref(),
                Ok(once.as_str()),
                "seed {seed}: {page}"
            );
        }
    }
}
